//! Sets and changed elements of 16-bit floats ([`Lengths::masks`]).

use core::arch::x86_64::*;

use super::lengths::Residuals16;
use super::{load, profiles16, store16};
use crate::kernel::encode::{Bins, Input, LengthKind, Lengths, Piece, Symbols};

/// Twin of the scalar code behind [`Lengths::masks`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
pub(in super::super) fn masks(
    p: &Lengths,
    bins: &(Bins<'_>, Bins<'_>),
    input: &Input<'_>,
    pieces: &[Piece],
    sets: &mut Vec<u16>,
    symbols: &mut Symbols,
) -> bool {
    if (p.kind, p.width) != (LengthKind::Float, 2) {
        return false;
    }
    let Symbols { steps, raws16, count, .. } = symbols;
    let residuals = Residuals16::<true>::new(p);
    let keep = _mm512_set1_epi16((u16::MAX >> p.shift << p.shift) as i16);
    let zero = _mm512_setzero_si512();
    let (mask_high, high) = (_mm512_set1_epi16(bins.0.high as i16), _mm512_set1_epi16(bins.1.high as i16));
    let clamp = |v: __m512i, high: __m512i| _mm512_min_epi16(_mm512_max_epi16(v, zero), high);
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, 2);
        let mask_offset = _mm512_set1_epi16(bins.0.offset(piece.scale, p.constant) as i16);
        let offset = _mm512_set1_epi16(bins.1.offset(piece.scale, p.constant) as i16);
        for (row, (next, reference)) in part.next.chunks(64).zip(part.reference.chunks(64)).enumerate() {
            let elements = next.len() / 2;
            let (next, reference) = (load(next), load(reference));
            let differ = _mm512_test_epi16_mask(_mm512_xor_si512(next, reference), keep);
            let mut rest = residuals.term(reference);
            if !part.profiles.is_empty() {
                rest = _mm512_add_epi16(rest, profiles16(part.profiles, 32 * row));
            }
            if elements < 32 {
                // Elements that are not there must not have the largest λ.
                let there = ((1u64 << elements) - 1) as u32;
                rest = _mm512_mask_mov_epi16(_mm512_set1_epi16(i16::MIN / 2), there, rest);
            }
            // The largest of each eight, in every one of their lanes.
            let largest = _mm512_max_epi16(rest, _mm512_shuffle_epi32::<0b01_00_11_10>(rest));
            let largest = _mm512_max_epi16(largest, _mm512_shuffle_epi32::<0b10_11_00_01>(largest));
            let largest = _mm512_max_epi16(largest, _mm512_rol_epi32::<16>(largest));
            let bin = clamp(_mm512_add_epi16(mask_offset, largest), mask_high);
            // One byte of each 128 bits.
            let bins_of_groups = _mm512_maskz_compress_epi64(0b0101_0101, bin);
            let bins_of_groups = _mm512_castsi512_si256(bins_of_groups);
            let groups = elements.div_ceil(8);
            let found = [
                _mm256_extract_epi64::<0>(bins_of_groups),
                _mm256_extract_epi64::<1>(bins_of_groups),
                _mm256_extract_epi64::<2>(bins_of_groups),
                _mm256_extract_epi64::<3>(bins_of_groups),
            ];
            let steps_of_groups: [u16; 4] = std::array::from_fn(|g| {
                u16::from(bins.0.map[(found[g] & 0xFF) as usize]) << 8 | u16::from((differ >> (8 * g)) as u8)
            });
            sets.extend_from_slice(&steps_of_groups[..groups.min(4)]);
            let z = residuals.z(next, reference);
            let bin = _mm512_slli_epi16(clamp(_mm512_add_epi16(offset, rest), high), 8);
            store16(steps, at, _mm512_maskz_compress_epi16(differ, bin));
            store16(raws16, at, _mm512_maskz_compress_epi16(differ, z));
            at += differ.count_ones() as usize;
        }
    }
    *count = at;
    true
}
