//! Scale symbols: the side information of blocks (spec §10.1).

use crate::core::lambda::clamp16;
use crate::encode::magnitude::Magnitude;

/// Scales of the blocks of a substream as a decoder will see them.
#[derive(Clone, Debug, Default)]
pub struct Scales {
    /// `scale_base` of the Substream_Header.
    pub base: i16,
    /// Scale of each block; `None` for ZERO.
    pub blocks: Vec<Option<i32>>,
    /// Symbol of each block; empty where the block is the whole substream.
    pub symbols: Vec<u8>,
}

impl Scales {
    /// The scales of blocks of `length` elements, the last one of what is left of `count`.
    ///
    /// `whole`: one block, its scale in the header. `hold`: a scale that differs from the one before by so many quarter octaves or fewer is not worth its symbol.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(blocks: &[Magnitude], length: usize, count: usize, whole: bool, hold: i32) -> Self {
        let wanted = |(i, block): (usize, &Magnitude)| {
            let elements = length.min(count.saturating_sub(i * length)).max(1);
            (block.nonzero, block.scale(elements))
        };
        let base = clamp16(blocks.iter().enumerate().map(wanted).find_map(|(_, scale)| scale).unwrap_or(0));
        let mut scales = Self { base: base as i16, blocks: Vec::with_capacity(blocks.len()), symbols: Vec::new() };
        if whole {
            scales.blocks.push(Some(base));
            return scales;
        }
        let mut previous = base;
        for (nonzero, scale) in blocks.iter().enumerate().map(wanted) {
            if !nonzero {
                scales.blocks.push(None);
                scales.symbols.push(0);
                continue;
            }
            let mut difference = (scale.unwrap_or(previous) - previous).clamp(-126, 126);
            if difference.abs() <= hold {
                difference = 0;
            }
            previous = clamp16(previous + difference);
            scales.blocks.push(Some(previous));
            scales.symbols.push(1 + ((difference << 1) ^ (difference >> 31)) as u8);
        }
        scales
    }
}
