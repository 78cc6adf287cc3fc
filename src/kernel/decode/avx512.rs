//! AVX-512: sixteen numbers are one register.

use std::arch::x86_64::*;

use crate::core::bank::DecodeGroup;
use crate::kernel::Kernel;
use crate::kernel::decode::vector::{Task, Vector};

/// The proof that the machine has AVX-512 F, BW, DQ, VL, VBMI, VBMI2, AVX2, BMI2 and POPCNT.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn new() -> Option<Self> {
        Kernel::Avx512.available().then_some(Self(()))
    }
}

/// An intrinsic without memory operands.
macro_rules! has {
    ($call:expr) => {
        // SAFETY: it needs nothing but the instruction set, which the machine has: an `Avx512` comes from `new` alone.
        unsafe { $call }
    };
}

impl Vector for Avx512 {
    type V = __m512i;
    type M = __mmask16;

    #[inline(always)]
    fn enter<T: Task>(self, task: T) -> T::Output {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn inner<T: Task>(s: Avx512, task: T) -> T::Output {
            task.run(s)
        }
        // SAFETY: the machine has the features: an `Avx512` comes from `new` alone.
        unsafe { inner(self, task) }
    }

    #[inline(always)]
    fn splat(self, value: u32) -> __m512i {
        has!(_mm512_set1_epi32(value.cast_signed()))
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> __m512i {
        // SAFETY: 64 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, v: __m512i, to: &mut [u32; 16]) {
        // SAFETY: 64 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; 16]) -> __m512i {
        // SAFETY: 16 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_32(self, from: &[u8; 64]) -> __m512i {
        // SAFETY: 64 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_8(self, v: [__m512i; 2], to: &mut [u8; 32]) {
        let bytes = has!(_mm256_set_m128i(_mm512_cvtepi32_epi8(v[1]), _mm512_cvtepi32_epi8(v[0])));
        // SAFETY: 32 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline(always)]
    fn store_32(self, v: __m512i, to: &mut [u8; 64]) {
        // SAFETY: 64 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_or_si512(a, b))
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_xor_si512(a, b))
    }

    #[inline(always)]
    fn without(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_andnot_si512(b, a))
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_sub_epi32(a, b))
    }

    #[inline(always)]
    fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_mullo_epi32(a, b))
    }

    #[inline(always)]
    fn max(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_max_epi32(a, b))
    }

    #[inline(always)]
    fn min(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_min_epi32(a, b))
    }

    #[inline(always)]
    fn shl(self, a: __m512i, bits: __m512i) -> __m512i {
        has!(_mm512_sllv_epi32(a, bits))
    }

    #[inline(always)]
    fn shr(self, a: __m512i, bits: __m512i) -> __m512i {
        has!(_mm512_srlv_epi32(a, bits))
    }

    #[inline(always)]
    fn shl_by<const BITS: u32>(self, a: __m512i) -> __m512i {
        has!(_mm512_slli_epi32::<BITS>(a))
    }

    #[inline(always)]
    fn shr_by<const BITS: u32>(self, a: __m512i) -> __m512i {
        has!(_mm512_srli_epi32::<BITS>(a))
    }

    #[inline(always)]
    fn sar_by<const BITS: u32>(self, a: __m512i) -> __m512i {
        has!(_mm512_srai_epi32::<BITS>(a))
    }

    #[inline(always)]
    fn equal(self, a: __m512i, b: __m512i) -> __mmask16 {
        has!(_mm512_cmpeq_epi32_mask(a, b))
    }

    #[inline(always)]
    fn greater(self, a: __m512i, b: __m512i) -> __mmask16 {
        has!(_mm512_cmpgt_epi32_mask(a, b))
    }

    #[inline(always)]
    fn select(self, m: __mmask16, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_mask_blend_epi32(m, b, a))
    }

    #[inline(always)]
    fn zip(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        has!({
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            [_mm512_permutex2var_epi32(a, low, b), _mm512_permutex2var_epi32(a, high, b)]
        })
    }

    #[inline(always)]
    fn any(self, v: __m512i) -> bool {
        has!(_mm512_test_epi32_mask(v, v)) != 0
    }

    #[inline(always)]
    fn least_of_eight(self, words: &[u8; 512], mask: u16) -> [__m512i; 2] {
        let keep = has!(_mm512_set1_epi16(mask.cast_signed()));
        let mut v = [keep; 8];
        for (v, bytes) in v.iter_mut().zip(words.as_chunks::<64>().0) {
            *v = self.and(self.load_32(bytes), keep);
        }
        // Each 128 bits are a group. Of two registers: the least of four and four words, side by side.
        let halves = |a, b| has!(_mm512_min_epu16(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)));
        // Of two such: of two words.
        let quarters = |a, b| {
            has!({
                let (a, b) = (_mm512_castsi512_ps(a), _mm512_castsi512_ps(b));
                let even = _mm512_shuffle_ps::<0x88>(a, b);
                let odd = _mm512_shuffle_ps::<0xDD>(a, b);
                _mm512_min_epu16(_mm512_castps_si512(even), _mm512_castps_si512(odd))
            })
        };
        let a = quarters(halves(v[0], v[1]), halves(v[2], v[3]));
        let b = quarters(halves(v[4], v[5]), halves(v[6], v[7]));
        // The groups of `a` in the lower words, those of `b` in the upper ones.
        let least = has!(_mm512_min_epu16(
            _mm512_mask_blend_epi16(0xAAAA_AAAA, a, _mm512_slli_epi32::<16>(b)),
            _mm512_mask_blend_epi16(0xAAAA_AAAA, _mm512_srli_epi32::<16>(a), b),
        ));
        let order = has!(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
        let least = has!(_mm512_permutexvar_epi32(order, least));
        [self.and(least, self.splat(0xFFFF)), self.shr_by::<16>(least)]
    }

    #[inline(always)]
    fn less_by(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_subs_epu16(a, b))
    }

    #[inline(always)]
    fn offsets(self, group: &DecodeGroup, index: __m512i) -> __m512i {
        let index = self.min(self.max(index, self.splat(0)), self.splat(255));
        // The upper bytes of each number are zero, as is entry 0 of the map.
        self.shl_by::<12>(mapped(self, group, index))
    }

    #[inline(always)]
    unsafe fn entries(self, group: &DecodeGroup, offsets: __m512i, x: __m512i) -> __m512i {
        let at = self.or(self.and(x, self.splat(0xFFF)), offsets);
        // SAFETY: the offsets are 4096 · a table of the group's map, so `at` lies in that table's 4096 entries, which are there by the invariant of
        // `DecodeGroup`.
        unsafe { _mm512_i32gather_epi32::<4>(at, group.entries().as_ptr().cast()) }
    }

    #[inline(always)]
    fn renormalise(self, x: [__m512i; 2], words: &[u8; 64]) -> ([__m512i; 2], usize) {
        let low = has!([
            _mm512_cmplt_epu32_mask(x[0], _mm512_set1_epi32(1 << 16)),
            _mm512_cmplt_epu32_mask(x[1], _mm512_set1_epi32(1 << 16)),
        ]);
        let first = 2 * low[0].count_ones() as usize;
        // SAFETY: 32 bytes each are read, at any alignment, at 0 and at `first`, which is at most 32, of 64.
        let next = unsafe {
            [
                _mm512_cvtepu16_epi32(_mm256_loadu_si256(words.as_ptr().cast())),
                _mm512_cvtepu16_epi32(_mm256_loadu_si256(words.as_ptr().add(first).cast())),
            ]
        };
        let refilled = has!([
            _mm512_mask_or_epi32(
                x[0],
                low[0],
                _mm512_slli_epi32::<16>(x[0]),
                _mm512_maskz_expand_epi32(low[0], next[0])
            ),
            _mm512_mask_or_epi32(
                x[1],
                low[1],
                _mm512_slli_epi32::<16>(x[1]),
                _mm512_maskz_expand_epi32(low[1], next[1])
            ),
        ]);
        (refilled, first + 2 * low[1].count_ones() as usize)
    }

    type M16 = __mmask32;
    type Bits = __m512i;

    #[inline(always)]
    fn splat_16(self, value: u16) -> __m512i {
        has!(_mm512_set1_epi16(value.cast_signed()))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn bits_16(self, bits: u32) -> __m512i {
        self.splat_16(bits as u16)
    }

    #[inline(always)]
    fn load_8_as_16(self, from: &[u8; 32]) -> __m512i {
        // SAFETY: 32 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_cvtepu8_epi16(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_i8_as_16(self, from: &[i8; 32]) -> __m512i {
        // SAFETY: 32 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_cvtepi8_epi16(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_32_words(self, from: &[u8; 64]) -> __m512i {
        // SAFETY: 64 bytes are read, at any alignment, and `from` has them.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_16_as_8(self, v: __m512i, to: &mut [u8; 32]) {
        // SAFETY: 32 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(v)) }
    }

    #[inline(always)]
    fn store_32_words(self, v: __m512i, to: &mut [u8; 64]) {
        // SAFETY: 64 bytes are written, at any alignment, and `to` has them.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn low_bytes(self, v: [__m512i; 2]) -> __m512i {
        static PLACES: [[u8; 2]; 32] = {
            let mut places = [[0; 2]; 32];
            let mut i = 0;
            while i < 32 {
                places[i][0] = 4 * i as u8;
                i += 1;
            }
            places
        };
        // SAFETY: 64 bytes are read, at any alignment, and `PLACES` has them.
        let places = unsafe { _mm512_loadu_si512(PLACES.as_ptr().cast()) };
        has!(_mm512_maskz_permutex2var_epi8(0x5555_5555_5555_5555, v[0], places, v[1]))
    }

    #[inline(always)]
    fn pack(self, v: [__m512i; 2]) -> __m512i {
        // Packing works within 128 bits; the eighths come out as 0 4 1 5 2 6 3 7.
        has!(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi32(v[0], v[1])))
    }

    #[inline(always)]
    fn pack_signed(self, v: [__m512i; 2]) -> __m512i {
        // Packing works within 128 bits; the eighths come out as 0 4 1 5 2 6 3 7.
        has!(_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packs_epi32(v[0], v[1])))
    }

    #[inline(always)]
    fn add_16(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_add_epi16(a, b))
    }

    #[inline(always)]
    fn sub_16(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_sub_epi16(a, b))
    }

    #[inline(always)]
    fn max_16(self, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_max_epi16(a, b))
    }

    #[inline(always)]
    fn equal_16(self, a: __m512i, b: __m512i) -> __mmask32 {
        has!(_mm512_cmpeq_epi16_mask(a, b))
    }

    #[inline(always)]
    fn greater_16(self, a: __m512i, b: __m512i) -> __mmask32 {
        has!(_mm512_cmpgt_epi16_mask(a, b))
    }

    #[inline(always)]
    fn any_16(self, m: __mmask32) -> bool {
        m != 0
    }

    #[inline(always)]
    fn select_16(self, m: __mmask32, a: __m512i, b: __m512i) -> __m512i {
        has!(_mm512_mask_blend_epi16(m, b, a))
    }

    #[inline(always)]
    fn shl_16(self, a: __m512i, bits: __m512i) -> __m512i {
        has!(_mm512_sllv_epi16(a, bits))
    }

    #[inline(always)]
    fn shl_16_by(self, a: __m512i, bits: __m512i) -> __m512i {
        has!(_mm512_sllv_epi16(a, bits))
    }

    #[inline(always)]
    fn shr_16_by(self, a: __m512i, bits: __m512i) -> __m512i {
        has!(_mm512_srlv_epi16(a, bits))
    }

    #[inline(always)]
    fn offsets_16(self, group: &DecodeGroup, index: __m512i) -> [__m512i; 2] {
        let index = has!(_mm512_min_epi16(_mm512_max_epi16(index, _mm512_setzero_si512()), _mm512_set1_epi16(255)));
        let tables = mapped(self, group, index);
        let wide = has!([
            _mm512_cvtepu16_epi32(_mm512_castsi512_si256(tables)),
            _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(tables)),
        ]);
        [self.shl_by::<12>(wide[0]), self.shl_by::<12>(wide[1])]
    }
}

/// The map's entry of each byte.
#[inline(always)]
fn mapped(_: Avx512, group: &DecodeGroup, index: __m512i) -> __m512i {
    let map = group.map();
    // SAFETY: 64 bytes each are read, at any alignment, at 0, 64, 128 and 192 of 256; the machine has the instructions, for there is an `Avx512`.
    unsafe {
        let at = map.as_ptr();
        let [a, b, c, d] = [
            _mm512_loadu_si512(at.cast()),
            _mm512_loadu_si512(at.add(64).cast()),
            _mm512_loadu_si512(at.add(128).cast()),
            _mm512_loadu_si512(at.add(192).cast()),
        ];
        let low = _mm512_permutex2var_epi8(a, index, b);
        let high = _mm512_permutex2var_epi8(c, index, d);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high)
    }
}
