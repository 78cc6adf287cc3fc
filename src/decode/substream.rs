//! Decoding of one substream's elements (spec §10, §11).

use crate::core::bank::{DecodeBank, TokenClass};
use crate::core::element::{Class, ElementType};
use crate::core::lambda::{ExponentTerm, clamp16};
use crate::core::lanes::{LANES, Lanes};
use crate::core::model::Model;
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, unzigzag};
use crate::core::table::{DecodeEntry, TOTAL};
use crate::core::token::LengthTokens;
use crate::core::word::Word;
use crate::error::{Error, Result};
use crate::with_word;

/// Scale of a ZERO block.
const ZERO: i32 = i32::MIN;

/// An entropy-coded substream, its Substream_Header checked.
#[derive(Clone, Copy, Debug)]
pub struct Substream<'a> {
    /// RESIDUAL, MASK or PLAIN.
    pub model: Model,
    /// Element type.
    pub element: ElementType,
    /// Low bits dropped.
    pub shift: u8,
    /// log2 of the block length; 0 for the whole substream.
    pub block: u8,
    /// log2 of the number of lanes.
    pub lanes: u8,
    /// Scale before the first block.
    pub scale_base: i16,
    /// Tables, of a class that fits (ULP-SUB-04).
    pub bank: &'a DecodeBank,
    /// Profile value of each element, or empty for zeros.
    pub profiles: &'a [i8],
}

impl Substream<'_> {
    /// Decodes `data` into `out`: whole elements of the type, with as many in `reference` (already converted; empty for PLAIN).
    ///
    /// # Errors
    /// Violated rules of the entropy coder or of the tokens.
    pub fn decode(&self, data: &[u8], reference: &[u8], out: &mut [u8]) -> Result<()> {
        let width = self.element.width();
        let count = out.len() / width;
        let mut lanes = Lanes::new(data, self.lanes)?;
        let scales = self.scales(&mut lanes, count)?;
        match self.model {
            Model::Residual => {
                with_word!(width, W => self.residual::<W>(&mut lanes, &scales, reference, out))?;
            }
            Model::Mask => {
                out.copy_from_slice(reference.get(..out.len()).ok_or(Error::Extent("reference"))?);
                with_word!(width, W => self.mask::<W>(&mut lanes, &scales, out))?;
            }
            Model::Plain => match self.bank.class {
                TokenClass::Plain(form) => {
                    let tokens = PlainTokens::new(self.element, self.shift, form)
                        .ok_or(Error::Field { field: "shift", value: self.shift.into() })?;
                    with_word!(width, W => self.plain_floats::<W>(&mut lanes, &scales, tokens, out))?;
                }
                _ => with_word!(width, W => self.plain_integers::<W>(&mut lanes, &scales, out))?,
            },
        }
        lanes.finish()
    }

    /// Decodes the scale of each block.
    fn scales(&self, lanes: &mut Lanes<'_>, count: usize) -> Result<Vec<i32>> {
        let mut previous = i32::from(self.scale_base);
        if self.block == 0 {
            return Ok(vec![previous]);
        }
        let blocks = count.div_ceil(1 << self.block);
        let mut scales = Vec::with_capacity(blocks);
        while scales.len() < blocks {
            let row = lanes.count().min(blocks - scales.len());
            for lane in 0..row {
                let symbol = lanes.symbol(lane, &self.bank.scale);
                scales.push(if symbol == 0 {
                    ZERO
                } else {
                    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                    let difference = unzigzag(u64::from(symbol) - 1) as i64 as i32;
                    previous = clamp16(previous + difference);
                    previous
                });
            }
            lanes.renormalise()?;
        }
        Ok(scales)
    }

    /// Elements of each block that is not ZERO: first element, end, scale.
    fn blocks<'s>(&self, scales: &'s [i32], count: usize) -> impl Iterator<Item = (usize, usize, i32)> + 's {
        let length = if self.block == 0 { count.max(1) } else { 1 << self.block };
        scales
            .iter()
            .enumerate()
            .map(move |(i, &scale)| (i * length, count.min((i + 1) * length), scale))
            .filter(|&(_, _, scale)| scale != ZERO)
    }

    /// base(i) of the element: scale plus profile.
    #[inline(always)]
    fn base(&self, scale: i32, i: usize) -> i32 {
        scale + self.profiles.get(i).map_or(0, |&p| i32::from(p))
    }

    /// The decoder of the table that serves λ.
    #[inline(always)]
    fn slots(&self, lambda: i32) -> &[DecodeEntry] {
        let table = usize::from(self.bank.element_map.table(lambda));
        let total = TOTAL as usize;
        self.bank.elements.get(table * total..(table + 1) * total).unwrap_or(&[])
    }

    fn residual<W: Word>(&self, lanes: &mut Lanes<'_>, scales: &[i32], reference: &[u8], out: &mut [u8]) -> Result<()> {
        let ring = Ring::new(self.element, self.shift);
        let term = ExponentTerm::new(self.element, self.shift);
        let tokens = LengthTokens::for_width(W::BYTES);
        for (start, end, scale) in self.blocks(scales, out.len() / W::BYTES) {
            let mut at = start;
            while at < end {
                let row = lanes.count().min(end - at);
                let mut references = [0u64; LANES];
                let mut symbols = [0u8; LANES];
                let mut bits = [0u32; LANES];
                let mut raw = [0u64; LANES];
                for lane in 0..row {
                    let r = W::load(reference, at + lane).wide() >> self.shift;
                    let lambda = clamp16(self.base(scale, at + lane) + term.map_or(0, |t| t.of(r)));
                    references[lane] = r;
                    symbols[lane] = lanes.symbol(lane, self.slots(lambda));
                    bits[lane] = tokens.raw_bits(symbols[lane]);
                }
                lanes.renormalise()?;
                lanes.raw_bits(&bits[..row], &mut raw)?;
                for lane in 0..row {
                    let z = tokens.base(symbols[lane]).wrapping_add(raw[lane] << 1);
                    if z > ring.mask {
                        return Err(Error::Entropy("a residual outside its ring"));
                    }
                    let next = ring.unzigzag(z, references[lane]);
                    W::narrow(next << self.shift).store(out, at + lane);
                }
                at += row;
            }
        }
        self.copy_zero_blocks(scales, reference, out, W::BYTES);
        Ok(())
    }

    /// The elements of ZERO blocks equal their references (after the shift).
    fn copy_zero_blocks(&self, scales: &[i32], reference: &[u8], out: &mut [u8], width: usize) {
        let count = out.len() / width;
        for (i, _) in scales.iter().enumerate().filter(|&(_, &scale)| scale == ZERO) {
            let start = (i << self.block).min(count);
            let end = (start + (1 << self.block)).min(count);
            let range = start * width..end * width;
            if let (Some(to), Some(from)) = (out.get_mut(range.clone()), reference.get(range)) {
                to.copy_from_slice(from);
                with_word!(width, W => clear_low_bits::<W>(to, self.shift));
            }
        }
    }

    fn mask<W: Word>(&self, lanes: &mut Lanes<'_>, scales: &[i32], out: &mut [u8]) -> Result<()> {
        let ring = Ring::new(self.element, self.shift);
        let term = ExponentTerm::new(self.element, self.shift);
        let tokens = LengthTokens::for_width(W::BYTES);
        let count = out.len() / W::BYTES;
        clear_low_bits::<W>(out, self.shift);
        // The elements that differ, and their λ.
        let mut changed: Vec<(u32, i16)> = Vec::new();
        for (start, end, scale) in self.blocks(scales, count) {
            let mut at = start;
            while at < end {
                let row = lanes.count().min((end - at).div_ceil(8));
                for lane in 0..row {
                    let first = at + 8 * lane;
                    let length = 8.min(end - first);
                    let mut lambdas = [0i16; 8];
                    let mut largest = i32::from(i16::MIN);
                    for (i, lambda) in lambdas.iter_mut().enumerate().take(length) {
                        let r = W::load(out, first + i).wide() >> self.shift;
                        let l = clamp16(self.base(scale, first + i) + term.map_or(0, |t| t.of(r)));
                        #[allow(clippy::cast_possible_truncation)]
                        {
                            *lambda = l as i16;
                        }
                        largest = largest.max(l);
                    }
                    let table = usize::from(self.bank.mask_map.table(largest));
                    let total = TOTAL as usize;
                    let slots = self.bank.masks.get(table * total..(table + 1) * total).unwrap_or(&[]);
                    let set = lanes.symbol(lane, slots);
                    if u32::from(set) >> length != 0 {
                        return Err(Error::Entropy("a mask names elements that are not there"));
                    }
                    for (i, &lambda) in lambdas.iter().enumerate() {
                        if set >> i & 1 == 1 {
                            #[allow(clippy::cast_possible_truncation)]
                            changed.push(((first + i) as u32, lambda));
                        }
                    }
                }
                lanes.renormalise()?;
                at += 8 * row;
            }
        }
        for row in changed.chunks(lanes.count()) {
            let mut symbols = [0u8; LANES];
            let mut bits = [0u32; LANES];
            let mut raw = [0u64; LANES];
            for (lane, &(_, lambda)) in row.iter().enumerate() {
                symbols[lane] = lanes.symbol(lane, self.slots(i32::from(lambda)));
                bits[lane] = tokens.raw_bits(symbols[lane]);
            }
            lanes.renormalise()?;
            lanes.raw_bits(&bits[..row.len()], &mut raw)?;
            for (lane, &(i, _)) in row.iter().enumerate() {
                let z = tokens.base(symbols[lane]).wrapping_add(raw[lane] << 1);
                if z > ring.mask {
                    return Err(Error::Entropy("a residual outside its ring"));
                }
                let reference = W::load(out, i as usize).wide() >> self.shift;
                W::narrow(ring.unzigzag(z, reference) << self.shift).store(out, i as usize);
            }
        }
        Ok(())
    }

    fn plain_floats<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        scales: &[i32],
        tokens: PlainTokens,
        out: &mut [u8],
    ) -> Result<()> {
        out.fill(0);
        for (start, end, scale) in self.blocks(scales, out.len() / W::BYTES) {
            let mut at = start;
            while at < end {
                let row = lanes.count().min(end - at);
                let mut lambdas = [0i32; LANES];
                let mut symbols = [0u8; LANES];
                let mut bits = [0u32; LANES];
                let mut raw = [0u64; LANES];
                for lane in 0..row {
                    lambdas[lane] = clamp16(self.base(scale, at + lane));
                    symbols[lane] = lanes.symbol(lane, self.slots(lambdas[lane]));
                    bits[lane] = tokens.raw_bits(symbols[lane]);
                }
                lanes.renormalise()?;
                lanes.raw_bits(&bits[..row], &mut raw)?;
                for lane in 0..row {
                    let u = tokens
                        .pattern(symbols[lane], raw[lane], lambdas[lane])
                        .ok_or(Error::Entropy("an exponent outside its field"))?;
                    W::narrow(u << self.shift).store(out, at + lane);
                }
                at += row;
            }
        }
        Ok(())
    }

    fn plain_integers<W: Word>(&self, lanes: &mut Lanes<'_>, scales: &[i32], out: &mut [u8]) -> Result<()> {
        let ring = Ring::new(self.element, self.shift);
        let tokens = LengthTokens::for_width(W::BYTES);
        let signed = self.element.class() == Class::Signed && W::BYTES > 1;
        out.fill(0);
        for (start, end, scale) in self.blocks(scales, out.len() / W::BYTES) {
            let mut at = start;
            while at < end {
                let row = lanes.count().min(end - at);
                let mut symbols = [0u8; LANES];
                let mut bits = [0u32; LANES];
                let mut raw = [0u64; LANES];
                for lane in 0..row {
                    let lambda = clamp16(self.base(scale, at + lane));
                    symbols[lane] = lanes.symbol(lane, self.slots(lambda));
                    bits[lane] = tokens.raw_bits(symbols[lane]);
                }
                lanes.renormalise()?;
                lanes.raw_bits(&bits[..row], &mut raw)?;
                for lane in 0..row {
                    let z = tokens.base(symbols[lane]).wrapping_add(raw[lane] << 1);
                    if z > ring.mask {
                        return Err(Error::Entropy("an integer outside its ring"));
                    }
                    let u = if signed { unzigzag(z) & ring.mask } else { z };
                    W::narrow(u << self.shift).store(out, at + lane);
                }
                at += row;
            }
        }
        Ok(())
    }
}

/// Clears the low `shift` bits of every element.
pub fn clear_low_bits<W: Word>(bytes: &mut [u8], shift: u8) {
    if shift > 0 {
        for i in 0..bytes.len() / W::BYTES {
            let kept = W::load(bytes, i).wide() >> shift << shift;
            W::narrow(kept).store(bytes, i);
        }
    }
}
