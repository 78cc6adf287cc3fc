//! What every parser of a container does: look at the bytes at hand, say what they are.

use std::sync::Arc;

use super::span::TypedSpan;

/// What a parser says of the bytes that follow.
#[derive(Debug)]
pub(super) enum Step {
    /// The next `length` bytes (at least 1, may be more than are at hand): the parser goes on behind them.
    Span(TypedSpan),
    /// An earlier tensor, found by its name and path, has turned out to be of this type.
    Late(TypedSpan),
    /// It is worth asking again with so many bytes at hand. The parser may be asked with fewer, and will say the same with fewer if they are enough.
    Need(usize),
    /// The container is over; whatever follows belongs to another one.
    End,
    /// This is not what it seemed to be: nothing can be said of the rest.
    Surprise,
}

/// The parser of one container.
///
/// What it says depends on the bytes from the container's start only, not on how they come: called with more bytes, it says the same as with just enough.
pub(super) trait Parser: Send {
    /// Looks at `input`, the bytes at hand from where the parser stands. `left` is the number of bytes to the end of the container or the stream,
    /// `u64::MAX` while it is unknown; it is at least the length of `input`, and at least 1.
    fn step(&mut self, input: &[u8], left: u64) -> Step;
}

/// Where a container is and how far it may go.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Members that lead to it.
    pub(super) path: Arc<str>,
    /// Containers around it.
    pub(super) depth: u8,
    /// Most bytes to hold.
    pub(super) held: usize,
}

impl Place {
    /// The place of a member of this container.
    pub(super) fn member(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.into() } else { format!("{}:{name}", self.path).into() };
        Self { path, depth: self.depth.saturating_add(1), held: self.held }
    }
}

/// A need for `n` bytes where `left` is the number of bytes to the end: of no more than can come; `None` if no more can come.
pub(super) fn need(n: usize, input: &[u8], left: u64) -> Option<Step> {
    let all = usize::try_from(left).unwrap_or(usize::MAX);
    (input.len() < all).then(|| Step::Need(n.min(all)))
}

/// The little-endian `u16` at `at`.
pub(super) fn u16_at(input: &[u8], at: usize) -> Option<u16> {
    bytes_at(input, at).map(u16::from_le_bytes)
}

/// The little-endian `u32` at `at`.
pub(super) fn u32_at(input: &[u8], at: usize) -> Option<u32> {
    bytes_at(input, at).map(u32::from_le_bytes)
}

/// The little-endian `u64` at `at`.
pub(super) fn u64_at(input: &[u8], at: usize) -> Option<u64> {
    bytes_at(input, at).map(u64::from_le_bytes)
}

/// The `N` bytes at `at`.
pub(super) fn bytes_at<const N: usize>(input: &[u8], at: usize) -> Option<[u8; N]> {
    input.get(at..)?.first_chunk().copied()
}
