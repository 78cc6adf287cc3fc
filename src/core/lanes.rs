//! The rANS lanes of a substream, decoding side (spec §11; Duda's construction, Giesen's interleaving).

use crate::core::table::{DecodeEntry, FREQUENCY_BITS};
use crate::error::{Error, Result};

/// States are at least this, 2^16, between steps.
pub const STATE_LOW: u32 = 1 << 16;
/// Most lanes.
pub const LANES: usize = 32;

/// Lane states and the words that renormalise them.
#[derive(Clone, Debug)]
pub struct Lanes<'a> {
    states: [u32; LANES],
    count: usize,
    words: &'a [u8],
    /// Bytes of `words` that are used; beyond the end where there were too few.
    used: usize,
}

impl<'a> Lanes<'a> {
    /// Reads the states of 2^`log2` lanes (`log2` 0…5) from the start of a substream's data.
    ///
    /// # Errors
    /// ULP-ENT-01, or data too short.
    pub fn new(data: &'a [u8], log2: u8) -> Result<Self> {
        let count = 1usize << log2.min(5);
        let (states, words) =
            data.split_at_checked(4 * count).ok_or(Error::Entropy("the data ends inside the lane states"))?;
        let mut lanes = Self { states: [STATE_LOW; LANES], count, words, used: 0 };
        for (state, bytes) in lanes.states.iter_mut().zip(states.chunks_exact(4)) {
            *state = bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
            if *state < STATE_LOW {
                return Err(Error::Entropy("a lane state below 2^16"));
            }
        }
        Ok(lanes)
    }

    /// Number of lanes, 1…32.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The states, and the words not yet used: what a kernel works on.
    pub fn parts(&mut self) -> (&mut [u32; LANES], &mut &'a [u8]) {
        self.words = self.words.get(self.used..).unwrap_or(&[]);
        self.used = 0;
        (&mut self.states, &mut self.words)
    }

    /// Token steps of a row of `symbols.len()` lanes, each refilled: lane i with the 4096 of `entries` from number `first(i)` on.
    ///
    /// # Errors
    /// ULP-ENT-03.
    #[inline(always)]
    pub fn symbols(
        &mut self,
        entries: &[DecodeEntry],
        symbols: &mut [u8],
        mut first: impl FnMut(usize) -> usize,
    ) -> Result<()> {
        let mut end = [0; 2 * LANES];
        // A copy, so that the states can change.
        let words = *self.next_words(&mut end);
        let mut taken = 0;
        for (lane, (x, symbol)) in self.states.iter_mut().zip(symbols).enumerate() {
            let entry = entries.get(first(lane) + (*x & 0xFFF) as usize).copied().unwrap_or(0);
            let frequency = (entry >> 20) + 1;
            let next = frequency.wrapping_mul(*x >> FREQUENCY_BITS).wrapping_add((entry >> 8) & 0xFFF);
            *x = refilled(next, &words, &mut taken);
            #[allow(clippy::cast_possible_truncation)]
            {
                *symbol = entry as u8;
            }
        }
        self.used += 2 * taken;
        self.check()
    }

    /// The next words, as many as there are lanes; zeros where there are no more, for which `end` is there.
    #[inline(always)]
    fn next_words<'w>(&'w self, end: &'w mut [u8; 2 * LANES]) -> &'w [[u8; 2]; LANES] {
        let left = self.words.get(self.used..).unwrap_or(&[]);
        let bytes = match left.first_chunk() {
            Some(bytes) => bytes,
            None => {
                end.iter_mut().zip(left).for_each(|(end, left)| *end = *left);
                end
            }
        };
        let (words, _) = bytes.as_chunks();
        words.first_chunk().unwrap_or(&[[0; 2]; LANES])
    }

    /// Checks that there were words for all refills so far.
    #[inline(always)]
    fn check(&self) -> Result<()> {
        if self.used > self.words.len() { Err(Error::Entropy("the words end too early")) } else { Ok(()) }
    }

    /// Raw-bit passes of a row: `bits[lane]` bits each (0…64) into `raw[lane]`; lanes from `bits.len()` on take none.
    ///
    /// # Errors
    /// ULP-ENT-03.
    #[inline(always)]
    pub fn raw_bits(&mut self, bits: &[u32], raw: &mut [u64; LANES]) -> Result<()> {
        let most = bits.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        if most <= 16 {
            let mut end = [0; 2 * LANES];
            let words = *self.next_words(&mut end);
            let mut taken = 0;
            for ((x, &bits), raw) in self.states.iter_mut().zip(bits).zip(raw.iter_mut()) {
                *raw = u64::from(*x & ((1 << (bits & 31)) - 1));
                *x = refilled(*x >> (bits & 31), &words, &mut taken);
            }
            self.used += 2 * taken;
            return self.check();
        }
        let mut done = 0;
        while done < most {
            let mut end = [0; 2 * LANES];
            // A copy, so that the states can change.
            let words = *self.next_words(&mut end);
            let mut taken = 0;
            for ((x, &bits), raw) in self.states.iter_mut().zip(bits).zip(raw.iter_mut()) {
                let take = bits.saturating_sub(done).min(16);
                *raw |= u64::from(*x & ((1 << take) - 1)) << (done & 63);
                *x = refilled(*x >> take, &words, &mut taken);
            }
            self.used += 2 * taken;
            self.check()?;
            done += 16;
        }
        Ok(())
    }

    /// Checks that every lane is back at 2^16 and every word is used.
    ///
    /// # Errors
    /// ULP-ENT-02.
    pub fn finish(&self) -> Result<()> {
        if self.used < self.words.len() {
            return Err(Error::Entropy("words are left over"));
        }
        if self.states[..self.count].iter().any(|&x| x != STATE_LOW) {
            return Err(Error::Entropy("a lane does not end in its initial state"));
        }
        Ok(())
    }
}

/// A state, refilled if it has fallen below 2^16: without a branch, for it is as good as random which ones are.
#[inline(always)]
fn refilled(x: u32, words: &[[u8; 2]; LANES], taken: &mut usize) -> u32 {
    let next = u32::from(u16::from_le_bytes(words[*taken & (LANES - 1)]));
    let low = x < STATE_LOW;
    *taken += usize::from(low);
    std::hint::select_unpredictable(low, (x << 16) | next, x)
}
