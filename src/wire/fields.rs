//! Fixed-width little-endian fields of a structure in memory.

use byteorder::{LE, ReadBytesExt};

use crate::error::{Error, Result};

/// Reads fields from the front of a slice; a short slice is [`Error::Extent`] of the structure's name.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// Fields of the structure named `what`.
    #[must_use]
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    fn short<T>(&self, value: std::io::Result<T>) -> Result<T> {
        value.map_err(|_| Error::Extent(self.what))
    }

    /// The next u8.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn u8(&mut self) -> Result<u8> {
        let value = self.rest.read_u8();
        self.short(value)
    }

    /// The next u16.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn u16(&mut self) -> Result<u16> {
        let value = self.rest.read_u16::<LE>();
        self.short(value)
    }

    /// The next i16.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn i16(&mut self) -> Result<i16> {
        let value = self.rest.read_i16::<LE>();
        self.short(value)
    }

    /// The next u32.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn u32(&mut self) -> Result<u32> {
        let value = self.rest.read_u32::<LE>();
        self.short(value)
    }

    /// The next u64.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn u64(&mut self) -> Result<u64> {
        let value = self.rest.read_u64::<LE>();
        self.short(value)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// The slice has ended.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Error::Extent(self.what))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// What has not been read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that all has been read.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::Extent(self.what)) }
    }
}

/// Checks a CRC32 over `bytes`.
///
/// # Errors
/// [`Error::HeaderCrc`].
pub fn check_crc(what: &'static str, bytes: &[u8], expected: u32) -> Result<()> {
    let actual = crc32fast::hash(bytes);
    if actual == expected { Ok(()) } else { Err(Error::HeaderCrc { what, expected, actual }) }
}

/// Appends the CRC32 of all of `bytes` from `start`.
pub fn push_crc(bytes: &mut Vec<u8>, start: usize) {
    let crc = crc32fast::hash(bytes.get(start..).unwrap_or(&[]));
    bytes.extend_from_slice(&crc.to_le_bytes());
}
