//! Whole rows of 32 lanes ([`Coder`](super::super::Coder)).

use core::arch::x86_64::*;

use crate::core::lanes::LANES;
use crate::kernel::encode::Raws;
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Lanes of two vectors.
const HALF: usize = 16;
/// Words moved at a time.
const GROUP: usize = 8;
/// Bytes of the words that all lanes can give out at once.
const ROOM: usize = 2 * LANES;

/// 16 lanes as 32-bit numbers: the even ones, the odd ones.
type Pair = [__m256i; 2];
/// All 32 lanes.
type All = [Pair; 2];

/// Byte shuffles that move the words of each set of eight to the end, in order. Sets have the four even words first.
static TO_END: [[u8; 16]; 256] = {
    let mut shuffles = [[0; 16]; 256];
    let mut set = 0usize;
    while set < 256 {
        let (mut to, mut from) = (8, 8);
        while from > 0 {
            from -= 1;
            if set >> (from / 2 + from % 2 * 4) & 1 == 1 {
                to -= 1;
                shuffles[set][2 * to] = 2 * from as u8;
                shuffles[set][2 * to + 1] = 2 * from as u8 + 1;
            }
        }
        set += 1;
    }
    shuffles
};

/// Twin of the scalar code for 32 lanes and whole rows. Returns where the words now begin; there must be room for all that can come, and for 32 more.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(in super::super) fn rows(
    states: &mut [u32; LANES],
    words: &mut [u8],
    mut at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: Raws<'_>,
) -> usize {
    let lane = |h: usize, parity: usize, i: usize| HALF * h + 2 * i + parity;
    let now = &*states;
    let mut x: All = both(|h| both(|k| load32(&std::array::from_fn(|i| now[lane(h, k, i)]))));
    let entries = table.entries();
    let (rows, _) = steps.as_chunks::<LANES>();
    for (row, steps) in rows.iter().enumerate().rev() {
        let chosen = Chosen::new(entries, steps);
        if chosen.any_raw() {
            match raws {
                Raws::None => {}
                Raws::U16(raws) => {
                    let (parts, _) = raws.get(row * LANES..).unwrap_or(&[]).as_chunks::<HALF>();
                    if let [low, high, ..] = parts {
                        let raw = [low, high].map(|raw| load16(raw)).map(|raw| [raw, _mm256_srli_epi32(raw, 16)]);
                        (x, at) = give_raw(x, chosen.raw_bits::<0x1F>(), raw, words, at);
                    }
                }
                Raws::U32(raws) => {
                    let (parts, _) = raws.get(row * LANES..).unwrap_or(&[]).as_chunks::<GROUP>();
                    if let [a, b, c, d, ..] = parts {
                        let raw = [split(load32(a), load32(b)), split(load32(c), load32(d))];
                        (x, at) = give_word(x, chosen.raw_bits::<0x3F>(), raw, words, at);
                    }
                }
                Raws::U64(raws) => {
                    let (parts, _) = raws.get(row * LANES..).unwrap_or(&[]).as_chunks::<LANES>();
                    if let Some(raws) = parts.first() {
                        (x, at) = give_long(x, chosen.raw_bits::<0x7F>(), raws, words, at);
                    }
                }
            }
        }
        (x, at) = chosen.take(x, words, at);
    }
    for (h, pair) in x.iter().enumerate() {
        for (k, &v) in pair.iter().enumerate() {
            let mut numbers = [0u32; 8];
            // SAFETY: the reference is to 32 bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(numbers.as_mut_ptr().cast(), v) }
            for (i, number) in numbers.iter().enumerate() {
                states[lane(h, k, i)] = *number;
            }
        }
    }
    at
}

/// What there is of each of two.
#[inline(always)]
fn both<T>(f: impl Fn(usize) -> T) -> [T; 2] {
    [f(0), f(1)]
}

/// 16 words of 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load16(words: &[u16; HALF]) -> __m256i {
    // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Eight words of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load32(words: &[u32; GROUP]) -> __m256i {
    // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Four words of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn load64(words: &[u64; 4]) -> __m256i {
    // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// The even and the odd 32-bit numbers of two vectors.
#[inline]
#[target_feature(enable = "avx2")]
fn split(low: __m256i, high: __m256i) -> Pair {
    let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    [super::reordered(even), super::reordered(odd)]
}

/// The bits that are set in any lane.
#[inline]
#[target_feature(enable = "avx2")]
fn union(v: All) -> __m256i {
    _mm256_or_si256(_mm256_or_si256(v[0][0], v[0][1]), _mm256_or_si256(v[1][0], v[1][1]))
}

/// Whether any number is not zero.
#[inline]
#[target_feature(enable = "avx2")]
fn any(v: All) -> bool {
    let v = union(v);
    _mm256_testz_si256(v, v) == 0
}

/// Gives out the low words of the lanes that are not all ones in `fit`, lane 0's lowest; then these lanes without them, and where the words begin.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
#[allow(clippy::cast_sign_loss)]
fn give(x: All, fit: All, words: &mut [u8], at: usize) -> (All, usize) {
    let marks = fit.map(|[even, odd]| _mm256_packs_epi32(even, odd));
    // Sets of lanes 0 … 7, 16 … 23, 8 … 15, 24 … 31.
    let sets = !_mm256_movemask_epi8(_mm256_packs_epi16(marks[0], marks[1])) as u32;
    let mut end = ROOM;
    if let Some(words) = words.get_mut(..at).and_then(|words| words.last_chunk_mut::<ROOM>()) {
        for (h, [even, odd]) in x.into_iter().enumerate().rev() {
            let word = _mm256_blend_epi16::<0b1010_1010>(even, _mm256_slli_epi32(odd, 16));
            let (low, high) = ((sets >> (8 * h)) & 0xFF, (sets >> (8 * h + 16)) & 0xFF);
            let shuffle = |set: u32| load_shuffle(&TO_END[set as usize]);
            let word = _mm256_shuffle_epi8(word, _mm256_set_m128i(shuffle(high), shuffle(low)));
            for (set, word) in [(high, _mm256_extracti128_si256::<1>(word)), (low, _mm256_castsi256_si128(word))] {
                // Eight words that end where the others begin; those not given out are overwritten by what comes next.
                // SAFETY: `end` is ROOM = 64 less at most 16 for each of three sets before this one, so 16 … 64: the 16 bytes before it are in the array.
                unsafe { _mm_storeu_si128(words.as_mut_ptr().add(end - 2 * GROUP).cast(), word) }
                end -= 2 * set.count_ones() as usize;
            }
        }
    }
    let sixteen = _mm256_set1_epi32(16);
    let kept = both(|h| both(|k| _mm256_srlv_epi32(x[h][k], _mm256_andnot_si256(fit[h][k], sixteen))));
    (kept, at - (ROOM - end))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_shuffle(shuffle: &[u8; 16]) -> __m128i {
    // SAFETY: the reference is to 16 bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(shuffle.as_ptr().cast()) }
}

/// One raw-bit pass: `bits` (0…16) of each lane from the bottom of `raw`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn give_raw(x: All, bits: All, raw: All, words: &mut [u8], at: usize) -> (All, usize) {
    let fits = |x: __m256i, bits: __m256i| {
        let limit = _mm256_srlv_epi32(_mm256_set1_epi32(-1), bits);
        _mm256_cmpeq_epi32(_mm256_min_epu32(x, limit), x)
    };
    let fit = both(|h| both(|k| fits(x[h][k], bits[h][k])));
    let (kept, at) = give(x, fit, words, at);
    let with = |kept: __m256i, bits: __m256i, raw: __m256i| {
        let value = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), bits), raw);
        _mm256_or_si256(_mm256_sllv_epi32(kept, bits), value)
    };
    (both(|h| both(|k| with(kept[h][k], bits[h][k], raw[h][k]))), at)
}

/// The raw bits that are in a word of 32: `bits` (0…32) of each lane, the upper 16 in a pass of their own where there are any.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn give_word(mut x: All, bits: All, raw: All, words: &mut [u8], mut at: usize) -> (All, usize) {
    let limit = _mm256_set1_epi32(16);
    let above = bits.map(|half| half.map(|b| _mm256_subs_epu16(b, limit)));
    if any(above) {
        // It is never more, which the compiler does not know.
        let above = above.map(|half| half.map(|b| _mm256_min_epu32(b, limit)));
        (x, at) = give_raw(x, above, raw.map(|half| half.map(|r| _mm256_srli_epi32(r, 16))), words, at);
    }
    give_raw(x, bits.map(|half| half.map(|b| _mm256_min_epu32(b, limit))), raw, words, at)
}

/// The raw bits that are in words of 64: `bits` (0…64) of each lane, the upper 32 before the lower ones where there are any.
#[target_feature(enable = "avx2,popcnt")]
fn give_long(mut x: All, bits: All, raws: &[u64; LANES], words: &mut [u8], mut at: usize) -> (All, usize) {
    let (parts, _) = raws.as_chunks::<4>();
    let above = _mm256_set1_epi32(32);
    // The lower and the upper words of eight lanes, then one or the other of all.
    let eight = |k: usize| split(load64(&parts[2 * k]), load64(&parts[2 * k + 1]));
    let of = |k: usize| both(|h| split(eight(2 * h)[k], eight(2 * h + 1)[k]));
    let high = bits.map(|half| half.map(|b| _mm256_subs_epu16(b, above)));
    if any(high) {
        (x, at) = give_word(x, high, of(1), words, at);
    }
    give_word(x, bits.map(|half| half.map(|b| _mm256_min_epu32(b, above))), of(0), words, at)
}

/// Entries of a row of steps: of each half those of lanes 4j, 4j + 1, 4j + 2, 4j + 3; and their upper halves.
#[derive(Clone, Copy)]
struct Chosen {
    entries: [[__m256i; 4]; 2],
    upper: All,
}

impl Chosen {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(entries: &[u64], steps: &[u16; LANES]) -> Self {
        #[allow(clippy::cast_possible_wrap)]
        let mask = _mm256_set1_epi64x(entries.len() as i64 - 1);
        let (halves, _) = steps.as_chunks::<HALF>();
        let entries = both(|h| {
            let steps = load16(&halves[h]);
            let places =
                [steps, _mm256_srli_epi64(steps, 16), _mm256_srli_epi64(steps, 32), _mm256_srli_epi64(steps, 48)];
            places.map(|place| {
                let index = _mm256_and_si256(place, mask);
                // SAFETY: `entries` holds 2^k entries (k ≥ 8, see StepTable) and the index keeps only the low k bits.
                unsafe { _mm256_i64gather_epi64::<8>(entries.as_ptr().cast(), index) }
            })
        });
        let upper = entries.map(|[a, b, c, d]| [odd_halves(c, a), odd_halves(d, b)]);
        Self { entries, upper }
    }

    /// Whether any lane has raw bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn any_raw(&self) -> bool {
        _mm256_testz_si256(union(self.upper), _mm256_set1_epi32(0x7F << (RAW_BITS - FREQUENCY))) == 0
    }

    /// Raw bits of the lanes, of which `MASK` has all that can be set.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn raw_bits<const MASK: i32>(&self) -> All {
        self.upper.map(|half| {
            half.map(|upper| {
                let bits = _mm256_srli_epi32::<{ (RAW_BITS - FREQUENCY) as i32 }>(upper);
                _mm256_and_si256(bits, _mm256_set1_epi32(MASK))
            })
        })
    }

    /// The token step.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn take(&self, x: All, words: &mut [u8], at: usize) -> (All, usize) {
        let frequency = self.upper.map(|half| half.map(|u| _mm256_and_si256(u, _mm256_set1_epi32(0x1FFF))));
        // Both have at most 13 bits: signed comparisons will do, here and below.
        let fit = both(|h| both(|k| _mm256_cmpgt_epi32(frequency[h][k], _mm256_srli_epi32(x[h][k], 20))));
        let (kept, at) = give(x, fit, words, at);
        let next = both(|h| {
            let [a, b, c, d] = self.entries[h];
            let reciprocals = [[a, c], [b, d]];
            both(|k| {
                let (kept, f, upper, [first, second]) = (kept[h][k], frequency[h][k], self.upper[h][k], reciprocals[k]);
                let even = _mm256_mul_epu32(kept, first);
                let odd = _mm256_mul_epu32(_mm256_srli_epi64(kept, 32), second);
                let quotient = odd_halves(odd, even);
                // The rest is below twice the frequency, so 16 bits of it will do.
                let rest = _mm256_sub_epi16(kept, _mm256_mullo_epi16(quotient, f));
                let rest = _mm256_and_si256(rest, _mm256_set1_epi32(0xFFFF));
                let next = _mm256_add_epi32(
                    _mm256_add_epi32(_mm256_slli_epi32(quotient, 12), rest),
                    _mm256_srli_epi32::<{ (CUMULATIVE - FREQUENCY) as i32 }>(upper),
                );
                // The quotient may be one too small: then the rest is too large by the frequency.
                let whole = _mm256_cmpgt_epi32(f, rest);
                let more = _mm256_andnot_si256(whole, _mm256_sub_epi32(_mm256_set1_epi32(4096), f));
                _mm256_add_epi32(next, more)
            })
        });
        (next, at)
    }
}

/// The upper halves of 64-bit lanes: those of `odd` in place, those of `even` below them.
#[inline]
#[target_feature(enable = "avx2")]
fn odd_halves(odd: __m256i, even: __m256i) -> __m256i {
    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64(even, 32), odd)
}
