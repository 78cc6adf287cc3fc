//! `Chunk_Header` and `Substream_Header` (spec §7, §8).

use crate::core::model::Model;
use crate::error::{Error, Result};
use crate::limits::{MAX_BLOCK, MAX_LANES, MIN_BLOCK, MIN_MASK_BLOCK};
use crate::wire::fields::{Fields, check_crc, push_crc};

/// Method of a substream (spec §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// The elements as they are.
    Raw = 0,
    /// One element, the value of all.
    Constant = 1,
    /// Every element equals its reference.
    Same = 2,
    /// Residuals against the reference.
    Residual = 3,
    /// Sets of changed elements and their residuals.
    Mask = 4,
    /// Entropy coded without reference.
    Plain = 5,
}

impl Method {
    /// All methods, by id.
    pub const ALL: [Self; 6] = [Self::Raw, Self::Constant, Self::Same, Self::Residual, Self::Mask, Self::Plain];

    /// The method with this id on the wire.
    ///
    /// # Errors
    /// ULP-SUB-01: there is none.
    pub fn from_id(id: u8) -> Result<Self> {
        Self::ALL.get(usize::from(id)).copied().ok_or(Error::Unknown { what: "method", value: id.into() })
    }

    /// The id on the wire.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The method that codes elements with this model.
    #[must_use]
    pub fn of(model: Model) -> Self {
        match model {
            Model::Residual => Self::Residual,
            Model::Mask => Self::Mask,
            Model::Plain => Self::Plain,
        }
    }

    /// Whether the method reads the reference.
    #[must_use]
    pub fn uses_reference(self) -> bool {
        matches!(self, Self::Same | Self::Residual | Self::Mask)
    }

    /// Whether the method is entropy coded with a bank.
    #[must_use]
    pub fn uses_bank(self) -> bool {
        matches!(self, Self::Residual | Self::Mask | Self::Plain)
    }

    /// The name on the command line and in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Constant => "constant",
            Self::Same => "same",
            Self::Residual => "residual",
            Self::Mask => "mask",
            Self::Plain => "plain",
        }
    }
}

/// §8: how the elements of one kind are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubstreamHeader {
    /// Method.
    pub method: Method,
    /// Bank slot, or 128 + n for built-in bank n.
    pub bank: u8,
    /// log2 of the block length, 0 for the whole substream.
    pub block: u8,
    /// Low bits dropped.
    pub shift: u8,
    /// log2 of the number of lanes.
    pub lanes: u8,
    /// Whether profiles are added to λ.
    pub profiles: bool,
    /// Scale before the first block.
    pub scale_base: i16,
    /// Bytes of the substream's data.
    pub length: u32,
}

impl SubstreamHeader {
    /// Bytes on the wire.
    pub const SIZE: usize = 12;

    /// A header of a method without bank.
    #[must_use]
    pub fn simple(method: Method, length: u32) -> Self {
        Self { method, bank: 0, block: 0, shift: 0, lanes: 0, profiles: false, scale_base: 0, length }
    }

    fn parse(fields: &mut Fields<'_>) -> Result<Self> {
        let method = Method::from_id(fields.u8()?)?;
        let (bank, block, shift, lanes, flags) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?);
        let header = Self {
            method,
            bank,
            block,
            shift,
            lanes,
            profiles: flags & 1 == 1,
            scale_base: fields.i16()?,
            length: fields.u32()?,
        };
        if flags & !1 != 0 {
            return Err(Error::Reserved("Substream_Header"));
        }
        if method.uses_bank() {
            let smallest = if method == Method::Mask { MIN_MASK_BLOCK } else { MIN_BLOCK };
            if block != 0 && !(smallest..=MAX_BLOCK).contains(&block) {
                return Err(Error::Field { field: "block", value: block.into() });
            }
            if lanes > MAX_LANES {
                return Err(Error::Field { field: "lanes", value: lanes.into() });
            }
        } else if header != Self::simple(method, header.length) {
            return Err(Error::Field { field: "unused field of a Substream_Header", value: method as u64 });
        }
        Ok(header)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[
            self.method as u8,
            self.bank,
            self.block,
            self.shift,
            self.lanes,
            u8::from(self.profiles),
        ]);
        out.extend_from_slice(&self.scale_base.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
    }
}

/// §7: what precedes a chunk's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Content bytes before this chunk.
    pub output_offset: u64,
    /// Content bytes of this chunk.
    pub output_length: u32,
    /// CRC32 of the chunk's content.
    pub content_crc: u32,
    /// CRC32 of the reference bytes used, or 0.
    pub reference_crc: u32,
    /// One header per kind that occurs, ascending.
    pub substreams: Vec<SubstreamHeader>,
}

impl ChunkHeader {
    /// Bytes on the wire with `count` substreams.
    #[must_use]
    pub fn size(count: u16) -> usize {
        24 + SubstreamHeader::SIZE * usize::from(count)
    }

    /// Parses the first `size(count)` bytes of a body; returns the header and the data after it.
    ///
    /// # Errors
    /// ULP-CHK-01, 05; ULP-SUB-01 … 03.
    pub fn parse(body: &[u8], count: u16) -> Result<(Self, &[u8])> {
        let (bytes, data) = body.split_at_checked(Self::size(count)).ok_or(Error::Extent("Chunk_Header"))?;
        let (checked, crc) = bytes.split_last_chunk().ok_or(Error::Extent("Chunk_Header"))?;
        check_crc("Chunk_Header", checked, u32::from_le_bytes(*crc))?;
        let mut fields = Fields::new(checked, "Chunk_Header");
        let mut header = Self {
            output_offset: fields.u64()?,
            output_length: fields.u32()?,
            content_crc: fields.u32()?,
            reference_crc: fields.u32()?,
            substreams: Vec::with_capacity(count.into()),
        };
        for _ in 0..count {
            header.substreams.push(SubstreamHeader::parse(&mut fields)?);
        }
        let sum: u64 = header.substreams.iter().map(|s| u64::from(s.length)).sum();
        if sum != data.len() as u64 {
            return Err(Error::Contradiction { field: "substream lengths", expected: sum, actual: data.len() as u64 });
        }
        Ok((header, data))
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.output_offset.to_le_bytes());
        out.extend_from_slice(&self.output_length.to_le_bytes());
        out.extend_from_slice(&self.content_crc.to_le_bytes());
        out.extend_from_slice(&self.reference_crc.to_le_bytes());
        for substream in &self.substreams {
            substream.write(out);
        }
        push_crc(out, start);
    }
}
