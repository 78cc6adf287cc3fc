//! Tensors that a header gives offsets to, in any order: brought into the order of the file, with what lies between them.

use super::MAX_PADDING;
use super::span::TypedSpan;

/// Something at a place in a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<T> {
    /// First byte, from the start of the body.
    pub(super) begin: u64,
    /// First byte behind it; not before `begin`.
    pub(super) end: u64,
    /// What is there.
    pub(super) what: T,
}

/// What comes next in the body.
#[derive(Debug)]
pub(super) enum Next<T> {
    /// Bytes of no item.
    Between(TypedSpan),
    /// An item, whole.
    Item(Item<T>),
}

/// Items in the order of their offsets.
#[derive(Debug)]
pub(super) struct Placed<T> {
    items: std::vec::IntoIter<Item<T>>,
    ahead: Option<Item<T>>,
    at: u64,
}

impl<T: Copy> Placed<T> {
    /// Sorts the items. Of several at the same place the first one stays; of one that begins inside another only the part behind that is left, as bytes
    /// of unknown type.
    pub(super) fn new(mut items: Vec<Item<T>>) -> Self {
        items.sort_by_key(|item| item.begin);
        Self { items: items.into_iter(), ahead: None, at: 0 }
    }

    /// The item that comes next, or the bytes before it; `None` behind the last one.
    pub(super) fn next(&mut self) -> Option<Next<T>> {
        loop {
            let item = self.ahead.take().or_else(|| self.items.next())?;
            if item.end <= self.at {
                continue;
            }
            if item.begin > self.at {
                let gap = item.begin - self.at;
                self.at = item.begin;
                self.ahead = Some(item);
                return Some(Next::Between(TypedSpan::bytes(gap, gap <= MAX_PADDING)));
            }
            let overlaps = item.begin < self.at;
            let rest = item.end - self.at;
            self.at = item.end;
            return Some(if overlaps { Next::Between(TypedSpan::bytes(rest, false)) } else { Next::Item(item) });
        }
    }
}
