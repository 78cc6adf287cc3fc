//! Machine words that hold one element: read from bytes at any alignment, calculated with in their own width, so that compilers can make vectors of it.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

/// An unsigned word of 1, 2, 4 or 8 bytes.
pub trait Word:
    Copy
    + Eq
    + Ord
    + Default
    + Send
    + Sync
    + std::fmt::Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    /// Bytes of the word.
    const BYTES: usize;
    /// Bits of the word.
    const BITS: u32;
    /// The highest bit.
    const TOP: Self;

    /// The element at index `i` of little-endian `bytes`; zero beyond the end.
    fn load(bytes: &[u8], i: usize) -> Self;

    /// Stores the element at index `i`; does nothing beyond the end.
    fn store(self, bytes: &mut [u8], i: usize);

    /// Widened to 64 bits.
    fn wide(self) -> u64;

    /// The low bits of a 64-bit value.
    fn narrow(value: u64) -> Self;

    /// The word at the start of `bytes`, zero where they are too short.
    fn read(bytes: &[u8]) -> Self;

    /// Sum, wrapping.
    fn plus(self, other: Self) -> Self;

    /// Difference, wrapping.
    fn minus(self, other: Self) -> Self;

    /// Arithmetic shift to the right.
    fn asr(self, bits: u32) -> Self;

    /// Position of the highest bit set; the word is not zero.
    fn log2(self) -> u32;

    /// The low 32 bits.
    fn low(self) -> u32;

    /// From 32 bits, cut.
    fn of(value: u32) -> Self;
}

macro_rules! word {
    ($type:ty, $signed:ty, $bytes:literal) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_lossless
        )]
        impl Word for $type {
            const BYTES: usize = $bytes;
            const BITS: u32 = <$type>::BITS;
            const TOP: Self = 1 << (<$type>::BITS - 1);

            #[inline(always)]
            fn load(bytes: &[u8], i: usize) -> Self {
                match bytes.get(i * $bytes..).and_then(<[u8]>::first_chunk) {
                    Some(chunk) => Self::from_le_bytes(*chunk),
                    None => 0,
                }
            }

            #[inline(always)]
            fn store(self, bytes: &mut [u8], i: usize) {
                if let Some(chunk) = bytes.get_mut(i * $bytes..).and_then(<[u8]>::first_chunk_mut) {
                    *chunk = self.to_le_bytes();
                }
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn narrow(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |b| Self::from_le_bytes(*b))
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn asr(self, bits: u32) -> Self {
                (self as $signed >> bits) as Self
            }

            #[inline(always)]
            fn log2(self) -> u32 {
                (<$type>::BITS - 1).wrapping_sub(self.leading_zeros())
            }

            #[inline(always)]
            fn low(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn of(value: u32) -> Self {
                value as Self
            }
        }
    };
}

word!(u8, i8, 1);
word!(u16, i16, 2);
word!(u32, i32, 4);
word!(u64, i64, 8);

/// Runs `$body` with `$w` standing for the [`Word`] type of an element of `$width` bytes.
#[macro_export]
#[doc(hidden)]
macro_rules! with_word {
    ($width:expr, $w:ident => $body:expr) => {
        match $width {
            1 => {
                type $w = u8;
                $body
            }
            2 => {
                type $w = u16;
                $body
            }
            4 => {
                type $w = u32;
                $body
            }
            _ => {
                type $w = u64;
                $body
            }
        }
    };
}
