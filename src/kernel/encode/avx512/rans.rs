//! Whole rows of 32 lanes ([`Coder`](super::super::Coder)).

use core::arch::x86_64::*;

use super::{load16, load32, load64};
use crate::core::lanes::LANES;
use crate::kernel::encode::Raws;
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Lanes as 32-bit numbers: the even ones, the odd ones.
type Pair = [__m512i; 2];

/// Twin of the scalar code for 32 lanes and whole rows. Returns where the words now begin; there must be room for all that can come.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
pub(in super::super) fn rows(
    states: &mut [u32; LANES],
    words: &mut [u8],
    mut at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: Raws<'_>,
) -> usize {
    let (Some(low), Some(high)) = (states.first_chunk::<16>(), states.last_chunk::<16>()) else {
        return at;
    };
    let mut x: Pair = split(load32(low), load32(high));
    let entries = table.entries();
    let (rows, _) = steps.as_chunks::<LANES>();
    match raws {
        Raws::U16(raws) => {
            let (raws, _) = raws.as_chunks::<LANES>();
            for (steps, raws) in rows.iter().zip(raws).rev() {
                let chosen = Chosen::new(entries, load16(steps));
                if chosen.any_raw() {
                    let raw = load16(raws);
                    let raw = [raw, _mm512_srli_epi32(raw, 16)];
                    at = give_raw(&mut x, chosen.raw_bits(), raw, words, at);
                }
                at = chosen.take(&mut x, words, at);
            }
        }
        Raws::U32(raws) => {
            let (raws, _) = raws.as_chunks::<LANES>();
            for (steps, raws) in rows.iter().zip(raws).rev() {
                let chosen = Chosen::new(entries, load16(steps));
                if let (true, Some(low), Some(high)) = (chosen.any_raw(), raws.first_chunk(), raws.last_chunk()) {
                    let raw = split(load32(low), load32(high));
                    at = give_word(&mut x, chosen.raw_bits(), raw, words, at);
                }
                at = chosen.take(&mut x, words, at);
            }
        }
        Raws::U64(raws) => {
            let (raws, _) = raws.as_chunks::<LANES>();
            let above = _mm512_set1_epi32(32);
            for (steps, raws) in rows.iter().zip(raws).rev() {
                let chosen = Chosen::new(entries, load16(steps));
                if let (true, ([a, b, c, d], _)) = (chosen.any_raw(), raws.as_chunks::<8>()) {
                    // The lower and the upper words of lanes 0 … 15, then those of lanes 16 … 31.
                    let (first, second) = (split(load64(a), load64(b)), split(load64(c), load64(d)));
                    let bits = chosen.raw_bits();
                    let high = bits.map(|b| _mm512_subs_epu16(b, above));
                    if any(high) {
                        at = give_word(&mut x, high, split(first[1], second[1]), words, at);
                    }
                    let low = bits.map(|b| _mm512_min_epu32(b, above));
                    at = give_word(&mut x, low, split(first[0], second[0]), words, at);
                }
                at = chosen.take(&mut x, words, at);
            }
        }
        Raws::None => {
            for steps in rows.iter().rev() {
                at = Chosen::new(entries, load16(steps)).take(&mut x, words, at);
            }
        }
    }
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    super::store32(states, 0, _mm512_permutex2var_epi32(x[0], first, x[1]));
    super::store32(states, 16, _mm512_permutex2var_epi32(x[0], second, x[1]));
    at
}

/// The even and the odd 32-bit numbers of two vectors.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn split(low: __m512i, high: __m512i) -> Pair {
    let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    [_mm512_permutex2var_epi32(low, even, high), _mm512_permutex2var_epi32(low, odd, high)]
}

/// Whether any number is not zero.
#[inline]
#[target_feature(enable = "avx512f")]
fn any(v: Pair) -> bool {
    let v = _mm512_or_si512(v[0], v[1]);
    _mm512_test_epi32_mask(v, v) != 0
}

/// Gives out words of the lanes that are over their limits, lane 0's lowest; then these lanes without them, and where the words begin.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn give(x: Pair, limits: Pair, words: &mut [u8], at: usize) -> (Pair, usize) {
    let over = [_mm512_cmpgt_epu32_mask(x[0], limits[0]), _mm512_cmpgt_epu32_mask(x[1], limits[1])];
    // Even lanes to even bits, odd lanes to odd ones.
    let marked = _pdep_u32(over[0].into(), 0x5555_5555) | _pdep_u32(over[1].into(), 0xAAAA_AAAA);
    let word = _mm512_mask_blend_epi16(0xAAAA_AAAA, x[0], _mm512_slli_epi32(x[1], 16));
    let word = _mm512_maskz_compress_epi16(marked, word);
    let count = marked.count_ones() as usize;
    let start = at.wrapping_sub(2 * count);
    if let Some(words) = words.get_mut(start..at) {
        // SAFETY: the mask has a bit for each of the `count` words that the slice's 2 · `count` bytes hold; nothing else is written.
        unsafe { _mm512_mask_storeu_epi16(words.as_mut_ptr().cast(), _bzhi_u32(u32::MAX, count as u32), word) };
    }
    let kept = [_mm512_mask_srli_epi32::<16>(x[0], over[0], x[0]), _mm512_mask_srli_epi32::<16>(x[1], over[1], x[1])];
    (kept, start)
}

/// One raw-bit pass: `bits` (0…16) of each lane from the bottom of `raw`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn give_raw(x: &mut Pair, bits: Pair, raw: Pair, words: &mut [u8], at: usize) -> usize {
    let ones = _mm512_set1_epi32(-1);
    let (kept, at) = give(*x, [_mm512_srlv_epi32(ones, bits[0]), _mm512_srlv_epi32(ones, bits[1])], words, at);
    for k in 0..2 {
        // kept << bits | (raw & !(ones << bits)).
        let value = _mm512_sllv_epi32(ones, bits[k]);
        x[k] = _mm512_ternarylogic_epi32::<0xF4>(_mm512_sllv_epi32(kept[k], bits[k]), raw[k], value);
    }
    at
}

/// The raw bits that are in a word of 32: `bits` (0…32) of each lane, the upper 16 in a pass of their own where there are any.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn give_word(x: &mut Pair, bits: Pair, raw: Pair, words: &mut [u8], mut at: usize) -> usize {
    let limit = _mm512_set1_epi32(16);
    let above = bits.map(|b| _mm512_subs_epu16(b, limit));
    if any(above) {
        at = give_raw(x, above, raw.map(|r| _mm512_srli_epi32(r, 16)), words, at);
    }
    give_raw(x, bits.map(|b| _mm512_min_epu32(b, limit)), raw, words, at)
}

/// Entries of a row of steps: those of lanes 4j, 4j + 1, 4j + 2, 4j + 3.
#[derive(Clone, Copy)]
struct Chosen([__m512i; 4]);

impl Chosen {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(entries: &[u64], steps: __m512i) -> Self {
        #[allow(clippy::cast_possible_wrap)]
        let mask = _mm512_set1_epi64(entries.len() as i64 - 1);
        let index = [steps, _mm512_srli_epi64(steps, 16), _mm512_srli_epi64(steps, 32), _mm512_srli_epi64(steps, 48)];
        Self(index.map(|index| {
            let index = _mm512_and_si512(index, mask);
            // SAFETY: `entries` holds 2^k entries (k ≥ 8, see StepTable) and the index keeps only the low k bits.
            unsafe { _mm512_i64gather_epi64::<8>(index, entries.as_ptr().cast()) }
        }))
    }

    /// The upper halves of the entries.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn upper(&self) -> Pair {
        let [a, b, c, d] = self.0;
        [odd_halves(c, a), odd_halves(d, b)]
    }

    /// Whether any lane has raw bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn any_raw(&self) -> bool {
        let [a, b, c, d] = self.0;
        let any = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        _mm512_test_epi64_mask(any, _mm512_set1_epi64(0x7F << RAW_BITS)) != 0
    }

    /// Raw bits of the lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn raw_bits(&self) -> Pair {
        self.upper()
            .map(|u| _mm512_and_si512(_mm512_srli_epi32::<{ RAW_BITS - FREQUENCY }>(u), _mm512_set1_epi32(0x7F)))
    }

    /// The token step.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
    fn take(&self, x: &mut Pair, words: &mut [u8], at: usize) -> usize {
        let [a, b, c, d] = self.0;
        let upper = self.upper();
        // States of 2^20 times the frequency are too large; shifting drops all but the frequency, and makes 0 − 1 of 4096, for which none is.
        let limit = |upper| _mm512_sub_epi32(_mm512_slli_epi32(upper, 20), _mm512_set1_epi32(1));
        let (kept, at) = give(*x, [limit(upper[0]), limit(upper[1])], words, at);
        let reciprocals = [[a, c], [b, d]];
        for k in 0..2 {
            let (kept, upper, [first, second]) = (kept[k], upper[k], reciprocals[k]);
            let f = _mm512_and_si512(upper, _mm512_set1_epi32(0x1FFF));
            let even = _mm512_mul_epu32(kept, first);
            let odd = _mm512_mul_epu32(_mm512_shuffle_epi32::<0b11_11_01_01>(kept), second);
            let quotient = odd_halves(odd, even);
            let rest = _mm512_sub_epi32(kept, _mm512_mullo_epi32(quotient, f));
            let next = _mm512_add_epi32(
                _mm512_add_epi32(_mm512_slli_epi32(quotient, 12), rest),
                _mm512_srli_epi32::<{ CUMULATIVE - FREQUENCY }>(upper),
            );
            // The quotient may be one too small: then the rest is too large by the frequency.
            let missing = _mm512_cmpge_epu32_mask(rest, f);
            x[k] = _mm512_mask_add_epi32(next, missing, next, _mm512_sub_epi32(_mm512_set1_epi32(4096), f));
        }
        at
    }
}

/// The upper halves of 64-bit lanes: those of `odd` in place, those of `even` below them.
#[inline]
#[target_feature(enable = "avx512f")]
fn odd_halves(odd: __m512i, even: __m512i) -> __m512i {
    _mm512_mask_shuffle_epi32::<0b11_11_01_01>(odd, 0x5555, even)
}
