//! Sums of |next − reference|, or of |next|, over units of elements, for every element type.

use crate::core::element::{Class, ElementType};
use crate::core::residual::{Ring, zigzag};
use crate::core::word::Word;
use crate::encode::magnitude::Magnitude;
use crate::kernel::Kernel;
use crate::kernel::encode::{Clip, Input, LARGE_UNIT, UNIT, UnitSum, ValueFormat, distances};
use crate::with_word;

/// Magnitudes of units, large or small, of elements whose `shift` low bits are dropped; of differences where there are references.
#[must_use]
pub fn units(
    kernel: Kernel,
    element: ElementType,
    shift: u8,
    large: bool,
    clip: Option<Clip>,
    input: &Input<'_>,
) -> Vec<UnitSum> {
    if let Some(format) = ValueFormat::of(element) {
        let mut sums = Vec::new();
        distances(kernel, format, shift.into(), large, clip, input, &mut sums);
        return sums;
    }
    let wide = Wide::new(element, shift);
    let count = input.next.len() / element.width();
    let unit = if large { LARGE_UNIT } else { UNIT };
    let mut result = Vec::with_capacity(count.div_ceil(unit));
    with_word!(element.width(), W => {
        for at in (0..count).step_by(unit) {
            let end = count.min(at + unit);
            let mut values = [(0u64, 0i32); LARGE_UNIT];
            let mut nonzero = false;
            for (i, value) in (at..end).zip(&mut values) {
                let next = W::load(input.next, i).wide() >> shift;
                let (magnitude, exponent) = if input.reference.is_empty() {
                    nonzero |= next != 0;
                    wide.magnitude(next)
                } else {
                    let reference = W::load(input.reference, i).wide() >> shift;
                    nonzero |= next != reference;
                    wide.distance(next, reference)
                };
                *value = weigh(magnitude, exponent, input.profiles.get(i).map_or(0, |&p| p.into()));
            }
            result.push(Magnitude::of(nonzero, values[..end - at].iter().copied()).unit());
        }
    });
    result
}

/// 2^(k/4) with 14 fraction bits.
const QUARTER: [u64; 4] = [16_384, 19_484, 23_170, 27_554];

/// `magnitude` · 2^(`exponent` − profile/4).
#[inline(always)]
#[must_use]
pub fn weigh(mut magnitude: u64, mut exponent: i32, profile: i32) -> (u64, i32) {
    if profile == 0 {
        return (magnitude, exponent);
    }
    if magnitude >> 48 != 0 {
        magnitude >>= 16;
        exponent += 16;
    }
    let q = -profile;
    #[allow(clippy::cast_sign_loss)]
    let factor = QUARTER[(q & 3) as usize];
    (magnitude * factor, exponent + (q >> 2) - 14)
}

/// Bits below the larger significand that a distance keeps.
const GUARD: u32 = 8;

/// Values of float patterns of w' bits, as integers times powers of two.
#[derive(Clone, Copy, Debug)]
pub struct Float {
    mantissa: u32,
    exponent: u32,
    bias: i32,
}

impl Float {
    /// Floats of a type with `shift` low bits dropped; `None` for integers.
    #[must_use]
    pub fn new(element: ElementType, shift: u8) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        Some(Self { mantissa: mantissa.saturating_sub(u32::from(shift)), exponent, bias })
    }

    /// Significand and exponent of a pattern; zero for infinities and NaN, which would drown all else.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub fn significand(self, u: u64) -> (u64, i32) {
        let mask = (1u64 << self.exponent) - 1;
        let e = (u >> self.mantissa) & mask;
        if e == mask {
            return (0, 0);
        }
        let low = u & ((1 << self.mantissa) - 1);
        let lead = if e > 0 { 1 << self.mantissa } else { 0 };
        (low | lead, e.max(1) as i32 - self.bias - self.mantissa as i32)
    }

    /// |next − reference| as a significand and an exponent, to eight bits below the larger one's last.
    ///
    /// Not the residual in ulps: that counts an octave that is crossed as much as the octave of the reference.
    #[inline(always)]
    #[must_use]
    pub fn distance(self, next: u64, reference: u64) -> (u64, i32) {
        let (a, ea) = self.significand(next);
        let (b, eb) = self.significand(reference);
        let e = ea.max(eb);
        let aligned = |significand: u64, exponent: i32| (significand << GUARD) >> (e - exponent).min(63);
        let (a, b) = (aligned(a, ea), aligned(b, eb));
        let negative = (next ^ reference) >> (self.mantissa + self.exponent) & 1 == 1;
        #[allow(clippy::cast_possible_wrap)]
        (if negative { a + b } else { a.abs_diff(b) }, e - GUARD as i32)
    }
}

/// Integers, and floats that binary32 cannot hold.
struct Wide {
    ring: Ring,
    signed: bool,
    float: Option<Float>,
}

impl Wide {
    fn new(element: ElementType, shift: u8) -> Self {
        let signed = element.class() == Class::Signed;
        Self { ring: Ring::new(element, shift), signed, float: Float::new(element, shift) }
    }

    #[inline(always)]
    fn magnitude(&self, u: u64) -> (u64, i32) {
        match self.float {
            Some(float) => float.significand(u),
            None if self.signed => (zigzag(u, self.ring.bits).div_ceil(2), 0),
            None => (u, 0),
        }
    }

    #[inline(always)]
    fn distance(&self, next: u64, reference: u64) -> (u64, i32) {
        match self.float {
            Some(float) => float.distance(next, reference),
            None => (self.ring.zigzag(next, reference).div_ceil(2), 0),
        }
    }
}
