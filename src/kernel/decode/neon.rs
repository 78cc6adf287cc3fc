//! NEON: sixteen numbers are four registers. There is no gather, so table entries are loaded one by one.

use std::arch::aarch64::*;

use crate::core::bank::DecodeGroup;
use crate::kernel::decode::vector::{Task, Vector};

/// NEON, which every 64-bit Arm has.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn new() -> Self {
        Self(())
    }
}

type V = [uint32x4_t; 4];

/// An expression for the four registers.
macro_rules! four {
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
            {
                let $i = 2usize;
                $call
            },
            {
                let $i = 3usize;
                $call
            },
        ]
    };
}

/// An intrinsic without memory operands.
macro_rules! has {
    ($call:expr) => {
        // SAFETY: it needs nothing but NEON, which every 64-bit Arm has.
        unsafe { $call }
    };
}

/// For each set of four lanes: which of eight packed bytes goes where, so that each lane of the set gets the next word; 255 where none does.
static SPREAD: [[u8; 16]; 16] = {
    let mut spread = [[255; 16]; 16];
    let mut set = 0;
    while set < 16 {
        let (mut lane, mut place) = (0, 0);
        while lane < 4 {
            if set >> lane & 1 == 1 {
                spread[set][4 * lane] = 2 * place;
                spread[set][4 * lane + 1] = 2 * place + 1;
                place += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    spread
};

impl Vector for Neon {
    type V = V;
    type M = V;

    #[inline(always)]
    fn enter<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }

    #[inline(always)]
    fn splat(self, value: u32) -> V {
        [has!(vdupq_n_u32(value)); 4]
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> V {
        // SAFETY: 16 bytes each are read at numbers 0, 4, 8 and 12 of 16.
        unsafe { four!(i => vld1q_u32(from.as_ptr().add(4 * i))) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u32; 16]) {
        // SAFETY: 16 bytes each are written at numbers 0, 4, 8 and 12 of 16.
        unsafe {
            four!(i => vst1q_u32(to.as_mut_ptr().add(4 * i), v[i]));
        }
    }

    #[inline(always)]
    fn load_8(self, from: &[u8; 16]) -> V {
        // SAFETY: 16 bytes are read, and `from` has them.
        let bytes = unsafe { vld1q_u8(from.as_ptr()) };
        has!({
            let (a, b) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
            [vmovl_u16(vget_low_u16(a)), vmovl_high_u16(a), vmovl_u16(vget_low_u16(b)), vmovl_high_u16(b)]
        })
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; 16]) -> V {
        // SAFETY: 16 bytes are read, and `from` has them.
        let bytes = unsafe { vld1q_s8(from.as_ptr()) };
        has!({
            let (a, b) = (vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes));
            let wide = [vmovl_s16(vget_low_s16(a)), vmovl_high_s16(a), vmovl_s16(vget_low_s16(b)), vmovl_high_s16(b)];
            four!(i => vreinterpretq_u32_s32(wide[i]))
        })
    }

    #[inline(always)]
    fn load_16(self, from: &[u8; 32]) -> V {
        // SAFETY: 8 bytes each are read at bytes 0, 8, 16 and 24 of 32.
        unsafe { four!(i => vmovl_u16(vreinterpret_u16_u8(vld1_u8(from.as_ptr().add(8 * i))))) }
    }

    #[inline(always)]
    fn load_32(self, from: &[u8; 64]) -> V {
        // SAFETY: 16 bytes each are read at bytes 0, 16, 32 and 48 of 64.
        unsafe { four!(i => vreinterpretq_u32_u8(vld1q_u8(from.as_ptr().add(16 * i)))) }
    }

    #[inline(always)]
    fn store_8(self, v: [V; 2], to: &mut [u8; 32]) {
        for (half, v) in to.as_chunks_mut::<16>().0.iter_mut().zip(v) {
            let bytes = has!({
                let a = vcombine_u16(vmovn_u32(v[0]), vmovn_u32(v[1]));
                let b = vcombine_u16(vmovn_u32(v[2]), vmovn_u32(v[3]));
                vcombine_u8(vmovn_u16(a), vmovn_u16(b))
            });
            // SAFETY: 16 bytes are written, and `half` has them.
            unsafe { vst1q_u8(half.as_mut_ptr(), bytes) }
        }
    }

    #[inline(always)]
    fn store_16(self, v: [V; 2], to: &mut [u8; 64]) {
        for (half, v) in to.as_chunks_mut::<32>().0.iter_mut().zip(v) {
            // SAFETY: 8 bytes each are written at bytes 0, 8, 16 and 24 of 32.
            unsafe {
                four!(i => vst1_u8(half.as_mut_ptr().add(8 * i), vreinterpret_u8_u16(vmovn_u32(v[i]))));
            }
        }
    }

    #[inline(always)]
    fn store_32(self, v: V, to: &mut [u8; 64]) {
        // SAFETY: 16 bytes each are written at bytes 0, 16, 32 and 48 of 64.
        unsafe {
            four!(i => vst1q_u8(to.as_mut_ptr().add(16 * i), vreinterpretq_u8_u32(v[i])));
        }
    }

    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        has!(four!(i => vandq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn or(self, a: V, b: V) -> V {
        has!(four!(i => vorrq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn xor(self, a: V, b: V) -> V {
        has!(four!(i => veorq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn without(self, a: V, b: V) -> V {
        has!(four!(i => vbicq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        has!(four!(i => vaddq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        has!(four!(i => vsubq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn mul(self, a: V, b: V) -> V {
        has!(four!(i => vmulq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn max(self, a: V, b: V) -> V {
        has!(four!(i => vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a[i]), vreinterpretq_s32_u32(b[i])))))
    }

    #[inline(always)]
    fn min(self, a: V, b: V) -> V {
        has!(four!(i => vreinterpretq_u32_s32(vminq_s32(vreinterpretq_s32_u32(a[i]), vreinterpretq_s32_u32(b[i])))))
    }

    #[inline(always)]
    fn shl(self, a: V, bits: V) -> V {
        has!(four!(i => vshlq_u32(a[i], vreinterpretq_s32_u32(bits[i]))))
    }

    #[inline(always)]
    fn shr(self, a: V, bits: V) -> V {
        has!(four!(i => vshlq_u32(a[i], vnegq_s32(vreinterpretq_s32_u32(bits[i])))))
    }

    #[inline(always)]
    fn shl_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(vdupq_n_s32(BITS.cast_signed()));
        has!(four!(i => vshlq_u32(a[i], bits)))
    }

    #[inline(always)]
    fn shr_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(vdupq_n_s32(-BITS.cast_signed()));
        has!(four!(i => vshlq_u32(a[i], bits)))
    }

    #[inline(always)]
    fn sar_by<const BITS: u32>(self, a: V) -> V {
        let bits = has!(vdupq_n_s32(-BITS.cast_signed()));
        has!(four!(i => vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a[i]), bits))))
    }

    #[inline(always)]
    fn equal(self, a: V, b: V) -> V {
        has!(four!(i => vceqq_u32(a[i], b[i])))
    }

    #[inline(always)]
    fn greater(self, a: V, b: V) -> V {
        has!(four!(i => vcgtq_s32(vreinterpretq_s32_u32(a[i]), vreinterpretq_s32_u32(b[i]))))
    }

    #[inline(always)]
    fn select(self, m: V, a: V, b: V) -> V {
        has!(four!(i => vbslq_u32(m[i], a[i], b[i])))
    }

    #[inline(always)]
    fn any(self, v: V) -> bool {
        has!(vmaxvq_u32(vorrq_u32(vorrq_u32(v[0], v[1]), vorrq_u32(v[2], v[3])))) != 0
    }

    #[inline(always)]
    fn look_up(self, group: &DecodeGroup, index: V, x: V) -> V {
        let (mut indices, mut states) = ([0; 16], [0; 16]);
        self.store(self.min(self.max(index, self.splat(0)), self.splat(255)), &mut indices);
        self.store(self.and(x, self.splat(0xFFF)), &mut states);
        let (offsets, entries) = (group.offsets(), group.entries());
        let mut found = [0; 16];
        for ((found, index), slot) in found.iter_mut().zip(indices).zip(states) {
            let at = offsets[(index & 255) as usize] + slot;
            *found = entries.get(at as usize).copied().unwrap_or(0);
        }
        self.load(&found)
    }

    #[inline(always)]
    fn renormalise(self, mut x: V, words: &[u8; 32]) -> (V, usize) {
        let mut used = 0;
        for x in &mut x {
            // Each four lanes begin at most 8 bytes after the four before.
            let Some(words) = words.get(used..).and_then(<[u8]>::first_chunk::<8>) else { break };
            let low = has!(vcltq_u32(*x, vdupq_n_u32(1 << 16)));
            // SAFETY: 16 bytes are read, and the array has them.
            let places = unsafe { vld1q_u32([1, 2, 4, 8].as_ptr()) };
            let set = has!(vaddvq_u32(vandq_u32(low, places))) as usize & 15;
            // SAFETY: 8 and 16 bytes are read, and `words` and the row of `SPREAD` have them.
            let (words, spread) = unsafe { (vld1_u8(words.as_ptr()), vld1q_u8(SPREAD[set].as_ptr())) };
            *x = has!({
                let next = vreinterpretq_u32_u8(vqtbl1q_u8(vcombine_u8(words, words), spread));
                vbslq_u32(low, vorrq_u32(vshlq_n_u32::<16>(*x), next), *x)
            });
            used += 2 * set.count_ones() as usize;
        }
        (x, used)
    }
}
