//! How far elements are from their references: sums of |next − reference|, or of |next|, from which scales come.
//!
//! The differences are taken in binary32, whose subtraction is the same on every machine; what is subnormal on the way or next to it counts as zero, so that
//! a host that flushes subnormals makes the same bytes. Sums are taken in integers, so their order does not matter.

use crate::core::element::ElementType;
use crate::kernel::Kernel;
use crate::kernel::encode::Input;
use crate::kernel::encode::compiled::{with_vectors, with_written};

/// Elements of a small unit, the smallest block.
pub const UNIT: usize = 32;
/// Elements of a large unit: fewer sums where blocks are no smaller.
pub const LARGE_UNIT: usize = 128;

/// Bytes between the elements that vectors work on and those that they ask for.
#[cfg(target_arch = "x86_64")]
pub(super) const AHEAD: usize = 2048;

/// Σ |next − reference| over a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitSum {
    /// Whether any element differs from its reference (is not zero).
    pub nonzero: bool,
    /// The sum is `sum` · 2^`exponent`; at most 2^31.
    pub sum: u32,
    /// See `sum`.
    pub exponent: i16,
    /// The sum of the weights in units of 2^−16 where distances are weighed, else 0.
    pub weight: u32,
}

/// How a distance from a coarse reference counts.
///
/// A reference whose ulp is far above the usual distance either hides it or makes an ulp of it: right on average, but one such ulp outweighs all its
/// neighbours. Each distance is multiplied by min(1, 2^`exponent` / 2^(exponent of the reference)), and so is what it adds to the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip {
    /// References with this binary32 exponent field, and those with lower ones, count in full.
    pub exponent: u8,
}

impl Clip {
    /// The bits of binary32 above which references count less.
    pub(super) fn bits(self) -> u32 {
        u32::from(self.exponent) << 23
    }
}

/// The weight of one element that counts in full.
pub(super) const FULL: u32 = 1 << 16;

/// A float type of at most 32 bits, all of whose values are values of binary32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueFormat {
    /// OCP E4M3 or E5M2: values from a table.
    Byte(&'static [f32; 256]),
    /// bfloat16.
    Bf16,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
}

/// The values of an 8-bit float with `mantissa` mantissa bits, infinities and NaN as infinity.
const fn byte_values(mantissa: u32, bias: i32, infinity: bool) -> [f32; 256] {
    let mut values = [0.0; 256];
    let mut u = 0u32;
    while u < 256 {
        let magnitude = u & 0x7F;
        let e = (magnitude >> mantissa) as i32;
        let m = magnitude & ((1 << mantissa) - 1);
        let special = if infinity { e == (1 << (7 - mantissa)) - 1 } else { magnitude == 0x7F };
        let mut value = if special {
            f32::INFINITY
        } else {
            let significand = if e > 0 { m | (1 << mantissa) } else { m };
            let exponent = (if e > 0 { e } else { 1 }) - bias - mantissa as i32;
            significand as f32 * f32::from_bits(((127 + exponent) as u32) << 23)
        };
        if u > 127 {
            value = -value;
        }
        values[u as usize] = value;
        u += 1;
    }
    values
}

static E4M3: [f32; 256] = byte_values(3, 7, false);
static E5M2: [f32; 256] = byte_values(2, 15, true);

/// 2^(−profile/4), at index profile + 128.
pub(super) static WEIGHTS: [f32; 256] = {
    /// 2^(k/4) in binary32.
    const QUARTERS: [u32; 4] = [0x3F80_0000, 0x3F98_37F0, 0x3FB5_04F3, 0x3FD7_44FD];
    let mut weights = [0.0; 256];
    let mut i = 0;
    while i < 256 {
        let q = 128 - i as i32;
        weights[i] = f32::from_bits((QUARTERS[(q & 3) as usize] as i32 + ((q >> 2) << 23)) as u32);
        i += 1;
    }
    weights
};

impl ValueFormat {
    /// The format of an element type; `None` where it is none of these.
    #[must_use]
    pub fn of(element: ElementType) -> Option<Self> {
        match element {
            ElementType::F8E4M3 => Some(Self::Byte(&E4M3)),
            ElementType::F8E5M2 => Some(Self::Byte(&E5M2)),
            ElementType::Bf16 => Some(Self::Bf16),
            ElementType::F16 => Some(Self::F16),
            ElementType::F32 => Some(Self::F32),
            _ => None,
        }
    }

    /// Bytes of an element.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Bf16 | Self::F16 => 2,
            Self::F32 => 4,
        }
    }
}

/// Distances below 2^−100 count as zero where subnormals may have played a part.
pub(super) const SMALLEST: u32 = 27 << 23;
/// Infinities and NaN from here on.
pub(super) const INFINITE: u32 = 255 << 23;

/// The least bit pattern of a distance that counts.
pub(super) fn smallest(input: &Input<'_>) -> u32 {
    if input.reference.is_empty() && input.profiles.is_empty() { 0 } else { SMALLEST }
}

/// Appends the sum of each unit of elements whose `shift` low bits are dropped; units are `LARGE_UNIT` or `UNIT` elements.
pub fn distances(
    kernel: Kernel,
    format: ValueFormat,
    shift: u32,
    large: bool,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    let input = &checked(input, format.width());
    let count = input.next.len() / format.width();
    out.reserve(count.div_ceil(if large { LARGE_UNIT } else { UNIT }));
    if with_written!(kernel, [avx512 Avx512, avx2 Avx2], bool, distances(format, shift, large, clip, input, out))
        != Some(true)
    {
        portable(kernel, format, shift, large, clip, input, out);
    }
}

/// The input without references or profiles that are not there for every element.
fn checked<'a>(input: &Input<'a>, width: usize) -> Input<'a> {
    Input {
        next: input.next,
        reference: input.reference.get(..input.next.len()).unwrap_or(&[]),
        profiles: input.profiles.get(..input.next.len() / width).unwrap_or(&[]),
    }
}

/// The scalar twin.
pub(super) fn portable(
    kernel: Kernel,
    format: ValueFormat,
    shift: u32,
    large: bool,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    if large {
        with_vectors!(kernel, formats::<LARGE_UNIT>, formats_avx2::<LARGE_UNIT>, (format, shift, clip, input, out));
    } else {
        with_vectors!(kernel, formats::<UNIT>, formats_avx2::<UNIT>, (format, shift, clip, input, out));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn formats_avx2<const UNIT: usize>(
    format: ValueFormat,
    shift: u32,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    formats::<UNIT>(format, shift, clip, input, out);
}

#[inline(always)]
#[allow(clippy::cast_possible_wrap, clippy::cast_precision_loss)]
fn formats<const UNIT: usize>(
    format: ValueFormat,
    shift: u32,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    let half = |b: &[u8]| b.first_chunk().map_or(0, |b| u16::from_le_bytes(*b));
    match format {
        ValueFormat::Byte(values) => units::<1, UNIT>(clip, input, out, |b| {
            let u = b.first().copied().unwrap_or(0) >> (shift & 7);
            (u.into(), values[usize::from(u << (shift & 7))])
        }),
        ValueFormat::Bf16 => units::<2, UNIT>(clip, input, out, |b| {
            let u = u32::from(half(b) >> (shift & 15)) << (shift & 15);
            (u, f32::from_bits(u << 16))
        }),
        ValueFormat::F16 => units::<2, UNIT>(clip, input, out, |b| {
            let u = u32::from(half(b) >> (shift & 15)) << (shift & 15);
            let (magnitude, sign) = (u & 0x7FFF, (u & 0x8000) << 16);
            // Exponents 31 become 255; subnormals are 2^−24 times an integer.
            let normal = (magnitude << 13) + if magnitude >= 0x7C00 { (255 - 31) << 23 } else { (127 - 15) << 23 };
            let small = (magnitude as i32 as f32 * f32::from_bits((127 - 24) << 23)).to_bits();
            (u, f32::from_bits(sign | if magnitude < 0x400 { small } else { normal }))
        }),
        ValueFormat::F32 => units::<4, UNIT>(clip, input, out, |b| {
            let u = b.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) >> (shift & 31) << (shift & 31);
            (u, f32::from_bits(u))
        }),
    }
}

/// The units of elements of `W` bytes; `value` gives a pattern without the bits dropped, and what it stands for.
#[inline(always)]
fn units<const W: usize, const UNIT: usize>(
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
    value: impl Fn(&[u8]) -> (u32, f32) + Copy,
) {
    let smallest = smallest(input);
    let counts = |d: u32| if d >= smallest && d < INFINITE { d } else { 0 };
    let mut profiles = input.profiles.chunks(UNIT);
    let mut references = input.reference.chunks(UNIT * W);
    for next in input.next.chunks(UNIT * W) {
        let mut distances = [0u32; UNIT];
        let mut differ = 0;
        let mut weight = 0;
        match (references.next(), clip) {
            (Some(reference), Some(clip)) => {
                let pairs = next.chunks_exact(W).zip(reference.chunks_exact(W));
                for (d, (next, reference)) in distances.iter_mut().zip(pairs) {
                    let (u, a) = value(next);
                    let (v, b) = value(reference);
                    differ |= u ^ v;
                    let over = (b.to_bits() & INFINITE).saturating_sub(clip.bits());
                    *d = counts(counts((a - b).to_bits() & 0x7FFF_FFFF).saturating_sub(over));
                    weight += FULL >> (over >> 23).min(31);
                }
            }
            (Some(reference), None) => {
                let pairs = next.chunks_exact(W).zip(reference.chunks_exact(W));
                for (d, (next, reference)) in distances.iter_mut().zip(pairs) {
                    let (u, a) = value(next);
                    let (v, b) = value(reference);
                    differ |= u ^ v;
                    *d = counts((a - b).to_bits() & 0x7FFF_FFFF);
                }
            }
            (None, _) => {
                for (d, next) in distances.iter_mut().zip(next.chunks_exact(W)) {
                    let (u, a) = value(next);
                    differ |= u;
                    *d = counts(a.to_bits() & 0x7FFF_FFFF);
                }
            }
        }
        if let Some(profiles) = profiles.next() {
            for (d, &profile) in distances.iter_mut().zip(profiles) {
                *d = counts((f32::from_bits(*d) * WEIGHTS[(i32::from(profile) + 128) as usize & 0xFF]).to_bits());
            }
        }
        out.push(sum(&distances, differ != 0, weight));
    }
}

/// The sum of distances, given as bits of binary32.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn sum<const UNIT: usize>(distances: &[u32; UNIT], nonzero: bool, weight: u32) -> UnitSum {
    let top = distances.iter().copied().max().unwrap_or(0) >> 23;
    if top == 0 {
        return UnitSum { nonzero, sum: 0, exponent: 0, weight };
    }
    // 23 bits below the largest one's leading bit. Zeros count as less than the smallest distance of all, nothing next to those that count.
    let sum = if top > 23 {
        // 2^(150 − top), which makes integers below 2^24 of the distances: what the shifts below leave is what conversion leaves of a float.
        let scale = f32::from_bits((277 - top) << 23);
        let integer = |&d: &u32| {
            let value = f32::from_bits(d) * scale;
            // SAFETY: the distance is finite and at least 0 (`counts`), and its exponent field is at most `top`: the value is in 0…2^24.
            #[allow(unsafe_code)]
            unsafe {
                value.to_int_unchecked::<i32>().cast_unsigned()
            }
        };
        distances.iter().map(integer).sum()
    } else {
        distances.iter().map(|&d| ((d & 0x7F_FFFF) | 0x80_0000) >> (top - (d >> 23)).min(31)).sum()
    };
    UnitSum { nonzero, sum, exponent: top as i16 - 127 - 23, weight }
}
