//! Sums of |next − reference|, or of |next|, over units of 32 elements, for every element type.

use crate::core::element::{Class, ElementType};
use crate::core::residual::{Ring, zigzag};
use crate::core::word::Word;
use crate::encode::magnitude::{Magnitude, UNIT};
use crate::kernel::Kernel;
use crate::kernel::encode::{Input, ValueFormat, distances};
use crate::with_word;

/// Magnitudes of each 32 elements whose `shift` low bits are dropped; of differences where there are references.
#[must_use]
pub fn units(kernel: Kernel, element: ElementType, shift: u8, input: &Input<'_>) -> Vec<Magnitude> {
    if let Some(format) = ValueFormat::of(element) {
        let mut sums = Vec::new();
        distances(kernel, format, shift.into(), input, &mut sums);
        return sums.into_iter().map(Magnitude::from).collect();
    }
    let wide = Wide::new(element, shift);
    let count = input.next.len() / element.width();
    let mut result = Vec::with_capacity(count.div_ceil(UNIT));
    with_word!(element.width(), W => {
        for at in (0..count).step_by(UNIT) {
            let end = count.min(at + UNIT);
            let mut values = [(0u64, 0i32); UNIT];
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
            result.push(Magnitude::of(nonzero, values[..end - at].iter().copied()));
        }
    });
    result
}

/// 2^(k/4) with 14 fraction bits.
const QUARTER: [u64; 4] = [16_384, 19_484, 23_170, 27_554];

/// `magnitude` · 2^(`exponent` − profile/4).
#[inline(always)]
fn weigh(mut magnitude: u64, mut exponent: i32, profile: i32) -> (u64, i32) {
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

/// Integers, and floats that binary32 cannot hold.
struct Wide {
    ring: Ring,
    class: Class,
    mantissa: u32,
}

impl Wide {
    fn new(element: ElementType, shift: u8) -> Self {
        let class = element.class();
        let mantissa = match class {
            Class::Float { mantissa, .. } => mantissa.saturating_sub(shift.into()),
            _ => 0,
        };
        Self { ring: Ring::new(element, shift), class, mantissa }
    }

    /// Significand and exponent of a float pattern; zero for infinities and NaN, which would drown all else.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    fn significand(&self, u: u64, bias: i32, exponent: u32) -> (u64, i32) {
        let mask = (1u64 << exponent) - 1;
        let e = (u >> self.mantissa) & mask;
        if e == mask {
            return (0, 0);
        }
        let low = u & ((1 << self.mantissa) - 1);
        let lead = if e > 0 { 1 << self.mantissa } else { 0 };
        (low | lead, e.max(1) as i32 - bias - self.mantissa as i32)
    }

    #[inline(always)]
    fn magnitude(&self, u: u64) -> (u64, i32) {
        match self.class {
            Class::Float { bias, exponent, .. } => self.significand(u, bias, exponent),
            Class::Signed => (zigzag(u, self.ring.bits).div_ceil(2), 0),
            Class::Unsigned => (u, 0),
        }
    }

    /// |next − reference|; of floats to [`GUARD`] bits below the larger one's last.
    ///
    /// Not the residual in ulps: that counts an octave that is crossed as much as the octave of the reference.
    #[inline(always)]
    fn distance(&self, next: u64, reference: u64) -> (u64, i32) {
        let Class::Float { bias, exponent, .. } = self.class else {
            return (self.ring.zigzag(next, reference).div_ceil(2), 0);
        };
        let (a, ea) = self.significand(next, bias, exponent);
        let (b, eb) = self.significand(reference, bias, exponent);
        let e = ea.max(eb);
        let aligned = |significand: u64, exponent: i32| (significand << GUARD) >> (e - exponent).min(63);
        let (a, b) = (aligned(a, ea), aligned(b, eb));
        let negative = (next ^ reference) >> (self.mantissa + exponent) & 1 == 1;
        #[allow(clippy::cast_possible_wrap)]
        (if negative { a + b } else { a.abs_diff(b) }, e - GUARD as i32)
    }
}
