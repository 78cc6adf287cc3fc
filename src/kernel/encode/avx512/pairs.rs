//! Tokens of pairs of 16- and 32-bit floats without reference ([`Pairs`]).

use core::arch::x86_64::*;

use super::rans::split;
use super::{load, pack, store16, store32};
use crate::core::lanes::LANES;
use crate::core::thresholds::TableMap;
use crate::kernel::encode::{Input, Pairs, Piece, Symbols};

/// Twin of [`Pairs::symbols`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
pub(in super::super) fn pairs(p: &Pairs, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    let row = 2 * LANES * p.width;
    let mut count = 0;
    for piece in pieces {
        let part = input.piece(piece, p.width).next;
        let (whole, rest) = part.split_at(part.len() / row * row);
        let mut last = [0; 2 * LANES * 4];
        if let (Some(place), Some(end)) = (last.get_mut(..rest.len()), rest.len().checked_sub(p.width)) {
            place.copy_from_slice(rest);
            // An element alone goes with itself.
            last.copy_within(end..rest.len(), rest.len());
        }
        let last = last.get(..if rest.is_empty() { 0 } else { row }).unwrap_or(&[]);
        let (offset, high) = p.under(map, piece.scale);
        let high = _mm512_set1_epi16(high as i16);
        for (i, next) in whole.chunks(row).chain(last.chunks(row)).enumerate() {
            let at = count + LANES * i;
            let tokens = if p.width == 2 {
                row16(p, offset, next, symbols.raws32.get_mut(at..).unwrap_or(&mut []))
            } else {
                row32(p, offset, next, symbols.raws64.get_mut(at..).unwrap_or(&mut []))
            };
            store16(&mut symbols.steps, at, _mm512_or_si512(tokens, high));
        }
        count += piece.length.div_ceil(2);
    }
    symbols.count = count;
}

/// Tokens of 64 elements of 16 bits as 16-bit lanes; their raw bits are stored.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn row16(p: &Pairs, offset: i32, next: &[u8], raws: &mut [u32]) -> __m512i {
    let all = _mm512_set1_epi16;
    let count = |bits: u32| _mm_cvtsi32_si128(bits as i32);
    let mantissa = all(!(u16::MAX << p.mantissa) as i16);
    // The first one times the one factor, and the second one times the other.
    let weighed =
        |v: __m512i, first: u32, second: u32| _mm512_madd_epi16(v, _mm512_set1_epi32((second << 16 | first) as i32));
    let half = |next: &[u8]| {
        let u = _mm512_srl_epi16(load(next), count(p.shift));
        let exponent = _mm512_and_si512(_mm512_srl_epi16(u, count(p.mantissa)), all(p.exponents as i16));
        let relative = _mm512_add_epi16(exponent, all(offset as i16));
        let inside = _mm512_cmplt_epu16_mask(relative, all(p.window as i16));
        let inside = _pext_u32(inside & inside >> 1, 0x5555_5555) as u16;
        let token = _mm512_maskz_add_epi32(inside, weighed(relative, p.window, 1), _mm512_set1_epi32(1));
        // The mantissa, and above it what else there is at the top: the sign.
        let high = _mm512_srl_epi16(u, count(p.exponents.count_ones()));
        let rest = _mm512_ternarylogic_epi32::<0xCA>(mantissa, u, high);
        // Of at most 11 bits each.
        let mut raw = weighed(rest, 1, 2 << p.mantissa);
        if inside != u16::MAX {
            let (first, second) = (_mm512_and_si512(u, _mm512_set1_epi32(0xFFFF)), _mm512_srli_epi32(u, 16));
            let whole = _mm512_or_si512(first, _mm512_sll_epi32(second, count(16 - p.shift)));
            raw = _mm512_mask_mov_epi32(whole, inside, raw);
        }
        (token, raw)
    };
    let (first, second) = next.split_at(next.len().min(64));
    let (low, raw) = half(first);
    store32(raws, 0, raw);
    let (high, raw) = half(second);
    store32(raws, 16, raw);
    pack(low, high)
}

/// Tokens of 64 elements of 32 bits as 16-bit lanes; their raw bits are stored.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn row32(p: &Pairs, offset: i32, next: &[u8], raws: &mut [u64]) -> __m512i {
    let all = _mm512_set1_epi32;
    let count = |bits: u32| _mm_cvtsi32_si128(bits as i32);
    let mantissa = all(!(u32::MAX << p.mantissa) as i32);
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    // The second elements, from bit `place` on behind the first ones.
    let join = |v: __m512i, place: u32| {
        let second = _mm512_sll_epi64(_mm512_srli_epi64(v, 32), count(place));
        _mm512_ternarylogic_epi64::<0xEA>(v, low_half, second)
    };
    let quarter = |next: &[u8]| {
        let u = _mm512_srl_epi32(load(next), count(p.shift));
        let exponent = _mm512_and_si512(_mm512_srl_epi32(u, count(p.mantissa)), all(p.exponents as i32));
        let relative = _mm512_add_epi32(exponent, all(offset));
        let inside = _mm512_cmplt_epu32_mask(relative, all(p.window as i32));
        let inside = _pext_u32(u32::from(inside & inside >> 1), 0x5555) as u8;
        // The first one times W and the second one: within the window 16 bits hold them.
        let weighed = _mm512_madd_epi16(relative, _mm512_set1_epi64(1 << 32 | i64::from(p.window)));
        let weighed = _mm512_add_epi32(weighed, _mm512_srli_epi64(weighed, 32));
        let token = _mm512_maskz_add_epi64(inside, weighed, _mm512_set1_epi64(1));
        let high = _mm512_srl_epi32(u, count(p.exponents.count_ones()));
        let mut raw = join(_mm512_ternarylogic_epi32::<0xCA>(mantissa, u, high), p.mantissa + 1);
        if inside != u8::MAX {
            raw = _mm512_mask_mov_epi64(join(u, 32 - p.shift), inside, raw);
        }
        (token, raw)
    };
    let mut tokens = [_mm512_setzero_si512(); 4];
    for ((token, next), raws) in tokens.iter_mut().zip(next.chunks(64)).zip(raws.chunks_mut(8)) {
        let (made, raw) = quarter(next);
        *token = made;
        if let Some(raws) = raws.first_chunk_mut::<8>() {
            // SAFETY: the reference is to 64 bytes; the store asks for no alignment.
            unsafe { _mm512_storeu_si512(raws.as_mut_ptr().cast(), raw) }
        }
    }
    let [a, b, c, d] = tokens;
    pack(split(a, b)[0], split(c, d)[0])
}
