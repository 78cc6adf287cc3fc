//! The rows of RESIDUAL and PLAIN substreams, one after the other (spec §10.3, §10.4, §11).

use crate::core::bank::TokenClass;
use crate::core::element::Class;
use crate::core::lambda::clamp16;
use crate::core::lanes::{LANES, Lanes};
use crate::error::{Error, Result};
use crate::kernel::decode::coder::{Coder, Tail, WINDOW, load_32_numbers};
use crate::kernel::decode::constants::Constants;
use crate::kernel::decode::elements::{load_narrow_row, load_row};
use crate::kernel::decode::vector::{Task, Vector};
use crate::kernel::decode::{ROW, Rows, ZERO_BLOCK};

/// Residuals against a reference.
pub(super) const RESIDUAL: u8 = 0;
/// Integers without reference.
pub(super) const INTEGERS: u8 = 1;
/// Floats without reference.
pub(super) const FLOATS: u8 = 2;
/// Pairs of floats without reference.
pub(super) const PAIRS: u8 = 3;

pub(super) const WORDS_ENDED: &str = "the words end too early";
pub(super) const OUTSIDE_RING: &str = "a residual outside its ring";

/// A row's table entries, and what was needed to find them.
pub(super) struct Looked<'a, S: Vector> {
    pub(super) window: &'a [u8; WINDOW],
    /// Of elements of at most 32 bits; one vector of 16-bit numbers, or two.
    pub(super) reference: [S::V; 2],
    pub(super) entries: [S::V; 2],
}

/// Decoding of one substream's rows. `W` is the element's width in bytes.
pub(super) struct Run<'a, 'r, S: Vector, const KIND: u8, const W: usize> {
    pub(super) coder: Coder<'a, S>,
    pub(super) rows: &'a Rows<'r>,
    pub(super) out: &'a mut [u8],
    pub(super) constants: Constants<S>,
    /// First element of the next row.
    pub(super) at: usize,
    /// End of the block's whole rows.
    pub(super) end: usize,
    /// Next block.
    pub(super) block: usize,
    /// λ − base of the block, but for profile and reference.
    pub(super) index: S::V,
    pub(super) index_16: S::V,
    /// Table of the block, in PLAIN without profiles.
    pub(super) offsets: S::V,
    /// (λ >> 2) + bias − centre of the block, in PLAIN without profiles; 32-bit numbers, 16-bit numbers.
    pub(super) plain: S::V,
    pub(super) plain_16: S::V,
    /// Bits that must not be there.
    pub(super) bad: S::V,
    pub(super) words_ended: bool,
}

impl<'a, 'r, S: Vector, const KIND: u8, const W: usize> Run<'a, 'r, S, KIND, W> {
    /// Elements of a row.
    const ELEMENTS: usize = if KIND == PAIRS { 2 * ROW } else { ROW };

    #[inline(always)]
    fn new(
        s: S,
        rows: &'a Rows<'r>,
        states: &[u32; LANES],
        words: &'a [u8],
        tail: &'a Tail,
        out: &'a mut [u8],
    ) -> Self {
        Self {
            coder: Coder::new(s, states, words, tail),
            rows,
            out,
            constants: Constants::new(s, rows),
            at: 0,
            end: 0,
            block: 0,
            index: s.splat(0),
            index_16: s.splat(0),
            offsets: s.splat(0),
            plain: s.splat(0),
            plain_16: s.splat(0),
            bad: s.splat(0),
            words_ended: false,
        }
    }

    /// Goes on to the next block with whole rows; whether there is one.
    #[inline(always)]
    fn next_block(&mut self) -> bool {
        let whole = self.out.len() / W / Self::ELEMENTS * Self::ELEMENTS;
        let length = if self.rows.block == 0 { whole } else { 1 << self.rows.block };
        while let Some(&scale) = self.rows.scales.get(self.block) {
            let start = self.block * length;
            self.block += 1;
            if scale != ZERO_BLOCK && start < whole {
                self.at = start;
                self.end = whole.min(start + length);
                let mut index = scale - self.rows.bank.elements.base();
                if let (RESIDUAL, Class::Float { bias, mantissa, .. }) = (KIND, self.rows.element.class()) {
                    index += 4 * (bias + mantissa.cast_signed() - i32::from(self.rows.shift));
                }
                self.index = self.coder.s.splat(index.cast_unsigned());
                // Beyond these limits no profile or exponent leads back into the map.
                #[allow(clippy::cast_possible_truncation)]
                let limited = index.clamp(-20_000, 20_000) as i16;
                self.index_16 = self.coder.s.splat_16(limited.cast_unsigned());
                if KIND != RESIDUAL {
                    let s = self.coder.s;
                    self.offsets = s.offsets(&self.rows.bank.elements, self.index);
                    let plain = (clamp16(scale) >> 2) + self.offset();
                    self.plain = s.splat(plain.cast_unsigned());
                    #[allow(clippy::cast_possible_truncation)]
                    {
                        self.plain_16 = s.splat_16((plain as i16).cast_unsigned());
                    }
                }
                return true;
            }
        }
        false
    }

    /// Looks up the next row's table entries: what takes longest, and what two runs can do at the same time. `None` at the end of rows or words.
    #[inline(always)]
    fn look_up(&mut self) -> Option<Looked<'a, S>> {
        if self.at == self.end && !self.next_block() {
            return None;
        }
        let window = self.coder.window()?;
        let s = self.coder.s;
        let c = &self.constants;
        let group = &self.rows.bank.elements;
        let mut reference = [s.splat(0); 2];
        let constant = KIND == PAIRS || (KIND != RESIDUAL && self.rows.profiles.is_empty());
        let offsets = if constant {
            [self.offsets; 2]
        } else if W <= 2 {
            let mut index = self.index_16;
            let profiles: Option<&[i8; ROW]> = self.rows.profiles.get(self.at..).and_then(<[i8]>::first_chunk);
            if let Some(profiles) = profiles {
                index = s.add_16(index, s.load_i8_as_16(profiles));
            }
            if KIND == RESIDUAL {
                let n = &c.narrow;
                let bytes = load_narrow_row::<S, W>(s, self.rows.reference, self.at);
                // Four times the exponent field: all floats have two mantissa bits and more.
                let e = s.and(s.shr_16_by(bytes, n.exponent_place), n.exponent_mask);
                index = s.sub_16(index, s.max_16(e, n.exponent_least));
                reference[0] = s.shr_16_by(bytes, n.shift);
            }
            s.offsets_16(group, index)
        } else {
            let mut index = self.index();
            if KIND == RESIDUAL && W == 4 {
                reference = load_row(s, self.rows.reference, self.at);
                for (reference, index) in reference.iter_mut().zip(&mut index) {
                    *reference = s.shr(*reference, c.shift);
                    let e = s.max(s.and(s.shr(*reference, c.mantissa), c.exponent), c.least);
                    *index = s.sub(*index, s.shl_by::<2>(e));
                }
            } else if KIND == RESIDUAL {
                let e = load_32_numbers(s, &self.wide_exponents());
                index = [s.sub(index[0], e[0]), s.sub(index[1], e[1])];
            }
            [s.offsets(group, index[0]), s.offsets(group, index[1])]
        };
        // SAFETY: these are the group's offsets.
        let entries = unsafe { self.coder.entries(group, offsets) };
        Some(Looked { window, reference, entries })
    }

    /// Decodes a row that has been looked up; whether there were words for it.
    #[inline(always)]
    fn take(&mut self, looked: Looked<'a, S>) -> bool {
        let mut used = 0;
        let Looked { window, reference, entries } = looked;
        self.coder.token_step(entries, window, &mut used);
        let bad = match W {
            _ if KIND == PAIRS => self.pair_row(entries, window, &mut used),
            1 | 2 => self.narrow_row(reference[0], entries, window, &mut used),
            4 => self.row(reference, entries, window, &mut used),
            _ => self.wide_row(entries, window, &mut used),
        };
        if !self.coder.advance(used) {
            self.words_ended = true;
            return false;
        }
        self.bad = self.coder.s.or(self.bad, bad);
        self.at += Self::ELEMENTS;
        true
    }

    /// bias − centre of plain tokens.
    #[inline(always)]
    fn offset(&self) -> i32 {
        let centre = match self.rows.bank.class {
            TokenClass::Plain(form) => form.centre,
            TokenClass::Pairs(form) => form.centre,
            _ => 0,
        };
        let bias = if let Class::Float { bias, .. } = self.rows.element.class() { bias } else { 0 };
        bias - i32::from(centre)
    }

    /// λ − base of the row's elements, but for the reference.
    #[inline(always)]
    pub(super) fn index(&self) -> [S::V; 2] {
        let s = self.coder.s;
        let profiles: Option<&[i8; ROW]> = self.rows.profiles.get(self.at..).and_then(<[i8]>::first_chunk);
        match profiles.map(|p| p.as_chunks::<16>().0) {
            Some([a, b]) => [s.add(self.index, s.load_i8(a)), s.add(self.index, s.load_i8(b))],
            _ => [self.index; 2],
        }
    }

    /// (λ >> 2) + bias − centre of the row's elements, in PLAIN.
    #[inline(always)]
    pub(super) fn plain_offsets(&self) -> [S::V; 2] {
        let s = self.coder.s;
        if self.rows.profiles.is_empty() {
            return [self.plain; 2];
        }
        let base = s.splat(self.rows.bank.elements.base().cast_unsigned());
        let (least, most) = (s.splat((-32768i32).cast_unsigned()), s.splat(32767));
        let offset = s.splat(self.offset().cast_unsigned());
        let [a, b] = self.index();
        let a = s.min(s.max(s.add(a, base), least), most);
        let b = s.min(s.max(s.add(b, base), least), most);
        [s.add(s.sar_by::<2>(a), offset), s.add(s.sar_by::<2>(b), offset)]
    }

    /// Writes the states back, and tells what went wrong first.
    #[inline(always)]
    fn finish(&self, lanes: &mut Lanes<'_>) -> Result<()> {
        self.coder.give_back(lanes);
        if self.coder.s.any(self.bad) {
            return Err(Error::Entropy(match KIND {
                RESIDUAL => OUTSIDE_RING,
                INTEGERS => "an integer outside its ring",
                _ => "an exponent outside its field",
            }));
        }
        if self.words_ended { Err(Error::Entropy(WORDS_ENDED)) } else { Ok(()) }
    }
}

/// One substream.
pub(super) struct Single<'t, 'r, 'l, const KIND: u8, const W: usize> {
    pub(super) rows: &'t Rows<'r>,
    pub(super) lanes: &'t mut Lanes<'l>,
    pub(super) out: &'t mut [u8],
}

impl<const KIND: u8, const W: usize> Task for Single<'_, '_, '_, KIND, W> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Vector>(self, s: S) -> Result<()> {
        let (states, words) = self.lanes.parts();
        let tail = Tail::new(words);
        let mut run = Run::<S, KIND, W>::new(s, self.rows, states, words, &tail, self.out);
        while let Some(looked) = run.look_up() {
            if !run.take(looked) {
                break;
            }
        }
        run.finish(self.lanes)
    }
}

/// Two substreams side by side.
pub(super) struct Pair<'t, 'r, 'l, const KIND: u8, const W: usize>(pub(super) [Single<'t, 'r, 'l, KIND, W>; 2]);

impl<const KIND: u8, const W: usize> Task for Pair<'_, '_, '_, KIND, W> {
    type Output = [Result<()>; 2];

    #[inline(always)]
    fn run<S: Vector>(self, s: S) -> [Result<()>; 2] {
        let [a, b] = self.0;
        let (states, words) = a.lanes.parts();
        let tail_a = Tail::new(words);
        let mut run_a = Run::<S, KIND, W>::new(s, a.rows, states, words, &tail_a, a.out);
        let (states, words) = b.lanes.parts();
        let tail_b = Tail::new(words);
        let mut run_b = Run::<S, KIND, W>::new(s, b.rows, states, words, &tail_b, b.out);
        // In turn: while the entries of one are looked up, the row of the other is decoded. Once one has stopped the other goes on alone.
        let (mut more_a, mut looked_b) = (true, run_b.look_up());
        while more_a || looked_b.is_some() {
            let looked_a = if more_a { run_a.look_up() } else { None };
            if let Some(looked) = looked_b {
                looked_b = if run_b.take(looked) { run_b.look_up() } else { None };
            }
            more_a = if let Some(looked) = looked_a { run_a.take(looked) } else { false };
        }
        [run_a.finish(a.lanes), run_b.finish(b.lanes)]
    }
}
