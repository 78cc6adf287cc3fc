//! The rANS lanes, encoding side: steps are taken backwards (spec §11).

use crate::core::lanes::{LANES, STATE_LOW};
use crate::kernel::Kernel;
use crate::kernel::encode::Raws;
use crate::kernel::encode::lane::{Lane, with_avx512, with_vectors};
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Lane states, and the words given out so far.
#[derive(Debug)]
pub struct Coder<'a> {
    pub(super) states: [u32; LANES],
    lanes: usize,
    /// Words stand at the end, from `at` on, in decoding order.
    words: &'a mut Vec<u16>,
    at: usize,
}

impl<'a> Coder<'a> {
    /// 2^`log2` lanes (0…5) in their initial state; `words` is room to work in, of any length and content.
    #[must_use]
    pub fn new(log2: u8, words: &'a mut Vec<u16>) -> Self {
        Self { states: [STATE_LOW; LANES], lanes: 1 << log2.min(5), at: words.len(), words }
    }

    /// Takes steps, the last one first. The steps of a phase may come in several calls, each but the first for a multiple of 32 of them. `raws` has as many
    /// entries as `steps`, and at least as many bits as any of the symbols asks for.
    pub fn take(&mut self, kernel: Kernel, table: &StepTable, steps: &[u16], raws: Raws<'_>) {
        let (passes, there) = match raws {
            Raws::None => (0, steps.len()),
            Raws::U16(raws) => (1, raws.len()),
            Raws::U32(raws) => (2, raws.len()),
            Raws::U64(raws) => (4, raws.len()),
        };
        let steps = steps.get(..there.min(steps.len())).unwrap_or(&[]);
        self.reserve(steps.len() * (1 + passes));
        // The last row may be short: it is left to the scalar code, and comes first.
        let whole = steps.len() / LANES * LANES;
        let (rows, rest) = steps.split_at(whole);
        let (raw_rows, raw_rest) = raws.split(whole);
        self.portable(kernel, table, rest, raw_rest);
        if self.lanes == LANES && !matches!(raws, Raws::U64(_)) {
            let words = self.words.as_mut_slice();
            let done = with_avx512!(kernel, usize, rows(&mut self.states, words, self.at, table, rows, raw_rows));
            if let Some(at) = done {
                self.at = at;
                return;
            }
        }
        self.portable(kernel, table, rows, raw_rows);
    }

    /// The scalar twin.
    fn portable(&mut self, kernel: Kernel, table: &StepTable, steps: &[u16], raws: Raws<'_>) {
        let states = &mut self.states[..self.lanes];
        let words = self.words.as_mut_slice();
        self.at = with_vectors!(kernel, widths, widths_bmi2, (states, words, self.at, table, steps, raws));
    }

    /// Makes room for `count` words.
    fn reserve(&mut self, count: usize) {
        if self.at < count {
            let more = count.max(self.words.len());
            let mut words = vec![0; more + self.words.len()];
            if let (Some(to), Some(from)) = (words.get_mut(more + self.at..), self.words.get(self.at..)) {
                to.copy_from_slice(from);
            }
            *self.words = words;
            self.at += more;
        }
    }

    /// Bytes of states and words.
    #[must_use]
    pub fn length(&self) -> usize {
        4 * self.lanes + 2 * (self.words.len() - self.at)
    }

    /// Appends the states and the words in decoding order.
    pub fn finish(self, out: &mut Vec<u8>) {
        out.reserve(self.length());
        for x in &self.states[..self.lanes] {
            out.extend_from_slice(&x.to_le_bytes());
        }
        let words = self.words.get(self.at..).unwrap_or(&[]);
        let start = out.len();
        out.resize(start + 2 * words.len(), 0);
        if let Some(bytes) = out.get_mut(start..) {
            for (bytes, word) in bytes.chunks_exact_mut(2).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_bmi2(
    states: &mut [u32],
    words: &mut [u16],
    at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: Raws<'_>,
) -> usize {
    widths(states, words, at, table, steps, raws)
}

#[inline(always)]
fn widths(states: &mut [u32], words: &mut [u16], at: usize, table: &StepTable, steps: &[u16], raws: Raws<'_>) -> usize {
    match raws {
        Raws::None => rows::<u8, 0>(states, words, at, table, steps, &[]),
        Raws::U16(raws) => rows::<u16, 1>(states, words, at, table, steps, raws),
        Raws::U32(raws) => rows::<u32, 2>(states, words, at, table, steps, raws),
        Raws::U64(raws) => rows::<u64, 4>(states, words, at, table, steps, raws),
    }
}

/// Takes rows of steps, the last one first; returns where the words now begin.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn rows<R: Lane, const PASSES: u32>(
    states: &mut [u32],
    words: &mut [u16],
    mut at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: &[R],
) -> usize {
    let entries = table.entries();
    let mask = entries.len() - 1;
    let lanes = states.len();
    let mut first = steps.len().next_multiple_of(lanes);
    while first > 0 {
        first -= lanes;
        let row = steps.get(first..steps.len().min(first + lanes)).unwrap_or(&[]);
        let mut chosen = [0u64; LANES];
        let mut any = 0;
        for (chosen, &step) in chosen.iter_mut().zip(row) {
            *chosen = entries.get(usize::from(step) & mask).copied().unwrap_or(0);
            any |= (*chosen >> RAW_BITS) & 0x7F;
        }
        let mut give = |x: &mut u32, over: bool| {
            // Written in any case: what is not given out is overwritten by what is.
            if let Some(word) = words.get_mut(at.wrapping_sub(1)) {
                *word = *x as u16;
            }
            at -= usize::from(over);
            *x >>= 16 * u32::from(over);
        };
        // `any` is at least the largest number of raw bits, and zero where there are none.
        let mut pass = if any == 0 { 0 } else { PASSES };
        while pass > 0 {
            pass -= 1;
            if any <= u64::from(16 * pass) {
                continue;
            }
            let raws = raws.get(first..first + row.len()).unwrap_or(&[]);
            for ((x, &chosen), &raw) in states.iter_mut().zip(&chosen).zip(raws).rev() {
                let bits = (chosen >> RAW_BITS) as u32 & 0x7F;
                let bits = bits.saturating_sub(16 * pass).min(16);
                let value = (raw >> (16 * pass)).low() & ((1 << bits) - 1);
                give(x, u64::from(*x) << bits > u64::from(u32::MAX));
                *x = *x << bits | value;
            }
        }
        for (x, &chosen) in states.iter_mut().zip(&chosen[..row.len()]).rev() {
            let frequency = (chosen >> FREQUENCY) as u32 & 0x1FFF;
            let cumulative = (chosen >> CUMULATIVE) as u32;
            give(x, *x >> 20 >= frequency);
            // The reciprocal is rounded down: the quotient may be one too small.
            let mut quotient = ((u64::from(*x) * (chosen & 0xFFFF_FFFF)) >> 32) as u32;
            let mut rest = x.wrapping_sub(quotient.wrapping_mul(frequency));
            if rest >= frequency {
                rest = rest.wrapping_sub(frequency);
                quotient += 1;
            }
            *x = (quotient << 12).wrapping_add(rest).wrapping_add(cumulative);
        }
    }
    at
}
