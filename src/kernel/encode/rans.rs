//! The rANS lanes, encoding side: steps are taken backwards (spec §11).

use std::hint::select_unpredictable;

use crate::core::lanes::{LANES, STATE_LOW};
use crate::core::table::FREQUENCY_BITS;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::Raws;
use crate::kernel::encode::compiled::{with_vectors, with_written};
use crate::kernel::encode::table::{CUMULATIVE, FREQUENCY, RAW_BITS, StepTable};

/// Words before the first one that may be overwritten.
const SLACK: usize = LANES;

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
            let written = with_written!(
                kernel,
                [avx512 Avx512, avx2 Avx2],
                usize,
                rows(&mut self.states, self.words.as_mut_slice(), self.at, table, rows, raw_rows)
            );
            if let Some(at) = written {
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
fn rows<R: Word, const PASSES: u32>(
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
            at = take_row::<R, PASSES>(&mut now, words, at, table, steps, raws.get(row).unwrap_or(&none));
        }
        *states = now;
        return at;
    }
    for first in (0..steps.len()).step_by(lanes).rev() {
        let row = steps.get(first..steps.len().min(first + lanes)).unwrap_or(&[]);
        let mut of_row = [R::default(); LANES];
        for (raw, &from) in of_row.iter_mut().zip(raws.get(first..).unwrap_or(&[])) {
            *raw = from;
        }
        at = take_row::<R, PASSES>(states, words, at, table, row, &of_row);
    }
    at
}

/// Takes the steps of a row of as many lanes.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn take_row<R: Word, const PASSES: u32>(
    states: &mut [u32],
    words: &mut [u8],
    at: usize,
    table: &StepTable,
    steps: &[u16],
    raws: &[R; LANES],
) -> usize {
    let mut entries = [0u64; LANES];
    let mut bits = [0u8; LANES];
    for ((entry, bits), &step) in entries.iter_mut().zip(&mut bits).zip(steps) {
        *entry = table.entry(step);
        *bits = (*entry >> RAW_BITS) as u8 & 0x7F;
    }
    let states = states.get_mut(..steps.len().min(states.len())).unwrap_or(&mut []);
    let most = bits.iter().copied().fold(0, u8::max);
    // As many passes as the row needs: a compiler can have no more of each than there are.
    match u32::from(most).div_ceil(16).min(PASSES) {
        0 => take_steps::<R, 0>(states, words, at, &entries, &bits, raws),
        1 => take_steps::<R, 1>(states, words, at, &entries, &bits, raws),
        2 => take_steps::<R, 2>(states, words, at, &entries, &bits, raws),
        _ => take_steps::<R, 4>(states, words, at, &entries, &bits, raws),
    }
}

/// Takes steps, lane by lane: the words of each pass are kept apart until all lanes have given theirs.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn take_steps<R: Word, const PASSES: usize>(
    states: &mut [u32],
    words: &mut [u8],
    mut at: usize,
    entries: &[u64; LANES],
    bits: &[u8; LANES],
    raws: &[R; LANES],
) -> usize {
    let mut of_passes = [const { Given::new() }; PASSES];
    let mut of_tokens = Given::new();
    for (((x, &entry), &bits), &raw) in states.iter_mut().zip(entries).zip(bits).zip(raws).rev() {
        for (pass, given) in of_passes.iter_mut().enumerate().rev() {
            let done = 16 * pass as u8;
            let take = if PASSES > 1 { bits.saturating_sub(done).min(16) } else { bits };
            // What is shifted out at the top by a word is shifted back by one, but for the low bits, which the raw ones replace.
            let shifted = u64::from(*x) << (take & 63);
            let over = shifted >> 32 != 0;
            given.give(*x, over);
            let kept = select_unpredictable(over, shifted >> 16, shifted) as u32;
            let raw = (raw >> done.into()).low();
            *x = raw ^ ((raw ^ kept) & (u32::MAX << (take & 31)));
        }
        let frequency = (entry >> FREQUENCY) as u32 & 0x1FFF;
        let over = *x >> 20 >= frequency;
        of_tokens.give(*x, over);
        let kept = select_unpredictable(over, *x >> 16, *x);
        // Exact, for the state is below frequency · 2^20 (`RECIPROCALS`).
        let reciprocal = RECIPROCALS[frequency as usize];
        let quotient = (u64::from(kept).wrapping_mul(reciprocal) >> 44) as u32;
        // 4096 · quotient + rest + cumulative.
        let more = quotient.wrapping_mul((1 << FREQUENCY_BITS) - frequency);
        *x = kept.wrapping_add(more).wrapping_add((entry >> CUMULATIVE) as u32);
    }
    for given in of_passes.iter().rev() {
        at = given.put(words, at);
    }
    of_tokens.put(words, at)
}

/// ⌈2^44 / f⌉ for each frequency f: ⌊x · this / 2^44⌋ is ⌊x / f⌋ for x < f · 2^20, since what it is too large by, below f, times x stays below 2^44.
static RECIPROCALS: [u64; 1 << 13] = {
    let mut reciprocals = [0; 1 << 13];
    let mut f = 1;
    while f <= 1 << FREQUENCY_BITS {
        reciprocals[f] = (1u64 << 44).div_ceil(f as u64);
        f += 1;
    }
    reciprocals
};

/// The words that the lanes of a row give out in one pass, the last lane first.
struct Given {
    words: [[u8; 2]; LANES],
    /// Words before those given out.
    left: usize,
}

impl Given {
    #[inline(always)]
    const fn new() -> Self {
        Self { words: [[0; 2]; LANES], left: LANES }
    }

    /// Gives out the low word of a state if `over`: without a branch, for it is as good as random which ones are.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn give(&mut self, x: u32, over: bool) {
        // Written in any case: what is not given out is overwritten by what is.
        self.words[self.left.wrapping_sub(1) & (LANES - 1)] = (x as u16).to_le_bytes();
        self.left -= usize::from(over);
    }

    /// Puts the words before byte `at`; returns where they begin. What stands before them may be overwritten.
    #[inline(always)]
    fn put(&self, words: &mut [u8], at: usize) -> usize {
        if let Some(words) = words.get_mut(..at).and_then(|words| words.last_chunk_mut::<{ 2 * LANES }>()) {
            words.copy_from_slice(self.words.as_flattened());
        }
        at - 2 * (LANES - self.left)
    }
}
