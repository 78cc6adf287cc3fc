//! λ, the expected length of what is still to be coded, in quarter bits (spec §10.1).

use crate::core::element::{Class, ElementType};
use crate::core::word::Word;

/// The λ contribution of reference exponents.
#[derive(Clone, Copy, Debug)]
pub struct ExponentTerm {
    mantissa: u32,
    mask: u64,
    /// 4 · (bias + m − shift), what a reference exponent of 0 (taken as 1) adds, less 4.
    offset: i32,
}

impl ExponentTerm {
    /// The term for references of `element` with `shift` bits dropped; `None` for integers, whose λ has no such term.
    #[must_use]
    #[allow(clippy::cast_possible_wrap)]
    pub fn new(element: ElementType, shift: u8) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        let mantissa = mantissa.saturating_sub(u32::from(shift));
        Some(Self { mantissa, mask: (1 << exponent) - 1, offset: 4 * (bias + mantissa as i32) })
    }

    /// What λ has besides −4 · max(E, 1).
    #[must_use]
    pub fn offset(self) -> i32 {
        self.offset
    }

    /// 4 · max(E, 1) of a reference pattern of w' bits.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub fn quarters<W: Word>(self, reference: W) -> i16 {
        let e = (reference >> self.mantissa).low() as u16 & self.mask as u16;
        4 * e.max(1) as i16
    }

    /// −4 · (max(E, 1) − bias − m') of a reference pattern of w' bits.
    #[inline(always)]
    #[must_use]
    pub fn of<W: Word>(self, reference: W) -> i32 {
        self.offset - i32::from(self.quarters(reference))
    }
}

/// Clamps to 16 bits.
#[inline(always)]
#[must_use]
pub fn clamp16(v: i32) -> i32 {
    v.clamp(i32::from(i16::MIN), i32::from(i16::MAX))
}
