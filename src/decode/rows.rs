//! Rows of lanes of RESIDUAL and PLAIN substreams (spec §10.3, §10.4): the scalar twin of `kernel::decode`.
//!
//! The lanes' steps are taken one by one; what comes before and after them is done in loops over whole rows, of which compilers make vectors.

use crate::core::element::Class;
use crate::core::lambda::{ExponentTerm, clamp16};
use crate::core::lanes::{LANES, Lanes};
use crate::core::pairs::PairTokens;
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, unzigzag};
use crate::core::token::{LengthTable, LengthTokens};
use crate::core::word::Word;
use crate::decode::substream::Substream;
use crate::error::{Error, Result};

/// Elements that the lanes code side by side, and those that are not there in the last row.
struct Row<W> {
    /// The block's scale.
    scale: i32,
    profiles: [i16; LANES],
    reference: [W; LANES],
    tokens: [u8; LANES],
    raw: [W; LANES],
}

impl<W: Word> Row<W> {
    /// z of each length token and its raw bits.
    #[inline(always)]
    fn z(&self, table: &LengthTable<W>) -> [W; LANES] {
        let mut z = [W::default(); LANES];
        for ((z, &token), &raw) in z.iter_mut().zip(&self.tokens).zip(&self.raw) {
            *z = table.base[usize::from(token)].plus(raw << 1);
        }
        z
    }
}

/// The elements that rows are to make.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    /// Scale of each block.
    pub(super) scales: &'a [i32],
    /// Elements that are there already.
    pub(super) done: usize,
    /// The reference of all elements, or empty for PLAIN.
    pub(super) reference: &'a [u8],
}

impl Substream<'_> {
    /// RESIDUAL: the elements left of blocks that are not ZERO.
    pub(super) fn residual<W: Word>(&self, lanes: &mut Lanes<'_>, left: Left<'_>, out: &mut [u8]) -> Result<()> {
        let ring = Ring::new(self.element, self.shift);
        let table = LengthTokens::new(W::BYTES, self.shift).table();
        self.each_row(lanes, left, out, &table.raw_bits, |row: &Row<W>| {
            let mut elements = row.z(&table);
            for (element, &reference) in elements.iter_mut().zip(&row.reference) {
                *element = ring.unzigzag(*element, reference);
            }
            (elements, table.outside(&row.tokens).then_some("a residual outside its ring"))
        })
    }

    /// Integers without reference, as [`Self::residual`].
    pub(super) fn plain_integers<W: Word>(&self, lanes: &mut Lanes<'_>, left: Left<'_>, out: &mut [u8]) -> Result<()> {
        let mask = W::narrow(Ring::new(self.element, self.shift).mask);
        let table = LengthTokens::new(W::BYTES, self.shift).table();
        let signed = self.element.class() == Class::Signed && W::BYTES > 1;
        self.each_row(lanes, left, out, &table.raw_bits, |row: &Row<W>| {
            let mut elements = row.z(&table);
            if signed {
                for element in &mut elements {
                    *element = unzigzag(*element) & mask;
                }
            }
            (elements, table.outside(&row.tokens).then_some("an integer outside its ring"))
        })
    }

    /// Floats without reference, as [`Self::residual`].
    pub(super) fn plain_floats<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        left: Left<'_>,
        tokens: PlainTokens,
        out: &mut [u8],
    ) -> Result<()> {
        let mut raw_bits = [0; 256];
        for (bits, token) in raw_bits.iter_mut().zip(0..=255) {
            #[allow(clippy::cast_possible_truncation)]
            {
                *bits = tokens.raw_bits(token) as u8;
            }
        }
        self.each_row(lanes, left, out, &raw_bits, |row: &Row<W>| {
            let mut elements = row.raw;
            let mut all = true;
            for ((element, &token), &profile) in elements.iter_mut().zip(&row.tokens).zip(&row.profiles) {
                let (pattern, exists) = tokens.pattern(token, *element, clamp16(row.scale + i32::from(profile)));
                *element = pattern;
                all &= exists;
            }
            (elements, (!all).then_some("an exponent outside its field"))
        })
    }

    /// Decodes tokens and raw bits row by row; `make` makes elements of w' bits of them, or tells what is wrong.
    #[inline(always)]
    fn each_row<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        left: Left<'_>,
        out: &mut [u8],
        raw_bits: &[u8; 256],
        make: impl Fn(&Row<W>) -> ([W; LANES], Option<&'static str>),
    ) -> Result<()> {
        let group = &self.bank.elements;
        let shift = u32::from(self.shift);
        let term = ExponentTerm::new(self.element, self.shift).filter(|_| !left.reference.is_empty());
        for (start, end, scale) in self.blocks(left.scales, left.done, out.len() / W::BYTES) {
            // λ − base but for exponents and profiles, which cannot bring 16 bits to overflow nor what is cut off here back into 0…255.
            #[allow(clippy::cast_possible_truncation)]
            let offset = (scale + term.map_or(0, ExponentTerm::offset) - group.base()).clamp(-16_384, 16_384) as i16;
            for at in (start..end).step_by(lanes.count()) {
                let count = lanes.count().min(end - at);
                let mut row = Row {
                    scale,
                    profiles: [0; LANES],
                    reference: [W::default(); LANES],
                    tokens: [0; LANES],
                    raw: [W::default(); LANES],
                };
                let mut index = [offset; LANES];
                let bytes = left.reference.get(at * W::BYTES..(at + count) * W::BYTES).unwrap_or(&[]);
                for (reference, bytes) in row.reference.iter_mut().zip(bytes.chunks_exact(W::BYTES)) {
                    *reference = W::read(bytes) >> shift;
                }
                if let Some(term) = term {
                    for (index, &reference) in index.iter_mut().zip(&row.reference) {
                        *index -= term.quarters(reference);
                    }
                }
                if !self.profiles.is_empty() {
                    let profiles = self.profiles.get(at..).unwrap_or(&[]);
                    for ((index, kept), &profile) in index.iter_mut().zip(&mut row.profiles).zip(profiles) {
                        *kept = profile.into();
                        *index += *kept;
                    }
                }
                let mut tables = [0; LANES];
                for (table, index) in tables.iter_mut().zip(index) {
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    {
                        *table = index.clamp(0, 255) as u8;
                    }
                }
                lanes.symbols(group, &tables, count, &mut row.tokens)?;
                let mut bits = [0; LANES];
                for (bits, &token) in bits.iter_mut().zip(&row.tokens).take(count) {
                    *bits = raw_bits[usize::from(token)];
                }
                lanes.raw_bits(&bits, &mut row.raw)?;
                let (elements, wrong) = make(&row);
                let bytes = out.get_mut(at * W::BYTES..(at + count) * W::BYTES).unwrap_or(&mut []);
                for (bytes, &element) in bytes.chunks_exact_mut(W::BYTES).zip(&elements) {
                    (element << shift).store(bytes, 0);
                }
                if let Some(wrong) = wrong {
                    return Err(Error::Entropy(wrong));
                }
            }
        }
        Ok(())
    }

    /// Pairs of floats without reference, as [`Self::residual`].
    pub(super) fn plain_pairs<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        left: Left<'_>,
        tokens: PairTokens,
        out: &mut [u8],
    ) -> Result<()> {
        let group = &self.bank.elements;
        let relative = tokens.relative();
        for (start, end, scale) in self.blocks(left.scales, left.done, out.len() / W::BYTES) {
            let lambda = clamp16(scale);
            let index = [group.index(lambda); LANES];
            for at in (start..end).step_by(2 * lanes.count()) {
                let count = lanes.count().min((end - at).div_ceil(2));
                let mut symbols = [0; LANES];
                lanes.symbols(group, &index, count, &mut symbols)?;
                let mut bits = [0; LANES];
                for (bits, &symbol) in bits.iter_mut().zip(&symbols).take(count) {
                    #[allow(clippy::cast_possible_truncation)]
                    {
                        *bits = tokens.raw_bits(symbol) as u8;
                    }
                }
                let mut raw = [0u64; LANES];
                lanes.raw_bits(&bits, &mut raw)?;
                let bytes = out.get_mut(at * W::BYTES..end * W::BYTES).unwrap_or(&mut []);
                for (lane, bytes) in bytes.chunks_mut(2 * W::BYTES).enumerate().take(count) {
                    let [a, b] = tokens
                        .patterns(symbols[lane], relative[usize::from(symbols[lane])], raw[lane], lambda)
                        .ok_or(Error::Entropy("an exponent outside its field"))?;
                    W::narrow(a << self.shift).store(bytes, 0);
                    if bytes.len() > W::BYTES {
                        W::narrow(b << self.shift).store(bytes, 1);
                    } else if a != b {
                        return Err(Error::Entropy("a last element that does not equal its copy"));
                    }
                }
            }
        }
        Ok(())
    }
}
