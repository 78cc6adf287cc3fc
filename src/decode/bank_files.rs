//! Bank files at hand for external Binds (spec §6.3, §12).

use std::sync::{Arc, LazyLock};

use crate::decode::slots::LazyBank;
use crate::error::{Error, Result};
use crate::wire::bank_file::BankFile;
use crate::wire::built_in;
use crate::wire::records::ExternalBank;

static BUILT_IN: LazyLock<Vec<Arc<LazyBank>>> =
    LazyLock::new(|| built_in::banks().iter().map(|b| Arc::new(LazyBank::new(b.bank.clone()))).collect());

/// A built-in bank (spec §12.2).
///
/// # Errors
/// ULP-SUB-04: there is none of this number.
pub fn built_in(number: u8) -> Result<Arc<LazyBank>> {
    let bank = BUILT_IN.get(usize::from(number)).cloned();
    bank.ok_or(Error::Unknown { what: "built-in bank", value: number.into() })
}

/// Banks by the digest of their file and their number, decoders built on first use.
#[derive(Clone, Debug, Default)]
pub struct BankFiles {
    files: Vec<([u8; 32], Vec<Arc<LazyBank>>)>,
}

impl BankFiles {
    /// The banks of these files.
    #[must_use]
    pub fn new(files: &[Arc<BankFile>]) -> Self {
        let banks = |file: &BankFile| file.banks().iter().map(|b| Arc::new(LazyBank::new(b.bank.clone()))).collect();
        Self { files: files.iter().map(|file| (*file.sha256(), banks(file))).collect() }
    }

    /// The bank that an external Bind names.
    ///
    /// # Errors
    /// ULP-BND-02, 03.
    pub fn bank(&self, external: &ExternalBank) -> Result<Arc<LazyBank>> {
        let file = self.files.iter().find(|(sha256, _)| *sha256 == external.sha256);
        let (_, banks) = file.ok_or(Error::BankMissing(external.sha256))?;
        let bank = banks.get(usize::from(external.number));
        bank.cloned().ok_or(Error::Field { field: "number of an external bank", value: external.number.into() })
    }
}
