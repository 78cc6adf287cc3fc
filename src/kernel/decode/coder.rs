//! The lanes of a row as vectors: token steps, raw bits, and the words that refill them (spec §11).

use crate::core::bank::DecodeGroup;
use crate::core::lanes::{LANES, Lanes};
use crate::kernel::decode::ROW;
use crate::kernel::decode::vector::Vector;

/// Bytes of words that a row takes at most: in the token step and in each of the at most four raw-bit passes two for each lane.
pub(super) const WINDOW: usize = 5 * 2 * LANES;

/// The lanes' states and their words.
pub(super) struct Coder<'a, S: Vector> {
    pub(super) s: S,
    pub(super) x: [S::V; 2],
    words: &'a [u8],
    at: usize,
    /// End of the words in `words`.
    limit: usize,
    /// Bytes of words before `words`.
    before: usize,
    tail: &'a Tail,
}

impl<'a, S: Vector> Coder<'a, S> {
    #[inline(always)]
    pub(super) fn new(s: S, states: &[u32; LANES], words: &'a [u8], tail: &'a Tail) -> Self {
        Self { s, x: load_32_numbers(s, states), words, at: 0, limit: words.len(), before: 0, tail }
    }

    /// The words of the next row and what may be read behind them, if no row has taken more words than there are.
    #[inline(always)]
    pub(super) fn window(&mut self) -> Option<&'a [u8; WINDOW]> {
        let window = self.words.get(self.at..).and_then(<[u8]>::first_chunk);
        if window.is_some() {
            return window;
        }
        // On to the tail, unless that is where we are. (All in line: whatever had the coder's address would keep its states out of registers.)
        if self.limit == self.words.len() {
            self.at = self.at.checked_sub(self.tail.before)?;
            self.words = &self.tail.bytes;
            self.before = self.tail.before;
            self.limit = self.tail.length;
        }
        self.words.get(self.at..).and_then(<[u8]>::first_chunk)
    }

    /// Refills lanes from `window`, of which `used` bytes are used.
    #[inline(always)]
    pub(super) fn renormalise(&mut self, window: &[u8; WINDOW], used: &mut usize) {
        // A lane takes one word at most each time, so these 64 bytes are within the window.
        let Some(words) = window.get(*used..).and_then(<[u8]>::first_chunk) else { return };
        let (refilled, bytes) = self.s.renormalise(self.x, words);
        self.x = refilled;
        *used += bytes;
    }

    /// The lanes' table entries, whose low byte is the token.
    ///
    /// # Safety
    /// `offsets` come from [`Vector::offsets`] or [`Vector::offsets_16`] with the same group.
    #[inline(always)]
    pub(super) unsafe fn entries(&self, group: &DecodeGroup, offsets: [S::V; 2]) -> [S::V; 2] {
        // SAFETY: as told by the caller.
        unsafe { [self.s.entries(group, offsets[0], self.x[0]), self.s.entries(group, offsets[1], self.x[1])] }
    }

    /// Token step of a row, whose table entries these are.
    #[inline(always)]
    pub(super) fn token_step(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) {
        let s = self.s;
        for (x, &entry) in self.x.iter_mut().zip(&entries) {
            let high = s.shr_by::<12>(*x);
            let bias = s.and(s.shr_by::<8>(entry), s.splat(0xFFF));
            // frequency · high + bias, where the entry has frequency − 1.
            *x = s.add(s.mul(s.shr_by::<20>(entry), high), s.add(high, bias));
        }
        self.renormalise(window, used);
    }

    /// Token step of a row with the tables of λ − base = `index`: 32-bit tokens.
    #[inline(always)]
    pub(super) fn tokens(
        &mut self,
        group: &DecodeGroup,
        index: [S::V; 2],
        window: &[u8; WINDOW],
        used: &mut usize,
    ) -> [S::V; 2] {
        let s = self.s;
        let offsets = [s.offsets(group, index[0]), s.offsets(group, index[1])];
        // SAFETY: these are the group's offsets.
        let entries = unsafe { self.entries(group, offsets) };
        self.token_step(entries, window, used);
        [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))]
    }

    /// Raw bits of a row, at most 16 in each lane: 16-bit numbers.
    #[inline(always)]
    pub(super) fn raw_bits_16(&mut self, bits: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.s;
        let ones = s.splat(u32::MAX);
        let raw = [s.without(self.x[0], s.shl(ones, bits[0])), s.without(self.x[1], s.shl(ones, bits[1]))];
        self.x = [s.shr(self.x[0], bits[0]), s.shr(self.x[1], bits[1])];
        self.renormalise(window, used);
        s.pack(raw)
    }

    /// Pass `done / 16` of the raw bits of a row, which have `bits` in all; gives them at their place.
    #[inline(always)]
    fn pass(&mut self, bits: [S::V; 2], done: u32, window: &[u8; WINDOW], used: &mut usize) -> [S::V; 2] {
        let s = self.s;
        let mut raw = bits;
        for ((x, bits), raw) in self.x.iter_mut().zip(bits).zip(&mut raw) {
            let mut take = bits;
            if done > 0 {
                take = s.max(s.sub(take, s.splat(done)), s.splat(0));
            }
            take = s.min(take, s.splat(16));
            *raw = s.without(*x, s.shl(s.splat(u32::MAX), take));
            *x = s.shr(*x, take);
        }
        self.renormalise(window, used);
        raw
    }

    #[inline(always)]
    fn more_than(&self, bits: [S::V; 2], done: u32) -> bool {
        let s = self.s;
        let most = s.max(bits[0], bits[1]);
        if done == 0 {
            return s.any(most);
        }
        s.any(s.max(s.sub(most, s.splat(done)), s.splat(0)))
    }

    /// All raw bits of a row, `bits` in each lane, at most 32.
    #[inline(always)]
    pub(super) fn raw_bits(&mut self, bits: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> [S::V; 2] {
        let s = self.s;
        let mut raw = [s.splat(0); 2];
        if self.more_than(bits, 0) {
            raw = self.pass(bits, 0, window, used);
            if self.more_than(bits, 16) {
                let above = self.pass(bits, 16, window, used);
                for (raw, above) in raw.iter_mut().zip(above) {
                    *raw = s.or(*raw, s.shl_by::<16>(above));
                }
            }
        }
        raw
    }

    /// All raw bits of a row, at most 64 in each lane: the low and the high halves.
    #[inline(always)]
    pub(super) fn raw_bits_64(
        &mut self,
        bits: [S::V; 2],
        window: &[u8; WINDOW],
        used: &mut usize,
    ) -> ([S::V; 2], [S::V; 2]) {
        let s = self.s;
        let low = self.raw_bits(bits, window, used);
        let mut high = [s.splat(0); 2];
        if self.more_than(bits, 32) {
            high = self.pass(bits, 32, window, used);
            if self.more_than(bits, 48) {
                let above = self.pass(bits, 48, window, used);
                for (high, above) in high.iter_mut().zip(above) {
                    *high = s.or(*high, s.shl_by::<16>(above));
                }
            }
        }
        (low, high)
    }

    /// Raw bits of a row, `count` of at most 64 in every lane: the low and the high halves.
    #[inline(always)]
    pub(super) fn raw_bits_of_all(
        &mut self,
        count: u32,
        window: &[u8; WINDOW],
        used: &mut usize,
    ) -> ([S::V; 2], [S::V; 2]) {
        let s = self.s;
        let mut raw = [[s.splat(0); 2]; 2];
        for pass in 0..4 {
            if count > 16 * pass {
                let bits = s.splat((count - 16 * pass).min(16));
                let words = self.pass([bits; 2], 0, window, used);
                for (raw, word) in raw[pass as usize / 2].iter_mut().zip(words) {
                    *raw = if pass % 2 == 0 { word } else { s.or(*raw, s.shl_by::<16>(word)) };
                }
            }
        }
        (raw[0], raw[1])
    }

    /// Counts a row's words as used; whether they were there.
    #[inline(always)]
    pub(super) fn advance(&mut self, used: usize) -> bool {
        self.at += used;
        self.at <= self.limit
    }

    /// Gives the states and the unused words back.
    #[inline(always)]
    pub(super) fn give_back(&self, lanes: &mut Lanes<'_>) {
        let (states, words) = lanes.parts();
        store_32_numbers(self.s, self.x, states);
        *words = words.get(self.before + self.at..).unwrap_or(&[]);
    }
}

#[inline(always)]
pub(super) fn load_32_numbers<S: Vector>(s: S, from: &[u32; ROW]) -> [S::V; 2] {
    let (halves, _) = from.as_chunks::<16>();
    match halves {
        [a, b] => [s.load(a), s.load(b)],
        _ => [s.splat(0); 2],
    }
}

#[inline(always)]
pub(super) fn store_32_numbers<S: Vector>(s: S, v: [S::V; 2], to: &mut [u32; ROW]) {
    let (halves, _) = to.as_chunks_mut::<16>();
    for (half, v) in halves.iter_mut().zip(v) {
        s.store(v, half);
    }
}

/// The last words of a run, with zeros behind so that whole rows can be read to the end.
pub(super) struct Tail {
    bytes: [u8; 2 * WINDOW],
    /// Bytes that are words.
    length: usize,
    /// Bytes of words before these.
    before: usize,
}

impl Tail {
    /// The last [`WINDOW`] bytes of `words`, or all.
    pub(super) fn new(words: &[u8]) -> Self {
        let mut bytes = [0; 2 * WINDOW];
        let length = words.len().min(WINDOW);
        let before = words.len() - length;
        if let (Some(to), Some(from)) = (bytes.get_mut(..length), words.get(before..)) {
            to.copy_from_slice(from);
        }
        Self { bytes, length, before }
    }
}
