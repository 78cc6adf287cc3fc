//! A window of content: its spans become kinds, chunks, banks and records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::core::bank::TokenClass;
use crate::core::convert::convert;
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::encode::bank::Statistics;
use crate::encode::bind::Coder;
use crate::encode::choose::{best, estimate, excerpts, for_samples, obvious, sample, shift};
use crate::encode::chunk::simple;
use crate::encode::coding::Coding;
use crate::encode::estimate::{Run, coding};
use crate::encode::frozen::Frozen;
use crate::encode::judge::use_frozen;
use crate::encode::kind::{KindPlan, Member, trailing_zeros};
use crate::encode::level::Level;
use crate::encode::pairs::use_pairs;
use crate::encode::profile::profile;
use crate::encode::scales::Scales;
use crate::encode::slots::Slots;
use crate::encode::span::InputSpan;
use crate::encode::workspace::Workspaces;
use crate::limits::MAX_KINDS;
use crate::wire::layout::{Kind, KindReference};

/// Kinds with fewer elements are stored raw: a bank would cost more.
const SMALLEST_KIND: usize = 48;
/// Spans longer than this, of unknown shape, are decided in parts.
const SEGMENT: usize = 1 << 17;
/// Elements of a span looked at to see whether its reference helps.
const SPAN_SAMPLE: usize = 1 << 12;
/// Elements of a span looked at first: mostly they tell.
const GLANCE: usize = 1 << 9;

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
    /// Encoders of each kind: one, or one for each of its frozen banks that has a place; none where it is raw.
    pub(super) coders: Vec<Vec<Option<Coder>>>,
    /// Buffers of the threads.
    pub workspaces: &'a Workspaces,
    pub(super) level: Level,
    /// Scales of each chunk's substreams by kind, from counting to coding.
    scales: Vec<Mutex<Vec<(usize, Scales)>>>,
    /// The frozen banks that each chunk has chosen, by kind, where there is a choice.
    picks: Vec<Mutex<Vec<(usize, usize)>>>,
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
            coders: Vec::new(),
            workspaces,
            level,
            scales: Vec::new(),
            picks: Vec::new(),
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
                if let Some(frozen) = use_frozen(kind, level, raw << 16, slots) {
                    cost = frozen;
                } else if !slots.frozen.only {
                    let runs = sample(kind, level.sample());
                    let reference = kind.kind.reference.is_some();
                    let count = kind.elements() as u64;
                    let (coding, base, estimate) = best(element, kind.shift, reference, level, &runs, count);
                    if estimate < (raw << 16) - (raw << 7) {
                        kind.coding = Some(coding);
                        kind.base = base;
                        if let Some(length) = sampling(level, kind.elements(), &coding, estimate)
                            && let Some(coding) = for_samples(coding, base, &runs, level, count)
                        {
                            (kind.coding, kind.sampling) = (Some(coding), Some(length));
                        }
                        cost = estimate;
                    }
                }
                cost = use_pairs(kind, level, cost, slots).unwrap_or(cost);
            }
            expected += cost >> 19;
        }
        plan.cut(expected, max_chunk);
        plan.scales = plan.cuts.iter().map(|_| Mutex::default()).collect();
        plan.picks = plan.cuts.iter().map(|_| Mutex::default()).collect();
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
            let frozen = Vec::new();
            self.kinds.push(KindPlan {
                kind,
                shift,
                coding: None,
                base: 0,
                members: Vec::new(),
                frozen,
                sampling: None,
            });
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
            // What a chunk costs is little beside the speed of caches that hold it and its reference.
            0..12 if self.level == Level::Fast => 1 << 19,
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

    pub(super) fn span(&self, (kind, member): (u8, u32)) -> InputSpan<'a> {
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
        let own = |k: &KindPlan<'_>| k.coding.filter(|_| k.frozen.is_empty());
        let none = |k: &KindPlan<'_>| own(k).map(|c| Statistics::new(k.base, c.model == Model::Mask));
        self.kinds.iter().map(none).collect()
    }

    /// Adds the symbols of a chunk, or of a sample of it; chooses among frozen banks.
    pub fn count(&self, frozen: &Frozen, chunk: usize, statistics: &mut [Option<Statistics>]) {
        if self.kinds.iter().all(|k| k.coding.is_none() || k.frozen.len() == 1) {
            return;
        }
        self.workspaces.with(|workspace| {
            for (kind, range) in self.ranges(chunk) {
                let plan = &self.kinds[kind];
                if plan.frozen.len() > 1 {
                    let picked = frozen.pick(&plan.frozen, &excerpts(plan, range), workspace);
                    if let Some(picks) = self.picks.get(chunk) {
                        picks.lock().unwrap_or_else(PoisonError::into_inner).push((kind, picked));
                    }
                    continue;
                }
                let (Some(coding), Some(statistics)) = (plan.coding, &mut statistics[kind]) else { continue };
                let sampled = plan.sampling;
                let (step, length) = sampled.map_or((usize::MAX, range.len()), |length| (SAMPLED_STEP, length));
                for start in range.clone().step_by(step) {
                    let gathered = plan.gather(start..range.end.min(start + length));
                    let elements = gathered.elements();
                    if simple(plan, &elements).is_some() {
                        continue;
                    }
                    let mut scales = coding.scales_of(workspace.kernel, elements);
                    if start > range.start && !scales.symbols.is_empty() {
                        // Nothing comes before it here that it could be a difference from.
                        scales.symbols.remove(0);
                    }
                    coding.statistics(elements, &scales, statistics, workspace);
                    if let (None, Some(kept)) = (sampled, self.scales.get(chunk)) {
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

    /// What codes the elements of a kind in a chunk.
    pub(crate) fn coder(&self, chunk: usize, kind: usize) -> Option<&Coder> {
        let coders = self.coders.get(kind)?;
        let chosen = coders.get(self.pick(chunk, kind)).and_then(Option::as_ref);
        chosen.or_else(|| coders.iter().flatten().next())
    }

    /// The number of the frozen bank that a chunk has chosen for a kind.
    pub(super) fn pick(&self, chunk: usize, kind: usize) -> usize {
        let picks = self.picks.get(chunk).map(|picks| picks.lock().unwrap_or_else(PoisonError::into_inner));
        picks.and_then(|picks| picks.iter().find(|p| p.0 == kind).map(|p| p.1)).unwrap_or(0)
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
}

/// Of so many elements some are counted where counting goes by samples.
pub(super) const SAMPLED_STEP: usize = 1 << 16;

/// Bits of an element, in units of 2^−16, from which on frequencies for ESC are next to nothing.
const WORTH_SAMPLING: u64 = 1 << 16;

/// How many of each [`SAMPLED_STEP`] elements are counted in a kind of `count` elements that are expected to take `cost`; `None`: all.
pub(super) fn sampling(level: Level, count: usize, coding: &Coding, cost: u64) -> Option<usize> {
    let (from, length) = match level {
        Level::Fast => (1 << 18, 1 << 12),
        Level::Default if coding.block > 0 && cost >= count as u64 * WORTH_SAMPLING => match coding.class {
            // ESC stands in for what samples do not show; where there is none it would cost frequencies in all tables. Scales of whole substreams are
            // not those of samples.
            TokenClass::Length2 if coding.model != Model::Mask => (1 << 22, 1 << 14),
            TokenClass::Plain(_) => (1 << 22, 1 << 14),
            _ => return None,
        },
        Level::Default | Level::Small => return None,
    };
    (count > from).then_some(length)
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
