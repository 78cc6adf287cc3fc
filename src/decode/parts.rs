//! Which parts of which spans a chunk holds (spec §6.1, §7).

use std::ops::Range;

use crate::core::element::ElementType;
use crate::error::{Error, Result};
use crate::wire::layout::{KindReference, Layout};

/// The part of a span inside a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Kind.
    pub kind: u8,
    /// Element type.
    pub element: ElementType,
    /// Bytes of the chunk's content.
    pub output: Range<usize>,
    /// First element of the part, counted from the span's first.
    pub first: u64,
    /// Profile slot.
    pub profile: Option<u16>,
    /// The kind's reference.
    pub reference: Option<KindReference>,
    /// First byte of the part's reference range.
    pub reference_offset: u64,
}

impl Part {
    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.output.len() / self.element.width()
    }

    /// Bytes of the reference range.
    #[must_use]
    pub fn reference_length(&self) -> usize {
        self.reference.map_or(0, |r| self.elements() * r.element.width())
    }
}

/// The parts of content `start` … `start + length − 1`, in output order.
///
/// # Errors
/// ULP-CHK-03.
#[allow(clippy::cast_possible_truncation)]
pub fn parts(layout: &Layout, start: u64, length: u32) -> Result<Vec<Part>> {
    let end = start + u64::from(length);
    let first = layout.spans.partition_point(|s| s.offset + layout.span_bytes(s) <= start);
    let mut at = start;
    let mut parts = Vec::new();
    for span in layout.spans.get(first..).unwrap_or(&[]) {
        if span.offset >= end {
            break;
        }
        let kind = layout.kind_of(span);
        let width = kind.element.width() as u64;
        let from = start.max(span.offset) - span.offset;
        let to = end.min(span.offset + layout.span_bytes(span)) - span.offset;
        if from % width != 0 || !to.is_multiple_of(width) {
            return Err(Error::Contradiction { field: "chunk boundary", expected: end, actual: span.offset });
        }
        let reference_width = kind.reference.map_or(0, |r| r.element.width() as u64);
        parts.push(Part {
            kind: span.kind,
            element: kind.element,
            output: (span.offset + from - start) as usize..(span.offset + to - start) as usize,
            first: from / width,
            profile: span.profile,
            reference: kind.reference,
            reference_offset: span.reference_offset + from / width * reference_width,
        });
        at = span.offset + to;
    }
    if at != end {
        return Err(Error::Contradiction { field: "end of the Layout", expected: end, actual: at });
    }
    Ok(parts)
}

/// The reference ranges of the parts of kinds that use the reference, in output order: index, bytes. Neighbours are one.
pub fn reference_ranges(parts: &[Part], uses_reference: impl Fn(u8) -> bool) -> Vec<(u8, Range<u64>)> {
    let mut ranges: Vec<(u8, Range<u64>)> = Vec::new();
    for part in parts.iter().filter(|p| uses_reference(p.kind)) {
        let Some(reference) = part.reference else { continue };
        let range = part.reference_offset..part.reference_offset + part.reference_length() as u64;
        match ranges.last_mut() {
            Some((index, last)) if *index == reference.index && last.end == range.start => last.end = range.end,
            _ => ranges.push((reference.index, range)),
        }
    }
    ranges
}
