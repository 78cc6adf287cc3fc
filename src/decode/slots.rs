//! Banks and profiles in numbered slots (spec §6.2).

use std::sync::{Arc, OnceLock};

use crate::core::bank::{Bank, DecodeBank, TokenClass};
use crate::decode::bank_files;
use crate::error::{Error, Result};
use crate::limits::{BUILT_IN_BANKS, MAX_PROFILE_COLUMNS, WITH_PAIRS};
use crate::wire::stream_header::StreamHeader;

/// A bank whose decoders are built on first use.
#[derive(Debug)]
pub struct LazyBank {
    bank: Bank,
    built: OnceLock<DecodeBank>,
}

impl LazyBank {
    /// A bank not yet built.
    #[must_use]
    pub fn new(bank: Bank) -> Self {
        Self { bank, built: OnceLock::new() }
    }

    /// The bank as parsed.
    #[must_use]
    pub fn bank(&self) -> &Bank {
        &self.bank
    }

    /// Its decoders.
    #[must_use]
    pub fn decoders(&self) -> &DecodeBank {
        self.built.get_or_init(|| DecodeBank::new(&self.bank))
    }
}

/// The slots of a stream.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    banks: Vec<Option<Arc<LazyBank>>>,
    profiles: Vec<Option<Arc<[i8]>>>,
    /// Whether banks may be of pairs.
    pairs: bool,
}

impl Slots {
    /// The slots of a stream, empty.
    #[must_use]
    pub fn new(header: &StreamHeader) -> Self {
        Self {
            banks: vec![None; header.bank_slots.into()],
            profiles: vec![None; header.profile_slots.into()],
            pairs: header.feature_set >= WITH_PAIRS,
        }
    }

    /// Fills a bank slot.
    ///
    /// # Errors
    /// ULP-BND-01, ULP-BNK-05.
    pub fn set_bank(&mut self, slot: u16, bank: Bank) -> Result<()> {
        self.share_bank(slot, Arc::new(LazyBank::new(bank)))
    }

    /// Fills a bank slot with a bank that others may use too.
    ///
    /// # Errors
    /// ULP-BND-01, ULP-BNK-05.
    pub fn share_bank(&mut self, slot: u16, bank: Arc<LazyBank>) -> Result<()> {
        if !self.pairs && matches!(bank.bank().class, TokenClass::Pairs(_)) {
            return Err(Error::Order("a bank of pairs, which the stream's feature set does not have"));
        }
        let place = self.banks.get_mut(usize::from(slot));
        *place.ok_or(Error::Field { field: "bank slot", value: slot.into() })? = Some(bank);
        Ok(())
    }

    /// Empties a bank slot.
    pub fn clear_bank(&mut self, slot: u8) {
        if let Some(place) = self.banks.get_mut(usize::from(slot)) {
            *place = None;
        }
    }

    /// Empties a profile slot.
    pub fn clear_profile(&mut self, slot: u16) {
        if let Some(place) = self.profiles.get_mut(usize::from(slot)) {
            *place = None;
        }
    }

    /// Fills a profile slot.
    ///
    /// # Errors
    /// ULP-PRF-01, 02.
    pub fn set_profile(&mut self, slot: u16, values: Vec<i8>) -> Result<()> {
        let place = self.profiles.get_mut(usize::from(slot));
        *place.ok_or(Error::Field { field: "profile slot", value: slot.into() })? = Some(values.into());
        let columns: usize = self.profiles.iter().flatten().map(|p| p.len()).sum();
        if columns > MAX_PROFILE_COLUMNS {
            return Err(Error::Field { field: "columns of all profiles", value: columns as u64 });
        }
        Ok(())
    }

    /// The bank that a Substream_Header names.
    ///
    /// # Errors
    /// ULP-SUB-04.
    pub fn bank(&self, bank: u8) -> Result<Arc<LazyBank>> {
        if let Some(number) = bank.checked_sub(BUILT_IN_BANKS) {
            return bank_files::built_in(number);
        }
        let slot = self.banks.get(usize::from(bank)).and_then(Option::as_ref);
        slot.cloned().ok_or(Error::Field { field: "bank", value: bank.into() })
    }

    /// The profile in a slot.
    ///
    /// # Errors
    /// ULP-SUB-07.
    pub fn profile(&self, slot: u16) -> Result<Arc<[i8]>> {
        let slot_content = self.profiles.get(usize::from(slot)).and_then(Option::as_ref);
        slot_content.cloned().ok_or(Error::Field { field: "profile", value: slot.into() })
    }
}
