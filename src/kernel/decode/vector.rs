//! What a decoding kernel needs of an instruction set: sixteen 32-bit numbers at a time.

use crate::core::bank::DecodeGroup;

/// Work that is compiled for an instruction set: `run` and all it calls are inlined into a function that has the set's features.
pub(super) trait Task {
    /// What comes of it.
    type Output;
    /// Does the work.
    fn run<S: Vector>(self, s: S) -> Self::Output;
}

/// An instruction set, as the proof that the machine has it. Shifts by 32 and more give zero.
pub(super) trait Vector: Copy {
    /// Sixteen 32-bit numbers.
    type V: Copy;
    /// Sixteen yes or no.
    type M: Copy;

    /// Runs `task`, compiled for this instruction set.
    fn enter<T: Task>(self, task: T) -> T::Output;

    /// The same number sixteen times.
    fn splat(self, value: u32) -> Self::V;
    /// From memory.
    fn load(self, from: &[u32; 16]) -> Self::V;
    /// To memory.
    fn store(self, v: Self::V, to: &mut [u32; 16]);
    /// Signed bytes, widened.
    fn load_i8(self, from: &[i8; 16]) -> Self::V;
    /// Little-endian 32-bit words.
    fn load_32(self, from: &[u8; 64]) -> Self::V;
    /// The low bytes of 32 numbers.
    fn store_8(self, v: [Self::V; 2], to: &mut [u8; 32]);
    /// 32-bit words.
    fn store_32(self, v: Self::V, to: &mut [u8; 64]);

    /// Bitwise and.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise or.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// a without the bits of b.
    fn without(self, a: Self::V, b: Self::V) -> Self::V;
    /// Sum, wrapping.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference, wrapping.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Product, wrapping.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater, of signed numbers.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser, of signed numbers.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Shift to the left.
    fn shl(self, a: Self::V, bits: Self::V) -> Self::V;
    /// Shift to the right, zeros from above.
    fn shr(self, a: Self::V, bits: Self::V) -> Self::V;
    /// Shift to the left by a constant.
    fn shl_by<const BITS: u32>(self, a: Self::V) -> Self::V;
    /// Shift to the right by a constant, zeros from above.
    fn shr_by<const BITS: u32>(self, a: Self::V) -> Self::V;
    /// Shift to the right by a constant, signed.
    fn sar_by<const BITS: u32>(self, a: Self::V) -> Self::V;

    /// Where a = b.
    fn equal(self, a: Self::V, b: Self::V) -> Self::M;
    /// Where a > b, signed.
    fn greater(self, a: Self::V, b: Self::V) -> Self::M;
    /// a where `m`, else b.
    fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// The numbers of both in turn: a's first, b's first, a's second, …
    fn zip(self, a: Self::V, b: Self::V) -> [Self::V; 2];
    /// Whether any number is not zero.
    fn any(self, v: Self::V) -> bool;

    /// The least of each eight little-endian words, all but the bits of `mask` taken as zero.
    #[inline(always)]
    fn least_of_eight(self, words: &[u8; 512], mask: u16) -> [Self::V; 2] {
        let mut least = [[0u32; 16]; 2];
        for (least, eight) in least.as_flattened_mut().iter_mut().zip(words.as_chunks::<16>().0) {
            let words = eight.as_chunks::<2>().0.iter().map(|w| u16::from_le_bytes(*w) & mask);
            *least = words.min().unwrap_or(0).into();
        }
        [self.load(&least[0]), self.load(&least[1])]
    }

    /// Less by `b`, but not below zero: numbers of 0…65,535.
    fn less_by(self, a: Self::V, b: Self::V) -> Self::V;

    /// Index of the first entry of the table that serves λ − base = `index` (signed, any).
    fn offsets(self, group: &DecodeGroup, index: Self::V) -> Self::V;
    /// Entry `x mod 4096` of each table.
    ///
    /// # Safety
    /// `offsets` comes from [`Self::offsets`] or [`Self::offsets_16`] with the same group.
    unsafe fn entries(self, group: &DecodeGroup, offsets: Self::V, x: Self::V) -> Self::V;
    /// Each number below 2^16, in order, is shifted up and takes the next word; also how many bytes these were, at most 64.
    fn renormalise(self, x: [Self::V; 2], words: &[u8; 64]) -> ([Self::V; 2], usize);

    // The same register as thirty-two 16-bit numbers.

    /// Thirty-two yes or no.
    type M16: Copy;
    /// A number of bits to shift all by.
    type Bits: Copy;

    /// The same number thirty-two times.
    fn splat_16(self, value: u16) -> Self::V;
    /// A number of bits, below 16.
    fn bits_16(self, bits: u32) -> Self::Bits;
    /// Bytes, widened.
    fn load_8_as_16(self, from: &[u8; 32]) -> Self::V;
    /// Signed bytes, widened.
    fn load_i8_as_16(self, from: &[i8; 32]) -> Self::V;
    /// Little-endian words.
    fn load_32_words(self, from: &[u8; 64]) -> Self::V;
    /// The low bytes.
    fn store_16_as_8(self, v: Self::V, to: &mut [u8; 32]);
    /// Little-endian words.
    fn store_32_words(self, v: Self::V, to: &mut [u8; 64]);
    /// The low bytes of 32-bit numbers.
    fn low_bytes(self, v: [Self::V; 2]) -> Self::V;
    /// 32-bit numbers of at most 65,535.
    fn pack(self, v: [Self::V; 2]) -> Self::V;
    /// Signed 32-bit numbers of −32,768…32,767.
    fn pack_signed(self, v: [Self::V; 2]) -> Self::V;
    /// Sum, wrapping.
    fn add_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference, wrapping.
    fn sub_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater, of signed numbers.
    fn max_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// Where a = b.
    fn equal_16(self, a: Self::V, b: Self::V) -> Self::M16;
    /// Where a > b, signed.
    fn greater_16(self, a: Self::V, b: Self::V) -> Self::M16;
    /// Whether there is any.
    fn any_16(self, m: Self::M16) -> bool;
    /// a where `m`, else b.
    fn select_16(self, m: Self::M16, a: Self::V, b: Self::V) -> Self::V;
    /// Shift to the left by less than 16 each.
    fn shl_16(self, a: Self::V, bits: Self::V) -> Self::V;
    /// Shift of all to the left.
    fn shl_16_by(self, a: Self::V, bits: Self::Bits) -> Self::V;
    /// Shift of all to the right, zeros from above.
    fn shr_16_by(self, a: Self::V, bits: Self::Bits) -> Self::V;
    /// Index of the first entry of the table that serves λ − base = `index` (signed, any), for 32 numbers.
    fn offsets_16(self, group: &DecodeGroup, index: Self::V) -> [Self::V; 2];
}
