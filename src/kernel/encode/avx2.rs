//! Whole rows of 32 lanes in AVX2 ([`Coder`](super::Coder)). The other loops are compiled for AVX2 from the portable code.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::core::lanes::LANES;
use crate::kernel::encode::Raws;
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Lanes of a vector.
const GROUP: usize = 8;

/// Byte shuffles that move the words of each set of eight to the end, in order.
static TO_END: [[u8; 16]; 256] = {
    let mut shuffles = [[0; 16]; 256];
    let mut set = 0usize;
    while set < 256 {
        let (mut to, mut from) = (8, 8);
        while from > 0 {
            from -= 1;
            if set >> from & 1 == 1 {
                to -= 1;
                shuffles[set][2 * to] = 2 * from as u8;
                shuffles[set][2 * to + 1] = 2 * from as u8 + 1;
            }
        }
        set += 1;
    }
    shuffles
};

/// Twin of the scalar code for 32 lanes and whole rows. Returns where the words now begin; there must be room for all that can come, and for eight more.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn rows(
    states: &mut [u32; LANES],
    words: &mut [u8],
    mut at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: Raws<'_>,
) -> usize {
    let (groups, _) = states.as_chunks::<GROUP>();
    let mut x = [_mm256_setzero_si256(); LANES / GROUP];
    for (x, group) in x.iter_mut().zip(groups) {
        *x = load32(group);
    }
    let entries = table.entries();
    let (rows, _) = steps.as_chunks::<LANES>();
    for (row, steps) in rows.iter().enumerate().rev() {
        let (steps, _) = steps.as_chunks::<GROUP>();
        let mut chosen = [Chosen::default(); LANES / GROUP];
        for (chosen, steps) in chosen.iter_mut().zip(steps) {
            *chosen = Chosen::new(entries, steps);
        }
        let upper = |k: usize| chosen[k].upper;
        let any = _mm256_or_si256(_mm256_or_si256(upper(0), upper(1)), _mm256_or_si256(upper(2), upper(3)));
        let any = _mm256_testz_si256(any, _mm256_set1_epi32(0x7F << (RAW_BITS - FREQUENCY))) == 0;
        match raws {
            Raws::U16(raws) if any => {
                let raws = raws.get(row * LANES..).unwrap_or(&[]).as_chunks::<GROUP>().0;
                for ((x, chosen), raw) in x.iter_mut().zip(&chosen).zip(raws).rev() {
                    at = give_raw(x, chosen.raw_bits(), _mm256_cvtepu16_epi32(load16(raw)), words, at);
                }
            }
            Raws::U32(raws) if any => {
                let raws = raws.get(row * LANES..).unwrap_or(&[]).as_chunks::<GROUP>().0;
                let limit = _mm256_set1_epi32(16);
                let above = |k: usize| _mm256_subs_epu16(chosen[k].raw_bits(), limit);
                let second = _mm256_or_si256(_mm256_or_si256(above(0), above(1)), _mm256_or_si256(above(2), above(3)));
                if _mm256_testz_si256(second, second) == 0 {
                    for ((x, chosen), raw) in x.iter_mut().zip(&chosen).zip(raws).rev() {
                        let bits = _mm256_subs_epu16(chosen.raw_bits(), limit);
                        at = give_raw(x, bits, _mm256_srli_epi32(load32(raw), 16), words, at);
                    }
                }
                for ((x, chosen), raw) in x.iter_mut().zip(&chosen).zip(raws).rev() {
                    at = give_raw(x, _mm256_min_epu32(chosen.raw_bits(), limit), load32(raw), words, at);
                }
            }
            _ => {}
        }
        for (x, chosen) in x.iter_mut().zip(&chosen).rev() {
            at = chosen.take(x, words, at);
        }
    }
    let (groups, _) = states.as_chunks_mut::<GROUP>();
    for (x, group) in x.iter().zip(groups) {
        // SAFETY: the reference is to 32 bytes; the store asks for no alignment.
        unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), *x) }
    }
    at
}

/// Eight words of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load32(words: &[u32; GROUP]) -> __m256i {
    // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Eight words of 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load16(words: &[u16; GROUP]) -> __m128i {
    // SAFETY: the reference is to 16 bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

/// Gives out the low words of the lanes in `set`, the lowest lane's lowest.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn give(x: __m256i, set: u8, words: &mut [u8], at: usize) -> usize {
    let low = _mm256_and_si256(x, _mm256_set1_epi32(0xFFFF));
    let low = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low));
    let shuffle = &TO_END[usize::from(set)];
    // SAFETY: the reference is to 16 bytes; the load asks for no alignment.
    let shuffle = unsafe { _mm_loadu_si128(shuffle.as_ptr().cast()) };
    // Eight words that end where the others begin; those not given out are overwritten by what comes next.
    if let Some(words) = words.get_mut(..at).and_then(|words| words.last_chunk_mut::<{ 2 * GROUP }>()) {
        // SAFETY: the reference is to 16 bytes; the store asks for no alignment.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), _mm_shuffle_epi8(low, shuffle)) }
    }
    at - 2 * set.count_ones() as usize
}

/// One raw-bit pass: `bits` (0…16) of each lane from the bottom of `raw`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn give_raw(x: &mut __m256i, bits: __m256i, raw: __m256i, words: &mut [u8], at: usize) -> usize {
    let excess = _mm256_srlv_epi32(*x, _mm256_sub_epi32(_mm256_set1_epi32(32), bits));
    let fits = _mm256_cmpeq_epi32(excess, _mm256_setzero_si256());
    let at = give(*x, !lanes(fits), words, at);
    let kept = _mm256_blendv_epi8(_mm256_srli_epi32(*x, 16), *x, fits);
    let value = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), bits), raw);
    *x = _mm256_or_si256(_mm256_sllv_epi32(kept, bits), value);
    at
}

/// The lanes that are all ones.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn lanes(v: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(v)) as u8
}

/// Entries of eight steps: the lower halves, the upper ones.
#[derive(Clone, Copy)]
struct Chosen {
    reciprocal: __m256i,
    upper: __m256i,
}

impl Chosen {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        Self { reciprocal: _mm256_setzero_si256(), upper: _mm256_setzero_si256() }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(entries: &[u64], steps: &[u16; GROUP]) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        let mask = _mm256_set1_epi32(entries.len() as i32 - 1);
        let index = _mm256_and_si256(_mm256_cvtepu16_epi32(load16(steps)), mask);
        // Lanes 0, 1, 4, 5 and 2, 3, 6, 7: the shuffles below put them in order.
        let index = _mm256_permute4x64_epi64::<0b11_01_10_00>(index);
        let gather = |index: __m128i| {
            // SAFETY: `entries` holds 2^k entries (8 ≤ k ≤ 16, see StepTable) and the index keeps only the low k bits.
            unsafe { _mm256_i32gather_epi64::<8>(entries.as_ptr().cast(), index) }
        };
        let a = _mm256_castsi256_ps(gather(_mm256_castsi256_si128(index)));
        let b = _mm256_castsi256_ps(gather(_mm256_extracti128_si256::<1>(index)));
        Self {
            reciprocal: _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b)),
            upper: _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b)),
        }
    }

    /// Raw bits of the lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn raw_bits(&self) -> __m256i {
        let bits = _mm256_srli_epi32::<{ (RAW_BITS - FREQUENCY) as i32 }>(self.upper);
        _mm256_and_si256(bits, _mm256_set1_epi32(0x7F))
    }

    /// The token step.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn take(&self, x: &mut __m256i, words: &mut [u8], at: usize) -> usize {
        let frequency = _mm256_and_si256(self.upper, _mm256_set1_epi32(0x1FFF));
        // Both have at most 13 bits: signed comparisons will do, here and below.
        let fits = _mm256_cmpgt_epi32(frequency, _mm256_srli_epi32(*x, 20));
        let at = give(*x, !lanes(fits), words, at);
        let kept = _mm256_blendv_epi8(_mm256_srli_epi32(*x, 16), *x, fits);
        let even = _mm256_mul_epu32(kept, self.reciprocal);
        let odd = _mm256_mul_epu32(_mm256_srli_epi64(kept, 32), _mm256_srli_epi64(self.reciprocal, 32));
        let quotient = _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64(even, 32), odd);
        let rest = _mm256_sub_epi32(kept, _mm256_mullo_epi32(quotient, frequency));
        let next = _mm256_add_epi32(
            _mm256_add_epi32(_mm256_slli_epi32(quotient, 12), rest),
            _mm256_srli_epi32::<{ (CUMULATIVE - FREQUENCY) as i32 }>(self.upper),
        );
        // The quotient may be one too small: then the rest is too large by the frequency.
        let whole = _mm256_cmpgt_epi32(frequency, rest);
        let more = _mm256_andnot_si256(whole, _mm256_sub_epi32(_mm256_set1_epi32(4096), frequency));
        *x = _mm256_add_epi32(next, more);
        at
    }
}
