//! What the encoder is given: typed spans of a window and their reference bytes.

use crate::core::element::ElementType;

/// Elements of the content and, where there is one, their reference.
#[derive(Clone, Copy, Debug)]
pub struct InputSpan<'a> {
    /// Element type.
    pub element: ElementType,
    /// Whole elements, at least one.
    pub next: &'a [u8],
    /// Row length in elements, 0 where unknown. The span begins at column 0.
    pub columns: u32,
    /// Where the same numbers stand in a reference.
    pub reference: Option<SpanReference<'a>>,
}

/// A reference range with as many elements as the span.
#[derive(Clone, Copy, Debug)]
pub struct SpanReference<'a> {
    /// Index of the reference.
    pub index: u8,
    /// Element type there: the span's, or another float type where that is a float type.
    pub element: ElementType,
    /// First byte in the reference.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl InputSpan<'_> {
    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.next.len() / self.element.width()
    }

    /// Elements `start` … `end` − 1 of this span.
    #[must_use]
    pub fn part(&self, start: usize, end: usize) -> Self {
        let width = self.element.width();
        let slice = |bytes: &'_ [u8], width: usize| start * width..(end * width).min(bytes.len());
        Self {
            next: self.next.get(slice(self.next, width)).unwrap_or(&[]),
            reference: self.reference.map(|r| {
                let width = r.element.width();
                SpanReference {
                    offset: r.offset + (start * width) as u64,
                    bytes: r.bytes.get(slice(r.bytes, width)).unwrap_or(&[]),
                    ..r
                }
            }),
            ..*self
        }
    }
}
