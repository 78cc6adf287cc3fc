//! AVX2: sixteen numbers are two registers.

use std::arch::x86_64::*;

use crate::core::bank::DecodeGroup;
use crate::kernel::Kernel;
use crate::kernel::decode::vector::{Task, Vector};

/// The proof that the machine has AVX2, BMI1, BMI2, POPCNT and LZCNT.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn new() -> Option<Self> {
        Kernel::Avx2.available().then_some(Self(()))
    }
}

type V = [__m256i; 2];

/// An expression for both registers.
macro_rules! pair {
    ($i:ident => $call:expr) => {
        [
            {
                let $i = 0usize;
                $call
            },
            {
                let $i = 1usize;
                $call
            },
        ]
    };
}

/// An intrinsic without memory operands, for both registers.
macro_rules! both {
    ($i:ident => $call:expr) => {
        // SAFETY: it needs nothing but the instruction set, which the machine has: an `Avx2` comes from `new` alone.
        unsafe { pair!($i => $call) }
    };
}

/// An intrinsic without memory operands.
macro_rules! has {
    ($call:expr) => {
        // SAFETY: it needs nothing but the instruction set, which the machine has: an `Avx2` comes from `new` alone.
        unsafe { $call }
    };
}

/// For each set of eight lanes the lanes' places among those of the set: what spreads packed words over the set.
static SPREAD: [[u8; 8]; 256] = {
    let mut spread = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut place) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                spread[set][lane] = place;
                place += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    spread
};

impl Vector for Avx2 {
    type V = V;
    type M = V;

    #[inline(always)]
    fn enter<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        fn inner<T: Task>(s: Avx2, task: T) -> T::Output {
            task.run(s)
        }
        // SAFETY: the machine has the features: an `Avx2` comes from `new` alone.
        unsafe { inner(self, task) }
    }

    #[inline(always)]
    fn splat(self, value: u32) -> V {
        [has!(_mm256_set1_epi32(value.cast_signed())); 2]
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> V {
        let (halves, _) = from.as_chunks::<8>();
        // SAFETY: 32 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_loadu_si256(halves[i].as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u32; 16]) {
        for (half, v) in to.as_chunks_mut::<8>().0.iter_mut().zip(v) {
            // SAFETY: 32 bytes are written, at any alignment, and `half` has them.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), v) }
        }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; 16]) -> V {
        let (halves, _) = from.as_chunks::<8>();
        // SAFETY: 8 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepi8_epi32(_mm_loadl_epi64(halves[i].as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_32(self, from: &[u8; 64]) -> V {
        let (halves, _) = from.as_chunks::<32>();
        // SAFETY: 32 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_loadu_si256(halves[i].as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_8(self, v: [V; 2], to: &mut [u8; 32]) {
        let low = has!(_mm256_set1_epi32(0xFF));
        let bytes = has!({
            let a = _mm256_packus_epi32(_mm256_and_si256(v[0][0], low), _mm256_and_si256(v[0][1], low));
            let b = _mm256_packus_epi32(_mm256_and_si256(v[1][0], low), _mm256_and_si256(v[1][1], low));
            // Packing works within 128 bits; the eighths come out as 0 2 4 6 1 3 5 7.
            _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
        });
        // SAFETY: 32 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store_32(self, v: V, to: &mut [u8; 64]) {
        for (half, v) in to.as_chunks_mut::<32>().0.iter_mut().zip(v) {
            // SAFETY: 32 bytes are written, at any alignment, and `half` has them.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), v) }
        }
    }

    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        both!(i => _mm256_and_si256(a[i], b[i]))
    }

    #[inline(always)]
    fn or(self, a: V, b: V) -> V {
        both!(i => _mm256_or_si256(a[i], b[i]))
    }

    #[inline(always)]
    fn xor(self, a: V, b: V) -> V {
        both!(i => _mm256_xor_si256(a[i], b[i]))
    }

    #[inline(always)]
    fn without(self, a: V, b: V) -> V {
        both!(i => _mm256_andnot_si256(b[i], a[i]))
    }

    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        both!(i => _mm256_add_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        both!(i => _mm256_sub_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn mul(self, a: V, b: V) -> V {
        both!(i => _mm256_mullo_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn max(self, a: V, b: V) -> V {
        both!(i => _mm256_max_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        both!(i => _mm256_min_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn shl(self, a: V, bits: V) -> V {
        both!(i => _mm256_sllv_epi32(a[i], bits[i]))
    }

    #[inline(always)]
    fn shr(self, a: V, bits: V) -> V {
        both!(i => _mm256_srlv_epi32(a[i], bits[i]))
    }

    #[inline(always)]
    fn shl_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(_mm_cvtsi32_si128(BITS.cast_signed()));
        both!(i => _mm256_sll_epi32(a[i], bits))
    }

    #[inline(always)]
    fn shr_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(_mm_cvtsi32_si128(BITS.cast_signed()));
        both!(i => _mm256_srl_epi32(a[i], bits))
    }

    #[inline(always)]
    fn sar_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(_mm_cvtsi32_si128(BITS.cast_signed()));
        both!(i => _mm256_sra_epi32(a[i], bits))
    }

    #[inline(always)]
    fn equal(self, a: V, b: V) -> V {
        both!(i => _mm256_cmpeq_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn greater(self, a: V, b: V) -> V {
        both!(i => _mm256_cmpgt_epi32(a[i], b[i]))
    }

    #[inline(always)]
    fn select(self, m: V, a: V, b: V) -> V {
        both!(i => _mm256_blendv_epi8(b[i], a[i], m[i]))
    }

    #[inline(always)]
    fn zip(self, a: V, b: V) -> [V; 2] {
        // Unpacking works within 128 bits: the quarters are put in order.
        let zip = |a, b| {
            has!({
                let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
                [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)]
            })
        };
        [zip(a[0], b[0]), zip(a[1], b[1])]
    }

    #[inline(always)]
    fn any(self, v: V) -> bool {
        let all = has!(_mm256_or_si256(v[0], v[1]));
        has!(_mm256_testz_si256(all, all)) == 0
    }

    #[inline(always)]
    fn least_of_eight(self, words: &[u8; 512], mask: u16) -> [V; 2] {
        let keep = has!(_mm_set1_epi16(mask.cast_signed()));
        let mut least = [[0u32; 16]; 2];
        for (least, eight) in least.as_flattened_mut().iter_mut().zip(words.as_chunks::<16>().0) {
            // SAFETY: 16 bytes are read, at any alignment, and `eight` has them; SSE4.1 comes with AVX2.
            let words = unsafe { _mm_minpos_epu16(_mm_and_si128(_mm_loadu_si128(eight.as_ptr().cast()), keep)) };
            *least = has!(_mm_cvtsi128_si32(words)).cast_unsigned() & 0xFFFF;
        }
        [self.load(&least[0]), self.load(&least[1])]
    }

    #[inline(always)]
    fn less_by(self, a: V, b: V) -> V {
        both!(i => _mm256_subs_epu16(a[i], b[i]))
    }

    #[inline(always)]
    fn offsets(self, group: &DecodeGroup, index: V) -> V {
        let index = self.min(self.max(index, self.splat(0)), self.splat(255));
        // SAFETY: the index is in 0…255, and there are 256 offsets.
        unsafe { pair!(i => _mm256_i32gather_epi32::<4>(group.offsets().as_ptr().cast(), index[i])) }
    }

    #[inline(always)]
    unsafe fn entries(self, group: &DecodeGroup, offsets: V, x: V) -> V {
        let at = self.or(self.and(x, self.splat(0xFFF)), offsets);
        // SAFETY: the offsets are 4096 · a table of the group's map, so `at` lies in that table's 4096 entries, which are there by the invariant of
        // `DecodeGroup`.
        unsafe { pair!(i => _mm256_i32gather_epi32::<4>(group.entries().as_ptr().cast(), at[i])) }
    }

    #[inline(always)]
    fn renormalise(self, x: [V; 2], words: &[u8; 64]) -> ([V; 2], usize) {
        let mut x = x;
        let mut used = 0;
        for half in &mut x {
            let low = self.equal(self.shr_by::<16>(*half), self.splat(0));
            for i in 0..2 {
                let set = has!(_mm256_movemask_ps(_mm256_castsi256_ps(low[i]))).cast_unsigned() as usize & 0xFF;
                // SAFETY: 16 bytes are read, at any alignment, at `used`: at most 16 for each of the three steps before, of 64; and 8 bytes, which the row of
                // `SPREAD` has.
                let (next, spread) = unsafe {
                    (
                        _mm256_cvtepu16_epi32(_mm_loadu_si128(words.as_ptr().add(used).cast())),
                        _mm256_cvtepu8_epi32(_mm_loadl_epi64(SPREAD[set].as_ptr().cast())),
                    )
                };
                half[i] = has!({
                    let next = _mm256_permutevar8x32_epi32(next, spread);
                    _mm256_blendv_epi8(half[i], _mm256_or_si256(_mm256_slli_epi32::<16>(half[i]), next), low[i])
                });
                used += 2 * set.count_ones() as usize;
            }
        }
        (x, used)
    }

    type M16 = V;
    type Bits = __m128i;

    #[inline(always)]
    fn splat_16(self, value: u16) -> V {
        [has!(_mm256_set1_epi16(value.cast_signed())); 2]
    }

    #[inline(always)]
    fn bits_16(self, bits: u32) -> __m128i {
        has!(_mm_cvtsi32_si128(bits.cast_signed()))
    }

    #[inline(always)]
    fn load_8_as_16(self, from: &[u8; 32]) -> V {
        let (halves, _) = from.as_chunks::<16>();
        // SAFETY: 16 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepu8_epi16(_mm_loadu_si128(halves[i].as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_i8_as_16(self, from: &[i8; 32]) -> V {
        let (halves, _) = from.as_chunks::<16>();
        // SAFETY: 16 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepi8_epi16(_mm_loadu_si128(halves[i].as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_32_words(self, from: &[u8; 64]) -> V {
        self.load_32(from)
    }

    #[inline(always)]
    fn store_16_as_8(self, v: V, to: &mut [u8; 32]) {
        let bytes = has!({
            let low = _mm256_set1_epi16(0xFF);
            let packed = _mm256_packus_epi16(_mm256_and_si256(v[0], low), _mm256_and_si256(v[1], low));
            // Packing works within 128 bits; the quarters come out as 0 2 1 3.
            _mm256_permute4x64_epi64::<0b11_01_10_00>(packed)
        });
        // SAFETY: 32 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store_32_words(self, v: V, to: &mut [u8; 64]) {
        self.store_32(v, to);
    }

    #[inline(always)]
    fn low_bytes(self, v: [V; 2]) -> V {
        let low = self.splat(0xFF);
        self.pack([self.and(v[0], low), self.and(v[1], low)])
    }

    #[inline(always)]
    fn pack(self, v: [V; 2]) -> V {
        // Packing works within 128 bits; the quarters come out as 0 2 1 3.
        both!(i => _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(v[i][0], v[i][1])))
    }

    #[inline(always)]
    fn pack_signed(self, v: [V; 2]) -> V {
        // Packing works within 128 bits; the quarters come out as 0 2 1 3.
        both!(i => _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(v[i][0], v[i][1])))
    }

    #[inline(always)]
    fn add_16(self, a: V, b: V) -> V {
        both!(i => _mm256_add_epi16(a[i], b[i]))
    }

    #[inline(always)]
    fn sub_16(self, a: V, b: V) -> V {
        both!(i => _mm256_sub_epi16(a[i], b[i]))
    }

    #[inline(always)]
    fn max_16(self, a: V, b: V) -> V {
        both!(i => _mm256_max_epi16(a[i], b[i]))
    }

    #[inline(always)]
    fn equal_16(self, a: V, b: V) -> V {
        both!(i => _mm256_cmpeq_epi16(a[i], b[i]))
    }

    #[inline(always)]
    fn greater_16(self, a: V, b: V) -> V {
        both!(i => _mm256_cmpgt_epi16(a[i], b[i]))
    }

    #[inline(always)]
    fn any_16(self, m: V) -> bool {
        self.any(m)
    }

    #[inline(always)]
    fn select_16(self, m: V, a: V, b: V) -> V {
        self.select(m, a, b)
    }

    #[inline(always)]
    fn shl_16(self, a: V, bits: V) -> V {
        // There is no such shift: a product with 2^bits, whose low and high bytes are looked up. Bits of 16 and more give what they give.
        both!(i => {
            let low = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
            let high = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
            // The upper byte of each number picks entry 0 of `low`, which is cut off, and entry 0 of `high`.
            let low = _mm256_and_si256(_mm256_shuffle_epi8(low, bits[i]), _mm256_set1_epi16(0xFF));
            let high = _mm256_slli_epi16::<8>(_mm256_shuffle_epi8(high, bits[i]));
            _mm256_mullo_epi16(a[i], _mm256_or_si256(low, high))
        })
    }

    #[inline(always)]
    fn shl_16_by(self, a: V, bits: __m128i) -> V {
        both!(i => _mm256_sll_epi16(a[i], bits))
    }

    #[inline(always)]
    fn shr_16_by(self, a: V, bits: __m128i) -> V {
        both!(i => _mm256_srl_epi16(a[i], bits))
    }

    #[inline(always)]
    fn offsets_16(self, group: &DecodeGroup, index: V) -> [V; 2] {
        let wide = both!(i => {
            let index = _mm256_min_epi16(_mm256_max_epi16(index[i], _mm256_setzero_si256()), _mm256_set1_epi16(255));
            [_mm256_cvtepu16_epi32(_mm256_castsi256_si128(index)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(index))]
        });
        [self.offsets(group, wide[0]), self.offsets(group, wide[1])]
    }
}
