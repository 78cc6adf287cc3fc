//! Any machine: sixteen numbers are an array, and the compiler does what it can.

use crate::core::bank::DecodeGroup;
use crate::kernel::decode::vector::{Task, Vector};

/// Portable code.
#[derive(Clone, Copy)]
pub(super) struct Portable;

type V = [u32; 16];

#[inline(always)]
fn zip(a: V, b: V, f: impl Fn(u32, u32) -> u32) -> V {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Vector for Portable {
    type V = V;
    type M = [bool; 16];

    #[inline(always)]
    fn enter<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }

    #[inline(always)]
    fn splat(self, value: u32) -> V {
        [value; 16]
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> V {
        *from
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u32; 16]) {
        *to = v;
    }

    #[inline(always)]
    fn load_8(self, from: &[u8; 16]) -> V {
        from.map(u32::from)
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; 16]) -> V {
        from.map(|v| i32::from(v).cast_unsigned())
    }

    #[inline(always)]
    fn load_16(self, from: &[u8; 32]) -> V {
        std::array::from_fn(|i| u32::from(u16::from_le_bytes([from[2 * i], from[2 * i + 1]])))
    }

    #[inline(always)]
    fn load_32(self, from: &[u8; 64]) -> V {
        std::array::from_fn(|i| u32::from_le_bytes([from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]]))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn store_8(self, v: [V; 2], to: &mut [u8; 32]) {
        for (to, v) in to.iter_mut().zip(v.as_flattened()) {
            *to = *v as u8;
        }
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn store_16(self, v: [V; 2], to: &mut [u8; 64]) {
        for (to, v) in to.as_chunks_mut().0.iter_mut().zip(v.as_flattened()) {
            *to = (*v as u16).to_le_bytes();
        }
    }

    #[inline(always)]
    fn store_32(self, v: V, to: &mut [u8; 64]) {
        for (to, v) in to.as_chunks_mut().0.iter_mut().zip(v) {
            *to = v.to_le_bytes();
        }
    }

    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn or(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a | b)
    }

    #[inline(always)]
    fn xor(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a ^ b)
    }

    #[inline(always)]
    fn without(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a & !b)
    }

    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        zip(a, b, u32::wrapping_add)
    }

    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        zip(a, b, u32::wrapping_sub)
    }

    #[inline(always)]
    fn mul(self, a: V, b: V) -> V {
        zip(a, b, u32::wrapping_mul)
    }

    #[inline(always)]
    fn max(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned())
    }

    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        zip(a, b, |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned())
    }

    #[inline(always)]
    fn shl(self, a: V, bits: V) -> V {
        zip(a, bits, |a, n| if n < 32 { a << (n & 31) } else { 0 })
    }

    #[inline(always)]
    fn shr(self, a: V, bits: V) -> V {
        zip(a, bits, |a, n| if n < 32 { a >> (n & 31) } else { 0 })
    }

    #[inline(always)]
    fn shl_by<const BITS: u32>(self, a: V) -> V {
        a.map(|a| a << BITS)
    }

    #[inline(always)]
    fn shr_by<const BITS: u32>(self, a: V) -> V {
        a.map(|a| a >> BITS)
    }

    #[inline(always)]
    fn sar_by<const BITS: u32>(self, a: V) -> V {
        a.map(|a| (a.cast_signed() >> BITS).cast_unsigned())
    }

    #[inline(always)]
    fn equal(self, a: V, b: V) -> [bool; 16] {
        std::array::from_fn(|i| a[i] == b[i])
    }

    #[inline(always)]
    fn greater(self, a: V, b: V) -> [bool; 16] {
        std::array::from_fn(|i| a[i].cast_signed() > b[i].cast_signed())
    }

    #[inline(always)]
    fn select(self, m: [bool; 16], a: V, b: V) -> V {
        std::array::from_fn(|i| if m[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn any(self, v: V) -> bool {
        v.iter().fold(0, |a, b| a | b) != 0
    }

    #[inline(always)]
    #[allow(clippy::cast_sign_loss)]
    fn look_up(self, group: &DecodeGroup, index: V, x: V) -> V {
        zip(index, x, |index, x| {
            let offset = group.offsets()[index.cast_signed().clamp(0, 255) as usize];
            group.entries().get((offset | x & 0xFFF) as usize).copied().unwrap_or(0)
        })
    }

    #[inline(always)]
    fn renormalise(self, mut x: V, words: &[u8; 32]) -> (V, usize) {
        let mut used = 0;
        for x in &mut x {
            // Without a branch: which lanes are low is as good as random.
            let at = 2 * used;
            let next = u32::from(u16::from_le_bytes([words[at & 31], words[(at + 1) & 31]]));
            let low = *x < 1 << 16;
            *x = if low { *x << 16 | next } else { *x };
            used += usize::from(low);
        }
        (x, 2 * used)
    }
}
