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
    fn zip(self, a: V, b: V) -> [V; 2] {
        let zip = |i: usize| has!([vzip1q_u32(a[i], b[i]), vzip2q_u32(a[i], b[i])]);
        let ([a, b], [c, d], [e, f], [g, h]) = (zip(0), zip(1), zip(2), zip(3));
        [[a, b, c, d], [e, f, g, h]]
    }

    #[inline(always)]
    fn any(self, v: V) -> bool {
        has!(vmaxvq_u32(vorrq_u32(vorrq_u32(v[0], v[1]), vorrq_u32(v[2], v[3])))) != 0
    }

    #[inline(always)]
    fn less_by(self, a: V, b: V) -> V {
        has!(four!(i => words(vqsubq_u16(halves(a[i]), halves(b[i])))))
    }

    #[inline(always)]
    fn offsets(self, group: &DecodeGroup, index: V) -> V {
        let mut indices = [0; 16];
        self.store(self.min(self.max(index, self.splat(0)), self.splat(255)), &mut indices);
        let offsets = group.offsets();
        self.load(&indices.map(|index| offsets[(index & 255) as usize]))
    }

    #[inline(always)]
    unsafe fn entries(self, group: &DecodeGroup, offsets: V, x: V) -> V {
        let mut at = [0; 16];
        self.store(self.or(self.and(x, self.splat(0xFFF)), offsets), &mut at);
        // SAFETY: the offsets are 4096 · a table of the group's map, so `at` lies in that table's 4096 entries, which are there by the invariant of
        // `DecodeGroup`.
        self.load(&at.map(|at| unsafe { *group.entries().get_unchecked(at as usize) }))
    }

    #[inline(always)]
    fn renormalise(self, x: [V; 2], words: &[u8; 64]) -> ([V; 2], usize) {
        let mut x = x;
        let mut used = 0;
        for x in x.as_flattened_mut() {
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

    type M16 = V;
    type Bits = int16x8_t;

    #[inline(always)]
    fn splat_16(self, value: u16) -> V {
        [words(has!(vdupq_n_u16(value))); 4]
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn bits_16(self, bits: u32) -> int16x8_t {
        has!(vdupq_n_s16(bits as i16))
    }

    #[inline(always)]
    fn load_8_as_16(self, from: &[u8; 32]) -> V {
        // SAFETY: 8 bytes each are read at bytes 0, 8, 16 and 24 of 32.
        unsafe { four!(i => words(vmovl_u8(vld1_u8(from.as_ptr().add(8 * i))))) }
    }

    #[inline(always)]
    fn load_i8_as_16(self, from: &[i8; 32]) -> V {
        // SAFETY: 8 bytes each are read at bytes 0, 8, 16 and 24 of 32.
        unsafe { four!(i => vreinterpretq_u32_s16(vmovl_s8(vld1_s8(from.as_ptr().add(8 * i))))) }
    }

    #[inline(always)]
    fn load_32_words(self, from: &[u8; 64]) -> V {
        self.load_32(from)
    }

    #[inline(always)]
    fn store_16_as_8(self, v: V, to: &mut [u8; 32]) {
        // SAFETY: 8 bytes each are written at bytes 0, 8, 16 and 24 of 32.
        unsafe {
            four!(i => vst1_u8(to.as_mut_ptr().add(8 * i), vmovn_u16(halves(v[i]))));
        }
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
        let v = v.as_flattened();
        has!(four!(i => words(vcombine_u16(vmovn_u32(v[2 * i]), vmovn_u32(v[2 * i + 1])))))
    }

    #[inline(always)]
    fn pack_signed(self, v: [V; 2]) -> V {
        self.pack(v)
    }

    #[inline(always)]
    fn add_16(self, a: V, b: V) -> V {
        has!(four!(i => words(vaddq_u16(halves(a[i]), halves(b[i])))))
    }

    #[inline(always)]
    fn sub_16(self, a: V, b: V) -> V {
        has!(four!(i => words(vsubq_u16(halves(a[i]), halves(b[i])))))
    }

    #[inline(always)]
    fn max_16(self, a: V, b: V) -> V {
        has!(four!(i => vreinterpretq_u32_s16(vmaxq_s16(vreinterpretq_s16_u32(a[i]), vreinterpretq_s16_u32(b[i])))))
    }

    #[inline(always)]
    fn equal_16(self, a: V, b: V) -> V {
        has!(four!(i => words(vceqq_u16(halves(a[i]), halves(b[i])))))
    }

    #[inline(always)]
    fn greater_16(self, a: V, b: V) -> V {
        has!(four!(i => words(vcgtq_s16(vreinterpretq_s16_u32(a[i]), vreinterpretq_s16_u32(b[i])))))
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
        has!(four!(i => words(vshlq_u16(halves(a[i]), vreinterpretq_s16_u32(bits[i])))))
    }

    #[inline(always)]
    fn shl_16_by(self, a: V, bits: int16x8_t) -> V {
        has!(four!(i => words(vshlq_u16(halves(a[i]), bits))))
    }

    #[inline(always)]
    fn shr_16_by(self, a: V, bits: int16x8_t) -> V {
        has!(four!(i => words(vshlq_u16(halves(a[i]), vnegq_s16(bits)))))
    }

    #[inline(always)]
    fn offsets_16(self, group: &DecodeGroup, index: V) -> [V; 2] {
        let wide = |a: uint32x4_t| {
            has!([
                vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(vreinterpretq_s16_u32(a)))),
                vreinterpretq_u32_s32(vmovl_high_s16(vreinterpretq_s16_u32(a))),
            ])
        };
        let ([a, b], [c, d]) = (wide(index[0]), wide(index[1]));
        let ([e, f], [g, h]) = (wide(index[2]), wide(index[3]));
        [self.offsets(group, [a, b, c, d]), self.offsets(group, [e, f, g, h])]
    }
}

/// The same bits as eight 16-bit numbers.
#[inline(always)]
fn halves(v: uint32x4_t) -> uint16x8_t {
    has!(vreinterpretq_u16_u32(v))
}

/// The same bits as four 32-bit numbers.
#[inline(always)]
fn words(v: uint16x8_t) -> uint32x4_t {
    has!(vreinterpretq_u32_u16(v))
}
