//! `Record_Header` (spec §3.2).

use crate::error::{Error, Result};
use crate::wire::fields::{Fields, check_crc, push_crc};

/// Type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordType {
    /// §6.1.
    Layout,
    /// §5.
    Reference,
    /// §6.3.
    Bind,
    /// §6.4.
    Profile,
    /// §7.
    Chunk,
    /// §4.
    End,
    /// §6.6.
    Index,
    /// §6.5.
    Metadata,
    /// §6.5.
    Digest,
    /// An ancillary record of another type.
    Ancillary(u8),
}

impl RecordType {
    fn from_id(id: u8) -> Result<Self> {
        Ok(match id {
            1 => Self::Layout,
            2 => Self::Reference,
            3 => Self::Bind,
            4 => Self::Profile,
            5 => Self::Chunk,
            6 => Self::End,
            0x81 => Self::Index,
            0x82 => Self::Metadata,
            0x83 => Self::Digest,
            0x80.. => Self::Ancillary(id),
            _ => return Err(Error::Unknown { what: "critical record type", value: id.into() }),
        })
    }

    /// The type byte.
    #[must_use]
    pub fn id(self) -> u8 {
        match self {
            Self::Layout => 1,
            Self::Reference => 2,
            Self::Bind => 3,
            Self::Profile => 4,
            Self::Chunk => 5,
            Self::End => 6,
            Self::Index => 0x81,
            Self::Metadata => 0x82,
            Self::Digest => 0x83,
            Self::Ancillary(id) => id,
        }
    }

    /// Flag bits that have a meaning.
    fn flags(self) -> u8 {
        match self {
            Self::Reference | Self::Bind => 1,
            Self::Ancillary(_) | Self::Index => 0xFF,
            _ => 0,
        }
    }

    /// Whether `count` has a meaning.
    fn counts(self) -> bool {
        !matches!(self, Self::End | Self::Digest)
    }
}

/// §3.2: what precedes every record's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Type.
    pub kind: RecordType,
    /// Flags, by type.
    pub flags: u8,
    /// Count, by type.
    pub count: u16,
    /// Bytes of the body.
    pub length: u32,
}

impl RecordHeader {
    /// Bytes on the wire.
    pub const SIZE: usize = 12;

    /// Parses and checks a header.
    ///
    /// # Errors
    /// ULP-REC-01, 02, 04.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Result<Self> {
        let mut crc = Fields::new(&bytes[8..], "Record_Header");
        check_crc("Record_Header", &bytes[..8], crc.u32()?)?;
        let mut fields = Fields::new(bytes, "Record_Header");
        let header = Self {
            kind: RecordType::from_id(fields.u8()?)?,
            flags: fields.u8()?,
            count: fields.u16()?,
            length: fields.u32()?,
        };
        if header.flags & !header.kind.flags() != 0 {
            return Err(Error::Reserved("Record_Header"));
        }
        if header.count != 0 && !header.kind.counts() {
            return Err(Error::Field { field: "count", value: header.count.into() });
        }
        Ok(header)
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[self.kind.id(), self.flags]);
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        push_crc(out, start);
    }
}

/// Appends a record whose body ends with its CRC (all but Chunk and End). `body` is below 4 GiB.
#[allow(clippy::cast_possible_truncation)]
pub fn write_record(out: &mut Vec<u8>, kind: RecordType, flags: u8, count: u16, body: &[u8]) {
    RecordHeader { kind, flags, count, length: body.len() as u32 + 4 }.write(out);
    let start = out.len();
    out.extend_from_slice(body);
    push_crc(out, start);
}

/// The body before its CRC, checked (ULP-REC-03).
///
/// # Errors
/// Too short, or the CRC does not match.
pub fn checked_body<'a>(what: &'static str, body: &'a [u8]) -> Result<&'a [u8]> {
    let (body, crc) = body.split_last_chunk().ok_or(Error::Extent(what))?;
    check_crc(what, body, u32::from_le_bytes(*crc))?;
    Ok(body)
}
