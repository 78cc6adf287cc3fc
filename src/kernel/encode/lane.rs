//! Arithmetic in the width of an element, so that compilers can use vectors of just that width.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::core::word::Word;

/// A word with the operations that the loops need; additions wrap.
pub(super) trait Lane:
    Word
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Bits of the word.
    const BITS: u32;
    /// The highest bit.
    const TOP: Self;
    /// Arithmetic shift to the right.
    fn asr(self, bits: u32) -> Self;
    /// Difference.
    fn minus(self, other: Self) -> Self;
    /// Position of the highest bit set; the word is not zero.
    fn log2(self) -> u32;
    /// The low 32 bits.
    fn low(self) -> u32;
    /// From 32 bits, cut.
    fn of(value: u32) -> Self;
    /// The word at the start of `bytes`, zero where they are too short.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! lane {
    ($type:ty, $signed:ty) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_lossless
        )]
        impl Lane for $type {
            const BITS: u32 = <$type>::BITS;
            const TOP: Self = 1 << (<$type>::BITS - 1);

            #[inline(always)]
            fn asr(self, bits: u32) -> Self {
                (self as $signed >> bits) as Self
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
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

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |b| Self::from_le_bytes(*b))
            }
        }
    };
}

lane!(u8, i8);
lane!(u16, i16);
lane!(u32, i32);
lane!(u64, i64);

/// Runs code compiled for the instruction set of `kernel`: the portable code again, where the compiler may use wider vectors.
macro_rules! with_vectors {
    ($kernel:expr, $name:path, $name_avx2:path, ($($argument:expr),*)) => {
        match $kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 if Kernel::Avx2.available() => {
                // SAFETY: the function only asks for AVX2 and BMI2, which this machine has, as was just seen.
                #[allow(unsafe_code)]
                unsafe { $name_avx2($($argument),*) }
            }
            _ => $name($($argument),*),
        }
    };
}
/// Calls a function of `avx512` where `kernel` is AVX-512 and this machine has it: `Some` of what it returns.
macro_rules! with_avx512 {
    ($kernel:expr, $type:ty, $name:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        let result: Option<$type> = if $kernel == Kernel::Avx512 && Kernel::Avx512.available() {
            // SAFETY: the functions of `avx512` ask for no more than the features of `Kernel::Avx512`, which this machine has, as was just seen.
            #[allow(unsafe_code)]
            Some(unsafe { super::avx512::$name($($argument),*) })
        } else {
            None
        };
        #[cfg(not(target_arch = "x86_64"))]
        let result: Option<$type> = None;
        result
    }};
}

pub(super) use {with_avx512, with_vectors};
