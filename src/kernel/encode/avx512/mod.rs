//! The encoder's loops in AVX-512.
#![allow(unsafe_code)]

mod distance;
mod lengths;
mod mask;
mod pairs;
mod plain;
mod rans;

pub(super) use distance::distances;
pub(super) use lengths::lengths;
pub(super) use mask::masks;
pub(super) use pairs::pairs;
pub(super) use plain::plains;
pub(super) use rans::rows;

use core::arch::x86_64::*;

use super::Bins;

/// Up to 64 bytes, zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(bytes: &[u8]) -> __m512i {
    match bytes.first_chunk::<64>() {
        // SAFETY: the reference is to 64 bytes; the load asks for no alignment.
        Some(whole) => unsafe { _mm512_loadu_si512(whole.as_ptr().cast()) },
        // SAFETY: the mask has a bit for each byte of the slice, fewer than 64; no other byte is read.
        None => unsafe { _mm512_maskz_loadu_epi8((1 << bytes.len()) - 1, bytes.as_ptr().cast()) },
    }
}

/// 32 steps or 16-bit words.
#[inline]
#[target_feature(enable = "avx512f")]
fn load16(words: &[u16; 32]) -> __m512i {
    // SAFETY: the reference is to 64 bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// 16 words of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn load32(words: &[u32; 16]) -> __m512i {
    // SAFETY: the reference is to 64 bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// 8 words of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn load64(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference is to 64 bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Stores 32 words from index `at` on, where there is room for all of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn store16(out: &mut [u16], at: usize, v: __m512i) {
    if let Some(out) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<32>()) {
        // SAFETY: the reference is to 64 bytes; the store asks for no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), v) }
    }
}

/// Stores 16 words of 32 bits from index `at` on, where there is room for all of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn store32(out: &mut [u32], at: usize, v: __m512i) {
    if let Some(out) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<16>()) {
        // SAFETY: the reference is to 64 bytes; the store asks for no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), v) }
    }
}

/// 32 profile values from index `at` on as 16-bit lanes, zeros after the last.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn profiles16(profiles: &[i8], at: usize) -> __m512i {
    let rest = profiles.get(at..).unwrap_or(&[]);
    let v = match rest.first_chunk::<32>() {
        // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
        Some(whole) => unsafe { _mm256_loadu_si256(whole.as_ptr().cast()) },
        // SAFETY: the mask has a bit for each byte of the slice, fewer than 32; no other byte is read.
        None => unsafe { _mm256_maskz_loadu_epi8((1 << rest.len()) - 1, rest.as_ptr()) },
    };
    _mm512_cvtepi8_epi16(v)
}

/// A map of bins in registers.
#[derive(Clone, Copy)]
struct Map {
    tables: [__m512i; 4],
    identity: bool,
}

impl Map {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(bins: &Bins<'_>) -> Self {
        let (a, b) = bins.map.split_at(128);
        Self { tables: [load(&a[..64]), load(&a[64..]), load(&b[..64]), load(&b[64..])], identity: bins.identity }
    }

    /// The entries of bins in 16-bit lanes, in the high bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn high(&self, bins: __m512i) -> __m512i {
        if self.identity {
            return _mm512_slli_epi16(bins, 8);
        }
        let [a, b, c, d] = self.tables;
        let low = _mm512_permutex2var_epi8(a, bins, b);
        let high = _mm512_permutex2var_epi8(c, bins, d);
        _mm512_slli_epi16(_mm512_mask_blend_epi8(_mm512_movepi8_mask(bins), low, high), 8)
    }
}

/// Two vectors of 32-bit lanes below 2^16 as one of 16-bit lanes, in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack(low: __m512i, high: __m512i) -> __m512i {
    let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_permutexvar_epi64(order, _mm512_packus_epi32(low, high))
}

/// Steps with their bins replaced.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn mapped(map: &Map, steps: __m512i) -> __m512i {
    if map.identity {
        return steps;
    }
    let token = _mm512_and_si512(steps, _mm512_set1_epi16(0xFF));
    _mm512_or_si512(map.high(_mm512_srli_epi16(steps, 8)), token)
}
