//! Decoding of one substream's elements (spec §10, §11).

use std::ops::Range;

use crate::core::bank::{DecodeBank, TokenClass};
use crate::core::element::ElementType;
use crate::core::lambda::{ExponentTerm, clamp16};
use crate::core::lanes::{LANES, Lanes};
use crate::core::model::Model;
use crate::core::pairs::PairTokens;
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, unzigzag};
use crate::core::token::LengthTokens;
use crate::core::word::Word;
use crate::decode::rows::Left;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::kernel::decode::{
    Engine, ROW, ROW_OF_GROUPS, Rows, ZERO_BLOCK, decode_changed, decode_groups, decode_rows, decode_two,
};
use crate::with_word;

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

/// A substream with what it is decoded from and to.
#[derive(Debug)]
pub struct Job<'a> {
    /// The substream.
    pub substream: Substream<'a>,
    /// Its data.
    pub data: &'a [u8],
    /// As many elements as `out` has, already converted; empty for PLAIN.
    pub reference: &'a [u8],
    /// Whole elements of the type.
    pub out: &'a mut [u8],
}

/// A job whose scales are decoded.
struct Started<'a> {
    lanes: Lanes<'a>,
    scales: Vec<i32>,
}

impl<'a> Job<'a> {
    /// Decodes the elements. [`Kernel::Scalar`] stands for the code below, which all others must agree with.
    ///
    /// # Errors
    /// Violated rules of the entropy coder or of the tokens.
    pub fn decode(mut self, kernel: Kernel) -> Result<()> {
        let mut started = self.start()?;
        let engine = Engine::new(kernel).filter(|_| started.lanes.count() == ROW);
        let mut done = 0;
        if let (Some(engine), Some(rows)) = (engine, self.rows(&started.scales)) {
            decode_rows(engine, &rows, &mut started.lanes, self.out)?;
            done = self.whole_rows();
        }
        self.rest(started, engine, done)
    }

    /// Decodes two jobs side by side, which takes less time than one after the other.
    pub fn decode_two(mut first: Self, mut second: Self, kernel: Kernel) -> [Result<()>; 2] {
        let started = [first.start(), second.start()];
        let ([Ok(a), Ok(b)], Some(engine)) = (started, Engine::new(kernel)) else {
            return [first.decode(kernel), second.decode(kernel)];
        };
        let (mut a, mut b) = (a, b);
        let both = a.lanes.count() == ROW && b.lanes.count() == ROW;
        let rows = [first.rows(&a.scales), second.rows(&b.scales)];
        let ([Some(rows_a), Some(rows_b)], true) = (rows, both) else {
            return [first.decode(kernel), second.decode(kernel)];
        };
        let done = [first.whole_rows(), second.whole_rows()];
        let [of_a, of_b] =
            decode_two(engine, (&rows_a, &mut a.lanes, &mut *first.out), (&rows_b, &mut b.lanes, &mut *second.out));
        let engine = Some(engine);
        [of_a.and_then(|()| first.rest(a, engine, done[0])), of_b.and_then(|()| second.rest(b, engine, done[1]))]
    }

    /// Reads the lanes' states and decodes the scales.
    fn start(&mut self) -> Result<Started<'a>> {
        let Substream { model, element, profiles, .. } = self.substream;
        let count = self.out.len() / element.width();
        if model != Model::Plain && self.reference.len() < self.out.len() {
            return Err(Error::Extent("reference"));
        }
        if !profiles.is_empty() && profiles.len() < count {
            return Err(Error::Extent("profile"));
        }
        let mut lanes = Lanes::new(self.data, self.substream.lanes)?;
        let scales = self.substream.scales(&mut lanes, count)?;
        Ok(Started { lanes, scales })
    }

    /// Elements that are in whole rows.
    fn whole_rows(&self) -> usize {
        let row = ROW * self.substream.bank.class.elements();
        self.out.len() / self.substream.element.width() / row * row
    }

    /// What kernels work on; `None` for MASK.
    fn rows<'s>(&self, scales: &'s [i32]) -> Option<Rows<'s>>
    where
        'a: 's,
    {
        let Substream { model, element, shift, block, bank, profiles, .. } = self.substream;
        (model != Model::Mask).then_some(Rows {
            model,
            element,
            shift,
            block,
            scales,
            bank,
            profiles,
            reference: self.reference,
        })
    }

    /// Decodes elements `done` and on, and checks the end.
    fn rest(self, started: Started<'_>, engine: Option<Engine>, done: usize) -> Result<()> {
        let Self { substream, reference, out, .. } = self;
        let Started { mut lanes, scales } = started;
        let width = substream.element.width();
        let left = Left { scales: &scales, done, reference };
        match substream.model {
            Model::Residual => {
                with_word!(width, W => substream.residual::<W>(&mut lanes, left, out))?;
                substream.copy_zero_blocks(&scales, reference, out, width);
            }
            Model::Mask => {
                out.copy_from_slice(reference.get(..out.len()).ok_or(Error::Extent("reference"))?);
                with_word!(width, W => substream.mask::<W>(&mut lanes, &scales, engine, reference, out))?;
            }
            Model::Plain => {
                match substream.bank.class {
                    TokenClass::Plain(form) => {
                        let tokens = PlainTokens::new(substream.element, substream.shift, form)
                            .ok_or(Error::Field { field: "shift", value: substream.shift.into() })?;
                        with_word!(width, W => substream.plain_floats::<W>(&mut lanes, left, tokens, out))?;
                    }
                    TokenClass::Pairs(form) => {
                        let tokens = PairTokens::new(substream.element, substream.shift, form)
                            .ok_or(Error::Field { field: "shift", value: substream.shift.into() })?;
                        with_word!(width, W => substream.plain_pairs::<W>(&mut lanes, left, tokens, out))?;
                    }
                    _ => with_word!(width, W => substream.plain_integers::<W>(&mut lanes, left, out))?,
                }
                substream.clear_zero_blocks(&scales, out, width);
            }
        }
        lanes.finish()
    }
}

impl Substream<'_> {
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
            let mut symbols = [0; LANES];
            lanes.symbols(&self.bank.scale, &[0; LANES], row, &mut symbols)?;
            for &symbol in &symbols[..row] {
                scales.push(if symbol == 0 {
                    ZERO_BLOCK
                } else {
                    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                    let difference = unzigzag(u64::from(symbol) - 1) as i64 as i32;
                    previous = clamp16(previous + difference);
                    previous
                });
            }
        }
        Ok(scales)
    }

    /// Elements of each block that is not ZERO, from element `done` on: first element, end, scale.
    pub(super) fn blocks<'s>(
        &self,
        scales: &'s [i32],
        done: usize,
        count: usize,
    ) -> impl Iterator<Item = (usize, usize, i32)> + 's {
        let length = if self.block == 0 { count.max(1) } else { 1 << self.block };
        let first = done / length;
        let blocks = scales.iter().enumerate().skip(first);
        blocks
            .map(move |(i, &scale)| (done.max(i * length), count.min((i + 1) * length), scale))
            .filter(|&(_, _, scale)| scale != ZERO_BLOCK)
    }

    /// The bytes of each ZERO block.
    fn zero_blocks<'s>(
        &self,
        scales: &'s [i32],
        count: usize,
        width: usize,
    ) -> impl Iterator<Item = Range<usize>> + 's {
        let block = self.block;
        scales.iter().enumerate().filter(|&(_, &scale)| scale == ZERO_BLOCK).map(move |(i, _)| {
            let start = (i << block).min(count);
            start * width..(start + (1 << block)).min(count) * width
        })
    }

    /// base(i) of the element: scale plus profile.
    #[inline(always)]
    fn base(&self, scale: i32, i: usize) -> i32 {
        scale + self.profiles.get(i).map_or(0, |&p| i32::from(p))
    }

    /// The elements of ZERO blocks equal their references (after the shift).
    fn copy_zero_blocks(&self, scales: &[i32], reference: &[u8], out: &mut [u8], width: usize) {
        for range in self.zero_blocks(scales, out.len() / width, width) {
            if let (Some(to), Some(from)) = (out.get_mut(range.clone()), reference.get(range)) {
                to.copy_from_slice(from);
                with_word!(width, W => clear_low_bits::<W>(to, self.shift));
            }
        }
    }

    /// The elements of ZERO blocks are zero.
    fn clear_zero_blocks(&self, scales: &[i32], out: &mut [u8], width: usize) {
        for range in self.zero_blocks(scales, out.len() / width, width) {
            if let Some(to) = out.get_mut(range) {
                to.fill(0);
            }
        }
    }

    /// MASK; `out` holds the reference.
    fn mask<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        scales: &[i32],
        engine: Option<Engine>,
        reference: &[u8],
        out: &mut [u8],
    ) -> Result<()> {
        let count = out.len() / W::BYTES;
        clear_low_bits::<W>(out, self.shift);
        let rows = engine.map(|engine| {
            let Self { model, element, shift, block, bank, profiles, .. } = *self;
            let reference = reference.get(..count * W::BYTES).unwrap_or(&[]);
            (engine, Rows { model, element, shift, block, scales, bank, profiles, reference })
        });
        // The elements that differ.
        let mut changed: Vec<u32> = Vec::new();
        let mut done = 0;
        if let Some((engine, rows)) = &rows {
            decode_groups(*engine, rows, lanes, &mut changed)?;
            done = count / ROW_OF_GROUPS * ROW_OF_GROUPS;
        }
        self.groups::<W>(lanes, scales, done, reference, count, &mut changed)?;
        let mut changed = changed.as_slice();
        if let Some((engine, rows)) = &rows {
            let (whole, rest) = changed.split_at(changed.len() / ROW * ROW);
            decode_changed(*engine, rows, lanes, whole, out)?;
            changed = rest;
        }
        self.changed::<W>(lanes, scales, reference, changed, out)
    }

    /// Decodes the groups of elements `done` and on, and appends the places of the elements that differ.
    fn groups<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        scales: &[i32],
        done: usize,
        reference: &[u8],
        count: usize,
        changed: &mut Vec<u32>,
    ) -> Result<()> {
        let term = ExponentTerm::new(self.element, self.shift);
        for (start, end, scale) in self.blocks(scales, done, count) {
            let mut at = start;
            while at < end {
                let row = lanes.count().min((end - at).div_ceil(8));
                let mut sets = [0; LANES];
                let mut index = [0; LANES];
                for (lane, index) in index[..row].iter_mut().enumerate() {
                    let first = at + 8 * lane;
                    let lambda = |i| {
                        let r = W::load(reference, i).wide() >> self.shift;
                        clamp16(self.base(scale, i) + term.map_or(0, |t| t.of(r)))
                    };
                    let largest = (first..end.min(first + 8)).map(lambda).max();
                    *index = self.bank.masks.index(largest.unwrap_or(0));
                }
                lanes.symbols(&self.bank.masks, &index, row, &mut sets)?;
                for (lane, &set) in sets[..row].iter().enumerate() {
                    let first = at + 8 * lane;
                    let length = 8.min(end - first);
                    if u32::from(set) >> length != 0 {
                        return Err(Error::Entropy("a mask names elements that are not there"));
                    }
                    for i in 0..length {
                        if set >> i & 1 == 1 {
                            #[allow(clippy::cast_possible_truncation)]
                            changed.push((first + i) as u32);
                        }
                    }
                }
                at += 8 * row;
            }
        }
        Ok(())
    }

    /// Decodes the elements at the places in `changed`.
    fn changed<W: Word>(
        &self,
        lanes: &mut Lanes<'_>,
        scales: &[i32],
        reference_bytes: &[u8],
        changed: &[u32],
        out: &mut [u8],
    ) -> Result<()> {
        let ring = Ring::new(self.element, self.shift);
        let term = ExponentTerm::new(self.element, self.shift);
        let tokens = LengthTokens::new(W::BYTES, self.shift).table::<W>();
        let group = &self.bank.elements;
        for row in changed.chunks(lanes.count()) {
            let mut references = [W::default(); LANES];
            let mut index = [0; LANES];
            for ((reference, index), &i) in references.iter_mut().zip(&mut index).zip(row) {
                let i = i as usize;
                let block = if self.block == 0 { 0 } else { i >> self.block };
                let scale = scales.get(block).copied().unwrap_or(0);
                *reference = W::load(reference_bytes, i) >> self.shift.into();
                *index = group.index(clamp16(self.base(scale, i) + term.map_or(0, |t| t.of(reference.wide()))));
            }
            let mut symbols = [0; LANES];
            lanes.symbols(group, &index, row.len(), &mut symbols)?;
            let mut raw = [W::default(); LANES];
            lanes.raw_bits(&symbols.map(|s| tokens.raw_bits[usize::from(s)]), &mut raw)?;
            if tokens.outside(&symbols) {
                return Err(Error::Entropy("a residual outside its ring"));
            }
            for (lane, &i) in row.iter().enumerate() {
                let z = tokens.base[usize::from(symbols[lane])].plus(raw[lane] << 1);
                W::narrow(ring.unzigzag(z.wide(), references[lane].wide()) << self.shift).store(out, i as usize);
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
