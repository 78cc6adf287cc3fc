//! A window of content: its spans become kinds, chunks, banks and records.

use std::sync::Arc;

use crate::core::bank::Bank;
use crate::core::convert::convert;
use crate::encode::bank::{Statistics, build};
use crate::encode::choose::{best, sample, sampled, shift};
use crate::encode::estimate::Run;
use crate::encode::kind::{KindPlan, Member, trailing_zeros};
use crate::encode::level::Level;
use crate::encode::span::InputSpan;
use crate::encode::symbols::EncodeBank;
use crate::limits::MAX_TABLES;
use crate::wire;
use crate::wire::layout::{Kind, KindReference, Layout, Span};
use crate::wire::record_header::{RecordType, write_record};

/// Kinds of a window that may have a bank; others are raw.
pub const BANK_SLOTS: u8 = 16;
/// Profile slots of the streams this encoder writes.
pub const PROFILE_SLOTS: u16 = 256;
/// Kinds with fewer elements are stored raw: a bank would cost more.
const SMALLEST_KIND: usize = 48;
/// Spans longer than this, of unknown shape, are decided in parts.
const SEGMENT: usize = 1 << 17;
/// Elements of a span looked at to see whether its reference helps.
const SPAN_SAMPLE: usize = 1 << 12;

/// A bank as the decoder will know it, by slot, from window to window.
#[derive(Debug, Default)]
pub struct Slots {
    banks: Vec<Bank>,
    next: usize,
}

/// A window ready to be coded.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Content offset of the window.
    pub start: u64,
    /// Kinds, in the order of the Layout.
    pub kinds: Vec<KindPlan<'a>>,
    /// Span in output order: kind and member.
    pub order: Vec<(u8, u32)>,
    /// End of each chunk: bytes from the start of the window.
    pub cuts: Vec<usize>,
    /// Encoders of the kinds' banks.
    pub banks: Vec<Option<EncodeBank>>,
}

impl<'a> Plan<'a> {
    /// Decides how the spans, which follow one another from content offset `start`, are coded.
    #[must_use]
    pub fn new(start: u64, spans: &[InputSpan<'a>], level: Level, max_chunk: usize) -> Self {
        let mut plan = Self { start, kinds: Vec::new(), order: Vec::new(), cuts: Vec::new(), banks: Vec::new() };
        let mut shifts = Vec::new();
        for span in spans {
            for part in decide(span) {
                plan.add(part, &mut shifts);
            }
        }
        let mut expected = 0;
        for (kind, &shift) in plan.kinds.iter_mut().zip(&shifts) {
            let element = kind.kind.element;
            let raw = (kind.elements() * element.width() * 8) as u64;
            let mut cost = raw << 16;
            if kind.elements() >= SMALLEST_KIND {
                let runs = sample(kind, level.sample());
                let reference = kind.kind.reference.is_some();
                let (coding, base, estimate) = best(element, shift, reference, level, &runs, kind.elements() as u64);
                if estimate < (raw << 16) - (raw << 7) {
                    kind.coding = Some(coding);
                    kind.base = base;
                    cost = estimate;
                }
            }
            expected += cost >> 19;
        }
        plan.cut(expected, max_chunk);
        plan
    }

    /// Puts a span into its kind.
    fn add(&mut self, span: InputSpan<'a>, shifts: &mut Vec<u8>) {
        let shift = shift(span.element, trailing_zeros(span.next, span.element));
        let kind = Kind {
            element: span.element,
            reference: span.reference.map(|r| KindReference { element: r.element, index: r.index }),
        };
        // A span of zeros has every shift: it joins what is there.
        let joins = |k: &KindPlan<'_>, s: u8| k.kind == kind && (s == shift || span.next.iter().all(|&b| b == 0));
        let found = self.kinds.iter().zip(shifts.iter()).position(|(k, &s)| joins(k, s));
        let at = found.unwrap_or_else(|| {
            if self.kinds.len() + 1 < crate::limits::MAX_KINDS {
                shifts.push(shift);
                self.kinds.push(KindPlan { kind, coding: None, base: 0, members: Vec::new(), bank: 0 });
            }
            self.kinds.len() - 1
        });
        let plan = &mut self.kinds[at];
        if let Some(s) = shifts.get_mut(at) {
            *s = (*s).min(shift);
        }
        let before = plan.elements();
        #[allow(clippy::cast_possible_truncation)]
        self.order.push((at as u8, plan.members.len() as u32));
        plan.members.push(Member { span, before, profile: Arc::from([]) });
    }

    /// Cuts the window into chunks: longer ones where little comes out of them.
    fn cut(&mut self, expected: u64, max_chunk: usize) {
        let total: usize = self.order.iter().map(|&o| self.span(o).next.len()).sum();
        let target = match expected * 100 / (total as u64).max(1) {
            0..4 => 1 << 22,
            4..12 => 1 << 21,
            _ => 1 << 20,
        };
        let target = target.min(max_chunk);
        let parts = total.div_ceil(target).max(1);
        let length = total.div_ceil(parts).next_multiple_of(256).min(max_chunk);
        let mut start = 0;
        let mut at = 0;
        for &o in &self.order {
            let span = &self.span(o);
            let (bytes, width) = (span.next.len(), span.element.width());
            let mut done = 0;
            while at + bytes - done - start > length {
                let take = (length - (at - start)) / width * width;
                at += take;
                done += take;
                self.cuts.push(at);
                start = at;
            }
            at += bytes - done;
        }
        if at > start {
            self.cuts.push(at);
        }
    }

    fn span(&self, (kind, member): (u8, u32)) -> InputSpan<'a> {
        self.kinds[usize::from(kind)].members[member as usize].span
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.cuts.len()
    }

    /// Bytes of a chunk, from the start of the window.
    #[must_use]
    pub fn range(&self, chunk: usize) -> std::ops::Range<usize> {
        let start = chunk.checked_sub(1).map_or(0, |before| self.cuts[before]);
        start..self.cuts[chunk]
    }

    /// Parts of spans inside a chunk, in output order: kind, elements of the kind.
    #[must_use]
    pub fn parts(&self, chunk: usize) -> Vec<(usize, std::ops::Range<usize>)> {
        let range = self.range(chunk);
        let mut parts = Vec::new();
        let mut at = 0;
        for &o in &self.order {
            let span = self.span(o);
            let end = at + span.next.len();
            if end > range.start && at < range.end {
                let width = span.element.width();
                let before = self.kinds[usize::from(o.0)].members[o.1 as usize].before;
                let from = before + (range.start.max(at) - at) / width;
                let to = before + (range.end.min(end) - at) / width;
                parts.push((usize::from(o.0), from..to));
            }
            at = end;
        }
        parts
    }

    /// No statistics of any kind.
    #[must_use]
    pub fn no_statistics(&self) -> Vec<Option<Statistics>> {
        let masks =
            |k: &KindPlan<'_>| k.coding.map(|c| Statistics::new(k.base, c.model == crate::core::model::Model::Mask));
        self.kinds.iter().map(masks).collect()
    }

    /// Adds the symbols of a chunk.
    pub fn count(&self, chunk: usize, statistics: &mut [Option<Statistics>]) {
        for (kind, range) in self.ranges(chunk) {
            if let (Some(coding), Some(statistics)) = (self.kinds[kind].coding, &mut statistics[kind]) {
                let gathered = self.kinds[kind].gather(range);
                let elements = gathered.elements();
                let scales = coding.scales(&coding.units(elements), coding.count(&elements));
                coding.statistics(elements, &scales, statistics);
            }
        }
    }

    /// Elements of each kind that occurs in a chunk, kinds ascending.
    #[must_use]
    pub fn ranges(&self, chunk: usize) -> Vec<(usize, std::ops::Range<usize>)> {
        let mut ranges: Vec<Option<std::ops::Range<usize>>> = vec![None; self.kinds.len()];
        for (kind, range) in self.parts(chunk) {
            match &mut ranges[kind] {
                Some(old) => old.end = range.end,
                none => *none = Some(range),
            }
        }
        ranges.into_iter().enumerate().filter_map(|(kind, range)| Some((kind, range?))).collect()
    }

    /// Chooses the banks and appends the Layout and Bind records.
    pub fn bind(&mut self, statistics: &[Option<Statistics>], slots: &mut Slots, references: u8, out: &mut Vec<u8>) {
        let mut binds = Vec::new();
        let mut used = Vec::new();
        self.banks = Vec::new();
        for (kind, statistics) in self.kinds.iter_mut().zip(statistics) {
            let (Some(coding), Some(statistics)) = (kind.coding, statistics) else {
                self.banks.push(None);
                continue;
            };
            let (bank, cost) = build(statistics, coding.class, MAX_TABLES);
            let fits = |b: &Bank| b.class == bank.class && statistics.cost(b).is_some_and(|c| c <= cost);
            let slot = slots.banks.iter().position(fits).or_else(|| {
                let free = (0..usize::from(BANK_SLOTS))
                    .map(|i| (slots.next + i) % usize::from(BANK_SLOTS))
                    .find(|i| !used.contains(i))?;
                if free == slots.banks.len() {
                    slots.banks.push(bank.clone());
                } else if let Some(old) = slots.banks.get_mut(free) {
                    *old = bank.clone();
                }
                slots.next = (free + 1) % usize::from(BANK_SLOTS);
                let mut body = Vec::new();
                wire::bank::write(&bank, &mut body);
                #[allow(clippy::cast_possible_truncation)]
                write_record(&mut binds, RecordType::Bind, 0, free as u16, &body);
                Some(free)
            });
            match slot.and_then(|slot| Some((slot, slots.banks.get(slot)?))) {
                Some((slot, bank)) => {
                    used.push(slot);
                    #[allow(clippy::cast_possible_truncation)]
                    {
                        kind.bank = slot as u8;
                    }
                    self.banks.push(Some(EncodeBank::new(bank)));
                }
                None => {
                    kind.coding = None;
                    self.banks.push(None);
                }
            }
        }
        self.write_layout(references, out);
        out.extend_from_slice(&binds);
    }

    fn write_layout(&self, references: u8, out: &mut Vec<u8>) {
        let mut layout = Layout { kinds: self.kinds.iter().map(|k| k.kind).collect(), spans: Vec::new() };
        let mut offset = self.start;
        for &o in &self.order {
            let span = self.span(o);
            layout.spans.push(Span {
                kind: o.0,
                offset,
                elements: span.elements() as u64,
                profile: None,
                reference_offset: span.reference.map_or(0, |r| r.offset),
            });
            offset += span.next.len() as u64;
        }
        let mut body = Vec::new();
        layout.write(&mut body, self.start, references);
        #[allow(clippy::cast_possible_truncation)]
        write_record(out, RecordType::Layout, 0, layout.kinds.len() as u16, &body);
    }
}

/// The span in as few parts as the decision, reference or not, differs.
fn decide<'a>(span: &InputSpan<'a>) -> Vec<InputSpan<'a>> {
    let count = span.elements();
    let step = if span.columns == 0 { SEGMENT } else { count.max(1) };
    let mut parts: Vec<(usize, usize, bool)> = Vec::new();
    for start in (0..count).step_by(step) {
        let end = count.min(start + step);
        let helps = reference_helps(&span.part(start, end));
        match parts.last_mut() {
            Some(last) if last.2 == helps => last.1 = end,
            _ => parts.push((start, end, helps)),
        }
    }
    let part = |(start, end, helps)| {
        let part = span.part(start, end);
        InputSpan { reference: part.reference.filter(|_| helps), ..part }
    };
    parts.into_iter().map(part).collect()
}

/// Whether the reference makes the span smaller, from a sample.
fn reference_helps(span: &InputSpan<'_>) -> bool {
    let Some(reference) = span.reference else {
        return false;
    };
    let count = span.elements();
    if reference.element == span.element && reference.bytes == span.next {
        return true;
    }
    let pieces = if count <= SPAN_SAMPLE { 1 } else { 4 };
    let length = (count / pieces).min(SPAN_SAMPLE / pieces);
    let mut runs = Vec::new();
    for k in 0..pieces {
        let start = ((count - length) / pieces.max(2) * k) & !31;
        let part = span.part(start, start + length);
        let bytes = part.reference.map_or(&[][..], |r| r.bytes);
        let reference = convert(bytes, reference.element, span.element).into_owned();
        runs.push(Run { next: part.next.to_vec(), reference, profiles: Vec::new() });
    }
    let of = sampled(&runs, span.element) as u64;
    let shift = shift(span.element, trailing_zeros(span.next, span.element));
    let with = best(span.element, shift, true, Level::Fast, &runs, of).2;
    let without = best(span.element, shift, false, Level::Fast, &runs, of).2;
    with < without
}
