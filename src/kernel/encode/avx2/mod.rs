//! The encoder's loops in AVX2.
#![allow(unsafe_code)]

mod distance;
mod lengths;
mod map;
mod mask;
mod plain;
mod rans;

pub(super) use distance::distances;
pub(super) use lengths::lengths;
pub(super) use mask::{masks, tokens};
pub(super) use plain::plains;
pub(super) use rans::rows;

use core::arch::x86_64::*;

/// Two vectors: 32 lanes of 16 bits.
type Row = [__m256i; 2];

/// Up to `N` · 32 bytes, zeros after them.
#[inline]
#[target_feature(enable = "avx2")]
fn load<const N: usize>(bytes: &[u8]) -> [__m256i; N] {
    if let Some((whole, _)) = bytes.as_chunks::<32>().0.split_first_chunk::<N>() {
        // SAFETY: each reference is to 32 bytes; the load asks for no alignment.
        return std::array::from_fn(|k| unsafe { _mm256_loadu_si256(whole[k].as_ptr().cast()) });
    }
    let mut padded = [[0; 32]; N];
    for (to, from) in padded.as_flattened_mut().iter_mut().zip(bytes) {
        *to = *from;
    }
    // SAFETY: as above.
    std::array::from_fn(|k| unsafe { _mm256_loadu_si256(padded[k].as_ptr().cast()) })
}

/// Stores 32 words from index `at` on, where there is room for all of them.
#[inline]
#[target_feature(enable = "avx2")]
fn store_row(out: &mut [u16], at: usize, v: Row) {
    if let Some(out) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<32>()) {
        for (out, v) in out.as_chunks_mut::<16>().0.iter_mut().zip(v) {
            // SAFETY: the reference is to 32 bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), v) }
        }
    }
}

/// Stores 32 words of 32 bits from index `at` on, where there is room for all of them.
#[inline]
#[target_feature(enable = "avx2")]
fn store_row32(out: &mut [u32], at: usize, v: [__m256i; 4]) {
    if let Some(out) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<32>()) {
        for (out, v) in out.as_chunks_mut::<8>().0.iter_mut().zip(v) {
            // SAFETY: the reference is to 32 bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), v) }
        }
    }
}

/// 32 profile values from index `at` on as 16-bit lanes, zeros after the last.
#[inline]
#[target_feature(enable = "avx2")]
fn profiles16(profiles: &[i8], at: usize) -> Row {
    let rest = profiles.get(at..).unwrap_or(&[]);
    let mut padded = [0; 32];
    let values = rest.first_chunk::<32>().unwrap_or_else(|| {
        for (to, from) in padded.iter_mut().zip(rest) {
            *to = *from;
        }
        &padded
    });
    // SAFETY: the reference is to 32 bytes; the load asks for no alignment.
    let v = unsafe { _mm256_loadu_si256(values.as_ptr().cast()) };
    [_mm256_cvtepi8_epi16(_mm256_castsi256_si128(v)), _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(v))]
}

/// Lanes 0…3 and 8…11 to the lower half, the others to the upper one: the order in which two vectors of 32-bit lanes are packed; and back.
#[inline]
#[target_feature(enable = "avx2")]
fn reordered(v: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(v)
}
