//! The small records: Reference (spec §5), external Bind (§6.3), Digest (§6.5).

use crate::error::{Error, Result};
use crate::wire::fields::Fields;
use crate::wire::record_header::{RecordType, write_record};

/// Flag of a Reference record: the whole form.
pub const WHOLE: u8 = 1;
/// Flag of a Bind record: the bank is in a bank file.
pub const EXTERNAL: u8 = 1;

/// §5: what is known of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceIdentity {
    /// Bytes of the reference.
    pub length: u64,
    /// CRC32 of its samples, or of all of it.
    pub crc: u32,
}

impl ReferenceIdentity {
    /// Parses a body (without CRC).
    ///
    /// # Errors
    /// A wrong length.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(body, "Reference");
        let identity = Self { length: fields.u64()?, crc: fields.u32()? };
        fields.finish()?;
        Ok(identity)
    }

    /// Appends the record.
    pub fn write(&self, out: &mut Vec<u8>, index: u8, whole: bool) {
        let mut body = Vec::with_capacity(12);
        body.extend_from_slice(&self.length.to_le_bytes());
        body.extend_from_slice(&self.crc.to_le_bytes());
        write_record(out, RecordType::Reference, u8::from(whole), index.into(), &body);
    }
}

/// §6.3: a bank in a bank file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalBank {
    /// SHA-256 of the bank file.
    pub sha256: [u8; 32],
    /// Number of the bank in the file.
    pub number: u16,
}

impl ExternalBank {
    /// Parses a body (without CRC).
    ///
    /// # Errors
    /// A wrong length.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(body, "Bind");
        let sha256 = parse_sha256(&mut fields)?;
        let bank = Self { sha256, number: fields.u16()? };
        fields.finish()?;
        Ok(bank)
    }
}

/// The 32 bytes of a SHA-256.
///
/// # Errors
/// Fewer bytes are left.
pub fn parse_sha256(fields: &mut Fields<'_>) -> Result<[u8; 32]> {
    fields.bytes(32)?.first_chunk().copied().ok_or(Error::Extent("SHA-256"))
}

/// Parses a Digest body (without CRC).
///
/// # Errors
/// A wrong length.
pub fn parse_digest(body: &[u8]) -> Result<[u8; 32]> {
    let mut fields = Fields::new(body, "Digest");
    let sha256 = parse_sha256(&mut fields)?;
    fields.finish()?;
    Ok(sha256)
}
