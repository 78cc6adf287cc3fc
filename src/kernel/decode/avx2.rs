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
    fn load_8(self, from: &[u8; 16]) -> V {
        let (halves, _) = from.as_chunks::<8>();
        // SAFETY: 8 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepu8_epi32(_mm_loadl_epi64(halves[i].as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; 16]) -> V {
        let (halves, _) = from.as_chunks::<8>();
        // SAFETY: 8 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepi8_epi32(_mm_loadl_epi64(halves[i].as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_16(self, from: &[u8; 32]) -> V {
        let (halves, _) = from.as_chunks::<16>();
        // SAFETY: 16 bytes each are read, at any alignment, and the halves have them.
        unsafe { pair!(i => _mm256_cvtepu16_epi32(_mm_loadu_si128(halves[i].as_ptr().cast()))) }
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
    fn store_16(self, v: [V; 2], to: &mut [u8; 64]) {
        for (half, v) in to.as_chunks_mut::<32>().0.iter_mut().zip(v) {
            // Packing works within 128 bits; the quarters come out as 0 2 1 3.
            let words = has!(_mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(v[0], v[1])));
            // SAFETY: 32 bytes are written, at any alignment, and `half` has them.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), words) }
        }
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
    fn any(self, v: V) -> bool {
        let all = has!(_mm256_or_si256(v[0], v[1]));
        has!(_mm256_testz_si256(all, all)) == 0
    }

    #[inline(always)]
    fn look_up(self, group: &DecodeGroup, index: V, x: V) -> V {
        let index = self.min(self.max(index, self.splat(0)), self.splat(255));
        // SAFETY: the index is in 0…255, and there are 256 offsets.
        let offset = unsafe { pair!(i => _mm256_i32gather_epi32::<4>(group.offsets().as_ptr().cast(), index[i])) };
        let at = self.or(self.and(x, self.splat(0xFFF)), offset);
        // SAFETY: an offset is 4096 · a table of the map, and `at` lies in that table's 4096 entries, which are there by the invariant of `DecodeGroup`.
        unsafe { pair!(i => _mm256_i32gather_epi32::<4>(group.entries().as_ptr().cast(), at[i])) }
    }

    #[inline(always)]
    fn renormalise(self, x: V, words: &[u8; 32]) -> (V, usize) {
        let low = self.equal(self.shr_by::<16>(x), self.splat(0));
        let sets = both!(i => _mm256_movemask_ps(_mm256_castsi256_ps(low[i])).cast_unsigned() as usize & 0xFF);
        let mut x = x;
        let mut used = 0;
        for ((x, low), set) in x.iter_mut().zip(low).zip(sets) {
            // The second eight lanes begin at most 16 bytes later.
            let Some(words) = words.get(used..).and_then(<[u8]>::first_chunk::<16>) else { break };
            // SAFETY: 16 and 8 bytes are read, at any alignment, and `words` and the row of `SPREAD` have them.
            let (words, spread) = unsafe {
                (
                    _mm256_cvtepu16_epi32(_mm_loadu_si128(words.as_ptr().cast())),
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64(SPREAD[set].as_ptr().cast())),
                )
            };
            *x = has!({
                let next = _mm256_permutevar8x32_epi32(words, spread);
                _mm256_blendv_epi8(*x, _mm256_or_si256(_mm256_slli_epi32::<16>(*x), next), low)
            });
            used += 2 * set.count_ones() as usize;
        }
        (x, used)
    }
}
