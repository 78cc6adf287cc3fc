//! Spans: runs of a stream that hold elements of one type.

use std::fmt;
use std::sync::Arc;

use crate::core::element::ElementType;

/// A tensor, as its container describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Members of archives that lead to the tensor, from the outermost, joined with `:`; empty where the tensor is not inside an archive.
    pub path: Arc<str>,
    /// The name its container gives it: key, dotted path of dictionary keys, or name of the record. Empty where the container has none.
    pub name: Box<str>,
    /// Dimensions in the order of memory, the last one contiguous; empty for scalars and where the container does not tell.
    pub shape: Box<[u64]>,
    /// Length in bytes; `None` where it becomes known only at the end.
    pub length: Option<u64>,
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}:", self.path)?;
        }
        f.write_str(&self.name)
    }
}

/// A run of elements of one type, or of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedSpan {
    /// Offset in the stream, in bytes.
    pub offset: u64,
    /// Length in bytes, a multiple of the element's width.
    pub length: u64,
    /// Type of the elements; bytes for headers, gaps and whatever is unknown.
    pub element: ElementType,
    /// Whether the container vouches for the type. Where it does not, only statistics can tell.
    pub known: bool,
    /// Row length in elements (of bytes: the period of a record); 0 where there are no rows.
    pub columns: u32,
    /// The tensor the span belongs to; `None` for headers, padding and unknown bytes.
    pub tensor: Option<Arc<Tensor>>,
    /// Bytes of the tensor (or of the typed gap) before this span.
    pub within: u64,
}

impl TypedSpan {
    /// Bytes that belong to no tensor; `known` where they are certainly no elements of another type.
    pub(super) fn bytes(length: u64, known: bool) -> Self {
        Self { offset: 0, length, element: ElementType::Bytes, known, columns: 0, tensor: None, within: 0 }
    }

    /// All of a tensor, `length` bytes.
    pub(super) fn tensor(tensor: Tensor, length: u64, element: ElementType, columns: u32) -> Self {
        Self { offset: 0, length, element, known: true, columns, tensor: Some(Arc::new(tensor)), within: 0 }
    }

    /// Offset of the first byte behind the span.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Whether `next` continues this span.
    fn continues(&self, next: &Self) -> bool {
        let same_tensor = match (&self.tensor, &next.tensor) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_tensor
            && next.within == self.within_after(self.length)
            && self.end() == next.offset
            && self.element == next.element
            && self.known == next.known
            && self.columns == next.columns
    }

    /// Appends `next` if it continues this span.
    pub(super) fn merge(&mut self, next: &Self) -> bool {
        let continues = self.continues(next);
        if continues {
            self.length = self.length.saturating_add(next.length);
        }
        continues
    }

    /// Splits off what lies behind the first `length` bytes.
    pub(super) fn split_off(&mut self, length: u64) -> Self {
        let length = length.min(self.length);
        let rest = Self {
            offset: self.offset.saturating_add(length),
            length: self.length - length,
            within: self.within_after(length),
            ..self.clone()
        };
        self.length = length;
        rest
    }

    fn within_after(&self, length: u64) -> u64 {
        if self.tensor.is_some() || self.element != ElementType::Bytes { self.within.saturating_add(length) } else { 0 }
    }

    /// Turns a piece of a tensor that is not made of whole elements into bytes of unknown type.
    pub(super) fn forget(&mut self) {
        self.element = ElementType::Bytes;
        self.known = false;
        self.columns = 0;
    }

    /// Width of an element.
    pub(super) fn width(&self) -> u64 {
        self.element.width() as u64
    }
}

/// Row length, in elements, of a tensor of this shape: its last dimension where there are at least two. An item of several elements is a row by itself.
pub(super) fn columns_of(shape: &[u64], elements: u64) -> u32 {
    let columns = match shape {
        [.., _, last] => *last,
        _ if elements > 1 => 1,
        _ => 0,
    };
    columns.checked_mul(elements).and_then(|columns| u32::try_from(columns).ok()).unwrap_or(0)
}

/// Number of elements of a tensor of this shape.
pub(super) fn elements_of(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))
}
