//! The kinds of a window: all elements that are coded alike, and how.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::core::convert::convert;
use crate::core::element::ElementType;
use crate::encode::estimate::Run;
use crate::encode::frozen::Choice;
use crate::encode::span::InputSpan;
use crate::encode::symbols::{Coding, Elements};
use crate::wire::layout::Kind;

/// A span of a kind, and how many elements of the kind come before it.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The span; without reference where the kind has none.
    pub span: InputSpan<'a>,
    /// Elements of the kind before it in the window.
    pub before: usize,
    /// Values of its profile, or empty.
    pub profile: Arc<[i8]>,
    /// Slot of its profile.
    pub slot: Option<u16>,
}

/// All elements of one kind in a window.
#[derive(Clone, Debug)]
pub struct KindPlan<'a> {
    /// As in the Layout.
    pub kind: Kind,
    /// Low bits that are zero in every element.
    pub shift: u8,
    /// How they are coded; `None`: raw.
    pub coding: Option<Coding>,
    /// λ of bin 0 of the statistics.
    pub base: i16,
    /// Spans in output order.
    pub members: Vec<Member<'a>>,
    /// Frozen banks to choose from; none where it has a bank of its own. `coding` is that of the first.
    pub frozen: Vec<Choice>,
    /// How many elements of each `SAMPLED_STEP` are counted for a bank of its own; `None`: all.
    pub sampling: Option<usize>,
}

/// Elements of a kind made contiguous.
#[derive(Debug)]
pub struct Gathered<'a> {
    next: Cow<'a, [u8]>,
    reference: Cow<'a, [u8]>,
    profiles: Vec<i8>,
}

impl Gathered<'_> {
    /// As the models take them.
    #[must_use]
    pub fn elements(&self) -> Elements<'_> {
        Elements { next: &self.next, reference: &self.reference, profiles: &self.profiles }
    }

    /// As a sample.
    #[must_use]
    pub fn into_run(self) -> Run {
        Run { next: self.next.into_owned(), reference: self.reference.into_owned(), profiles: self.profiles }
    }
}

impl<'a> KindPlan<'a> {
    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.members.last().map_or(0, |m| m.before + m.span.elements())
    }

    /// Elements `range` of the kind, contiguous, references converted to the kind's type.
    #[must_use]
    pub fn gather(&self, range: Range<usize>) -> Gathered<'a> {
        let first = self.members.partition_point(|m| m.before + m.span.elements() <= range.start);
        let mut parts = self.members[first..]
            .iter()
            .take_while(|m| m.before < range.end)
            .map(|m| {
                let start = range.start.saturating_sub(m.before);
                let end = (range.end - m.before).min(m.span.elements());
                (m.span.part(start, end), start, m)
            })
            .peekable();
        let mut result = Gathered { next: Cow::Borrowed(&[]), reference: Cow::Borrowed(&[]), profiles: Vec::new() };
        let inside = |m: &&Member<'_>| m.before < range.end;
        let profiles = self.members[first..].iter().take_while(inside).any(|m| !m.profile.is_empty());
        let mut single = true;
        while let Some((part, start, member)) = parts.next() {
            let reference = match part.reference {
                Some(r) => convert(r.bytes, r.element, part.element),
                None => Cow::Borrowed(&[][..]),
            };
            if single && parts.peek().is_none() {
                result.next = Cow::Borrowed(part.next);
                result.reference = reference;
            } else {
                result.next.to_mut().extend_from_slice(part.next);
                result.reference.to_mut().extend_from_slice(&reference);
            }
            single = false;
            if profiles {
                let count = part.elements();
                if member.profile.is_empty() {
                    result.profiles.resize(result.profiles.len() + count, 0);
                } else {
                    let values = member.profile.iter().copied().cycle();
                    result.profiles.extend(values.skip(start % member.profile.len()).take(count));
                }
            }
        }
        result
    }
}

/// The lowest bit set in any element, as the number of zero bits below it; the width where all are zero.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn trailing_zeros(bytes: &[u8], element: ElementType) -> u8 {
    let width = element.width();
    // Bytes of equal significance are one another's OR; the whole is at most eight of them.
    let mut or = [0u8; 8];
    for chunk in bytes.chunks_exact(width) {
        for (a, b) in or.iter_mut().zip(chunk) {
            *a |= b;
        }
        if or[0] & 1 == 1 {
            return 0;
        }
    }
    u64::from_le_bytes(or).trailing_zeros().min(8 * width as u32) as u8
}
