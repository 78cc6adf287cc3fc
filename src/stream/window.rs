//! Windows: what an encoder gathers before it decides (coding-model §5).

use std::ops::Range;

use crate::core::element::ElementType;
use crate::encode::bank::Statistics;
use crate::encode::chunk::CodedChunk;
use crate::encode::level::Level;
use crate::encode::plan::{Plan, Slots};
use crate::encode::span::{InputSpan, SpanReference};
use crate::error::Result;
use crate::stream::pool::Pool;
use crate::stream::reference::Source;

/// Content bytes of a window, about.
pub(crate) const WINDOW: usize = 32 << 20;
/// Longest chunk.
pub(crate) const MAX_CHUNK: usize = 4 << 20;
/// Shortest limit on chunks: they must hold an element of any type, and some more to be of use.
pub(crate) const MIN_CHUNK: usize = 64;

/// Elements of a window that are typed alike, and where their reference may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedRange {
    /// Bytes of the window.
    pub(crate) bytes: Range<usize>,
    pub(crate) element: ElementType,
    /// Row length in elements, 0 where unknown.
    pub(crate) columns: u32,
    /// Index, type, offset, and the bytes there are from there on.
    pub(crate) reference: Option<(u8, ElementType, u64, u64)>,
    /// Bytes between tensors: headers, padding.
    pub(crate) gap: bool,
}

/// A window with all that its coding needs.
pub(crate) struct Job {
    /// Bytes of the window, and some behind it.
    pub(crate) data: Vec<u8>,
    /// Bytes of the window.
    pub(crate) length: usize,
    /// Content offset of the window.
    pub(crate) start: u64,
    ranges: Vec<TypedRange>,
    reference_bytes: Vec<u8>,
    places: Vec<Range<usize>>,
    references: u8,
}

/// What a coded window leaves.
pub(crate) struct Coded {
    /// Layout, Profile and Bind records.
    pub(crate) head: Vec<u8>,
    /// Chunks in order.
    pub(crate) chunks: Vec<CodedChunk>,
    /// Banks for the windows to come.
    pub(crate) slots: Slots,
    /// The window's buffer, to be used again.
    pub(crate) data: Vec<u8>,
}

impl Job {
    /// The first `length` bytes of `data`; reads the references they need.
    pub(crate) fn new(
        data: Vec<u8>,
        length: usize,
        start: u64,
        ranges: Vec<TypedRange>,
        references: &mut [Source],
    ) -> Result<Self> {
        let (reference_bytes, places) = load(&ranges, references)?;
        #[allow(clippy::cast_possible_truncation)]
        let references = references.len() as u8;
        Ok(Self { data, length, start, ranges, reference_bytes, places, references })
    }

    /// Codes the window.
    pub(crate) fn run(self, mut slots: Slots, level: Level, max_chunk: usize, pool: &Pool) -> Coded {
        let data = self.data.get(..self.length).unwrap_or(&[]);
        let spans = spans(data, &self.ranges, &self.reference_bytes, &self.places);
        let mut plan = Plan::new(self.start, &spans, level, max_chunk, &mut slots);
        let chunks: Vec<usize> = (0..plan.chunks()).collect();
        let statistics = pool.sum(
            &chunks,
            || plan.no_statistics(),
            |mut sum, &chunk| {
                plan.count(chunk, &mut sum);
                sum
            },
            |mut a: Vec<Option<Statistics>>, b| {
                for (a, b) in a.iter_mut().zip(&b) {
                    if let (Some(a), Some(b)) = (a, b) {
                        a.add(b);
                    }
                }
                a
            },
        );
        let mut head = Vec::new();
        plan.bind(&statistics, &mut slots, self.references, &mut head);
        drop(statistics);
        let plan = &plan;
        let chunks = pool.map(&chunks, |&chunk| plan.encode(chunk, data.get(plan.range(chunk)).unwrap_or(&[])));
        Coded { head, chunks, slots, data: self.data }
    }
}

/// Reads the reference bytes of the ranges, neighbours in one go; a range's bytes lie at its place, as many as there are.
fn load(ranges: &[TypedRange], references: &mut [Source]) -> Result<(Vec<u8>, Vec<Range<usize>>)> {
    let mut bytes = Vec::new();
    let mut places = Vec::with_capacity(ranges.len());
    for range in ranges {
        let before = bytes.len();
        if let Some((index, element, offset, available)) = range.reference
            && let Some(source) = references.get_mut(usize::from(index)).filter(|s| s.reachable(offset))
        {
            let length = range.bytes.len() / range.element.width() * element.width();
            let length = length.min(usize::try_from(available).unwrap_or(usize::MAX));
            source.read(index.into(), offset, length, &mut bytes)?;
        }
        places.push(before..bytes.len());
    }
    Ok((bytes, places))
}

/// The ranges as spans: whole elements, cut where their reference ends.
fn spans<'a>(
    data: &'a [u8],
    ranges: &[TypedRange],
    reference_bytes: &'a [u8],
    places: &[Range<usize>],
) -> Vec<InputSpan<'a>> {
    let mut spans = Vec::with_capacity(ranges.len());
    for (range, place) in ranges.iter().zip(places) {
        let next = data.get(range.bytes.clone()).unwrap_or(&[]);
        let reference = range.reference.map(|(index, element, offset, _)| SpanReference {
            index,
            element,
            offset,
            bytes: reference_bytes.get(place.clone()).unwrap_or(&[]),
        });
        let width = range.element.width();
        let whole = next.len() / width;
        let covered = reference.map_or(0, |r| (r.bytes.len() / r.element.width()).min(whole));
        let span = InputSpan { element: range.element, next, columns: range.columns, reference };
        let mut push = |from: usize, to: usize, with: bool| {
            if to > from {
                let mut part = span.part(from, to);
                part.reference = part.reference.filter(|_| with);
                if from > 0 && range.columns > 0 && !from.is_multiple_of(range.columns as usize) {
                    part.columns = 0;
                }
                spans.push(part);
            }
        };
        push(0, covered, true);
        push(covered, whole, false);
        let tail = next.get(whole * width..).unwrap_or(&[]);
        if !tail.is_empty() {
            spans.push(InputSpan { element: ElementType::Bytes, next: tail, columns: 0, reference: None });
        }
    }
    spans
}
