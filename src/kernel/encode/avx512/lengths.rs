//! Tokens of residuals of 16- and 32-bit floats ([`Lengths`]).

use core::arch::x86_64::*;

use super::{Map, load, profiles16, store16, store32};
use crate::kernel::encode::{Bins, Input, LengthKind, Lengths, Piece, Symbols};

/// Twin of [`Lengths::symbols`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
pub(in super::super) fn lengths(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> bool {
    match (p.kind, p.width) {
        (LengthKind::Float, 2) if p.shift == 0 => symbols.count = run16::<false>(p, bins, input, pieces, symbols),
        (LengthKind::Float, 2) => symbols.count = run16::<true>(p, bins, input, pieces, symbols),
        (LengthKind::Float, 4) if p.shift == 0 => symbols.count = run32::<false>(p, bins, input, pieces, symbols),
        (LengthKind::Float, 4) => symbols.count = run32::<true>(p, bins, input, pieces, symbols),
        _ => return false,
    }
    true
}

/// What residuals of 16-bit floats need.
///
/// `SHIFTED`: low bits are dropped.
#[derive(Clone, Copy)]
pub(super) struct Residuals16<const SHIFTED: bool> {
    keep: __m512i,
    shift: __m128i,
    mantissa: __m128i,
    exponents: __m512i,
}

impl<const SHIFTED: bool> Residuals16<SHIFTED> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub(super) fn new(p: &Lengths) -> Self {
        Self {
            keep: _mm512_set1_epi16((u16::MAX >> p.shift << p.shift) as i16),
            shift: _mm_cvtsi32_si128(p.shift as i32),
            mantissa: _mm_cvtsi32_si128(p.mantissa as i32),
            exponents: _mm512_set1_epi16(p.exponents as i16),
        }
    }

    /// z of 32 elements.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn z(&self, next: __m512i, reference: __m512i) -> __m512i {
        let top = _mm512_set1_epi16(i16::MIN);
        let kept = |u: __m512i| if SHIFTED { _mm512_and_si512(u, self.keep) } else { u };
        let (next, reference) = (kept(next), kept(reference));
        let sign = _mm512_srai_epi16(reference, 15);
        // u ^ (sign | top).
        let order = |u: __m512i, sign: __m512i| kept(_mm512_ternarylogic_epi32::<0x1E>(u, sign, top));
        let d = _mm512_sub_epi16(order(next, _mm512_srai_epi16(next, 15)), order(reference, sign));
        let o = _mm512_sub_epi16(_mm512_xor_si512(d, sign), sign);
        let dropped = if SHIFTED { _mm512_sra_epi16(o, self.shift) } else { o };
        _mm512_xor_si512(_mm512_add_epi16(dropped, dropped), _mm512_srai_epi16(o, 15))
    }

    /// −4 · max(E, 1) of 32 references.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn term(&self, reference: __m512i) -> __m512i {
        let exponent = _mm512_and_si512(_mm512_srl_epi16(reference, self.mantissa), self.exponents);
        let exponent = _mm512_max_epu16(exponent, _mm512_set1_epi16(1));
        _mm512_sub_epi16(_mm512_setzero_si512(), _mm512_slli_epi16(exponent, 2))
    }
}

/// Tokens of 32 z.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn token16(z: __m512i) -> __m512i {
    let token = |z: __m512i| {
        // Exponent and top mantissa bits of the float, bit 0 of z.
        let bits = _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(z)), 20);
        _mm512_sub_epi32(_mm512_ternarylogic_epi32::<0xD8>(bits, z, _mm512_set1_epi32(1)), _mm512_set1_epi32(1032))
    };
    let low = token(_mm512_and_si512(z, _mm512_set1_epi32(0xFFFF)));
    let high = token(_mm512_srli_epi32(z, 16));
    let token = _mm512_mask_blend_epi16(0xAAAA_AAAA, low, _mm512_slli_epi32(high, 16));
    _mm512_mask_mov_epi16(token, _mm512_cmplt_epu16_mask(z, _mm512_set1_epi16(16)), z)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run16<const SHIFTED: bool>(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> usize {
    let Symbols { steps, raws16, .. } = symbols;
    let residuals = Residuals16::<SHIFTED>::new(p);
    let map = Map::new(bins);
    let high = _mm512_set1_epi16(bins.high as i16);
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 2);
        let offset = _mm512_set1_epi16(bins.offset(piece.scale, p.constant) as i16);
        for (row, (next, reference)) in part.next.chunks(64).zip(part.reference.chunks(64)).enumerate() {
            let (next, reference) = (load(next), load(reference));
            let z = residuals.z(next, reference);
            let mut bin = _mm512_add_epi16(offset, residuals.term(reference));
            if !part.profiles.is_empty() {
                bin = _mm512_add_epi16(bin, profiles16(part.profiles, 32 * row));
            }
            let bin = _mm512_min_epi16(_mm512_max_epi16(bin, _mm512_setzero_si512()), high);
            store16(steps, at + 32 * row, _mm512_or_si512(map.high(bin), token16(z)));
            store16(raws16, at + 32 * row, _mm512_srli_epi16(z, 1));
        }
        at += piece.length;
    }
    at
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run32<const SHIFTED: bool>(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> usize {
    let Symbols { steps, raws32, .. } = symbols;
    let map = Map::new(bins);
    let keep = _mm512_set1_epi32((u32::MAX >> p.shift << p.shift) as i32);
    let shift = _mm_cvtsi32_si128(p.shift as i32);
    let mantissa = _mm_cvtsi32_si128(p.mantissa as i32);
    let exponents = _mm512_set1_epi32(p.exponents as i32);
    let high = _mm512_set1_epi32(bins.high);
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 4);
        let offset = _mm512_set1_epi32(bins.offset(piece.scale, p.constant));
        // Bin and token of 16 elements, and the raw bits.
        let half = |next: &[u8], reference: &[u8], profile: __m256i| {
            let top = _mm512_set1_epi32(i32::MIN);
            let kept = |u: __m512i| if SHIFTED { _mm512_and_si512(u, keep) } else { u };
            let (next, reference) = (kept(load(next)), kept(load(reference)));
            let sign = _mm512_srai_epi32(reference, 31);
            let order = |u: __m512i, sign: __m512i| kept(_mm512_ternarylogic_epi32::<0x1E>(u, sign, top));
            let d = _mm512_sub_epi32(order(next, _mm512_srai_epi32(next, 31)), order(reference, sign));
            let o = _mm512_sub_epi32(_mm512_xor_si512(d, sign), sign);
            let dropped = if SHIFTED { _mm512_sra_epi32(o, shift) } else { o };
            let z = _mm512_xor_si512(_mm512_add_epi32(dropped, dropped), _mm512_srai_epi32(o, 31));
            // With the leading one at the top: it and two bits below it, and bit 0 of z.
            let zeros = _mm512_lzcnt_epi32(z);
            let bits = _mm512_srli_epi32(_mm512_sllv_epi32(z, zeros), 28);
            let bits = _mm512_ternarylogic_epi32::<0xD8>(bits, z, _mm512_set1_epi32(1));
            let token = _mm512_add_epi32(bits, _mm512_sub_epi32(_mm512_set1_epi32(224), _mm512_slli_epi32(zeros, 3)));
            let token = _mm512_mask_mov_epi32(token, _mm512_cmplt_epu32_mask(z, _mm512_set1_epi32(16)), z);
            let exponent = _mm512_and_si512(_mm512_srl_epi32(reference, mantissa), exponents);
            let exponent = _mm512_max_epu32(exponent, _mm512_set1_epi32(1));
            let bin = _mm512_sub_epi32(offset, _mm512_slli_epi32(exponent, 2));
            let bin = _mm512_add_epi32(bin, _mm512_cvtepi16_epi32(profile));
            let bin = _mm512_min_epi32(_mm512_max_epi32(bin, _mm512_setzero_si512()), high);
            (_mm512_or_si512(_mm512_slli_epi32(bin, 8), token), _mm512_srli_epi32(z, 1))
        };
        for (row, (next, reference)) in part.next.chunks(128).zip(part.reference.chunks(128)).enumerate() {
            let profile =
                if part.profiles.is_empty() { _mm512_setzero_si512() } else { profiles16(part.profiles, 32 * row) };
            let split = |bytes: &'_ [u8]| bytes.len().min(64);
            let (next, reference) = (next.split_at(split(next)), reference.split_at(split(reference)));
            let (low, raw) = half(next.0, reference.0, _mm512_castsi512_si256(profile));
            store32(raws32, at + 32 * row, raw);
            let (high, raw) = half(next.1, reference.1, _mm512_extracti64x4_epi64::<1>(profile));
            store32(raws32, at + 32 * row + 16, raw);
            store16(steps, at + 32 * row, super::mapped(&map, super::pack(low, high)));
        }
        at += piece.length;
    }
    at
}
