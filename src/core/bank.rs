//! Banks: what substreams share (spec §9).

use crate::core::element::ElementType;
use crate::core::pairs::PairForm;
use crate::core::plain::PlainForm;
use crate::core::table::{DecodeEntry, FREQUENCY_BITS, FrequencyTable, TOTAL, fill_decode_table};
use crate::core::thresholds::{TableMap, Thresholds};
use crate::core::token::{ESC, LengthTokens};

/// What the symbols of a bank's element tables mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenClass {
    /// Class 0: a token is a byte.
    Byte,
    /// Class 1: length tokens with two refinement bits, and ESC.
    Length2,
    /// Class 2: length tokens with one refinement bit.
    Length1,
    /// Class 3: relative exponents.
    Plain(PlainForm),
    /// Class 4: pairs of relative exponents.
    Pairs(PairForm),
}

impl TokenClass {
    /// The class for residuals, and for integers without reference, of `element`.
    #[must_use]
    pub fn of_lengths(element: ElementType) -> Self {
        match LengthTokens::new(element.width(), 0).refinement {
            None => Self::Byte,
            Some(1) => Self::Length1,
            Some(_) => Self::Length2,
        }
    }

    /// Elements of a token.
    #[must_use]
    pub fn elements(self) -> usize {
        if matches!(self, Self::Pairs(_)) { 2 } else { 1 }
    }

    /// Number of symbols.
    #[must_use]
    pub fn alphabet(self) -> usize {
        match self {
            Self::Byte | Self::Length1 => 256,
            Self::Length2 => usize::from(ESC) + 2,
            Self::Plain(form) => form.alphabet(),
            Self::Pairs(form) => form.alphabet(),
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

/// Tables of a group (masks, elements) made ready for decoding, with the table of each λ.
///
/// Invariant, on which kernels rely: there is at least one table, `entries` holds 4096 entries for each, and `map` and `offsets` name only tables that
/// are there, the first 0. [`DecodeGroup::new`] sees to it, nothing changes a group later.
#[derive(Clone, Debug)]
pub struct DecodeGroup {
    base: i32,
    map: [u8; 256],
    offsets: Box<[u32; 256]>,
    entries: Vec<DecodeEntry>,
}

impl DecodeGroup {
    /// Builds the decoders of `tables`, which `thresholds` choose among. Without tables it holds one that gives only symbol 0.
    #[must_use]
    pub fn new(thresholds: &Thresholds, tables: &[FrequencyTable]) -> Self {
        let total = TOTAL as usize;
        let mut entries = vec![0; tables.len().max(1) * total];
        for (table, slots) in tables.iter().zip(entries.chunks_mut(total)) {
            fill_decode_table(table, slots);
        }
        #[allow(clippy::cast_possible_truncation)]
        let last = (tables.len().max(1) - 1).min(255) as u8;
        let mut map = TableMap::new(thresholds).bytes().map(|table| table.min(last));
        map[0] = 0;
        // λ ends at 32767: what lies beyond is as the last.
        let base = i32::from(thresholds.base);
        let top = usize::try_from(i32::from(i16::MAX) - base).unwrap_or(0);
        if let Some((&mut end, beyond)) = map.get_mut(top..).and_then(<[u8]>::split_first_mut) {
            beyond.fill(end);
        }
        let offsets = Box::new(map.map(|table| u32::from(table) << FREQUENCY_BITS));
        Self { base, map, offsets, entries }
    }

    /// T_0, the λ of the map's first entry.
    #[must_use]
    pub fn base(&self) -> i32 {
        self.base
    }

    /// The table of each λ − base in 0…255; λ below take the first, above the last. Not clamping λ to 16 bits leads to the same table.
    #[must_use]
    pub fn map(&self) -> &[u8; 256] {
        &self.map
    }

    /// Index in [`Self::entries`] of the first entry of each table in the map.
    #[must_use]
    pub fn offsets(&self) -> &[u32; 256] {
        &self.offsets
    }

    /// 4096 entries a table.
    #[must_use]
    pub fn entries(&self) -> &[DecodeEntry] {
        &self.entries
    }

    /// λ − base in 0…255, which leads to the table that serves λ.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    pub fn index(&self, lambda: i32) -> u8 {
        (lambda - self.base).clamp(0, 255) as u8
    }
}

/// A bank made ready for decoding: 16 KiB a table.
#[derive(Clone, Debug)]
pub struct DecodeBank {
    /// Meaning of the element symbols.
    pub class: TokenClass,
    /// The table of the scale symbols.
    pub scale: DecodeGroup,
    /// Mask tables.
    pub masks: DecodeGroup,
    /// Element tables.
    pub elements: DecodeGroup,
}

impl DecodeBank {
    /// Builds the decoders of a bank.
    #[must_use]
    pub fn new(bank: &Bank) -> Self {
        Self {
            class: bank.class,
            scale: DecodeGroup::new(&Thresholds::default(), bank.scale.as_slice()),
            masks: DecodeGroup::new(&bank.mask_thresholds, &bank.masks),
            elements: DecodeGroup::new(&bank.element_thresholds, &bank.elements),
        }
    }
}
