//! The built-in banks: constants of the format (spec §12.2).

use std::sync::LazyLock;

use crate::wire::bank_file::{BankFile, FileBank};

/// The file, as published.
static FILE: &[u8] = include_bytes!("../../spec/banks/builtin.ulpbank");

static BANKS: LazyLock<Option<BankFile>> = LazyLock::new(|| BankFile::parse(FILE).ok());

/// The built-in banks, by number.
#[must_use]
pub fn banks() -> &'static [FileBank] {
    BANKS.as_ref().map_or(&[], BankFile::banks)
}

/// SHA-256 of the published file.
#[must_use]
pub fn sha256() -> Option<&'static [u8; 32]> {
    BANKS.as_ref().map(BankFile::sha256)
}
