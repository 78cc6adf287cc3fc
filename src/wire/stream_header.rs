//! `Stream_Header` (spec §3.1).

use crate::error::{Error, Result};
use crate::limits::{
    BASELINE_BANK_SLOTS, BASELINE_CHUNK_LENGTH, BASELINE_REFERENCES, DRAFT, EXTENDED, MAX_BANK_SLOTS, MAX_CHUNK_LENGTH,
    MAX_PROFILE_SLOTS, MAX_REFERENCES, VERSION, WITH_PAIRS,
};
use crate::wire::fields::{Fields, check_crc, push_crc};

/// First bytes of every stream.
pub const MAGIC: [u8; 6] = [0x89, b'u', b'l', b'p', b'\r', b'\n'];

/// §3.1: what a decoder must know before the first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHeader {
    /// Every reference range is its own output range.
    pub in_place: bool,
    /// Number of references.
    pub references: u8,
    /// Number of bank slots, 0…128.
    pub bank_slots: u8,
    /// Number of profile slots, 0…4096.
    pub profile_slots: u16,
    /// 0 Baseline, 1 extended, 2 with banks of pairs as well.
    pub feature_set: u8,
    /// Largest output of a chunk, 1…2^26 bytes.
    pub max_chunk_length: u32,
}

impl StreamHeader {
    /// Bytes on the wire.
    pub const SIZE: usize = 24;

    /// Parses and checks a header.
    ///
    /// # Errors
    /// ULP-HDR-01 … 07.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Result<Self> {
        let mut fields = Fields::new(bytes, "Stream_Header");
        if fields.bytes(6)? != MAGIC {
            return Err(Error::NotUlp);
        }
        let (version, draft) = (fields.u8()?, fields.u8()?);
        if version != VERSION || draft != DRAFT {
            return Err(Error::UnsupportedVersion { version, draft });
        }
        let mut crc = Fields::new(&bytes[20..], "Stream_Header");
        check_crc("Stream_Header", &bytes[..20], crc.u32()?)?;
        let flags = fields.u16()?;
        let header = Self {
            in_place: flags & 1 == 1,
            references: fields.u8()?,
            bank_slots: fields.u8()?,
            profile_slots: fields.u16()?,
            feature_set: fields.u8()?,
            max_chunk_length: {
                if fields.u8()? != 0 || flags & !1 != 0 {
                    return Err(Error::Reserved("Stream_Header"));
                }
                fields.u32()?
            },
        };
        let range = |field, value: u64, max: u64| {
            if value > max { Err(Error::Field { field, value }) } else { Ok(()) }
        };
        let (banks, references, chunk) = match header.feature_set {
            0 => (BASELINE_BANK_SLOTS, BASELINE_REFERENCES, BASELINE_CHUNK_LENGTH),
            EXTENDED | WITH_PAIRS => (MAX_BANK_SLOTS, MAX_REFERENCES, MAX_CHUNK_LENGTH),
            other => return Err(Error::Unknown { what: "feature set", value: other.into() }),
        };
        range("references", header.references.into(), references as u64)?;
        range("bank_slots", header.bank_slots.into(), banks as u64)?;
        range("profile_slots", header.profile_slots.into(), MAX_PROFILE_SLOTS as u64)?;
        range("max_chunk_length", header.max_chunk_length.into(), chunk.into())?;
        if header.max_chunk_length == 0 {
            return Err(Error::Field { field: "max_chunk_length", value: 0 });
        }
        if header.in_place && header.references != 1 {
            return Err(Error::Field { field: "references of an IN_PLACE stream", value: header.references.into() });
        }
        Ok(header)
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, DRAFT]);
        out.extend_from_slice(&u16::from(self.in_place).to_le_bytes());
        out.extend_from_slice(&[self.references, self.bank_slots]);
        out.extend_from_slice(&self.profile_slots.to_le_bytes());
        out.extend_from_slice(&[self.feature_set, 0]);
        out.extend_from_slice(&self.max_chunk_length.to_le_bytes());
        push_crc(out, start);
    }
}
