//! Sums of distances ([`distances`](super::super::distances)).

use core::arch::x86_64::*;

use super::load;
use crate::kernel::Kernel;
use crate::kernel::encode::Input;
use crate::kernel::encode::distance::{AHEAD, Clip, INFINITE, UNIT, UnitSum, ValueFormat, WEIGHTS, portable, smallest};
use crate::kernel::encode::prefetch;

const BF16: u8 = 0;
const F16: u8 = 1;
const F32: u8 = 2;

/// Twin of [`portable`]: true.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
pub(in super::super) fn distances(
    format: ValueFormat,
    shift: u32,
    large: bool,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) -> bool {
    let plain = clip.is_none();
    match (format, large) {
        (ValueFormat::Byte(_), _) => portable(Kernel::Avx2, format, shift, large, clip, input, out),
        (ValueFormat::Bf16, false) if plain => units::<BF16, 1, false>(format, shift, clip, input, out),
        (ValueFormat::Bf16, true) if plain => units::<BF16, 4, false>(format, shift, clip, input, out),
        (ValueFormat::Bf16, false) => units::<BF16, 1, true>(format, shift, clip, input, out),
        (ValueFormat::Bf16, true) => units::<BF16, 4, true>(format, shift, clip, input, out),
        (ValueFormat::F16, false) => units::<F16, 1, true>(format, shift, clip, input, out),
        (ValueFormat::F16, true) => units::<F16, 4, true>(format, shift, clip, input, out),
        (ValueFormat::F32, false) => units::<F32, 1, true>(format, shift, clip, input, out),
        (ValueFormat::F32, true) => units::<F32, 4, true>(format, shift, clip, input, out),
    }
    true
}

/// Units of `ROWS` · 32 elements. `CLIP`: there may be a `clip`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
fn units<const FORMAT: u8, const ROWS: usize, const CLIP: bool>(
    format: ValueFormat,
    shift: u32,
    clip: Option<Clip>,
    input: &Input<'_>,
    out: &mut Vec<UnitSum>,
) {
    let row = UNIT * format.width();
    let bytes = ROWS * row;
    let smallest = smallest(input);
    let whole = input.next.len() / bytes;
    #[allow(clippy::cast_possible_wrap)]
    let keep = if FORMAT == F32 {
        _mm512_set1_epi32((u32::MAX >> shift << shift) as i32)
    } else {
        _mm512_set1_epi16((u16::MAX >> shift << shift) as i16)
    };
    let counts = |d: __m512| {
        let bits = _mm512_and_si512(_mm512_castps_si512(d), _mm512_set1_epi32(0x7FFF_FFFF));
        // From `smallest` to below `INFINITE`, by one unsigned comparison.
        #[allow(clippy::cast_possible_wrap)]
        let above = _mm512_sub_epi32(bits, _mm512_set1_epi32(smallest as i32));
        #[allow(clippy::cast_possible_wrap)]
        let inside = _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32((INFINITE - smallest) as i32));
        _mm512_maskz_mov_epi32(inside, bits)
    };
    let clip = clip.filter(|_| CLIP && !input.reference.is_empty());
    #[allow(clippy::cast_possible_wrap)]
    let clip_bits = _mm512_set1_epi32(clip.map_or(0, Clip::bits) as i32);
    // How far the exponent of a reference is above where it counts in full, as bits of binary32.
    let over = |b: __m512| {
        let exponent = _mm512_and_si512(_mm512_castps_si512(b), _mm512_set1_epi32(0x7F80_0000));
        _mm512_sub_epi32(_mm512_max_epu32(exponent, clip_bits), clip_bits)
    };
    // The distance with its exponent lowered; what gets below zero counts as nothing.
    let lower = |d: __m512, over: __m512i| {
        let bits = counts(d);
        _mm512_castsi512_ps(_mm512_maskz_sub_epi32(_mm512_cmpge_epu32_mask(bits, over), bits, over))
    };
    let mut references = input.reference.chunks_exact(bytes);
    for (unit, next) in input.next.chunks_exact(bytes).enumerate() {
        let reference = references.next();
        // Mostly this is the first time that they are looked at, and hardware foresees nothing beyond a page.
        prefetch(input, unit * bytes + AHEAD..(unit + 1) * bytes + AHEAD);
        let mut distances = [[_mm512_setzero_si512(); 2]; ROWS];
        let mut differ = _mm512_setzero_si512();
        let mut top = _mm512_setzero_si512();
        let mut weights_of_unit = _mm512_setzero_si512();
        for (k, distance) in distances.iter_mut().enumerate() {
            let (a, u) = values::<FORMAT>(&next[k * row..(k + 1) * row], keep);
            let mut d = a;
            let mut v = [_mm512_setzero_si512(); 2];
            if let Some(reference) = reference {
                let (b, of_reference) = values::<FORMAT>(&reference[k * row..(k + 1) * row], keep);
                v = of_reference;
                d = [_mm512_sub_ps(a[0], b[0]), _mm512_sub_ps(a[1], b[1])];
                if CLIP && clip.is_some() {
                    let over = [over(b[0]), over(b[1])];
                    d = [lower(d[0], over[0]), lower(d[1], over[1])];
                    for over in over {
                        let weight = _mm512_srlv_epi32(_mm512_set1_epi32(1 << 16), _mm512_srli_epi32::<23>(over));
                        weights_of_unit = _mm512_add_epi32(weights_of_unit, weight);
                    }
                }
            }
            // differ | (u ^ v).
            differ = _mm512_ternarylogic_epi32::<0xF6>(differ, u[0], v[0]);
            differ = _mm512_ternarylogic_epi32::<0xF6>(differ, u[1], v[1]);
            if !input.profiles.is_empty() {
                let w = weights::<FORMAT>(input.profiles, (unit * ROWS + k) * UNIT);
                d = [
                    _mm512_mul_ps(_mm512_castsi512_ps(counts(d[0])), w[0]),
                    _mm512_mul_ps(_mm512_castsi512_ps(counts(d[1])), w[1]),
                ];
            }
            *distance = [counts(d[0]), counts(d[1])];
            top = _mm512_max_epu32(top, _mm512_max_epu32(distance[0], distance[1]));
        }
        let nonzero = _mm512_test_epi32_mask(differ, differ) != 0;
        let top = _mm512_reduce_max_epu32(top) >> 23;
        #[allow(clippy::cast_sign_loss)]
        let weight = if CLIP && clip.is_some() { _mm512_reduce_add_epi32(weights_of_unit) as u32 } else { 0 };
        if top == 0 {
            out.push(UnitSum { nonzero, sum: 0, exponent: 0, weight });
            continue;
        }
        #[allow(clippy::cast_possible_wrap)]
        let tops = _mm512_set1_epi32(top as i32);
        let mut sum = _mm512_setzero_si512();
        for d in distances.as_flattened() {
            // (d & 0x7F_FFFF) | 0x80_0000. A shift by 32 or more makes zero, and so does one by 31, where the scalar twin stops.
            let significand =
                _mm512_ternarylogic_epi32::<0xF8>(_mm512_set1_epi32(0x80_0000), *d, _mm512_set1_epi32(0x7F_FFFF));
            let shift = _mm512_sub_epi32(tops, _mm512_srli_epi32(*d, 23));
            sum = _mm512_add_epi32(sum, _mm512_srlv_epi32(significand, shift));
        }
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
        let sum = _mm512_reduce_add_epi32(sum) as u32;
        #[allow(clippy::cast_possible_truncation)]
        out.push(UnitSum { nonzero, sum, exponent: top as i16 - 127 - 23, weight });
    }
    let rest = input.next.get(whole * bytes..).unwrap_or(&[]);
    if !rest.is_empty() {
        let rest = Input {
            next: rest,
            reference: input.reference.get(whole * bytes..).unwrap_or(&[]),
            profiles: input.profiles.get(whole * ROWS * UNIT..).unwrap_or(&[]),
        };
        portable(Kernel::Avx2, format, shift, ROWS > 1, clip, &rest, out);
    }
}

/// Values of 32 elements, and their patterns, in an order of its own.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
fn values<const FORMAT: u8>(bytes: &[u8], keep: __m512i) -> ([__m512; 2], [__m512i; 2]) {
    let first = _mm512_and_si512(load(bytes), keep);
    match FORMAT {
        BF16 => {
            // Even ones, odd ones.
            let low = _mm512_slli_epi32(first, 16);
            let high = _mm512_and_si512(first, _mm512_set1_epi32(-65_536));
            ([_mm512_castsi512_ps(low), _mm512_castsi512_ps(high)], [first, _mm512_setzero_si512()])
        }
        F16 => {
            let low = _mm512_cvtph_ps(_mm512_castsi512_si256(first));
            let high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(first));
            ([low, high], [first, _mm512_setzero_si512()])
        }
        _ => {
            let second = _mm512_and_si512(load(bytes.get(64..).unwrap_or(&[])), keep);
            ([_mm512_castsi512_ps(first), _mm512_castsi512_ps(second)], [first, second])
        }
    }
}

/// Weights of 32 profile values, in the order of [`values`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
fn weights<const FORMAT: u8>(profiles: &[i8], at: usize) -> [__m512; 2] {
    let p = super::profiles16(profiles, at);
    let parts = if FORMAT == BF16 {
        [_mm512_srai_epi32(_mm512_slli_epi32(p, 16), 16), _mm512_srai_epi32(p, 16)]
    } else {
        let (low, high) = (_mm512_castsi512_si256(p), _mm512_extracti64x4_epi64::<1>(p));
        [_mm512_cvtepi16_epi32(low), _mm512_cvtepi16_epi32(high)]
    };
    parts.map(|p| {
        let index = _mm512_add_epi32(p, _mm512_set1_epi32(128));
        // SAFETY: the index is a profile value, −128…127, plus 128; the table has 256 entries.
        unsafe { _mm512_i32gather_ps::<4>(index, WEIGHTS.as_ptr()) }
    })
}
