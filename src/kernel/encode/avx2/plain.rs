//! Tokens of 16- and 32-bit floats without reference ([`Plains`]).

use core::arch::x86_64::*;

use super::map::Map;
use super::{Row, load, profiles16, reordered, store_row, store_row32};
use crate::core::plain::{ESC, ZERO};
use crate::kernel::encode::{Bins, Input, Piece, Plains, Symbols};

/// Tokens are made by clearing to 0 and adding 1.
const _: () = assert!(ZERO == 0 && ESC == 1);

/// Twin of [`Plains::symbols`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(in super::super) fn plains(
    p: &Plains,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> bool {
    match (p.width, p.form.sign) {
        _ if p.form.window == 0 => return false,
        (2, false) => symbols.count = run16::<false>(p, bins, input, pieces, symbols),
        (2, true) => symbols.count = run16::<true>(p, bins, input, pieces, symbols),
        (4, false) => symbols.count = run32::<false>(p, bins, input, pieces, symbols),
        (4, true) => symbols.count = run32::<true>(p, bins, input, pieces, symbols),
        _ => return false,
    }
    true
}

/// What makes tokens of 16 elements whose patterns are in 16 bits, or packed to them.
///
/// `SIGN`: tokens have the sign.
struct Tokens<const SIGN: bool> {
    relative: __m256i,
    /// 1 where tokens have the mantissa's top bit, else 0.
    top: __m128i,
    last: __m256i,
}

impl<const SIGN: bool> Tokens<SIGN> {
    #[inline]
    #[target_feature(enable = "avx2")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    fn new(p: &Plains) -> Self {
        Self {
            relative: _mm256_set1_epi16(p.relative as i16),
            top: _mm_cvtsi32_si128(p.form.top.into()),
            last: _mm256_set1_epi16(((i16::from(p.form.window)) << i16::from(p.form.top)) - 1),
        }
    }

    /// What the exponent and the top bit, where it goes with it, lack of being relative.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn offset(&self, lambda: __m256i) -> __m256i {
        _mm256_sll_epi16(_mm256_sub_epi16(self.relative, _mm256_srai_epi16(lambda, 2)), self.top)
    }

    /// The tokens, and which exponents are inside of the window. The sign is the top bit of `u`, which is zero for zeros only.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn tokens(&self, u: __m256i, exponent: __m256i, offset: __m256i) -> (__m256i, __m256i) {
        let relative = _mm256_add_epi16(exponent, offset);
        let inside = _mm256_cmpeq_epi16(_mm256_min_epu16(relative, self.last), relative);
        let mut token = relative;
        if SIGN {
            token = _mm256_or_si256(_mm256_add_epi16(token, token), _mm256_srli_epi16(u, 15));
        }
        let one = _mm256_set1_epi16(1);
        let token = _mm256_add_epi16(_mm256_and_si256(_mm256_add_epi16(token, one), inside), one);
        (_mm256_andnot_si256(_mm256_cmpeq_epi16(u, _mm256_setzero_si256()), token), inside)
    }
}

/// λ of 32 elements.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(clippy::cast_possible_truncation)]
fn lambdas(piece: &Piece, profiles: &[i8], at: usize) -> Row {
    let scale = _mm256_set1_epi16(piece.scale.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
    if profiles.is_empty() {
        return [scale; 2];
    }
    profiles16(profiles, at).map(|profile| _mm256_adds_epi16(scale, profile))
}

/// The high bytes of steps.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(clippy::cast_possible_truncation)]
fn high(map: &Map<'_>, bins: &Bins<'_>, lambda: Row) -> Row {
    map.high(lambda.map(|lambda| _mm256_subs_epi16(lambda, _mm256_set1_epi16(bins.base as i16))))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run16<const SIGN: bool>(
    p: &Plains,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> usize {
    let Symbols { steps, raws16, .. } = symbols;
    let map = Map::new(bins);
    let tokens = Tokens::<SIGN>::new(p);
    let all = _mm256_set1_epi16;
    let top = u32::from(p.form.top);
    let keep = all((u16::MAX >> p.shift << p.shift) as i16);
    let shift = _mm_cvtsi32_si128(p.shift as i32);
    // Shifts to the right, as multiplications whose upper halves count: the exponent with its top bit; the sign to above the low bits.
    let place = all((1 << (16 + top - p.shift - p.mantissa)) as i16);
    let exponents = all((((p.exponents + 1) << top) - 1) as i16);
    let sign = all((1 << (p.low + 1)) as i16);
    let (low, sign_bit) = (all(!(u16::MAX << p.low) as i16), all((1 << p.low) as i16));
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 2);
        let lambda = lambdas(piece, &[], 0);
        let mut offset = lambda.map(|lambda| tokens.offset(lambda));
        let mut steps_high = high(&map, bins, lambda);
        for (row, next) in part.next.chunks(64).enumerate() {
            if !part.profiles.is_empty() {
                let lambda = lambdas(piece, part.profiles, 32 * row);
                offset = lambda.map(|lambda| tokens.offset(lambda));
                steps_high = high(&map, bins, lambda);
            }
            let next = load::<2>(next);
            let made: [_; 2] = std::array::from_fn(|k| {
                let u = _mm256_and_si256(next[k], keep);
                let exponent = _mm256_and_si256(_mm256_mulhi_epu16(u, place), exponents);
                let (token, inside) = tokens.tokens(u, exponent, offset[k]);
                let raw = _mm256_srl_epi16(u, shift);
                let mut coded = _mm256_and_si256(raw, low);
                if !SIGN {
                    coded = _mm256_or_si256(coded, _mm256_and_si256(_mm256_mulhi_epu16(u, sign), sign_bit));
                }
                (_mm256_or_si256(steps_high[k], token), _mm256_blendv_epi8(raw, coded, inside))
            });
            store_row(steps, at + 32 * row, made.map(|(step, _)| step));
            store_row(raws16, at + 32 * row, made.map(|(_, raw)| raw));
        }
        at += piece.length;
    }
    at
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run32<const SIGN: bool>(
    p: &Plains,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    symbols: &mut Symbols,
) -> usize {
    let Symbols { steps, raws32, .. } = symbols;
    let map = Map::new(bins);
    let tokens = Tokens::<SIGN>::new(p);
    let all = _mm256_set1_epi32;
    let top = u32::from(p.form.top);
    let keep = all((u32::MAX >> p.shift << p.shift) as i32);
    let shift = all(p.shift as i32);
    // Of the exponent with its top bit; of the sign to above the low bits.
    let (place, sign) = (all((p.shift + p.mantissa - top) as i32), all(31 - p.low as i32));
    let exponents = all((((p.exponents + 1) << top) - 1) as i32);
    let (low, sign_bit) = (all(!(u32::MAX << p.low) as i32), all(1 << p.low));
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 4);
        let lambda = lambdas(piece, &[], 0);
        let mut offset = lambda.map(|lambda| tokens.offset(lambda));
        let mut steps_high = high(&map, bins, lambda);
        for (row, next) in part.next.chunks(128).enumerate() {
            if !part.profiles.is_empty() {
                // In the order of packing.
                let lambda = lambdas(piece, part.profiles, 32 * row).map(|lambda| reordered(lambda));
                offset = lambda.map(|lambda| tokens.offset(lambda));
                steps_high = high(&map, bins, lambda);
            }
            let u = load::<4>(next).map(|u| _mm256_and_si256(u, keep));
            let exponent = u.map(|u| _mm256_and_si256(_mm256_srlv_epi32(u, place), exponents));
            let made: [_; 2] = std::array::from_fn(|k| {
                // What does not fit 16 bits becomes something else with the same sign.
                let packed = _mm256_packs_epi32(u[2 * k], u[2 * k + 1]);
                let exponent = _mm256_packs_epi32(exponent[2 * k], exponent[2 * k + 1]);
                let (token, inside) = tokens.tokens(packed, exponent, offset[k]);
                let inside = [_mm256_unpacklo_epi16(inside, inside), _mm256_unpackhi_epi16(inside, inside)];
                (reordered(_mm256_or_si256(steps_high[k], token)), inside)
            });
            let raw: [_; 4] = std::array::from_fn(|k| {
                let inside = made[k / 2].1[k % 2];
                let raw = _mm256_srlv_epi32(u[k], shift);
                let mut coded = _mm256_and_si256(raw, low);
                if !SIGN {
                    coded = _mm256_or_si256(coded, _mm256_and_si256(_mm256_srlv_epi32(u[k], sign), sign_bit));
                }
                _mm256_blendv_epi8(raw, coded, inside)
            });
            store_row(steps, at + 32 * row, made.map(|(step, _)| step));
            store_row32(raws32, at + 32 * row, raw);
        }
        at += piece.length;
    }
    at
}
