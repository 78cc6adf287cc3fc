//! From elements to symbols: magnitudes, scales, statistics, and the substream's data (spec §10, §11).

use crate::core::bank::TokenClass;
use crate::core::lambda::{ExponentTerm, clamp16};
use crate::core::model::Model;
use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::encode::bank::Statistics;
pub use crate::encode::coding::Coding;
use crate::encode::distance;
pub use crate::encode::encode_bank::EncodeBank;
use crate::encode::magnitude::{Magnitude, Units, blocks};
use crate::encode::scales::Scales;
use crate::encode::workspace::Workspace;
use crate::kernel::Kernel;
pub use crate::kernel::encode::Input as Elements;
use crate::kernel::encode::{Coder, LARGE_UNIT, Lengths, Pairs, Piece, Plains, Raws, Symbols, prefetch};
use crate::with_word;

/// Elements whose symbols are made at a time: few enough that they stay in the nearest cache. A multiple of 32.
const TILE: usize = 2048;

/// Elements that are looked at in a row where a part tells the scale of all.
const STRETCH: usize = 1 << 14;

/// Tokens of a coding.
enum Tokens {
    Lengths(Lengths),
    Plains(Plains),
    Pairs(Pairs),
}

impl Tokens {
    fn new(coding: &Coding) -> Self {
        let made = match coding.class {
            TokenClass::Plain(form) => Plains::new(coding.element, coding.shift, form).map(Self::Plains),
            TokenClass::Pairs(form) => Pairs::new(coding.element, coding.shift, form).map(Self::Pairs),
            _ => None,
        };
        let lengths = || Lengths::new(coding.element, coding.shift, coding.model != Model::Plain);
        made.unwrap_or_else(|| Self::Lengths(lengths()))
    }

    fn symbols(&self, kernel: Kernel, map: &TableMap, input: &Elements<'_>, pieces: &[Piece], symbols: &mut Symbols) {
        match self {
            Self::Lengths(lengths) => lengths.symbols(kernel, map, input, pieces, symbols),
            Self::Plains(plains) => plains.symbols(kernel, map, input, pieces, symbols),
            Self::Pairs(pairs) => pairs.symbols(kernel, map, input, pieces, symbols),
        }
    }

    fn masks(
        &self,
        kernel: Kernel,
        maps: (&TableMap, &TableMap),
        input: &Elements<'_>,
        pieces: &[Piece],
        sets: &mut Vec<u16>,
        symbols: &mut Symbols,
    ) {
        if let Self::Lengths(lengths) = self {
            lengths.masks(kernel, maps, input, pieces, sets, symbols);
        }
    }
}

impl Coding {
    /// Number of elements.
    #[must_use]
    pub fn count(&self, elements: &Elements<'_>) -> usize {
        elements.next.len() / self.element.width()
    }

    /// The elements without the references that the model does not use, and without profiles where pairs have none.
    fn input<'a>(&self, elements: Elements<'a>) -> Elements<'a> {
        Elements {
            reference: if self.model == Model::Plain { &[] } else { elements.reference },
            profiles: if self.class.elements() > 1 { &[] } else { elements.profiles },
            ..elements
        }
    }

    /// Magnitudes of units that make up blocks of this coding and of all with larger ones.
    #[must_use]
    pub fn units(&self, kernel: Kernel, elements: Elements<'_>) -> Units {
        let large = self.block == 0 || 1 << self.block >= LARGE_UNIT;
        Units {
            large,
            sums: distance::units(kernel, self.element, self.shift, large, self.clip, &self.input(elements)),
        }
    }

    /// The scales of the blocks, from the magnitudes of the units.
    #[must_use]
    pub fn scales(&self, units: &Units, count: usize) -> Scales {
        Scales::new(&blocks(units, self.block), self.block_length(count), count, self.block == 0, self.hold)
    }

    /// The scales of the blocks of these elements.
    ///
    /// One scale for all of many elements comes from a quarter of them: to quarter octaves it tells the same mean.
    #[must_use]
    pub fn scales_of(&self, kernel: Kernel, elements: Elements<'_>) -> Scales {
        let count = self.count(&elements);
        if self.block == 0 && count >= 4 * STRETCH {
            let stretches = (0..count).step_by(4 * STRETCH).map(|start| {
                let part = elements.part(start..count.min(start + STRETCH), self.element.width());
                (self.count(&part), blocks(&self.units(kernel, part), 0))
            });
            let (counts, sums): (Vec<usize>, Vec<Vec<Magnitude>>) = stretches.unzip();
            // Where nothing of them differs, others may.
            if let Some(sum) = sums.into_iter().flatten().reduce(Magnitude::plus).filter(|sum| sum.sum > 0) {
                let counted = counts.iter().sum();
                return Scales::new(&[sum], counted, counted, true, self.hold);
            }
        }
        self.scales(&self.units(kernel, elements), count)
    }

    /// Appends λ of each 61st element (a number that column counts do not share factors with) outside ZERO blocks.
    #[allow(clippy::cast_possible_truncation)]
    pub fn lambdas(&self, elements: Elements<'_>, scales: &Scales, out: &mut Vec<i16>) {
        let count = self.count(&elements);
        let length = self.block_length(count);
        let term = ExponentTerm::new(self.element, self.shift).filter(|_| self.model != Model::Plain);
        with_word!(self.element.width(), W => {
            for (block, scale) in scales.blocks.iter().enumerate() {
                let Some(scale) = *scale else { continue };
                for i in (block * length..count.min((block + 1) * length)).step_by(61) {
                    let profile = elements.profiles.get(i).map_or(0, |&p| i32::from(p));
                    let term = term.map_or(0, |t| t.of(W::load(elements.reference, i).wide() >> self.shift));
                    out.push(clamp16(scale + profile + term) as i16);
                }
            }
        });
    }

    /// Adds all symbols to the statistics.
    pub fn statistics(
        &self,
        elements: Elements<'_>,
        scales: &Scales,
        statistics: &mut Statistics,
        workspace: &mut Workspace,
    ) {
        for &symbol in &scales.symbols {
            statistics.scales[usize::from(symbol)] += 1;
        }
        let input = self.input(elements);
        let Workspace { kernel, pieces, symbols, sets, .. } = workspace;
        self.pieces(scales, self.count(&elements), pieces);
        let tokens = Tokens::new(self);
        let map = statistics.elements.map();
        for tile in pieces.chunks(self.pieces_of_tile(&elements)) {
            match &mut statistics.masks {
                Some(masks) => {
                    tokens.masks(*kernel, (&masks.map(), &map), &input, tile, sets, symbols);
                    masks.count(sets);
                }
                None => tokens.symbols(*kernel, &map, &input, tile, symbols),
            }
            statistics.elements.count(symbols.steps());
        }
    }

    /// Appends the data of a substream: lane states and words.
    pub fn encode(
        &self,
        elements: Elements<'_>,
        scales: &Scales,
        bank: &EncodeBank,
        lanes: u8,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) {
        let input = self.input(elements);
        let Workspace { kernel, pieces, symbols, sets, words, .. } = workspace;
        self.pieces(scales, self.count(&elements), pieces);
        let tokens = Tokens::new(self);
        let mut coder = Coder::new(lanes, words);
        if self.model == Model::Mask {
            // Steps of changed elements keep no place in rows: they are made all at once.
            tokens.masks(*kernel, (&bank.mask_map, &bank.element_map), &input, pieces, sets, symbols);
            coder.take(*kernel, &bank.elements, symbols.steps(), symbols.raws());
            coder.take(*kernel, &bank.masks, sets, Raws::None);
        } else {
            // Backwards, tile by tile: blocks are whole rows, so only the last tile ends within one.
            let width = self.element.width();
            for tile in pieces.chunks(self.pieces_of_tile(&elements)).rev() {
                if let Some(start) = tile.first().map(|piece| piece.start * width) {
                    prefetch(&input, start.saturating_sub(TILE * width)..start);
                }
                tokens.symbols(*kernel, &bank.element_map, &input, tile, symbols);
                coder.take(*kernel, &bank.elements, symbols.steps(), symbols.raws());
            }
        }
        sets.clear();
        sets.extend(scales.symbols.iter().map(|&s| u16::from(s)));
        coder.take(*kernel, &bank.scale, sets, Raws::None);
        coder.finish(out);
    }

    fn block_length(&self, count: usize) -> usize {
        if self.block == 0 { count.max(1) } else { 1 << self.block }
    }

    /// Elements of a piece: a block, or a tile where that is less.
    fn piece_length(&self, count: usize) -> usize {
        self.block_length(count).min(TILE)
    }

    fn pieces_of_tile(&self, elements: &Elements<'_>) -> usize {
        TILE / self.piece_length(self.count(elements))
    }

    /// Cuts the blocks, but for ZERO ones, into pieces of one length.
    fn pieces(&self, scales: &Scales, count: usize, pieces: &mut Vec<Piece>) {
        let (block_length, length) = (self.block_length(count), self.piece_length(count));
        pieces.clear();
        for (block, scale) in scales.blocks.iter().enumerate() {
            let Some(scale) = *scale else { continue };
            let end = count.min((block + 1) * block_length);
            for start in (block * block_length..end).step_by(length) {
                pieces.push(Piece { start, length: length.min(end - start), scale });
            }
        }
    }
}
