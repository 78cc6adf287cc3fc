//! The rows of RESIDUAL and PLAIN substreams, one after the other (spec §10.3, §10.4, §11).

use crate::core::bank::{DecodeGroup, TokenClass};
use crate::core::element::Class;
use crate::core::lambda::clamp16;
use crate::core::lanes::{LANES, Lanes};
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, unzigzag};
use crate::core::token::{ESC, LengthTokens};
use crate::error::{Error, Result};
use crate::kernel::decode::pairs::Pairs;
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

/// What the two ESC tokens are with the lowest bit set.
const ESC_PAIR: u16 = ESC as u16 | 1;

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
    fn renormalise(&mut self, window: &[u8; WINDOW], used: &mut usize) {
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
    unsafe fn entries(&self, group: &DecodeGroup, offsets: [S::V; 2]) -> [S::V; 2] {
        // SAFETY: as told by the caller.
        unsafe { [self.s.entries(group, offsets[0], self.x[0]), self.s.entries(group, offsets[1], self.x[1])] }
    }

    /// Token step of a row, whose table entries these are.
    #[inline(always)]
    fn token_step(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) {
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
    fn raw_bits_16(&mut self, bits: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
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
    fn raw_bits_of_all(&mut self, count: u32, window: &[u8; WINDOW], used: &mut usize) -> ([S::V; 2], [S::V; 2]) {
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

/// Numbers that stay the same in all rows, sixteen times each.
pub(super) struct Constants<S: Vector> {
    shift: S::V,
    mantissa: S::V,
    exponent: S::V,
    least: S::V,
    ring: S::V,
    /// Sign bit of a float, 0 for integers.
    top: S::V,
    /// What a residual across zero turns, 0 for integers.
    across: S::V,
    /// Bits that no magnitude has.
    excess: S::V,
    signed: bool,
    low: S::V,
    low_mask: S::V,
    sign: S::V,
    sign_place: S::V,
    above_exponent: S::V,
    token_exponent: S::V,
    token_place: S::V,
    escaped: S::V,
    /// Raw bits of ESC among length tokens.
    escaped_length: S::V,
    usual: S::V,
    narrow: Narrow<S>,
    pairs: Pairs<S>,
}

/// The same as thirty-two 16-bit numbers, for elements of at most 16 bits.
struct Narrow<S: Vector> {
    shift: S::Bits,
    /// Place of four times the exponent field.
    exponent_place: S::Bits,
    exponent_mask: S::V,
    exponent_least: S::V,
    ring: S::V,
    top: S::V,
    across: S::V,
    /// The largest token in the ring.
    largest: S::V,
    low: S::Bits,
    low_mask: S::V,
    sign: S::V,
    sign_place: S::Bits,
    mantissa: S::Bits,
    above_exponent: S::V,
    token_exponent: S::Bits,
    token_place: S::Bits,
}

impl<S: Vector> Constants<S> {
    #[inline(always)]
    pub(super) fn new(s: S, rows: &Rows<'_>) -> Self {
        let ring = Ring::new(rows.element, rows.shift);
        let shift = u32::from(rows.shift);
        let (mut mantissa, mut exponent) = (0, 0);
        if let Class::Float { mantissa: m, exponent: e, .. } = rows.element.class() {
            mantissa = m.saturating_sub(shift);
            exponent = (1 << e) - 1;
        }
        let float = ring.float;
        #[allow(clippy::cast_possible_truncation)]
        let narrow = |v: u64| v as u32;
        #[allow(clippy::cast_possible_truncation)]
        let narrow_16 = |v: u32| v as u16;
        let (mut sign, mut top) = (0, 0);
        if let TokenClass::Plain(form) = rows.bank.class {
            (sign, top) = (u32::from(form.sign), u32::from(form.top));
        }
        let low = mantissa.saturating_sub(top);
        Self {
            shift: s.splat(shift),
            mantissa: s.splat(mantissa),
            exponent: s.splat(exponent),
            least: s.splat(u32::from(float)),
            ring: s.splat(narrow(ring.mask)),
            top: s.splat(if float { narrow(ring.top) } else { 0 }),
            across: s.splat(if float { narrow(ring.top - 1) } else { 0 }),
            excess: s.splat(!narrow(ring.mask >> 1)),
            signed: rows.element.class() == Class::Signed && rows.element.width() > 1,
            low: s.splat(low),
            low_mask: s.splat(((1u64 << low.min(32)) - 1) as u32),
            sign: s.splat(sign),
            sign_place: s.splat(ring.bits - 1),
            above_exponent: s.splat(!exponent),
            token_exponent: s.splat(sign + top),
            token_place: s.splat(sign),
            escaped: s.splat(ring.bits),
            escaped_length: s.splat(ring.bits - 1),
            usual: s.splat(low + 1 - sign),
            narrow: Narrow {
                shift: s.bits_16(shift),
                exponent_place: s.bits_16((mantissa + shift).saturating_sub(2)),
                exponent_mask: s.splat_16(narrow_16(exponent << 2)),
                exponent_least: s.splat_16(if float { 4 } else { 0 }),
                ring: s.splat_16(narrow_16(narrow(ring.mask))),
                top: s.splat_16(if float { narrow_16(narrow(ring.top)) } else { 0 }),
                across: s.splat_16(if float { narrow_16(narrow(ring.top - 1)) } else { 0 }),
                largest: s.splat_16(match (rows.element.width(), ring.bits) {
                    (1, _) => 255,
                    (_, bits @ 0..5) => (1 << bits) - 1,
                    (_, bits) => narrow_16(8 * bits - 17),
                }),
                low: s.bits_16(low.min(15)),
                low_mask: s.splat_16(narrow_16((1 << low.min(15)) - 1)),
                sign: s.splat_16(narrow_16(sign)),
                sign_place: s.bits_16((ring.bits - 1).min(15)),
                mantissa: s.bits_16(mantissa.min(15)),
                above_exponent: s.splat_16(!narrow_16(exponent)),
                token_exponent: s.bits_16(sign + top),
                token_place: s.bits_16(sign),
            },
            pairs: Pairs::new(s, rows),
        }
    }

    /// Whether a magnitude lies outside the ring.
    #[inline(always)]
    pub(super) fn exceeded(&self, s: S, magnitudes: [S::V; 2]) -> bool {
        s.any(s.and(s.or(magnitudes[0], magnitudes[1]), self.excess))
    }
}

/// A row's table entries, and what was needed to find them.
struct Looked<'a, S: Vector> {
    window: &'a [u8; WINDOW],
    /// Of elements of at most 32 bits; one vector of 16-bit numbers, or two.
    reference: [S::V; 2],
    entries: [S::V; 2],
}

/// Decoding of one substream's rows. `W` is the element's width in bytes.
struct Run<'a, 'r, S: Vector, const KIND: u8, const W: usize> {
    coder: Coder<'a, S>,
    rows: &'a Rows<'r>,
    out: &'a mut [u8],
    constants: Constants<S>,
    /// First element of the next row.
    at: usize,
    /// End of the block's whole rows.
    end: usize,
    /// Next block.
    block: usize,
    /// λ − base of the block, but for profile and reference.
    index: S::V,
    index_16: S::V,
    /// Table of the block, in PLAIN without profiles.
    offsets: S::V,
    /// (λ >> 2) + bias − centre of the block, in PLAIN without profiles; 32-bit numbers, 16-bit numbers.
    plain: S::V,
    plain_16: S::V,
    /// Bits that must not be there.
    bad: S::V,
    words_ended: bool,
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
    fn index(&self) -> [S::V; 2] {
        let s = self.coder.s;
        let profiles: Option<&[i8; ROW]> = self.rows.profiles.get(self.at..).and_then(<[i8]>::first_chunk);
        match profiles.map(|p| p.as_chunks::<16>().0) {
            Some([a, b]) => [s.add(self.index, s.load_i8(a)), s.add(self.index, s.load_i8(b))],
            _ => [self.index; 2],
        }
    }

    /// (λ >> 2) + bias − centre of the row's elements, in PLAIN.
    #[inline(always)]
    fn plain_offsets(&self) -> [S::V; 2] {
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

    /// A row of 32-bit elements; gives bits that must not be there.
    #[inline(always)]
    fn row(&mut self, reference: [S::V; 2], entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let elements;
        let bad;
        if KIND == FLOATS {
            let c = &self.constants;
            let bits = [plain_bits(s, c, tokens[0]), plain_bits(s, c, tokens[1])];
            let raw = self.coder.raw_bits(bits, window, used);
            let offsets = self.plain_offsets();
            let c = &self.constants;
            let (a, bad_a) = plain(s, c, tokens[0], raw[0], offsets[0]);
            let (b, bad_b) = plain(s, c, tokens[1], raw[1], offsets[1]);
            elements = [a, b];
            bad = s.or(bad_a, bad_b);
        } else {
            let magnitudes = lengths(&mut self.coder, &self.constants, tokens, window, used);
            let c = &self.constants;
            elements = if KIND == RESIDUAL {
                [
                    residual(s, c, tokens[0], magnitudes[0], reference[0]),
                    residual(s, c, tokens[1], magnitudes[1], reference[1]),
                ]
            } else {
                [integer(s, c, tokens[0], magnitudes[0]), integer(s, c, tokens[1], magnitudes[1])]
            };
            bad = s.and(s.or(magnitudes[0], magnitudes[1]), c.excess);
        }
        let shifted = [s.shl(elements[0], self.constants.shift), s.shl(elements[1], self.constants.shift)];
        let bytes = self.out.get_mut(4 * self.at..).unwrap_or(&mut []);
        if let Some([a, b]) = bytes.first_chunk_mut::<128>().map(|row| row.as_chunks_mut::<64>().0) {
            s.store_32(shifted[0], a);
            s.store_32(shifted[1], b);
        }
        bad
    }

    /// A row of pairs of 16- or 32-bit elements; gives bits that must not be there.
    #[inline(always)]
    fn pair_row(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let escapes = self.constants.pairs.escapes(s, tokens);
        let (low, high) = if escapes {
            let bits = tokens.map(|token| self.constants.pairs.bits(s, token));
            self.coder.raw_bits_64(bits, window, used)
        } else {
            let count = self.constants.pairs.count;
            self.coder.raw_bits_of_all(count, window, used)
        };
        let c = &self.constants;
        let bytes = self.out.get_mut(W * self.at..).unwrap_or(&mut []);
        let mut places = bytes.as_chunks_mut::<64>().0.iter_mut();
        let mut bad = s.splat(0);
        for half in 0..2 {
            let raw = [low[half], high[half]];
            let (mut pairs, mut bad_pairs) = c.pairs.patterns::<W>(s, tokens[half], raw, self.plain);
            if escapes {
                (pairs, bad_pairs) = c.pairs.escaped(s, tokens[half], raw, (pairs, bad_pairs));
            }
            bad = s.or(bad, bad_pairs);
            let [first, second] = [s.shl(pairs[0], c.shift), s.shl(pairs[1], c.shift)];
            if W == 2 {
                if let Some(place) = places.next() {
                    s.store_32(s.or(first, s.shl_by::<16>(second)), place);
                }
            } else {
                for v in s.zip(first, second) {
                    if let Some(place) = places.next() {
                        s.store_32(v, place);
                    }
                }
            }
        }
        bad
    }

    /// A row of 8- or 16-bit elements, as 16-bit numbers where that does; gives bits that must not be there.
    #[inline(always)]
    fn narrow_row(&mut self, reference: S::V, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let tokens = s.low_bytes(entries);
        let byte = s.splat(0xFF);
        let mut bad = s.splat(0);
        let element = if KIND == FLOATS {
            let c = &self.constants;
            let bits = [plain_bits(s, c, s.and(entries[0], byte)), plain_bits(s, c, s.and(entries[1], byte))];
            let mut raw = s.splat(0);
            if s.any(s.or(bits[0], bits[1])) {
                raw = self.coder.raw_bits_16(bits, window, used);
            }
            let offset =
                if self.rows.profiles.is_empty() { self.plain_16 } else { s.pack_signed(self.plain_offsets()) };
            let n = &self.constants.narrow;
            let t = s.sub_16(tokens, s.splat_16(2));
            let sign = s.or(s.and(t, n.sign), s.shr_16_by(raw, n.low));
            let mantissa = s.or(s.and(raw, n.low_mask), s.shl_16_by(s.shr_16_by(t, n.token_place), n.low));
            // The lowest bit of the shifted token is the top mantissa bit where the form has it, else the exponent's: the sum sets both.
            let made = s.add_16(mantissa, s.shl_16_by(offset, n.mantissa));
            let made = s.or(made, s.shl_16_by(sign, n.sign_place));
            let e = s.add_16(s.shr_16_by(t, n.token_exponent), offset);
            let is_pattern = s.greater_16(tokens, s.splat_16(1));
            bad = s.select_16(is_pattern, s.and(e, n.above_exponent), bad);
            s.select_16(is_pattern, made, raw)
        } else {
            let half = s.shr_16_by(tokens, s.bits_16(1));
            let mut magnitude = half;
            if W > 1 {
                let c = &self.constants;
                let (eight, three) = (s.splat(8), s.bits_16(3));
                let mut bits = [
                    s.shr_by::<3>(s.less_by(s.and(entries[0], byte), eight)),
                    s.shr_by::<3>(s.less_by(s.and(entries[1], byte), eight)),
                ];
                let high = s.any_16(s.greater_16(tokens, c.narrow.largest));
                let escaped = s.equal_16(s.or(tokens, s.splat_16(1)), s.splat_16(ESC_PAIR));
                if high {
                    let others = s.select_16(escaped, s.splat(0), tokens);
                    if s.any_16(s.greater_16(others, c.narrow.largest)) {
                        // Not in the ring. All that is left to do is to use up the words.
                        self.coder.raw_bits(bits, window, used);
                        return s.splat(1);
                    }
                    for (bits, entries) in bits.iter_mut().zip(entries) {
                        *bits = escape_bits(s, c, s.and(entries, byte), *bits);
                    }
                }
                let mut raw = s.splat(0);
                if s.any_16(s.greater_16(tokens, s.splat_16(15))) {
                    raw = self.coder.raw_bits_16(bits, window, used);
                }
                let bits = s.shr_16_by(s.less_by(tokens, s.splat_16(8)), three);
                let lead = s.or(s.and(half, s.splat_16(3)), s.splat_16(4));
                let lead = s.select_16(s.greater_16(tokens, s.splat_16(7)), lead, half);
                magnitude = s.or(s.shl_16(lead, bits), raw);
                if high {
                    magnitude = s.select_16(escaped, raw, magnitude);
                }
            }
            let n = &self.constants.narrow;
            let sign = s.and(tokens, s.splat_16(1));
            let outward = s.xor(magnitude, s.sub_16(s.splat(0), sign));
            if KIND == RESIDUAL {
                let v = s.and(s.add_16(s.or(reference, n.top), outward), n.ring);
                let same_side = s.xor(v, s.without(n.top, reference));
                let crossed = s.equal_16(s.and(v, n.top), s.splat(0));
                s.select_16(crossed, s.xor(same_side, n.across), same_side)
            } else if self.constants.signed {
                s.and(outward, n.ring)
            } else {
                s.or(s.shl_16_by(magnitude, s.bits_16(1)), sign)
            }
        };
        let element = s.shl_16_by(element, self.constants.narrow.shift);
        let bytes = self.out.get_mut(W * self.at..).unwrap_or(&mut []);
        if W == 1 {
            if let Some(row) = bytes.first_chunk_mut() {
                s.store_16_as_8(element, row);
            }
        } else if let Some(row) = bytes.first_chunk_mut() {
            s.store_32_words(element, row);
        }
        bad
    }

    /// Four times the exponent fields of the row's 64-bit references.
    #[inline(always)]
    fn wide_exponents(&self) -> [u32; ROW] {
        let Class::Float { mantissa, exponent, .. } = self.rows.element.class() else { return [0; ROW] };
        let mask = (1 << exponent) - 1;
        let mut exponents = [4; ROW];
        let bytes = self.rows.reference.get(8 * self.at..).unwrap_or(&[]);
        for (e, bytes) in exponents.iter_mut().zip(bytes.as_chunks().0) {
            #[allow(clippy::cast_possible_truncation)]
            {
                *e = 4 * ((u64::from_le_bytes(*bytes) >> mantissa) & mask).max(1) as u32;
            }
        }
        exponents
    }

    /// A row of 64-bit elements: steps as vectors, the rest number by number; gives bits that must not be there.
    #[inline(always)]
    fn wide_row(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let ring = Ring::new(self.rows.element, self.rows.shift);
        let shift = self.rows.shift;
        let mut references = [0u64; ROW];
        if KIND == RESIDUAL {
            let bytes = self.rows.reference.get(8 * self.at..).unwrap_or(&[]);
            for (reference, bytes) in references.iter_mut().zip(bytes.as_chunks().0) {
                *reference = u64::from_le_bytes(*bytes) >> shift;
            }
        }
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let bits = if KIND == FLOATS {
            let c = &self.constants;
            [plain_bits(s, c, tokens[0]), plain_bits(s, c, tokens[1])]
        } else {
            [wide_bits(s, tokens[0]), wide_bits(s, tokens[1])]
        };
        let (low, high) = self.coder.raw_bits_64(bits, window, used);
        let mut arrays = [[0u32; ROW]; 4];
        for (array, v) in arrays.iter_mut().zip([tokens, low, high, self.index()]) {
            store_32_numbers(s, v, array);
        }
        let [tokens, low, high, index] = &arrays;
        let lengths = LengthTokens::new(8, shift);
        let plain = match self.rows.bank.class {
            TokenClass::Plain(form) if KIND == FLOATS => PlainTokens::new(self.rows.element, shift, form),
            _ => None,
        };
        let signed = self.rows.element.class() == Class::Signed;
        let base = self.rows.bank.elements.base();
        let mut bad = false;
        let bytes = self.out.get_mut(8 * self.at..).unwrap_or(&mut []);
        for (i, bytes) in bytes.as_chunks_mut().0.iter_mut().take(ROW).enumerate() {
            let raw = u64::from(low[i]) | u64::from(high[i]) << 32;
            #[allow(clippy::cast_possible_truncation)]
            let token = tokens[i] as u8;
            let element = if let Some(plain) = plain {
                let (pattern, exists) = plain.pattern(token, raw, clamp16(index[i].cast_signed() + base));
                bad |= !exists;
                pattern
            } else {
                let z = lengths.base(token).wrapping_add(raw << 1);
                bad |= z > ring.mask;
                match KIND {
                    RESIDUAL => ring.unzigzag(z, references[i]),
                    _ if signed => unzigzag(z) & ring.mask,
                    _ => z,
                }
            };
            *bytes = (element << shift).to_le_bytes();
        }
        s.splat(u32::from(bad))
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

/// 32-bit elements of a row.
#[inline(always)]
fn load_row<S: Vector>(s: S, bytes: &[u8], at: usize) -> [S::V; 2] {
    let bytes = bytes.get(4 * at..).unwrap_or(&[]);
    match bytes.first_chunk::<128>().map(|row| row.as_chunks::<64>().0) {
        Some([a, b]) => [s.load_32(a), s.load_32(b)],
        _ => [s.splat(0); 2],
    }
}

/// 8- or 16-bit elements of a row, as 16-bit numbers.
#[inline(always)]
fn load_narrow_row<S: Vector, const W: usize>(s: S, bytes: &[u8], at: usize) -> S::V {
    let bytes = bytes.get(W * at..).unwrap_or(&[]);
    if W == 1 {
        bytes.first_chunk().map_or(s.splat(0), |row| s.load_8_as_16(row))
    } else {
        bytes.first_chunk().map_or(s.splat(0), |row| s.load_32_words(row))
    }
}

/// Raw bits of length tokens and z >> 1 of each lane: elements of 16 or 32 bits.
#[inline(always)]
pub(super) fn lengths<S: Vector>(
    coder: &mut Coder<'_, S>,
    c: &Constants<S>,
    tokens: [S::V; 2],
    window: &[u8; WINDOW],
    used: &mut usize,
) -> [S::V; 2] {
    let s = coder.s;
    let mut bits = [length_bits(s, tokens[0]), length_bits(s, tokens[1])];
    let escaped = s.any(s.less_by(s.max(tokens[0], tokens[1]), s.splat(u32::from(ESC) - 1)));
    if escaped {
        for (bits, &token) in bits.iter_mut().zip(&tokens) {
            *bits = escape_bits(s, c, token, *bits);
        }
    }
    let raw = coder.raw_bits(bits, window, used);
    let mut magnitudes = [magnitude(s, tokens[0], bits[0], raw[0]), magnitude(s, tokens[1], bits[1], raw[1])];
    if escaped {
        for ((magnitude, &token), &raw) in magnitudes.iter_mut().zip(&tokens).zip(&raw) {
            *magnitude = s.select(is_escape(s, token), raw, *magnitude);
        }
    }
    magnitudes
}

/// Where a length token is one of the two ESC.
#[inline(always)]
fn is_escape<S: Vector>(s: S, token: S::V) -> S::M {
    s.equal(s.or(token, s.splat(1)), s.splat(ESC_PAIR.into()))
}

/// Raw bits of length tokens, of which `bits` are those of all but ESC.
#[inline(always)]
fn escape_bits<S: Vector>(s: S, c: &Constants<S>, token: S::V, bits: S::V) -> S::V {
    s.select(is_escape(s, token), c.escaped_length, bits)
}

/// Raw bits of a length token with two refinement bits: (token − 8) / 8 from 16 on.
#[inline(always)]
fn length_bits<S: Vector>(s: S, token: S::V) -> S::V {
    s.shr_by::<3>(s.less_by(token, s.splat(8)))
}

/// Raw bits of a length token with one refinement bit: (token − 8) / 4 from 16 on.
#[inline(always)]
pub(super) fn wide_bits<S: Vector>(s: S, token: S::V) -> S::V {
    s.select(s.greater(token, s.splat(15)), s.shr_by::<2>(s.sub(token, s.splat(8))), s.splat(0))
}

/// Raw bits of a plain token.
#[inline(always)]
fn plain_bits<S: Vector>(s: S, c: &Constants<S>, token: S::V) -> S::V {
    let bits = s.select(s.equal(token, s.splat(1)), c.escaped, c.usual);
    s.select(s.equal(token, s.splat(0)), s.splat(0), bits)
}

/// z >> 1: tokens up to 7 are z; the others have 4 + two bits in front of the raw bits, if any, and the sign.
#[inline(always)]
fn magnitude<S: Vector>(s: S, token: S::V, bits: S::V, raw: S::V) -> S::V {
    let half = s.shr_by::<1>(token);
    let lead = s.or(s.and(half, s.splat(3)), s.splat(4));
    let lead = s.select(s.greater(token, s.splat(7)), lead, half);
    s.or(s.shl(lead, bits), raw)
}

/// The integer of a token and z >> 1.
#[inline(always)]
fn integer<S: Vector>(s: S, c: &Constants<S>, token: S::V, magnitude: S::V) -> S::V {
    if c.signed {
        s.and(outward(s, token, magnitude), c.ring)
    } else {
        s.or(s.shl_by::<1>(magnitude), s.and(token, s.splat(1)))
    }
}

/// The outward residual of z >> 1 and the token, whose lowest bit is that of z.
#[inline(always)]
fn outward<S: Vector>(s: S, token: S::V, magnitude: S::V) -> S::V {
    let negative = s.sub(s.splat(0), s.and(token, s.splat(1)));
    s.xor(magnitude, negative)
}

/// The element, by token and z >> 1.
///
/// Outward from the reference u, of sign S: v = (u or top) + o. Where v ≥ top zero is not crossed, and the element has magnitude v − top and sign S;
/// else it is v with all bits but S turned.
#[inline(always)]
pub(super) fn residual<S: Vector>(s: S, c: &Constants<S>, token: S::V, magnitude: S::V, reference: S::V) -> S::V {
    let v = s.and(s.add(s.or(reference, c.top), outward(s, token, magnitude)), c.ring);
    let same_side = s.xor(v, s.without(c.top, reference));
    let crossed = s.equal(s.and(v, c.top), s.splat(0));
    s.select(crossed, s.xor(same_side, c.across), same_side)
}

/// The pattern of a plain float and, where it is none, some bits; `offset` is (λ >> 2) + bias − centre.
#[inline(always)]
fn plain<S: Vector>(s: S, c: &Constants<S>, token: S::V, raw: S::V, offset: S::V) -> (S::V, S::V) {
    let t = s.sub(token, s.splat(2));
    let sign = s.or(s.and(t, c.sign), s.shr(raw, c.low));
    let e = s.add(s.shr(t, c.token_exponent), offset);
    let mantissa = s.or(s.and(raw, c.low_mask), s.shl(s.shr(t, c.token_place), c.low));
    // The lowest bit of the shifted token is the top mantissa bit where the form has it, else the exponent's: the sum sets both.
    let made = s.add(mantissa, s.shl(offset, c.mantissa));
    let made = s.or(made, s.shl(sign, c.sign_place));
    let is_pattern = s.greater(token, s.splat(1));
    (s.select(is_pattern, made, raw), s.select(is_pattern, s.and(e, c.above_exponent), s.splat(0)))
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
