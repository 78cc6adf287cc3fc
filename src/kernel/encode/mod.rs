//! The encoder's hot loops (coding-model §4): distances, tokens, masks, and the rANS lanes.
//!
//! Elements come as bytes, symbols leave as steps: bits 0…7 the symbol, bits 8…15 what the caller's map makes of λ, which is a bin while counting and a
//! table while coding. Which stretches of the elements are taken, and under which scale, is told by [`Piece`]s.

mod compiled;
mod distance;
mod lengths;
mod mask;
mod pairs;
mod plain;
mod prefetch;
mod rans;
mod table;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use distance::{Clip, LARGE_UNIT, UNIT, UnitSum, ValueFormat, distances};
pub use lengths::{LengthKind, Lengths};
pub use pairs::Pairs;
pub use plain::Plains;
pub use prefetch::prefetch;
pub use rans::Coder;
pub use table::StepTable;

use std::ops::Range;

use crate::core::thresholds::TableMap;

/// Consecutive elements under one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the first one.
    pub start: usize,
    /// How many. Only the last piece of a substream may be other than a multiple of 32.
    pub length: usize,
    /// Their scale.
    pub scale: i32,
}

/// Where elements are.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The elements' bytes.
    pub next: &'a [u8],
    /// As many bytes of reference; empty where the model uses none.
    pub reference: &'a [u8],
    /// Profile value of each element; empty for zeros.
    pub profiles: &'a [i8],
}

impl<'a> Input<'a> {
    /// Some of the elements, of `width` bytes, as far as they are there.
    #[inline(always)]
    #[must_use]
    pub fn part(&self, elements: Range<usize>, width: usize) -> Input<'a> {
        let bytes = elements.start * width..elements.end * width;
        Input {
            next: self.next.get(bytes.clone()).unwrap_or(&[]),
            reference: self.reference.get(bytes).unwrap_or(&[]),
            profiles: self.profiles.get(elements).unwrap_or(&[]),
        }
    }

    #[inline(always)]
    fn piece(&self, piece: &Piece, width: usize) -> Input<'a> {
        self.part(piece.start..piece.start + piece.length, width)
    }
}

/// Steps, and the raw bits that go with them in words as wide as the element or the pair; bits above those that the token asks for may be anything.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Bytes of a raw word: those of an element, or of two.
    width: usize,
    /// Steps in use.
    count: usize,
    steps: Vec<u16>,
    raws16: Vec<u16>,
    raws32: Vec<u32>,
    raws64: Vec<u64>,
}

/// Elements by which vectors may write past the end.
const SLACK: usize = 64;

impl Symbols {
    /// No symbols, and room for `room` of them with raw bits in words of `width` bytes.
    pub fn clear(&mut self, width: usize, room: usize) {
        fn grow<T: Copy + Default>(values: &mut Vec<T>, length: usize) {
            if values.len() < length {
                // Fresh zero pages: what is never used is never touched.
                *values = vec![T::default(); length];
            }
        }
        self.width = width;
        self.count = 0;
        let length = room + SLACK;
        grow(&mut self.steps, length);
        match width {
            1 => {}
            2 => grow(&mut self.raws16, length),
            4 => grow(&mut self.raws32, length),
            _ => grow(&mut self.raws64, length),
        }
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[u16] {
        self.steps.get(..self.count).unwrap_or(&[])
    }

    /// The raw bits of the steps.
    #[must_use]
    pub fn raws(&self) -> Raws<'_> {
        match self.width {
            1 => Raws::None,
            2 => Raws::U16(self.raws16.get(..self.count).unwrap_or(&[])),
            4 => Raws::U32(self.raws32.get(..self.count).unwrap_or(&[])),
            _ => Raws::U64(self.raws64.get(..self.count).unwrap_or(&[])),
        }
    }
}

/// Raw bits of steps.
#[derive(Clone, Copy, Debug)]
pub enum Raws<'a> {
    /// There are none.
    None,
    /// Up to 16 a step.
    U16(&'a [u16]),
    /// Up to 32 a step.
    U32(&'a [u32]),
    /// Up to 64 a step.
    U64(&'a [u64]),
}

impl<'a> Raws<'a> {
    /// Those of the first `at` steps, and the others.
    fn split(self, at: usize) -> (Self, Self) {
        match self {
            Self::None => (Self::None, Self::None),
            Self::U16(r) => {
                r.split_at_checked(at).map_or((self, Self::U16(&[])), |(a, b)| (Self::U16(a), Self::U16(b)))
            }
            Self::U32(r) => {
                r.split_at_checked(at).map_or((self, Self::U32(&[])), |(a, b)| (Self::U32(a), Self::U32(b)))
            }
            Self::U64(r) => {
                r.split_at_checked(at).map_or((self, Self::U64(&[])), |(a, b)| (Self::U64(a), Self::U64(b)))
            }
        }
    }
}

/// A map from λ to the high byte of steps, with all that clamping λ to 16 bits asks for.
#[derive(Clone, Copy, Debug)]
struct Bins<'a> {
    base: i32,
    /// Largest bin that a λ of 16 bits can have.
    high: i32,
    map: &'a [u8; 256],
    /// The map changes nothing.
    identity: bool,
}

impl<'a> Bins<'a> {
    fn new(map: &'a TableMap) -> Self {
        let base = map.base();
        Self {
            base,
            high: (i32::from(i16::MAX) - base).min(255),
            map: map.bytes(),
            identity: map.bytes().iter().enumerate().all(|(i, &t)| i == usize::from(t)),
        }
    }

    /// What scale and a constant part of λ make of the bin, so near to zero that 16-bit arithmetic with the rest (a profile value, four times an exponent)
    /// cannot overflow, and so far from it that nothing within 0…255 changes.
    #[inline(always)]
    fn offset(&self, scale: i32, constant: i32) -> i32 {
        (scale + constant - self.base).clamp(-16_384, 16_384)
    }

    /// The bin of such an offset with the rest added.
    #[inline(always)]
    fn bin(&self, v: i32) -> u16 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        {
            v.clamp(0, self.high) as u16
        }
    }

    /// Replaces the bins of steps.
    #[inline(always)]
    fn apply(&self, steps: &mut [u16]) {
        if !self.identity {
            for step in steps {
                *step = u16::from(self.map[usize::from(*step >> 8)]) << 8 | (*step & 0xFF);
            }
        }
    }
}
