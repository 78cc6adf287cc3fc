//! The rANS lanes of a substream, decoding side (spec §11; Duda's construction, Giesen's interleaving).

use crate::core::bank::DecodeGroup;
use crate::core::table::FREQUENCY_BITS;
use crate::core::word::Word;
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

    /// Token steps of a row of `count` lanes, each refilled: lane i with the table of λ − base = `index[i]`.
    ///
    /// # Errors
    /// ULP-ENT-03.
    pub fn symbols(
        &mut self,
        group: &DecodeGroup,
        index: &[u8; LANES],
        count: usize,
        symbols: &mut [u8; LANES],
    ) -> Result<()> {
        let mut end = [0; 2 * LANES];
        let words = next_words(self.words, self.used, &mut end);
        let taken = if count == LANES {
            // The usual case, in which the compiler knows the number.
            token_steps(group, self.states.iter_mut().zip(index).zip(symbols), words)
        } else {
            token_steps(group, self.states.iter_mut().zip(index).zip(symbols).take(count), words)
        };
        self.used += 2 * taken;
        self.check()
    }

    /// Checks that there were words for all refills so far.
    #[inline(always)]
    fn check(&self) -> Result<()> {
        if self.used > self.words.len() { Err(Error::Entropy("the words end too early")) } else { Ok(()) }
    }

    /// Raw-bit passes of a row: `bits[lane]` bits each (0…64) into `raw[lane]`, of which those count that `R` has room for. Lanes that are not there take none.
    ///
    /// # Errors
    /// ULP-ENT-03.
    pub fn raw_bits<R: Word>(&mut self, bits: &[u8; LANES], raw: &mut [R; LANES]) -> Result<()> {
        let most = bits.iter().copied().fold(0, u8::max);
        let mut done = 0;
        while done < most {
            let mut end = [0; 2 * LANES];
            let words = next_words(self.words, self.used, &mut end);
            let mut taken = 0;
            let mut take = *bits;
            for take in &mut take {
                *take = take.saturating_sub(done).min(16);
            }
            for ((x, &take), raw) in self.states.iter_mut().zip(&take).zip(raw.iter_mut()) {
                let rest = *x >> (take & 31);
                let low = R::of(*x ^ (rest << (take & 31)));
                *raw = if done == 0 { low } else { *raw | low << (u32::from(done) & (R::BITS - 1)) };
                *x = refilled(rest, words, &mut taken);
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

/// The next of the `words`, as many as there are lanes; zeros where there are no more, for which `end` is there.
#[inline(always)]
fn next_words<'w>(words: &'w [u8], used: usize, end: &'w mut [u8; 2 * LANES]) -> &'w [[u8; 2]; LANES] {
    let left = words.get(used..).unwrap_or(&[]);
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

/// Token steps of lanes: state, λ − base, symbol each. Returns how many words they took.
#[inline(always)]
fn token_steps<'a>(
    group: &DecodeGroup,
    lanes: impl Iterator<Item = ((&'a mut u32, &'a u8), &'a mut u8)>,
    words: &[[u8; 2]; LANES],
) -> usize {
    let (offsets, entries) = (group.offsets(), group.entries());
    let mut taken = 0;
    for ((x, &index), symbol) in lanes {
        let at = offsets[usize::from(index)] + (*x & 0xFFF);
        // It is there, by what `DecodeGroup` holds to.
        let Some(&entry) = entries.get(at as usize) else { break };
        // frequency · high + bias, where the entry has frequency − 1.
        let high = *x >> FREQUENCY_BITS;
        let next = (entry >> 20).wrapping_mul(high).wrapping_add(high + ((entry >> 8) & 0xFFF));
        *x = refilled(next, words, &mut taken);
        #[allow(clippy::cast_possible_truncation)]
        {
            *symbol = entry as u8;
        }
    }
    taken
}

/// A state, refilled if it has fallen below 2^16: without a branch, for it is as good as random which ones are.
#[inline(always)]
fn refilled(x: u32, words: &[[u8; 2]; LANES], taken: &mut usize) -> u32 {
    let next = u32::from(u16::from_le_bytes(words[*taken & (LANES - 1)]));
    let low = x < STATE_LOW;
    *taken += usize::from(low);
    std::hint::select_unpredictable(low, (x << 16) | next, x)
}
