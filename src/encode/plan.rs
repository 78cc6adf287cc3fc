//! A window of content: its spans become kinds, chunks, banks and records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::core::bank::Bank;
use crate::core::convert::convert;
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::encode::bank::{Statistics, build};
use crate::encode::choose::{best, estimate, obvious, sample, shift};
use crate::encode::chunk::simple;
use crate::encode::estimate::{Run, coding};
use crate::encode::kind::{KindPlan, Member, trailing_zeros};
use crate::encode::level::Level;
use crate::encode::profile::profile;
use crate::encode::scales::Scales;
use crate::encode::span::InputSpan;
use crate::encode::symbols::EncodeBank;
use crate::encode::workspace::Workspaces;
use crate::limits::{MAX_KINDS, MAX_PROFILE_COLUMNS, MAX_TABLES};
use crate::wire;
use crate::wire::layout::{Kind, KindReference, Layout, Span};
use crate::wire::profile::Profile;
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
/// Elements of a span looked at first: mostly they tell.
const GLANCE: usize = 1 << 9;

/// A bank as the decoder will know it, by slot, from window to window.
#[derive(Debug, Default)]
pub struct Slots {
    banks: Vec<Bank>,
    next: usize,
    /// Profile slot to be filled next, and the columns of those filled.
    next_profile: u16,
    /// Profiles of this window: one must not take the slot of another.
    window_profiles: u16,
    columns: Vec<usize>,
}

impl Slots {
    /// A slot for a profile of so many columns, if the limit on all of them allows one.
    fn profile(&mut self, columns: usize) -> Option<u16> {
        self.columns.resize(PROFILE_SLOTS.into(), 0);
        let slot = usize::from(self.next_profile);
        let others: usize = self.columns.iter().sum::<usize>() - self.columns[slot];
        if others + columns > MAX_PROFILE_COLUMNS || self.window_profiles == PROFILE_SLOTS {
            return None;
        }
        self.columns[slot] = columns;
        self.window_profiles += 1;
        let taken = self.next_profile;
        self.next_profile = (taken + 1) % PROFILE_SLOTS;
        Some(taken)
    }
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
    /// Buffers of the threads.
    pub workspaces: &'a Workspaces,
    level: Level,
    /// Scales of each chunk's substreams by kind, from counting to coding.
    scales: Vec<Mutex<Vec<(usize, Scales)>>>,
}

impl<'a> Plan<'a> {
    /// Decides how the spans, which follow one another from content offset `start`, are coded.
    #[must_use]
    pub fn new(
        start: u64,
        spans: &[InputSpan<'a>],
        level: Level,
        max_chunk: usize,
        slots: &mut Slots,
        workspaces: &'a Workspaces,
    ) -> Self {
        let mut plan = Self {
            start,
            kinds: Vec::new(),
            order: Vec::new(),
            cuts: Vec::new(),
            banks: Vec::new(),
            workspaces,
            level,
            scales: Vec::new(),
        };
        slots.window_profiles = 0;
        let parts: Vec<InputSpan<'a>> = spans.iter().flat_map(decide).collect();
        let shifts = Shifts::new(&parts);
        for (part, shift) in parts.into_iter().zip(&shifts.of_spans) {
            plan.add(part, *shift);
        }
        let mut expected = 0;
        for kind in &mut plan.kinds {
            let element = kind.kind.element;
            let raw = (kind.elements() * element.width() * 8) as u64;
            let mut cost = raw << 16;
            if kind.elements() >= SMALLEST_KIND {
                if level != Level::Fast {
                    find_profiles(kind, slots);
                }
                let runs = sample(kind, level.sample());
                let reference = kind.kind.reference.is_some();
                let count = kind.elements() as u64;
                let (coding, base, estimate) = best(element, kind.shift, reference, level, &runs, count);
                if estimate < (raw << 16) - (raw << 7) {
                    kind.coding = Some(coding);
                    kind.base = base;
                    cost = estimate;
                }
            }
            expected += cost >> 19;
        }
        plan.cut(expected, max_chunk);
        plan.scales = plan.cuts.iter().map(|_| Mutex::default()).collect();
        plan
    }

    /// Puts a span into its kind.
    fn add(&mut self, mut span: InputSpan<'a>, mut shift: u8) {
        let kind_of = |span: &InputSpan<'_>| Kind {
            element: span.element,
            reference: span.reference.map(|r| KindReference { element: r.element, index: r.index }),
        };
        let mut kind = kind_of(&span);
        let find = |kinds: &[KindPlan<'_>], kind, shift| kinds.iter().position(|k| k.kind == kind && k.shift == shift);
        let mut found = find(&self.kinds, kind, shift);
        if found.is_none() && self.kinds.len() + 1 >= MAX_KINDS {
            // No room for another kind: opaque bytes, for which one is kept free.
            span = InputSpan { element: ElementType::Bytes, columns: 0, reference: None, ..span };
            (kind, shift) = (kind_of(&span), 0);
            found = find(&self.kinds, kind, shift);
        }
        let at = found.unwrap_or_else(|| {
            self.kinds.push(KindPlan { kind, shift, coding: None, base: 0, members: Vec::new(), bank: 0 });
            self.kinds.len() - 1
        });
        let plan = &mut self.kinds[at];
        let before = plan.elements();
        #[allow(clippy::cast_possible_truncation)]
        self.order.push((at as u8, plan.members.len() as u32));
        plan.members.push(Member { span, before, profile: Arc::from([]), slot: None });
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
        let parts = ((total + target / 2) / target).max(total.div_ceil(max_chunk)).max(1);
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
        let masks = |k: &KindPlan<'_>| k.coding.map(|c| Statistics::new(k.base, c.model == Model::Mask));
        self.kinds.iter().map(masks).collect()
    }

    /// Adds the symbols of a chunk, or of a sample of it.
    pub fn count(&self, chunk: usize, statistics: &mut [Option<Statistics>]) {
        self.workspaces.with(|workspace| {
            for (kind, range) in self.ranges(chunk) {
                let plan = &self.kinds[kind];
                let (Some(coding), Some(statistics)) = (plan.coding, &mut statistics[kind]) else { continue };
                let sampled = samples(self.level, plan);
                let (step, length) = if sampled { (SAMPLED_STEP, SAMPLED) } else { (usize::MAX, range.len()) };
                for start in range.clone().step_by(step) {
                    let gathered = plan.gather(start..range.end.min(start + length));
                    let elements = gathered.elements();
                    if simple(plan, &elements).is_some() {
                        continue;
                    }
                    let units = coding.units(workspace.kernel, elements);
                    let scales = coding.scales(&units, coding.count(&elements));
                    coding.statistics(elements, &scales, statistics, workspace);
                    if let (false, Some(kept)) = (sampled, self.scales.get(chunk)) {
                        kept.lock().unwrap_or_else(PoisonError::into_inner).push((kind, scales));
                    }
                }
            }
        });
    }

    /// The scales of a kind in a chunk, where [`count`](Self::count) has left them.
    pub fn take_scales(&self, chunk: usize, kind: usize) -> Option<Scales> {
        let mut kept = self.scales.get(chunk)?.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|k| k.0 == kind)?;
        Some(kept.swap_remove(at).1)
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
            if statistics.is_empty() && !samples(self.level, kind) {
                // Every chunk of the kind is SAME or CONSTANT.
                kind.coding = None;
                self.banks.push(None);
                continue;
            }
            // Fast levels count samples: what these lack must be codable too, by this bank and by all that may take its place.
            let statistics = statistics.settled();
            let (bank, cost) = build(&statistics, &coding, MAX_TABLES, self.level == Level::Fast);
            let like = |b: &Bank| {
                let has = |b: &Bank| (b.class, b.scale.is_some(), b.masks.is_empty());
                has(b) == has(&bank)
            };
            let fits = |b: &Bank| like(b) && statistics.cost(b).is_some_and(|c| c <= cost);
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
                    self.banks.push(Some(EncodeBank::new(bank, &coding)));
                }
                None => {
                    kind.coding = None;
                    self.banks.push(None);
                }
            }
        }
        self.write_layout(references, out);
        for member in self.kinds.iter().flat_map(|k| &k.members) {
            if let Some(slot) = member.slot {
                let mut body = Vec::new();
                Profile { values: member.profile.to_vec() }.write(&mut body);
                write_record(out, RecordType::Profile, 0, slot, &body);
            }
        }
        out.extend_from_slice(&binds);
    }

    fn write_layout(&self, references: u8, out: &mut Vec<u8>) {
        let mut layout = Layout { kinds: self.kinds.iter().map(|k| k.kind).collect(), spans: Vec::new() };
        let mut offset = self.start;
        for &o in &self.order {
            let span = self.span(o);
            let profile = self.kinds[usize::from(o.0)].members[o.1 as usize].slot;
            layout.spans.push(Span {
                kind: o.0,
                offset,
                elements: span.elements() as u64,
                profile,
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

/// At fast levels, kinds with more elements than this are counted by samples: of each so many elements, so many.
const COUNTED: usize = 1 << 18;
const SAMPLED_STEP: usize = 1 << 16;
const SAMPLED: usize = 1 << 12;

/// Whether a kind is counted by samples.
fn samples(level: Level, kind: &KindPlan<'_>) -> bool {
    level == Level::Fast && kind.elements() > COUNTED
}

/// Elements from which a matrix may have a profile.
const PROFILED: usize = 1 << 13;

/// Gives the members of a kind the profiles that pay; at most a window's share of the slots, so that none is overwritten before it is used.
fn find_profiles(kind: &mut KindPlan<'_>, slots: &mut Slots) {
    let model = if kind.kind.reference.is_some() { Model::Residual } else { Model::Plain };
    let members: Vec<(usize, usize, usize)> = kind
        .members
        .iter()
        .enumerate()
        .filter(|(_, m)| m.span.columns >= 2 && m.span.elements() >= PROFILED)
        .map(|(i, m)| (i, m.before, m.span.columns as usize))
        .collect();
    let mut runs = Vec::new();
    if !members.is_empty() {
        runs = sample(kind, 1 << 13);
    }
    let coding = coding(model, kind.kind.element, kind.shift, &runs);
    for (i, before, columns) in members {
        let count = kind.members[i].span.elements();
        let rows = |from: usize, to: usize| kind.gather(before + from * columns..before + to * columns).into_run();
        let Some(values) = profile(&coding, columns, count, rows) else { continue };
        if let Some(slot) = slots.profile(columns) {
            kind.members[i].profile = Arc::from(values);
            kind.members[i].slot = Some(slot);
        }
    }
}

/// The shift of each span.
struct Shifts {
    of_spans: Vec<u8>,
}

/// Elements of a span whose low zero bits count for its whole kind.
const TELLING: usize = 1 << 10;

impl Shifts {
    /// What all larger spans of a type have in common is dropped from all spans that have it; the others keep their bits.
    fn new(spans: &[InputSpan<'_>]) -> Self {
        let zeros: Vec<u8> = spans.iter().map(|s| shift(s.element, trailing_zeros(s.next, s.element))).collect();
        let key = |s: &InputSpan<'_>| (s.element, s.reference.map(|r| (r.element, r.index)));
        let mut common = BTreeMap::new();
        for telling in [TELLING, 1] {
            for (span, &zeros) in spans.iter().zip(&zeros).filter(|(s, _)| s.elements() >= telling) {
                let blank = span.next.iter().all(|&b| b == 0);
                let entry = common.entry(key(span)).or_insert((telling, u8::MAX));
                if !blank && entry.0 == telling {
                    entry.1 = entry.1.min(zeros);
                }
            }
        }
        let of_spans = spans.iter().zip(zeros).map(|(span, zeros)| {
            let shift = common.get(&key(span)).map_or(0, |c| c.1);
            if zeros >= shift && shift != u8::MAX { shift } else { 0 }
        });
        Self { of_spans: of_spans.collect() }
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
    if reference.element == span.element {
        let glance = |k: usize| {
            let start = (count - length) / pieces.max(2) * k;
            let part = span.part(start, start + length.min(GLANCE / pieces));
            obvious(span.element, part.next, part.reference.map_or(&[], |r| r.bytes))
        };
        if (0..pieces).all(glance) {
            return true;
        }
    }
    let mut runs = Vec::new();
    for k in 0..pieces {
        let start = ((count - length) / pieces.max(2) * k) & !31;
        let part = span.part(start, start + length);
        let bytes = part.reference.map_or(&[][..], |r| r.bytes);
        let reference = convert(bytes, reference.element, span.element).into_owned();
        runs.push(Run { next: part.next.to_vec(), reference, profiles: Vec::new() });
    }
    estimate(span.element, true, &runs) < estimate(span.element, false, &runs)
}
