//! Sums of distances ([`distances`](super::super::distances)).

use core::arch::x86_64::*;

use super::load;
use crate::kernel::Kernel;
use crate::kernel::encode::distance::{
    AHEAD, Clip, FULL, INFINITE, LARGE_UNIT, UNIT, UnitSum, ValueFormat, portable, smallest,
};
use crate::kernel::encode::{Input, prefetch};

/// Twin of [`portable`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(in super::super) fn distances(
    format: ValueFormat,
    shift: u32,
    large: bool,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) -> bool {
    if !input.profiles.is_empty() {
        return false;
    }
    match (format, large) {
        (ValueFormat::Bf16, false) => units::<2, 1>(format, shift, clip, input, out),
        (ValueFormat::Bf16, true) => units::<2, 4>(format, shift, clip, input, out),
        (ValueFormat::F32, false) => units::<4, 1>(format, shift, clip, input, out),
        (ValueFormat::F32, true) => units::<4, 4>(format, shift, clip, input, out),
        _ => return false,
    }
    true
}

const _: () = assert!(LARGE_UNIT == 4 * UNIT && UNIT == 32);

/// Units of `ROWS` · 32 elements of `WIDTH` bytes, which are those of binary32 or its upper halves.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, clippy::cast_possible_truncation)]
fn units<const WIDTH: usize, const ROWS: usize>(
    format: ValueFormat,
    shift: u32,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    let bytes = ROWS * UNIT * WIDTH;
    let all = _mm256_set1_epi32;
    let keep = if WIDTH == 2 {
        _mm256_set1_epi16((u16::MAX >> shift << shift) as i16)
    } else {
        all((u32::MAX >> shift << shift) as i32)
    };
    let below = all((smallest(input) as i32) - 1);
    let counts = |d: __m256i| _mm256_and_si256(_mm256_cmpgt_epi32(d, below), d);
    let clip_bits = clip.filter(|_| !input.reference.is_empty()).map(|clip| all(clip.bits() as i32));
    let mut references = input.reference.chunks(bytes);
    for (unit, next) in input.next.chunks(bytes).enumerate() {
        let reference = references.next();
        // Mostly this is the first time that they are looked at, and hardware foresees nothing beyond a page.
        prefetch(input, unit * bytes + AHEAD..(unit + 1) * bytes + AHEAD);
        let mut distances = [[_mm256_setzero_si256(); 4]; ROWS];
        let mut differ = _mm256_setzero_si256();
        let mut largest = _mm256_setzero_si256();
        let mut weights = _mm256_setzero_si256();
        let mut whole = next.len() == bytes;
        if whole {
            for (k, distance) in distances.iter_mut().enumerate() {
                let row = k * UNIT * WIDTH..(k + 1) * UNIT * WIDTH;
                let (a, u) = values::<WIDTH>(&next[row.clone()], keep);
                let mut d = a;
                let mut references = [_mm256_setzero_si256(); 4];
                if let Some(reference) = reference {
                    let (b, v) = values::<WIDTH>(&reference[row], keep);
                    for i in 0..4 {
                        let (a, b) = (_mm256_castsi256_ps(a[i]), _mm256_castsi256_ps(b[i]));
                        d[i] = _mm256_castps_si256(_mm256_sub_ps(a, b));
                    }
                    for (u, v) in u.into_iter().zip(v) {
                        differ = _mm256_or_si256(differ, _mm256_xor_si256(u, v));
                    }
                    references = b;
                } else {
                    for u in u {
                        differ = _mm256_or_si256(differ, u);
                    }
                }
                for d in &mut d {
                    let magnitude = _mm256_and_si256(*d, all(0x7FFF_FFFF));
                    largest = _mm256_max_epi32(largest, magnitude);
                    *d = counts(magnitude);
                }
                if let Some(clip) = clip_bits {
                    for (d, b) in d.iter_mut().zip(references) {
                        // How far the exponent of the reference is above where it counts in full, as bits of binary32.
                        let exponent = _mm256_and_si256(b, all(INFINITE as i32));
                        let over = _mm256_sub_epi32(_mm256_max_epi32(exponent, clip), clip);
                        // What gets below zero counts as nothing.
                        *d = counts(_mm256_sub_epi32(_mm256_max_epi32(*d, over), over));
                        let weight = _mm256_srlv_epi32(all(FULL as i32), _mm256_srli_epi32(over, 23));
                        weights = _mm256_add_epi32(weights, weight);
                    }
                }
                *distance = d;
            }
            // Infinities and NaN count as nothing, but are rare.
            whole = (fold(largest, |a, b| _mm_max_epi32(a, b)) as u32) < INFINITE;
        }
        if !whole {
            let part = Input { next, reference: reference.unwrap_or(&[]), profiles: &[] };
            portable(Kernel::Avx2, format, shift, ROWS > 1, clip, &part, out);
            continue;
        }
        if clip_bits.is_some() {
            let of_row = |d: [__m256i; 4]| _mm256_max_epi32(_mm256_max_epi32(d[0], d[1]), _mm256_max_epi32(d[2], d[3]));
            largest = _mm256_setzero_si256();
            for &d in &distances {
                largest = _mm256_max_epi32(largest, of_row(d));
            }
        }
        let nonzero = _mm256_testz_si256(differ, differ) == 0;
        let weight = if clip_bits.is_some() { fold(weights, |a, b| _mm_add_epi32(a, b)) as u32 } else { 0 };
        let top = fold(largest, |a, b| _mm_max_epi32(a, b)) as u32;
        let top = if (top as i32) < (smallest(input) as i32) { 0 } else { top >> 23 };
        let mut sum = _mm256_setzero_si256();
        let exponent = if top == 0 { 0 } else { top as i16 - 127 - 23 };
        if top > 23 {
            // As the scalar twin does: 2^(150 − top).
            let scale = _mm256_castsi256_ps(all(((277 - top) << 23) as i32));
            for &d in distances.as_flattened() {
                let value = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_castsi256_ps(d), scale));
                sum = _mm256_add_epi32(sum, value);
            }
        } else if top > 0 {
            for &d in distances.as_flattened() {
                let significand = _mm256_or_si256(_mm256_and_si256(d, all(0x7F_FFFF)), all(0x80_0000));
                let shift = _mm256_sub_epi32(all(top as i32), _mm256_srli_epi32(d, 23));
                sum = _mm256_add_epi32(sum, _mm256_srlv_epi32(significand, shift));
            }
        }
        out.push(UnitSum { nonzero, sum: fold(sum, |a, b| _mm_add_epi32(a, b)) as u32, exponent, weight });
    }
}

/// One number of the eight.
#[inline]
#[target_feature(enable = "avx2")]
fn fold(v: __m256i, f: impl Fn(__m128i, __m128i) -> __m128i) -> i32 {
    let v = f(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
    let v = f(v, _mm_shuffle_epi32::<0b01_00_11_10>(v));
    _mm_cvtsi128_si32(f(v, _mm_shuffle_epi32::<0b10_11_00_01>(v)))
}

/// Values of 32 elements as binary32, and their patterns, in an order of its own.
#[inline]
#[target_feature(enable = "avx2")]
fn values<const WIDTH: usize>(bytes: &[u8], keep: __m256i) -> ([__m256i; 4], [__m256i; 4]) {
    if WIDTH == 2 {
        let [a, b] = load::<2>(bytes).map(|u| _mm256_and_si256(u, keep));
        let high = _mm256_set1_epi32(-65_536);
        // Even ones, odd ones.
        let values =
            [_mm256_slli_epi32(a, 16), _mm256_and_si256(a, high), _mm256_slli_epi32(b, 16), _mm256_and_si256(b, high)];
        (values, [a, b, _mm256_setzero_si256(), _mm256_setzero_si256()])
    } else {
        let values = load::<4>(bytes).map(|u| _mm256_and_si256(u, keep));
        (values, values)
    }
}
