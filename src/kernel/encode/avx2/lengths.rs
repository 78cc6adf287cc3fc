//! Tokens of residuals of 16- and 32-bit floats ([`Lengths`]).

use core::arch::x86_64::*;

use super::map::Map;
use super::{load, profiles16, reordered, store_row, store_row32};
use crate::kernel::encode::{Bins, Input, LengthKind, Lengths, Piece, Symbols};

/// Twin of [`Lengths::symbols`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
    keep: __m256i,
    shift: __m128i,
    /// What multiplies the exponent field's place to four times its value, in the upper half of the product.
    place: __m256i,
    exponents: __m256i,
}

impl<const SHIFTED: bool> Residuals16<SHIFTED> {
    #[inline]
    #[target_feature(enable = "avx2")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub(super) fn new(p: &Lengths) -> Self {
        Self {
            keep: _mm256_set1_epi16((u16::MAX >> p.shift << p.shift) as i16),
            shift: _mm_cvtsi32_si128(p.shift as i32),
            place: _mm256_set1_epi16((1 << (18 - p.mantissa)) as i16),
            exponents: _mm256_set1_epi16((p.exponents << 2) as i16),
        }
    }

    /// The bits that are not dropped.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn kept(&self, u: __m256i) -> __m256i {
        if SHIFTED { _mm256_and_si256(u, self.keep) } else { u }
    }

    /// z of 16 elements.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn z(&self, next: __m256i, reference: __m256i) -> __m256i {
        let (next, reference) = (self.kept(next), self.kept(reference));
        // Order with the top bit inverted, which differences do not show.
        let order = |u: __m256i, sign: __m256i| self.kept(_mm256_xor_si256(u, _mm256_srli_epi16(sign, 1)));
        let sign = _mm256_srai_epi16(reference, 15);
        let d = _mm256_sub_epi16(order(next, _mm256_srai_epi16(next, 15)), order(reference, sign));
        let o = _mm256_sub_epi16(_mm256_xor_si256(d, sign), sign);
        let dropped = if SHIFTED { _mm256_sra_epi16(o, self.shift) } else { o };
        _mm256_xor_si256(_mm256_add_epi16(dropped, dropped), _mm256_srai_epi16(o, 15))
    }

    /// 4 · max(E, 1) of 16 references.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn term(&self, reference: __m256i) -> __m256i {
        let exponent = _mm256_and_si256(_mm256_mulhi_epu16(reference, self.place), self.exponents);
        _mm256_max_epi16(exponent, _mm256_set1_epi16(4))
    }
}

/// Tokens of 16 z.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn token16(z: __m256i) -> __m256i {
    let float = |z: __m256i| _mm256_castps_si256(_mm256_cvtepi32_ps(z));
    // Exponent and top mantissa bits of the float, bit 0 of z.
    let low = _mm256_srli_epi32(float(_mm256_and_si256(z, _mm256_set1_epi32(0xFFFF))), 20);
    let high = _mm256_srli_epi32(float(_mm256_srli_epi32(z, 16)), 4);
    let bits = _mm256_blend_epi16::<0b1010_1010>(low, high);
    let one = _mm256_set1_epi16(1);
    let bits = _mm256_or_si256(_mm256_andnot_si256(one, bits), _mm256_and_si256(z, one));
    // From 8 on that is the token, even where it is z. Below it is at most z, and signed.
    let token = _mm256_sub_epi16(bits, _mm256_set1_epi16(1032));
    _mm256_max_epi16(token, _mm256_min_epu16(z, _mm256_set1_epi16(7)))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[allow(clippy::cast_possible_truncation)]
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
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 2);
        let offset = _mm256_set1_epi16(bins.offset(piece.scale, p.constant) as i16);
        for (row, (next, reference)) in part.next.chunks(64).zip(part.reference.chunks(64)).enumerate() {
            let (next, reference) = (load::<2>(next), load::<2>(reference));
            let z = [residuals.z(next[0], reference[0]), residuals.z(next[1], reference[1])];
            let mut bin = reference.map(|r| _mm256_sub_epi16(offset, residuals.term(r)));
            if !part.profiles.is_empty() {
                let profiles = profiles16(part.profiles, 32 * row);
                bin = [_mm256_add_epi16(bin[0], profiles[0]), _mm256_add_epi16(bin[1], profiles[1])];
            }
            let high = map.high(bin);
            let step = |k: usize| _mm256_or_si256(high[k], token16(z[k]));
            store_row(steps, at + 32 * row, [step(0), step(1)]);
            store_row(raws16, at + 32 * row, z.map(|z| _mm256_srli_epi16(z, 1)));
        }
        at += piece.length;
    }
    at
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
    let all = _mm256_set1_epi32;
    let keep = all((u32::MAX >> p.shift << p.shift) as i32);
    let shift = all(p.shift as i32);
    // Four times the exponent.
    let (place, exponents) = (all(p.mantissa as i32 - 2), all((p.exponents << 2) as i32));
    let kept = |u: __m256i| if SHIFTED { _mm256_and_si256(u, keep) } else { u };
    let z = |next: __m256i, reference: __m256i| {
        let (next, reference) = (kept(next), kept(reference));
        // Order with the top bit inverted, which differences do not show.
        let order = |u: __m256i, sign: __m256i| kept(_mm256_xor_si256(u, _mm256_srli_epi32(sign, 1)));
        let sign = _mm256_srai_epi32(reference, 31);
        let d = _mm256_sub_epi32(order(next, _mm256_srai_epi32(next, 31)), order(reference, sign));
        let o = _mm256_sub_epi32(_mm256_xor_si256(d, sign), sign);
        let dropped = if SHIFTED { _mm256_srav_epi32(o, shift) } else { o };
        _mm256_xor_si256(_mm256_add_epi32(dropped, dropped), _mm256_srai_epi32(o, 31))
    };
    // Exponent and top mantissa bits of ⌊z / 2⌋ as a float, bit 0 of z. Clearing what is 8 bits below a one keeps the float from being rounded up to the next
    // exponent or past the two bits that count.
    let bits = |z: __m256i, half: __m256i| {
        let float = _mm256_cvtepi32_ps(_mm256_andnot_si256(_mm256_srli_epi32(half, 8), half));
        let bits = _mm256_srli_epi32(_mm256_castps_si256(float), 20);
        _mm256_or_si256(_mm256_andnot_si256(all(1), bits), _mm256_and_si256(z, all(1)))
    };
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 4);
        let offset = _mm256_set1_epi16(bins.offset(piece.scale, p.constant) as i16);
        for (row, (next, reference)) in part.next.chunks(128).zip(part.reference.chunks(128)).enumerate() {
            let (next, reference) = (load::<4>(next), load::<4>(reference));
            let z: [_; 4] = std::array::from_fn(|k| z(next[k], reference[k]));
            let half = z.map(|z| _mm256_srli_epi32(z, 1));
            store_row32(raws32, at + 32 * row, half);
            let term = reference.map(|r| _mm256_and_si256(_mm256_srlv_epi32(r, place), exponents));
            let bits: [_; 4] = std::array::from_fn(|k| bits(z[k], half[k]));
            let small = z.map(|z| _mm256_min_epu32(z, all(7)));
            // All fits 16 bits. Lanes stay as packing puts them until they are stored.
            let pack = |v: [__m256i; 4]| [_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3])];
            let (term, bits, small) = (pack(term), pack(bits), pack(small));
            let mut bin = term.map(|term| _mm256_sub_epi16(offset, _mm256_max_epi16(term, _mm256_set1_epi16(4))));
            if !part.profiles.is_empty() {
                let profiles = profiles16(part.profiles, 32 * row).map(|profiles| reordered(profiles));
                bin = [_mm256_add_epi16(bin[0], profiles[0]), _mm256_add_epi16(bin[1], profiles[1])];
            }
            let high = map.high(bin);
            let step = |k: usize| {
                let token = _mm256_sub_epi16(bits[k], _mm256_set1_epi16(1024));
                reordered(_mm256_or_si256(high[k], _mm256_max_epi16(token, small[k])))
            };
            store_row(steps, at + 32 * row, [step(0), step(1)]);
        }
        at += piece.length;
    }
    at
}
