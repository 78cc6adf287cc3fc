//! End (spec §4).

use crate::error::{Error, Result};
use crate::wire::fields::{Fields, check_crc, push_crc};
use crate::wire::record_header::{RecordHeader, RecordType};

/// Last bytes of every stream.
pub const CLOSING_MAGIC: [u8; 4] = [0x8A, b'u', b'l', b'p'];

/// §4: what the whole stream was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of chunks.
    pub chunk_count: u64,
    /// Bytes of content.
    pub content_length: u64,
    /// CRC32 of the content.
    pub content_crc: u32,
    /// Bytes of the stream, this record included.
    pub encoded_length: u64,
    /// Offset in the stream of the last Index record, or 0.
    pub index_offset: u64,
}

impl End {
    /// Bytes of the body.
    pub const SIZE: usize = 44;

    /// Parses and checks a body.
    ///
    /// # Errors
    /// A wrong length, CRC or closing magic.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(body, "End");
        let end = Self {
            chunk_count: fields.u64()?,
            content_length: fields.u64()?,
            content_crc: fields.u32()?,
            encoded_length: fields.u64()?,
            index_offset: fields.u64()?,
        };
        let crc = fields.u32()?;
        check_crc("End", body.get(..36).unwrap_or(&[]), crc)?;
        let magic = fields.u32()?;
        if magic != u32::from_le_bytes(CLOSING_MAGIC) {
            return Err(Error::Field { field: "closing magic", value: magic.into() });
        }
        fields.finish()?;
        Ok(end)
    }

    /// Appends the record.
    #[allow(clippy::cast_possible_truncation)]
    pub fn write(&self, out: &mut Vec<u8>) {
        RecordHeader { kind: RecordType::End, flags: 0, count: 0, length: Self::SIZE as u32 }.write(out);
        let start = out.len();
        out.extend_from_slice(&self.chunk_count.to_le_bytes());
        out.extend_from_slice(&self.content_length.to_le_bytes());
        out.extend_from_slice(&self.content_crc.to_le_bytes());
        out.extend_from_slice(&self.encoded_length.to_le_bytes());
        out.extend_from_slice(&self.index_offset.to_le_bytes());
        push_crc(out, start);
        out.extend_from_slice(&CLOSING_MAGIC);
    }
}
