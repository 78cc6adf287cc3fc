//! Sets and changed elements of 16-bit floats ([`Lengths::masks`]).

use core::arch::x86_64::*;

use super::lengths::{Residuals16, token16};
use super::map::Map;
use super::{Row, load, profiles16, store_row};
use crate::kernel::encode::{Bins, Input, LengthKind, Lengths, Piece, Symbols};

/// Elements of a group.
const GROUP: usize = 8;
/// Words by which rows are written past the end.
const SLACK: usize = 32;

/// Byte shuffles that move the words of each set of eight to the front, in order.
static TO_FRONT: [[u8; 16]; 256] = {
    let mut shuffles = [[0; 16]; 256];
    let mut set = 0usize;
    while set < 256 {
        let (mut to, mut from) = (0, 0);
        while from < 8 {
            if set >> from & 1 == 1 {
                shuffles[set][2 * to] = 2 * from as u8;
                shuffles[set][2 * to + 1] = 2 * from as u8 + 1;
                to += 1;
            }
            from += 1;
        }
        set += 1;
    }
    shuffles
};

/// Twin of the scalar code behind [`Lengths::masks`]; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
    let groups: usize = pieces.iter().map(|p| p.length.div_ceil(GROUP)).sum();
    sets.resize(groups + SLACK, 0);
    let Symbols { steps, raws16, count, .. } = symbols;
    let residuals = Residuals16::<true>::new(p);
    let zero = _mm256_setzero_si256();
    let high = _mm256_set1_epi16(bins.1.high as i16);
    let mask_high = _mm_set1_epi16(bins.0.high as i16);
    // Sets of groups 0, 2, 1, 3, as they come from packing, to the low bytes of words.
    let spread = _mm_setr_epi8(0, -1, 2, -1, 1, -1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    let lanes = [
        _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        _mm256_setr_epi16(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
    ];
    // λ without scale is this much less the number that is reckoned with, which must not be negative.
    let above = if input.profiles.is_empty() { 0 } else { 128 };
    let (mut at, mut group) = (0, 0);
    for piece in pieces {
        let part = input.piece(piece, 2);
        let mask_offset = _mm_set1_epi16((bins.0.offset(piece.scale, p.constant) + above) as i16);
        let offset = _mm256_set1_epi16((bins.1.offset(piece.scale, p.constant) + above) as i16);
        for (row, (next, reference)) in part.next.chunks(64).zip(part.reference.chunks(64)).enumerate() {
            let elements = next.len() / 2;
            let (next, reference) = (load::<2>(next), load::<2>(reference));
            let same = |k: usize| _mm256_cmpeq_epi16(residuals.kept(_mm256_xor_si256(next[k], reference[k])), zero);
            let differ = !_mm256_movemask_epi8(_mm256_packs_epi16(same(0), same(1)));
            let mut rest = reference.map(|r| residuals.term(r));
            if !part.profiles.is_empty() {
                let profiles = profiles16(part.profiles, 32 * row);
                let less = |k: usize| _mm256_sub_epi16(_mm256_set1_epi16(above as i16), profiles[k]);
                rest = [_mm256_add_epi16(rest[0], less(0)), _mm256_add_epi16(rest[1], less(1))];
            }
            let mut counted = rest;
            if elements < 32 {
                // Elements that are not there must not have the largest λ.
                let last = _mm256_set1_epi16(elements as i16 - 1);
                let absent = |k: usize| _mm256_cmpgt_epi16(lanes[k], last);
                counted = [_mm256_or_si256(rest[0], absent(0)), _mm256_or_si256(rest[1], absent(1))];
            }
            // The least of each eight.
            let low = |v: __m256i| _mm_minpos_epu16(_mm256_castsi256_si128(v));
            let upper = |v: __m256i| _mm_minpos_epu16(_mm256_extracti128_si256::<1>(v));
            let first = _mm_unpacklo_epi16(low(counted[0]), upper(counted[0]));
            let second = _mm_unpacklo_epi16(low(counted[1]), upper(counted[1]));
            let least = _mm_unpacklo_epi32(first, second);
            let bin = _mm_max_epi16(_mm_sub_epi16(mask_offset, least), _mm_setzero_si128());
            let bin = _mm_slli_epi16(_mm_min_epi16(bin, mask_high), 8);
            let step = _mm_or_si128(bin, _mm_shuffle_epi8(_mm_cvtsi32_si128(differ), spread));
            if let Some(sets) = sets.get_mut(group..).and_then(|rest| rest.first_chunk_mut::<4>()) {
                // SAFETY: the reference is to 8 bytes; the store asks for no alignment.
                unsafe { _mm_storel_epi64(sets.as_mut_ptr().cast(), step) }
            }
            group += elements.div_ceil(GROUP);
            if differ == 0 {
                continue;
            }
            for k in 0..2 {
                let z = residuals.z(next[k], reference[k]);
                let bin = _mm256_max_epi16(_mm256_sub_epi16(offset, rest[k]), zero);
                let bin = _mm256_slli_epi16(_mm256_min_epi16(bin, high), 8);
                let halves = [
                    (differ >> (8 * k), _mm256_castsi256_si128(bin), _mm256_castsi256_si128(z)),
                    (differ >> (16 + 8 * k), _mm256_extracti128_si256::<1>(bin), _mm256_extracti128_si256::<1>(z)),
                ];
                for (set, bin, z) in halves {
                    let set = set as u8;
                    let shuffle = &TO_FRONT[usize::from(set)];
                    // SAFETY: the reference is to 16 bytes; the load asks for no alignment.
                    let shuffle = unsafe { _mm_loadu_si128(shuffle.as_ptr().cast()) };
                    store8(steps, at, _mm_shuffle_epi8(bin, shuffle));
                    store8(raws16, at, _mm_shuffle_epi8(z, shuffle));
                    at += set.count_ones() as usize;
                }
            }
        }
    }
    *count = at;
    let map = Map::new(&bins.0);
    for at in (0..groups).step_by(32) {
        if let Some(steps) = row(sets, at) {
            store_row(sets, at, map.mapped(steps));
        }
    }
    sets.truncate(groups);
    true
}

/// Makes steps of bins, and raw bits of z: twin of the scalar code; false, and nothing done, for what has no vector code.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(in super::super) fn tokens(bins: &Bins<'_>, symbols: &mut Symbols) -> bool {
    if symbols.width != 2 {
        return false;
    }
    let map = Map::new(bins);
    let Symbols { steps, raws16, count, .. } = symbols;
    for at in (0..*count).step_by(32) {
        if let (Some(bins), Some(z)) = (row(steps, at), row(raws16, at)) {
            let high = map.mapped(bins);
            let step = |k: usize| _mm256_or_si256(high[k], token16(z[k]));
            store_row(steps, at, [step(0), step(1)]);
            store_row(raws16, at, z.map(|z| _mm256_srli_epi16(z, 1)));
        }
    }
    true
}

/// 32 words from index `at` on, where there are as many.
#[inline]
#[target_feature(enable = "avx2")]
fn row(words: &[u16], at: usize) -> Option<Row> {
    let (halves, _) = words.get(at..)?.first_chunk::<32>()?.as_chunks::<16>();
    // SAFETY: each reference is to 32 bytes; the load asks for no alignment.
    Some(std::array::from_fn(|k| unsafe { _mm256_loadu_si256(halves[k].as_ptr().cast()) }))
}

/// Stores 8 words from index `at` on, where there is room for all of them.
#[inline]
#[target_feature(enable = "avx2")]
fn store8(out: &mut [u16], at: usize, v: __m128i) {
    if let Some(out) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>()) {
        // SAFETY: the reference is to 16 bytes; the store asks for no alignment.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), v) }
    }
}
