//! Tokens of 16- and 32-bit floats without reference ([`Plains`]).

use core::arch::x86_64::*;

use super::{Map, load, mapped, pack, profiles16, store16, store32};
use crate::core::plain::ESC;
use crate::kernel::encode::{Bins, Input, Piece, Plains, Symbols};

/// Twin of [`Plains::symbols`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
pub(in super::super) fn plains(
    p: &Plains,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> bool {
    match p.width {
        2 => symbols.count = run16(p, bins, input, pieces, symbols),
        4 => symbols.count = run32(p, bins, input, pieces, symbols),
        _ => return false,
    }
    true
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run16(p: &Plains, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) -> usize {
    let Symbols { steps, raws16, .. } = symbols;
    let map = Map::new(bins);
    let all = _mm512_set1_epi16;
    let count = |bits: u32| _mm_cvtsi32_si128(bits as i32);
    let (shift, mantissa, low, sign) = (count(p.shift), count(p.mantissa), count(p.low), count(15 - p.shift));
    let low_mask = all(!(u16::MAX << p.low) as i16);
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 2);
        let scale = all(piece.scale.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        for (row, next) in part.next.chunks(64).enumerate() {
            let u = _mm512_srl_epi16(load(next), shift);
            let mut lambda = scale;
            if !part.profiles.is_empty() {
                lambda = _mm512_adds_epi16(lambda, profiles16(part.profiles, 32 * row));
            }
            let bin = _mm512_subs_epi16(lambda, all(bins.base as i16));
            let bin = _mm512_min_epi16(_mm512_max_epi16(bin, all(0)), all(bins.high as i16));
            let exponent = _mm512_and_si512(_mm512_srl_epi16(u, mantissa), all(p.exponents as i16));
            let relative =
                _mm512_sub_epi16(_mm512_add_epi16(exponent, all(p.relative as i16)), _mm512_srai_epi16(lambda, 2));
            let sign = _mm512_srl_epi16(u, sign);
            let mut token = relative;
            if p.form.top {
                let top = _mm512_and_si512(_mm512_srl_epi16(u, low), all(1));
                token = _mm512_or_si512(_mm512_slli_epi16(token, 1), top);
            }
            let mut raw = _mm512_and_si512(u, low_mask);
            if p.form.sign {
                token = _mm512_or_si512(_mm512_slli_epi16(token, 1), sign);
            } else {
                raw = _mm512_or_si512(raw, _mm512_sll_epi16(sign, low));
            }
            let inside = _mm512_cmplt_epu16_mask(relative, all(p.form.window.into()));
            let token = _mm512_mask_add_epi16(all(ESC.into()), inside, token, all(2));
            let token = _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(u, u), token);
            store16(steps, at + 32 * row, _mm512_or_si512(map.high(bin), token));
            store16(raws16, at + 32 * row, _mm512_mask_mov_epi16(u, inside, raw));
        }
        at += piece.length;
    }
    at
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run32(p: &Plains, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) -> usize {
    let Symbols { steps, raws32, .. } = symbols;
    let map = Map::new(bins);
    let all = _mm512_set1_epi32;
    let count = |bits: u32| _mm_cvtsi32_si128(bits as i32);
    let (shift, mantissa, low, sign) = (count(p.shift), count(p.mantissa), count(p.low), count(31 - p.shift));
    let low_mask = all(!(u32::MAX << p.low) as i32);
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 4);
        let scale = _mm512_set1_epi16(piece.scale.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        let half = |next: &[u8], lambda: __m256i| {
            let u = _mm512_srl_epi32(load(next), shift);
            let lambda = _mm512_cvtepi16_epi32(lambda);
            let bin = _mm512_sub_epi32(lambda, all(bins.base));
            let bin = _mm512_min_epi32(_mm512_max_epi32(bin, all(0)), all(bins.high));
            let exponent = _mm512_and_si512(_mm512_srl_epi32(u, mantissa), all(p.exponents as i32));
            let relative = _mm512_sub_epi32(_mm512_add_epi32(exponent, all(p.relative)), _mm512_srai_epi32(lambda, 2));
            let sign = _mm512_srl_epi32(u, sign);
            let mut token = relative;
            if p.form.top {
                let top = _mm512_and_si512(_mm512_srl_epi32(u, low), all(1));
                token = _mm512_or_si512(_mm512_slli_epi32(token, 1), top);
            }
            let mut raw = _mm512_and_si512(u, low_mask);
            if p.form.sign {
                token = _mm512_or_si512(_mm512_slli_epi32(token, 1), sign);
            } else {
                raw = _mm512_or_si512(raw, _mm512_sll_epi32(sign, low));
            }
            let inside = _mm512_cmplt_epu32_mask(relative, all(p.form.window.into()));
            let token = _mm512_mask_add_epi32(all(ESC.into()), inside, token, all(2));
            let token = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(u, u), token);
            (_mm512_or_si512(_mm512_slli_epi32(bin, 8), token), _mm512_mask_mov_epi32(u, inside, raw))
        };
        for (row, next) in part.next.chunks(128).enumerate() {
            let mut lambda = scale;
            if !part.profiles.is_empty() {
                lambda = _mm512_adds_epi16(lambda, profiles16(part.profiles, 32 * row));
            }
            let next = next.split_at(next.len().min(64));
            let (low, raw) = half(next.0, _mm512_castsi512_si256(lambda));
            store32(raws32, at + 32 * row, raw);
            let (high, raw) = half(next.1, _mm512_extracti64x4_epi64::<1>(lambda));
            store32(raws32, at + 32 * row + 16, raw);
            store16(steps, at + 32 * row, mapped(&map, pack(low, high)));
        }
        at += piece.length;
    }
    at
}
