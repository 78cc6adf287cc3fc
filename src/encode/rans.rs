//! The rANS lanes of a substream, encoding side: steps are taken backwards (spec §11).

use crate::core::lanes::{LANES, STATE_LOW};
use crate::core::table::{EncodeEntry, FREQUENCY_BITS};

/// One step: bits 0…7 symbol, 8…12 table.
pub type Step = u16;

/// Makes a step.
#[inline(always)]
#[must_use]
pub fn step(table: u8, symbol: u8) -> Step {
    u16::from(table) << 8 | u16::from(symbol)
}

/// Lane states and the words given out, last first.
#[derive(Debug)]
pub struct Lanes {
    states: [u32; LANES],
    count: usize,
    words: Vec<u16>,
}

impl Lanes {
    /// 2^`log2` lanes in their initial state; `capacity` words expected.
    #[must_use]
    pub fn new(log2: u8, capacity: usize) -> Self {
        Self { states: [STATE_LOW; LANES], count: 1 << log2.min(5), words: Vec::with_capacity(capacity) }
    }

    /// Takes the steps of a phase, the last first. Step i has `bits[symbol]` raw bits, from `raw(i)`; `tables` holds 256 entries a table.
    #[allow(clippy::cast_possible_truncation)]
    pub fn phase(&mut self, steps: &[Step], tables: &[EncodeEntry], bits: &[u8; 256], raw: impl Fn(usize) -> u64) {
        let rows = steps.len().div_ceil(self.count);
        for row in (0..rows).rev() {
            let first = row * self.count;
            let last = steps.len().min(first + self.count);
            let most = steps[first..last].iter().map(|&s| bits[usize::from(s & 0xFF)]).max().unwrap_or(0);
            let mut pass = most.div_ceil(16);
            while pass > 0 {
                pass -= 1;
                let done = 16 * u32::from(pass);
                for i in (first..last).rev() {
                    let n = u32::from(bits[usize::from(steps[i] & 0xFF)]);
                    if n > done {
                        let take = (n - done).min(16);
                        let value = (raw(i) >> done) as u32 & ((1 << take) - 1);
                        let x = &mut self.states[i - first];
                        if u64::from(*x) << take > u64::from(u32::MAX) {
                            self.words.push(*x as u16);
                            *x >>= 16;
                        }
                        *x = *x << take | value;
                    }
                }
            }
            for i in (first..last).rev() {
                let entry = tables.get(usize::from(steps[i])).copied().unwrap_or_default();
                let frequency = u32::from(entry.frequency).max(1);
                let x = &mut self.states[i - first];
                if u64::from(*x) >= u64::from(frequency) << (32 - FREQUENCY_BITS) {
                    self.words.push(*x as u16);
                    *x >>= 16;
                }
                *x = ((*x / frequency) << FREQUENCY_BITS) + *x % frequency + u32::from(entry.cumulative);
            }
        }
    }

    /// Appends the states and the words in decoding order.
    pub fn finish(self, out: &mut Vec<u8>) {
        for x in &self.states[..self.count] {
            out.extend_from_slice(&x.to_le_bytes());
        }
        out.reserve(2 * self.words.len());
        for word in self.words.iter().rev() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}
