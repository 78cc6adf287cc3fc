//! Machine words that hold one element, read from bytes at any alignment.

/// An unsigned word of 1, 2, 4 or 8 bytes.
pub trait Word: Copy + Eq + Ord + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Bytes of the word.
    const BYTES: usize;

    /// The element at index `i` of little-endian `bytes`; zero beyond the end.
    fn load(bytes: &[u8], i: usize) -> Self;

    /// Stores the element at index `i`; does nothing beyond the end.
    fn store(self, bytes: &mut [u8], i: usize);

    /// Widened to 64 bits.
    fn wide(self) -> u64;

    /// The low bits of a 64-bit value.
    fn narrow(value: u64) -> Self;
}

macro_rules! word {
    ($type:ty, $bytes:literal) => {
        impl Word for $type {
            const BYTES: usize = $bytes;

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
            #[allow(clippy::cast_lossless)]
            fn wide(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn narrow(value: u64) -> Self {
                value as Self
            }
        }
    };
}

word!(u8, 1);
word!(u16, 2);
word!(u32, 4);
word!(u64, 8);

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
