//! Windows: what an encoder gathers before it decides (coding-model §5).

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::core::element::ElementType;
use crate::encode::bank::Statistics;
use crate::encode::chunk::CodedChunk;
use crate::encode::coding::Coding;
use crate::encode::level::Level;
use crate::encode::plan::Plan;
use crate::encode::slots::Slots;
use crate::encode::span::{InputSpan, SpanReference};
use crate::encode::workspace::Workspaces;
use crate::error::Result;
use crate::stream::pool::Pool;
use crate::stream::read_at::ReadAt;
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
    /// Bytes of the window.
    pub(crate) length: usize,
    /// Content offset of the window.
    pub(crate) start: u64,
    ranges: Vec<TypedRange>,
    /// What was read of references, one after another, and behind it what buffers held before.
    reference_bytes: Vec<u8>,
    places: Vec<Place>,
    references: u8,
}

/// Where the reference bytes of a range are, as many as there are.
enum Place {
    /// Among those that were read.
    Read(Range<usize>),
    /// In memory all the time.
    Shared(Arc<dyn ReadAt>, Range<usize>),
}

impl Place {
    fn bytes<'a>(&'a self, read: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Read(range) => read.get(range.clone()),
            Self::Shared(source, range) => source.in_memory().and_then(|bytes| bytes.get(range.clone())),
        }
        .unwrap_or(&[])
    }
}

/// What windows are coded with.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) level: Level,
    /// Most content bytes of a chunk.
    pub(crate) max_chunk: usize,
    pub(crate) pool: Arc<Pool>,
    pub(crate) workspaces: Arc<Workspaces>,
}

/// Buffers to be used again: fresh memory costs more than filling it.
#[derive(Default)]
pub(crate) struct Buffers {
    /// For a window.
    pub(crate) data: Vec<u8>,
    /// For its references.
    pub(crate) references: Vec<u8>,
}

/// Records of a window, in order.
#[derive(Default)]
pub(crate) struct Records {
    /// Layout, Profile and Bind records.
    pub(crate) head: Vec<u8>,
    /// Chunks.
    pub(crate) chunks: Vec<CodedChunk>,
    /// Whether the stream may have pairs.
    pub(crate) pairs: bool,
}

/// What a coded window leaves.
pub(crate) struct Coded {
    /// Its records, but for those that have been taken already.
    pub(crate) records: Records,
    /// Banks for the windows to come.
    pub(crate) slots: Slots,
    /// The window's buffers.
    pub(crate) buffers: Buffers,
}

impl Job {
    /// A window of `length` bytes; reads the references they need into `buffer`.
    pub(crate) fn new(
        mut buffer: Vec<u8>,
        length: usize,
        start: u64,
        ranges: Vec<TypedRange>,
        references: &mut [Source],
    ) -> Result<Self> {
        let places = load(&ranges, references, &mut buffer)?;
        #[allow(clippy::cast_possible_truncation)]
        let references = references.len() as u8;
        Ok(Self { length, start, ranges, reference_bytes: buffer, places, references })
    }

    /// Codes the window, whose bytes are the first ones of `data`.
    pub(crate) fn run(self, data: Vec<u8>, slots: Slots, means: &Means) -> Coded {
        let mut records = Records::default();
        let (slots, mut buffers) = self.run_on(&data, slots, means, &mut |more| {
            records.pairs = more.pairs;
            records.head.extend(more.head);
            records.chunks.extend(more.chunks);
        });
        buffers.data = data;
        Coded { records, slots, buffers }
    }

    /// The same with bytes that are not the encoder's own; `put` takes the records as they come.
    pub(crate) fn run_on(
        self,
        data: &[u8],
        mut slots: Slots,
        means: &Means,
        put: &mut dyn FnMut(Records),
    ) -> (Slots, Buffers) {
        let Means { level, max_chunk, pool, workspaces } = means;
        let (level, max_chunk) = (*level, *max_chunk);
        let data = data.get(..self.length).unwrap_or(&[]);
        if slots.learned.is_some() {
            return self.learn(data, slots, means);
        }
        let spans = spans(data, &self.ranges, &self.reference_bytes, &self.places);
        let mut plan = Plan::new(self.start, &spans, level, max_chunk, &mut slots, workspaces);
        let chunks: Vec<usize> = (0..plan.chunks()).collect();
        let frozen = &slots.frozen;
        let mut statistics = pool.sum(
            &chunks,
            || plan.no_statistics(),
            |mut sum, &chunk| {
                plan.count(frozen, chunk, &mut sum);
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
        plan.bind(&mut statistics, &mut slots, self.references, &mut head);
        if self.start == 0 {
            // The stream's header has to tell: what the first window does without, the others do without.
            slots.frozen.pairs &= plan.has_pairs();
        }
        drop(statistics);
        let pairs = slots.frozen.pairs;
        put(Records { head, chunks: Vec::new(), pairs });
        let plan = &plan;
        let encode = |&chunk: &usize| plan.encode(chunk, data.get(plan.range(chunk)).unwrap_or(&[]));
        // One thread's chunks are taken one by one, while the caches still hold them.
        for chunks in chunks.chunks(if pool.threads() > 1 { chunks.len().max(1) } else { 1 }) {
            put(Records { head: Vec::new(), chunks: pool.map(chunks, encode), pairs });
        }
        (slots, Buffers { data: Vec::new(), references: self.reference_bytes })
    }
}

impl Job {
    /// Learns from the window; codes nothing.
    fn learn(self, data: &[u8], mut slots: Slots, means: &Means) -> (Slots, Buffers) {
        let Means { level, max_chunk, pool, workspaces } = means;
        let clock = Instant::now();
        let spans = spans(data, &self.ranges, &self.reference_bytes, &self.places);
        let plan = Plan::new(self.start, &spans, *level, *max_chunk, &mut slots, workspaces);
        let training = slots.learned.as_ref().map(|lessons| lessons.learned.training()).unwrap_or_default();
        let codings = |kind| plan.learned_codings(kind, &training);
        let codings: Vec<Vec<Coding>> = (0..plan.kinds.len()).map(codings).collect();
        let mut work = Vec::new();
        for (kind, range, span) in plan.lessons(&training) {
            let codings = codings.get(kind).map_or(&[][..], Vec::as_slice);
            work.extend(codings.iter().map(|&coding| (kind, range.clone(), span, coding)));
        }
        let counted = pool.map(&work, |(kind, range, _, coding)| plan.lesson(*kind, range.clone(), coding));
        drop(plan);
        if let Some(lessons) = &mut slots.learned {
            lessons.learned.spent_counting(clock.elapsed());
            for ((_, _, span, coding), statistics) in work.iter().zip(&counted) {
                if !statistics.is_empty() {
                    lessons.learned.add(coding, statistics, lessons.spans + span);
                }
            }
            lessons.spans += spans.len();
        }
        (slots, Buffers { data: Vec::new(), references: self.reference_bytes })
    }
}

/// Reads the reference bytes of the ranges that are not in memory, and says where those of each are.
fn load(ranges: &[TypedRange], references: &mut [Source], bytes: &mut Vec<u8>) -> Result<Vec<Place>> {
    let mut places = Vec::with_capacity(ranges.len());
    let mut at = 0;
    for range in ranges {
        let before = at;
        let mut place = None;
        if let Some((index, element, offset, available)) = range.reference
            && let Some(source) = references.get_mut(usize::from(index)).filter(|s| s.reachable(offset))
        {
            let length = range.bytes.len() / range.element.width() * element.width();
            let length = length.min(usize::try_from(available).unwrap_or(usize::MAX));
            place = source.shared(offset, length).map(|(source, range)| Place::Shared(source, range));
            if place.is_none() {
                at += source.read(index.into(), offset, length, bytes, at)?;
            }
        }
        places.push(place.unwrap_or(Place::Read(before..at)));
    }
    Ok(places)
}

/// The ranges as spans: whole elements, cut where their reference ends.
fn spans<'a>(
    data: &'a [u8],
    ranges: &[TypedRange],
    reference_bytes: &'a [u8],
    places: &'a [Place],
) -> Vec<InputSpan<'a>> {
    let mut spans = Vec::with_capacity(ranges.len());
    for (range, place) in ranges.iter().zip(places) {
        let next = data.get(range.bytes.clone()).unwrap_or(&[]);
        let reference = range.reference.map(|(index, element, offset, _)| SpanReference {
            index,
            element,
            offset,
            bytes: place.bytes(reference_bytes),
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
