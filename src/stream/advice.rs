//! What the layout layer and the matching advise about a window: types, row lengths, places in the references.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::container::{Layout, LayoutReader, Tensor, TypedSpan};
use crate::core::convert::convert;
use crate::core::element::ElementType;
use crate::encode::choose::estimate;
use crate::encode::estimate::Run;
use crate::encode::typing::{Guess, guess, segment};
use crate::error::Result;
use crate::matching::{Candidate, Catalog, Matcher};
use crate::stream::read_at::Cursor;
use crate::stream::reference::{RandomAccess, Source};
use crate::stream::window::TypedRange;

/// Gaps up to this length are compared with the reference's bytes to find their place.
const COMPARED: u64 = 1 << 16;
/// Elements looked at to choose between candidates.
const SAMPLE: usize = 1 << 12;
/// Unknown stretches shorter than this are bytes.
const SMALLEST_GUESS: usize = 256;
/// Rows longer than this may be cut by a window.
const LONGEST_ROW: u64 = 1 << 20;

/// Advises the encoder, window by window.
pub(crate) struct Advisor {
    reader: LayoutReader,
    pending: VecDeque<TypedSpan>,
    matcher: Matcher,
    /// The tensor being matched, and what was found for its first byte.
    current: Option<(Arc<Tensor>, Option<Candidate>)>,
    /// Reference and offset where the last match ended, and the content offset there.
    cursor: Option<(u8, u64, u64)>,
    guess: Option<Guess>,
}

impl Advisor {
    /// An advisor for a content to be coded against these references.
    pub(crate) fn new(references: &mut [Source]) -> Result<Self> {
        let mut catalog = Catalog::default();
        for (index, source) in (0u8..).zip(references) {
            match source.random() {
                Some(random) => {
                    let layout = Layout::of_file(&mut Cursor::new(random))?;
                    catalog.add(index, layout.tensors());
                }
                None => {
                    // A pipe tells what its first bytes tell: the header of a safetensors file, say.
                    let spans = foretold(source.peek()?);
                    catalog.add(index, spans.iter().filter(|s| s.tensor.is_some()));
                }
            }
        }
        Ok(Self {
            reader: LayoutReader::new(),
            pending: VecDeque::new(),
            matcher: Matcher::new(catalog),
            current: None,
            cursor: None,
            guess: None,
        })
    }

    /// Takes the next bytes of the content.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.reader.push(bytes);
    }

    /// Bytes that a container lacks, at least, where the content ends here.
    pub(crate) fn missing(&self) -> u64 {
        self.reader.missing()
    }

    /// The content has ended.
    pub(crate) fn finish(&mut self) {
        self.reader.finish();
    }

    /// Whether all tensors, known from the content's `head` to its end, have their counterparts at their own offsets, or there are none to move.
    pub(crate) fn in_place(&self, head: &[u8], references: &[Source]) -> bool {
        let Some(length) = references.first().and_then(Source::random).map(RandomAccess::len) else {
            return false;
        };
        let mut probe = Matcher::new(self.matcher.catalog().clone());
        let mut end = 0;
        for span in foretold(head) {
            end = end.max(span.end());
            if span.tensor.is_some() && span.within == 0 {
                let found = probe.candidates(&span);
                let own = |c: &Candidate| c.offset == span.offset && c.element.width() == span.element.width();
                if !found.first().is_none_or(own) {
                    return false;
                }
            }
        }
        end >= length
    }

    /// How many of the `length` bytes at content offset `start` make a good window: up to the start of a span near the end, else whole rows.
    pub(crate) fn cut(&mut self, start: u64, length: usize) -> usize {
        let end = start + length as u64;
        self.pending.extend(self.reader.take(end));
        let near = end - length as u64 / 8;
        let last = self.pending.back().filter(|s| s.end() <= end);
        let cut = match last {
            Some(span) if span.offset >= near && span.offset > start => span.offset,
            Some(span) => {
                let width = span.element.width() as u64;
                let row = u64::from(span.columns.max(1)) * width;
                let unit = if row <= LONGEST_ROW { row } else { width };
                let from = span.offset.max(start);
                // Windows of unknown bytes end at multiples of 64, so that elements keep their phase.
                let unit = if span.known { unit } else { 64 };
                let whole = if span.known {
                    let before = span.within + (from - span.offset);
                    (before + (end - from)) / unit * unit - before.min((before + (end - from)) / unit * unit)
                } else {
                    end / unit * unit - from.min(end / unit * unit)
                };
                from + whole
            }
            None => end,
        };
        usize::try_from(cut.saturating_sub(start)).ok().filter(|&n| n > 0).unwrap_or(length)
    }

    /// Types and places of the window `data`, which begins at content offset `start`.
    pub(crate) fn ranges(&mut self, data: &[u8], start: u64, references: &mut [Source]) -> Result<Vec<TypedRange>> {
        let end = start + data.len() as u64;
        self.pending.extend(self.reader.take(end));
        let mut spans = Vec::new();
        while let Some(span) = self.pending.pop_front() {
            if span.offset >= end {
                self.pending.push_front(span);
                break;
            }
            let (inside, rest) = split(span, end);
            spans.push(inside);
            if let Some(rest) = rest {
                self.pending.push_front(rest);
                break;
            }
        }
        let mut ranges: Vec<TypedRange> = Vec::with_capacity(spans.len());
        for span in spans {
            #[allow(clippy::cast_possible_truncation)]
            let bytes = (span.offset - start) as usize..(span.end() - start) as usize;
            let content = data.get(bytes.clone()).unwrap_or(&[]);
            if span.known || content.len() < SMALLEST_GUESS {
                self.known(&span, bytes, content, references, &mut ranges)?;
            } else {
                self.unknown(start, bytes, data, references, &mut ranges)?;
            }
        }
        self.place_gaps(data, start, references, &mut ranges)?;
        Ok(ranges)
    }

    /// A span whose type is known.
    fn known(
        &mut self,
        span: &TypedSpan,
        bytes: Range<usize>,
        content: &[u8],
        references: &mut [Source],
        ranges: &mut Vec<TypedRange>,
    ) -> Result<()> {
        let mut reference = None;
        if let Some(tensor) = &span.tensor {
            let known = self.current.as_ref().filter(|(t, _)| Arc::ptr_eq(t, tensor)).map(|(_, c)| *c);
            let found = match known {
                Some(found) => found,
                None => {
                    let candidates = self.matcher.candidates(span);
                    let found = choose(span, content, &candidates, references)?;
                    self.current = Some((tensor.clone(), found));
                    found
                }
            };
            reference = found.and_then(|c| {
                let within = span.within / span.element.width() as u64 * c.element.width() as u64;
                (within < c.available).then(|| (c.reference, c.element, c.offset + within, c.available - within))
            });
        }
        if let Some((index, element, offset, available)) = reference {
            let length = (content.len() / span.element.width() * element.width()) as u64;
            self.cursor = Some((index, offset + length.min(available), span.end()));
        }
        let columns = if span.within.is_multiple_of(u64::from(span.columns.max(1)) * span.element.width() as u64) {
            span.columns
        } else {
            0
        };
        ranges.push(TypedRange { bytes, element: span.element, columns, reference, gap: span.tensor.is_none() });
        Ok(())
    }

    /// A stretch whose types the statistics must tell.
    fn unknown(
        &mut self,
        start: u64,
        bytes: Range<usize>,
        data: &[u8],
        references: &mut [Source],
        ranges: &mut Vec<TypedRange>,
    ) -> Result<()> {
        let mut at = bytes.start;
        let mut sample = Vec::new();
        while at < bytes.end {
            let offset = start + at as u64;
            let end = bytes.end.min((at + segment(offset)) & !63).max(bytes.end.min(at + 64));
            // Where the last match ended, else at the same offset.
            let (index, place) = match self.cursor {
                Some((index, to, from)) => (index, to.saturating_add(offset - from)),
                None => (0, offset),
            };
            sample.clear();
            let mut usable = !references.is_empty();
            if let Some(source) = references.get_mut(usize::from(index)) {
                usable = source.reachable(place);
                if usable {
                    source.sample(index.into(), place, end - at, &mut sample)?;
                }
            }
            let found = guess(&data[at..end], &sample, self.guess, offset);
            self.guess = Some(found);
            let first = (at + found.phase(offset)).min(end);
            let whole = first + (end - first) / found.element.width() * found.element.width();
            for (from, to, element) in
                [(at, first, ElementType::Bytes), (first, whole, found.element), (whole, end, ElementType::Bytes)]
            {
                if to > from {
                    let place = place + (from - at) as u64;
                    let reference = usable.then_some((index, element, place, u64::MAX));
                    ranges.push(TypedRange { bytes: from..to, element, columns: 0, reference, gap: false });
                }
            }
            at = end;
        }
        Ok(())
    }

    /// Headers and other bytes between tensors: after the tensor before, before the tensor after, or at the same offset, whichever has most bytes equal.
    fn place_gaps(
        &mut self,
        data: &[u8],
        start: u64,
        references: &mut [Source],
        ranges: &mut [TypedRange],
    ) -> Result<()> {
        let mut sample = Vec::new();
        let mut before: Option<(u8, u64)> = None;
        for i in 0..ranges.len() {
            let range = ranges[i].clone();
            let length = range.bytes.len() as u64;
            let ended = |r: &TypedRange| {
                r.reference.map(|(index, element, offset, available)| {
                    let bytes = (r.bytes.len() / r.element.width() * element.width()) as u64;
                    (index, offset + bytes.min(available))
                })
            };
            if !range.gap {
                before = ended(&range).or(before);
                continue;
            }
            let after = ranges.get(i + 1..).and_then(|rest| rest.iter().find_map(|r| r.reference));
            let offset = start + range.bytes.start as u64;
            let mut places: Vec<(u8, u64)> = Vec::new();
            places.extend(before);
            places.extend(after.and_then(|(index, _, to, _)| Some((index, to.checked_sub(length)?))));
            if !references.is_empty() {
                places.push((0, offset));
            }
            let content = data.get(range.bytes.clone()).unwrap_or(&[]);
            let mut best = (0, None);
            for (index, place) in places {
                let Some(source) = references.get_mut(usize::from(index)) else { continue };
                if !source.reachable(place) {
                    continue;
                }
                if length > COMPARED {
                    best.1 = best.1.or(Some((index, place)));
                    continue;
                }
                source.sample(index.into(), place, content.len(), &mut sample)?;
                let equal = sample.iter().zip(content).filter(|(a, b)| a == b).count();
                if equal > best.0 {
                    best = (equal, Some((index, place)));
                }
            }
            if let Some((index, place)) = best.1 {
                ranges[i].reference = Some((index, ElementType::Bytes, place, u64::MAX));
                before = Some((index, place + length));
            }
        }
        Ok(())
    }
}

/// Most spans that are foretold.
const MOST_FORETOLD: usize = 1 << 21;

/// What a file that begins with `head` holds as far as its header tells: the spans inside `head`, and those behind it that need no further bytes to be known.
fn foretold(head: &[u8]) -> Vec<TypedSpan> {
    let mut reader = LayoutReader::new();
    reader.push(head);
    let mut spans = Vec::new();
    loop {
        let skip = reader.skippable();
        let known = reader.announced().last().is_some_and(|s| s.known);
        // What goes on to the end, wherever that is, foretells nothing behind it.
        let endless = skip > u64::MAX >> 1;
        if skip < 2 || endless || !known || spans.len() > MOST_FORETOLD {
            break;
        }
        // A parser that goes by its header alone does not mind that the bytes are not there.
        reader.skip(skip - 1);
        reader.push(&[0]);
        spans.extend(reader.take(reader.position()));
        reader.push(&[0]);
    }
    spans.extend(reader.announced().cloned());
    spans
}

/// The span up to content offset `end`, and the rest.
fn split(span: TypedSpan, end: u64) -> (TypedSpan, Option<TypedSpan>) {
    if span.end() <= end {
        return (span, None);
    }
    let length = end - span.offset;
    let rest = TypedSpan {
        offset: end,
        length: span.length - length,
        within: if span.tensor.is_some() || span.element != ElementType::Bytes { span.within + length } else { 0 },
        ..span.clone()
    };
    (TypedSpan { length, ..span }, Some(rest))
}

/// The candidate under which a sample of the tensor costs least.
fn choose(
    span: &TypedSpan,
    content: &[u8],
    candidates: &[Candidate],
    references: &mut [Source],
) -> Result<Option<Candidate>> {
    let reachable = |c: &&Candidate, references: &[Source]| {
        references.get(usize::from(c.reference)).is_some_and(|s| s.reachable(c.offset))
    };
    let candidates: Vec<Candidate> = candidates.iter().filter(|c| reachable(c, references)).copied().collect();
    if candidates.len() < 2 {
        return Ok(candidates.first().copied());
    }
    let width = span.element.width();
    let count = (content.len() / width).min(SAMPLE);
    let mut best: Option<(u64, Candidate)> = None;
    for candidate in candidates {
        let Some(random) = references.get(usize::from(candidate.reference)).and_then(Source::random) else {
            continue;
        };
        let mut bytes = vec![0; count * candidate.element.width()];
        let got = random.read_at(&mut bytes, candidate.offset)?;
        if got < bytes.len() {
            continue;
        }
        let reference = convert(&bytes, candidate.element, span.element).into_owned();
        let next = content.get(..count * width).unwrap_or(&[]).to_vec();
        let cost = estimate(span.element, true, &[Run { next, reference, profiles: Vec::new() }]);
        if best.as_ref().is_none_or(|b| cost < b.0) {
            best = Some((cost, candidate));
        }
    }
    Ok(best.map(|b| b.1))
}
