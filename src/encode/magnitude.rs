//! Sums of magnitudes over blocks, as aligned 64-bit integers, from which scales come.

use crate::encode::log2::quarter_log2;
pub use crate::kernel::encode::UNIT;
use crate::kernel::encode::UnitSum;

/// Fraction bits to which the largest magnitude of a unit is aligned.
const ALIGN: i32 = 40;

/// Σ |value| over some elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Magnitude {
    /// Whether any element has symbols of its own (differs from its reference; is not zero).
    pub nonzero: bool,
    /// The sum is `sum` · 2^`exponent`.
    pub sum: u64,
    /// See `sum`.
    pub exponent: i32,
}

impl From<UnitSum> for Magnitude {
    fn from(unit: UnitSum) -> Self {
        Self { nonzero: unit.nonzero, sum: unit.sum.into(), exponent: unit.exponent.into() }
    }
}

impl Magnitude {
    /// The sum over at most 64 elements of value `magnitude` · 2^`exponent`, given twice over by `elements`.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_wrap)]
    pub fn of(nonzero: bool, elements: impl Iterator<Item = (u64, i32)> + Clone) -> Self {
        let top = elements
            .clone()
            .filter(|&(magnitude, _)| magnitude > 0)
            .map(|(magnitude, exponent)| 64 - magnitude.leading_zeros() as i32 + exponent)
            .max();
        let Some(top) = top else {
            return Self { nonzero, sum: 0, exponent: 0 };
        };
        let sum = elements.map(|(magnitude, exponent)| align(magnitude, exponent - top + ALIGN)).sum();
        Self { nonzero, sum, exponent: top - ALIGN }
    }

    /// The sum of both, rounded down to the coarser exponent.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let nonzero = self.nonzero || other.nonzero;
        let (large, small) = if self.sum == 0 || (other.sum != 0 && other.exponent > self.exponent) {
            (other, self)
        } else {
            (self, other)
        };
        Self { nonzero, sum: large.sum + align(small.sum, small.exponent - large.exponent), exponent: large.exponent }
    }

    /// 4 · log2 of the mean over `count` elements; `None` where all magnitudes are zero.
    #[must_use]
    pub fn scale(self, count: usize) -> Option<i32> {
        (self.sum > 0).then(|| quarter_log2(self.sum) + 4 * self.exponent - quarter_log2(count as u64))
    }
}

/// `value` · 2^`shift`, rounded down; the caller knows that it fits.
#[inline(always)]
fn align(value: u64, shift: i32) -> u64 {
    if shift >= 0 {
        value << shift.min(63)
    } else if shift > -64 {
        value >> -shift
    } else {
        0
    }
}

/// Sums over blocks of 2^`block` elements (whole units), or over all for block 0.
#[must_use]
pub fn blocks(units: &[Magnitude], block: u8) -> Vec<Magnitude> {
    let sum = |units: &[Magnitude]| units.iter().fold(Magnitude::default(), |a, &b| a.plus(b));
    if block == 0 {
        return vec![sum(units)];
    }
    units.chunks((1usize << block) / UNIT).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_come_out_in_quarter_octaves() {
        let of = |values: &[(u64, i32)]| Magnitude::of(true, values.iter().copied());
        assert_eq!(of(&[(3, 0), (5, 0)]).scale(2), Some(8));
        assert_eq!(of(&[(1, 10), (1, 10)]).scale(2), Some(40));
        assert_eq!(of(&[(1, -100), (1, 100)]).scale(2), Some(396));
        assert_eq!(of(&[(0, 0)]).scale(1), None);
        let a = of(&[(1, 100)]).plus(of(&[(1, -100)]));
        assert_eq!(a.scale(2), Some(396));
        assert_eq!(of(&[(0, 0)]).plus(of(&[(1, 3)])).scale(1), Some(12));
    }
}
