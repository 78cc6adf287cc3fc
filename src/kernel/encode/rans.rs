//! The rANS lanes, encoding side: steps are taken backwards (spec §11).

use crate::core::lanes::{LANES, STATE_LOW};
use crate::kernel::Kernel;
use crate::kernel::encode::Raws;
use crate::kernel::encode::lane::{Lane, with_avx512, with_vectors};
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Words before the first one that vectors may overwrite.
const SLACK: usize = 8;

/// Lane states, and the words given out so far.
#[derive(Debug)]
pub struct Coder<'a> {
    pub(super) states: [u32; LANES],
    lanes: usize,
    /// Words stand at the end, from byte `at` on, in decoding order.
    words: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Coder<'a> {
    /// 2^`log2` lanes (0…5) in their initial state; `words` is room to work in, of any length and content.
    #[must_use]
    pub fn new(log2: u8, words: &'a mut Vec<u8>) -> Self {
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
        self.reserve(2 * (steps.len() * (1 + passes) + SLACK));
        // The last row may be short: it is left to the scalar code, and comes first.
        let whole = steps.len() / LANES * LANES;
        let (rows, rest) = steps.split_at(whole);
        let (raw_rows, raw_rest) = raws.split(whole);
        self.portable(kernel, table, rest, raw_rest);
        if self.lanes == LANES {
            let (states, words) = (&mut self.states, self.words.as_mut_slice());
            if let Some(at) = with_avx512!(kernel, usize, rows(states, words, self.at, table, rows, raw_rows)) {
                self.at = at;
                return;
            }
            #[cfg(target_arch = "x86_64")]
            if kernel == Kernel::Avx2 && kernel.available() && !matches!(raws, Raws::U64(_)) {
                // SAFETY: the function asks for no more than the features of `Kernel::Avx2`, which this machine has, as was just seen.
                #[allow(unsafe_code)]
                let at = unsafe { super::avx2::rows(states, words, self.at, table, rows, raw_rows) };
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

    /// Makes room for `count` bytes.
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
        4 * self.lanes + self.words.len() - self.at
    }

    /// Appends the states and the words in decoding order.
    pub fn finish(self, out: &mut Vec<u8>) {
        out.reserve(self.length());
        for x in &self.states[..self.lanes] {
            out.extend_from_slice(&x.to_le_bytes());
        }
        out.extend_from_slice(self.words.get(self.at..).unwrap_or(&[]));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_bmi2(
    states: &mut [u32],
    words: &mut [u8],
    at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: Raws<'_>,
) -> usize {
    widths(states, words, at, table, steps, raws)
}

#[inline(always)]
fn widths(states: &mut [u32], words: &mut [u8], at: usize, table: &StepTable, steps: &[u16], raws: Raws<'_>) -> usize {
    match raws {
        Raws::None => rows::<u8, 0>(states, words, at, table, steps, &[]),
        Raws::U16(raws) => rows::<u16, 1>(states, words, at, table, steps, raws),
        Raws::U32(raws) => rows::<u32, 2>(states, words, at, table, steps, raws),
        Raws::U64(raws) => rows::<u64, 4>(states, words, at, table, steps, raws),
    }
}

/// Takes rows of steps, the last one first; returns where the words now begin.
#[inline(always)]
fn rows<R: Lane, const PASSES: u32>(
    states: &mut [u32],
    words: &mut [u8],
    mut at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: &[R],
) -> usize {
    let lanes = states.len();
    if let Ok(states) = <&mut [u32; LANES]>::try_from(&mut *states)
        && steps.len().is_multiple_of(LANES)
    {
        // The usual case, in which the compiler knows all lengths.
        let (steps, _) = steps.as_chunks::<LANES>();
        let (raws, _) = raws.as_chunks::<LANES>();
        let mut now = *states;
        for (row, steps) in steps.iter().enumerate().rev() {
            let none = [R::default(); LANES];
            let raws = raws.get(row).unwrap_or(&none);
            at = take_row::<R, PASSES, LANES>(&mut now, words, at, table, steps, raws);
        }
        *states = now;
        return at;
    }
    for first in (0..steps.len()).step_by(lanes).rev() {
        // One lane at a time: rows of one step each, lanes from the last to the first, but pass by pass for all of them.
        let row = steps.get(first..steps.len().min(first + lanes)).unwrap_or(&[]);
        let raws = raws.get(first..).unwrap_or(&[]);
        let mut pass = PASSES;
        while pass > 0 {
            pass -= 1;
            for ((i, x), &step) in states.iter_mut().enumerate().zip(row).rev() {
                let raw = raws.get(i).copied().unwrap_or_default();
                at = give_raw(x, words, at, table.entry(step), raw, pass);
            }
        }
        for (x, &step) in states.iter_mut().zip(row).rev() {
            at = give_token(x, words, at, table.entry(step));
        }
    }
    at
}

#[inline(always)]
fn take_row<R: Lane, const PASSES: u32, const N: usize>(
    states: &mut [u32; N],
    words: &mut [u8],
    mut at: usize,
    table: &StepTable,
    steps: &[u16; N],
    raws: &[R; N],
) -> usize {
    let mut entries = [0u64; N];
    let mut any = 0;
    for (entry, &step) in entries.iter_mut().zip(steps) {
        *entry = table.entry(step);
        any |= (*entry >> RAW_BITS) & 0x7F;
    }
    let mut pass = PASSES;
    while pass > 0 {
        pass -= 1;
        // `any` is at least the largest number of raw bits, and zero where there are none.
        if any > u64::from(16 * pass) {
            for i in (0..N).rev() {
                at = give_raw(&mut states[i], words, at, entries[i], raws[i], pass);
            }
        }
    }
    for i in (0..N).rev() {
        at = give_token(&mut states[i], words, at, entries[i]);
    }
    at
}

/// Gives out a word of a state if `over`.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn give(x: &mut u32, words: &mut [u8], at: usize, over: bool) -> usize {
    // Written in any case: what is not given out is overwritten by what is.
    if let Some(word) = words.get_mut(..at).and_then(|words| words.last_chunk_mut()) {
        *word = (*x as u16).to_le_bytes();
    }
    *x >>= u32::from(over) * 16;
    at - 2 * usize::from(over)
}

/// Raw bits 16 · pass … 16 · pass + 15 of a lane, as many of them as there are.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn give_raw<R: Lane>(x: &mut u32, words: &mut [u8], at: usize, entry: u64, raw: R, pass: u32) -> usize {
    let bits = (entry >> RAW_BITS) as u32 & 0x7F;
    let bits = bits.saturating_sub(16 * pass).min(16);
    let value = (raw >> (16 * pass)).low() & ((1 << bits) - 1);
    let at = give(x, words, at, u64::from(*x) << bits > u64::from(u32::MAX));
    *x = *x << bits | value;
    at
}

/// The token step of a lane.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn give_token(x: &mut u32, words: &mut [u8], at: usize, entry: u64) -> usize {
    let frequency = (entry >> FREQUENCY) as u32 & 0x1FFF;
    let cumulative = (entry >> CUMULATIVE) as u32;
    let at = give(x, words, at, *x >> 20 >= frequency);
    // The reciprocal is rounded down: the quotient may be one too small, and the rest too large by the frequency.
    let quotient = ((u64::from(*x) * (entry & 0xFFFF_FFFF)) >> 32) as u32;
    let rest = x.wrapping_sub(quotient.wrapping_mul(frequency));
    let missing = u32::from(rest >= frequency).wrapping_neg();
    let next = (quotient << 12).wrapping_add(rest).wrapping_add(cumulative);
    *x = next.wrapping_add(4096u32.wrapping_sub(frequency) & missing);
    at
}
