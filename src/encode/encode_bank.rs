//! Banks made ready for encoding.

use crate::core::bank::Bank;
use crate::core::thresholds::TableMap;
use crate::encode::coding::Coding;
use crate::kernel::encode::StepTable;

/// A bank made ready for encoding elements of one coding.
#[derive(Clone, Debug)]
pub struct EncodeBank {
    /// Scale symbols.
    pub scale: StepTable,
    /// Table of each λ of a mask group.
    pub mask_map: TableMap,
    /// Mask symbols.
    pub masks: StepTable,
    /// Table of each λ of an element.
    pub element_map: TableMap,
    /// Element symbols.
    pub elements: StepTable,
}

impl EncodeBank {
    /// Builds the encoders of a bank.
    #[must_use]
    pub fn new(bank: &Bank, coding: &Coding) -> Self {
        let none = [0; 256];
        Self {
            scale: StepTable::new(bank.scale.as_slice(), &none, None),
            mask_map: TableMap::new(&bank.mask_thresholds),
            masks: StepTable::new(&bank.masks, &none, None),
            element_map: TableMap::new(&bank.element_thresholds),
            elements: StepTable::new(&bank.elements, &coding.raw_bits(), coding.escape()),
        }
    }
}
