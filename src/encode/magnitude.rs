//! Sums of magnitudes over blocks, as aligned 64-bit integers, from which scales come.

use crate::encode::log2::quarter_log2;
use crate::kernel::encode::{LARGE_UNIT, UNIT, UnitSum};

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
    /// The sum of the weights in units of 2^−16 where values are weighed, else 0.
    pub weight: u64,
}

impl Magnitude {
    /// The sum over at most 128 elements of value `magnitude` · 2^`exponent`, given twice over by `elements`.
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
            return Self { nonzero, sum: 0, exponent: 0, weight: 0 };
        };
        let sum = elements.map(|(magnitude, exponent)| align(magnitude, exponent - top + ALIGN)).sum();
        Self { nonzero, sum, exponent: top - ALIGN, weight: 0 }
    }

    /// As the sum of one unit, rounded down to 31 bits.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub fn unit(self) -> UnitSum {
        let drop = 33u32.saturating_sub(self.sum.leading_zeros());
        UnitSum {
            nonzero: self.nonzero,
            sum: (self.sum >> drop) as u32,
            exponent: (self.exponent + drop as i32) as i16,
            weight: self.weight as u32,
        }
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
        Self {
            nonzero,
            sum: large.sum + align(small.sum, small.exponent - large.exponent),
            exponent: large.exponent,
            weight: self.weight + other.weight,
        }
    }

    /// 4 · log2 of the mean over `count` elements, or over what they weigh; `None` where all magnitudes are zero.
    #[must_use]
    pub fn scale(self, count: usize) -> Option<i32> {
        let weight = if self.weight > 0 { quarter_log2(self.weight) - 64 } else { quarter_log2(count as u64) };
        (self.sum > 0).then(|| quarter_log2(self.sum) + 4 * self.exponent - weight)
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

/// Sums of units, and how many elements each has.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Whether units are large ones.
    pub large: bool,
    /// Sums in order.
    pub sums: Vec<UnitSum>,
}

/// Sums over blocks of 2^`block` elements (whole units), or over all for block 0.
#[must_use]
pub fn blocks(units: &Units, block: u8) -> Vec<Magnitude> {
    if block == 0 {
        return vec![sum(&units.sums)];
    }
    let unit = if units.large { LARGE_UNIT } else { UNIT };
    units.sums.chunks(((1usize << block) / unit).max(1)).map(sum).collect()
}

/// The sum, each rounded down to the coarsest exponent.
fn sum(units: &[UnitSum]) -> Magnitude {
    let exponent = units.iter().map(|u| if u.sum > 0 { u.exponent } else { i16::MIN }).max().unwrap_or(i16::MIN);
    let aligned = |u: &UnitSum| u64::from(u.sum) >> (i32::from(exponent) - i32::from(u.exponent)).clamp(0, 63);
    Magnitude {
        nonzero: units.iter().any(|u| u.nonzero),
        sum: units.iter().map(aligned).sum(),
        exponent: exponent.into(),
        weight: units.iter().map(|u| u64::from(u.weight)).sum(),
    }
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
