//! The table of a listing: what each tensor is and what it has come to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::container::{LayoutReader, Tensor, TypedSpan};
use crate::core::element::ElementType;
use crate::decode::chunk::Chunk;
use crate::decode::parts::Part;
use crate::wire::chunk_header::Method;

/// What is known of the names of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// The containers' headers have been read, where there are any.
    #[default]
    Known,
    /// A header is coded against a reference that was not given, or not the right one: from there on rows have no names.
    NeedReference,
    /// A chunk with a header is damaged.
    Damaged,
}

/// A tensor, or all bytes of one type that belong to none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Name, after the members of archives that lead to it; `None` for bytes between tensors and of unknown ones.
    pub name: Option<String>,
    /// Element type.
    pub element: ElementType,
    /// Dimensions, the last one contiguous; empty for scalars and where the container does not tell.
    pub shape: Vec<u64>,
    /// First byte of the content.
    pub offset: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Bytes of substreams that they have come to: of a substream that several share, each has its part by bytes.
    pub coded: u64,
    /// Bytes of content by method.
    pub methods: BTreeMap<&'static str, u64>,
}

/// Rows in the making.
#[derive(Default)]
pub(crate) struct Table {
    tensors: Vec<(Arc<Tensor>, Row)>,
    others: BTreeMap<ElementType, Row>,
    reader: LayoutReader,
    pub(crate) names: Names,
}

impl Table {
    /// Passes over the next `length` bytes of the content as far as the names can do without them; returns how far.
    pub(crate) fn pass(&mut self, length: u64) -> u64 {
        if self.names != Names::Known {
            return length;
        }
        let mut passed = 0;
        while passed < length {
            self.reader.advance();
            let skip = self.reader.skippable().min(length - passed);
            if skip == 0 {
                break;
            }
            self.reader.skip(skip);
            passed += skip;
        }
        passed
    }

    /// Takes in a chunk that begins at `start`: with the part of its content that has not been passed over.
    pub(crate) fn take(&mut self, chunk: &Chunk, start: u64, rest: &[u8]) {
        let length = u64::from(chunk.header.output_length);
        let spans = if self.names == Names::Known {
            self.reader.push(rest);
            // A span that goes on is cut between two elements: the rest of it comes with the next chunk.
            self.reader.take(start + length)
        } else {
            Vec::new()
        };
        self.count(chunk, start, &spans);
    }

    fn count(&mut self, chunk: &Chunk, start: u64, spans: &[TypedSpan]) {
        let mut kinds: Vec<u8> = chunk.parts.iter().map(|p| p.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for (kind, substream) in kinds.into_iter().zip(&chunk.header.substreams) {
            let parts = || chunk.parts.iter().filter(move |p| p.kind == kind);
            let total: u64 = parts().map(|p| p.output.len() as u64).sum();
            let data = u64::from(substream.length);
            // Shares by position: whatever they are, they add up.
            let share = |before: u64| u128::from(data) * u128::from(before) / u128::from(total.max(1));
            let mut before = 0;
            for part in parts() {
                for (range, span) in pieces(part, start, spans) {
                    let bytes = range.end - range.start;
                    let coded = u64::try_from(share(before + bytes) - share(before)).unwrap_or(0);
                    before += bytes;
                    self.add(range.start, bytes, coded, substream.method, part.element, span);
                }
            }
        }
    }

    fn add(
        &mut self,
        offset: u64,
        bytes: u64,
        coded: u64,
        method: Method,
        element: ElementType,
        span: Option<&TypedSpan>,
    ) {
        let empty = |element, name, shape| {
            let methods = BTreeMap::new();
            Row { name, element, shape, offset, bytes: 0, coded: 0, methods }
        };
        let tensor = span.and_then(|s| s.tensor.as_ref());
        let row = match tensor {
            // Tensors come one after another.
            Some(tensor) if self.tensors.last().is_some_and(|(last, _)| Arc::ptr_eq(last, tensor)) => {
                self.tensors.last_mut().map(|t| &mut t.1)
            }
            Some(tensor) => {
                // In a chunk, the parts of several tensors may come kind by kind.
                let known = self.tensors.iter().rposition(|(other, _)| Arc::ptr_eq(other, tensor));
                let at = known.unwrap_or_else(|| {
                    let element = span.filter(|s| s.known).map_or(element, |s| s.element);
                    let row = empty(element, Some(tensor.to_string()), tensor.shape.to_vec());
                    self.tensors.push((Arc::clone(tensor), row));
                    self.tensors.len() - 1
                });
                self.tensors.get_mut(at).map(|t| &mut t.1)
            }
            None => Some(self.others.entry(element).or_insert_with(|| empty(element, None, Vec::new()))),
        };
        if let Some(row) = row {
            row.offset = row.offset.min(offset);
            row.bytes += bytes;
            row.coded += coded;
            *row.methods.entry(method.name()).or_default() += bytes;
        }
    }

    /// The rows: tensors in the order of the content, then what belongs to none.
    pub(crate) fn rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.tensors.into_iter().map(|t| t.1).collect();
        rows.sort_by_key(|row| row.offset);
        rows.extend(self.others.into_values());
        rows
    }
}

/// A part of a chunk that begins at `start`, cut at the ends of the spans that a container tells.
fn pieces<'a>(part: &Part, start: u64, spans: &'a [TypedSpan]) -> Vec<(Range<u64>, Option<&'a TypedSpan>)> {
    let range = start + part.output.start as u64..start + part.output.end as u64;
    let mut pieces = Vec::new();
    let mut at = range.start;
    let first = spans.partition_point(|s| s.end() <= range.start);
    for span in spans.get(first..).unwrap_or(&[]).iter().take_while(|s| s.offset < range.end) {
        if span.offset > at {
            pieces.push((at..span.offset, None));
            at = span.offset;
        }
        let end = span.end().min(range.end);
        pieces.push((at..end, Some(span)));
        at = end;
    }
    if at < range.end {
        pieces.push((at..range.end, None));
    }
    pieces
}
