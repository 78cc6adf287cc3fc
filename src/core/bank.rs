//! Banks: what substreams share (spec §9).

use crate::core::element::ElementType;
use crate::core::plain::PlainForm;
use crate::core::table::{DecodeEntry, FrequencyTable, TOTAL, fill_decode_table};
use crate::core::thresholds::{TableMap, Thresholds};
use crate::core::token::LengthTokens;

/// What the symbols of a bank's element tables mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenClass {
    /// Class 0: a token is a byte.
    Byte,
    /// Class 1: length tokens with two refinement bits.
    Length2,
    /// Class 2: length tokens with one refinement bit.
    Length1,
    /// Class 3: relative exponents.
    Plain(PlainForm),
}

impl TokenClass {
    /// The class for residuals, and for integers without reference, of `element`.
    #[must_use]
    pub fn of_lengths(element: ElementType) -> Self {
        match LengthTokens::for_width(element.width()).refinement {
            None => Self::Byte,
            Some(1) => Self::Length1,
            Some(_) => Self::Length2,
        }
    }

    /// Number of symbols.
    #[must_use]
    pub fn alphabet(self) -> usize {
        match self {
            Self::Byte | Self::Length1 => 256,
            Self::Length2 => 240,
            Self::Plain(form) => form.alphabet(),
        }
    }
}

/// Token configuration, thresholds and tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank {
    /// Meaning of the element symbols.
    pub class: TokenClass,
    /// Significant bits of the frequencies below the leading one, 1…12.
    pub precision: u8,
    /// Table of the scale symbols.
    pub scale: Option<FrequencyTable>,
    /// λ thresholds of the mask tables.
    pub mask_thresholds: Thresholds,
    /// Tables of mask symbols; empty, or one more than `mask_thresholds.steps`.
    pub masks: Vec<FrequencyTable>,
    /// λ thresholds of the element tables.
    pub element_thresholds: Thresholds,
    /// Tables of element symbols; empty, or one more than `element_thresholds.steps`.
    pub elements: Vec<FrequencyTable>,
}

/// A bank made ready for decoding: 16 KiB a table.
#[derive(Clone, Debug)]
pub struct DecodeBank {
    /// Meaning of the element symbols.
    pub class: TokenClass,
    /// Decoder of the scale symbols, 4096 entries; empty without.
    pub scale: Vec<DecodeEntry>,
    /// Table of each λ of a mask group.
    pub mask_map: TableMap,
    /// Decoders of the mask tables, 4096 entries each.
    pub masks: Vec<DecodeEntry>,
    /// Table of each λ of an element.
    pub element_map: TableMap,
    /// Decoders of the element tables, 4096 entries each.
    pub elements: Vec<DecodeEntry>,
}

impl DecodeBank {
    /// Builds the decoders of a bank.
    #[must_use]
    pub fn new(bank: &Bank) -> Self {
        let fill = |tables: &[FrequencyTable]| {
            let mut slots = vec![0; tables.len() * TOTAL as usize];
            for (table, slots) in tables.iter().zip(slots.chunks_mut(TOTAL as usize)) {
                fill_decode_table(table, slots);
            }
            slots
        };
        Self {
            class: bank.class,
            scale: fill(bank.scale.as_slice()),
            mask_map: TableMap::new(&bank.mask_thresholds),
            masks: fill(&bank.masks),
            element_map: TableMap::new(&bank.element_thresholds),
            elements: fill(&bank.elements),
        }
    }
}
