//! Bit strings: first bit in the least significant bit of the first byte (spec §1.2).

use crate::error::{Error, Result};

/// Reads a bit string.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> BitReader<'a> {
    /// The bit string in `bytes`, part of the structure named `what`.
    #[must_use]
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// The next bit.
    ///
    /// # Errors
    /// The string has ended.
    pub fn bit(&mut self) -> Result<bool> {
        let byte = self.bytes.get(self.at / 8).ok_or(Error::Extent(self.what))?;
        let bit = byte >> (self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(bit)
    }

    /// The next `count` bits, low bits first; `count` is at most 32.
    ///
    /// # Errors
    /// The string has ended.
    pub fn bits(&mut self, count: u32) -> Result<u32> {
        let mut value = 0;
        for i in 0..count {
            value |= u32::from(self.bit()?) << i;
        }
        Ok(value)
    }

    /// Number of one bits before a zero bit, at most `limit`.
    ///
    /// # Errors
    /// The string has ended, or there are more.
    pub fn unary(&mut self, limit: u32) -> Result<u32> {
        let mut count = 0;
        while self.bit()? {
            count += 1;
            if count > limit {
                return Err(Error::Field { field: "unary code", value: count.into() });
            }
        }
        Ok(count)
    }

    /// Checks that only zero bits of the last byte are left.
    ///
    /// # Errors
    /// Padding bits are set, or bytes are left.
    pub fn finish(mut self) -> Result<()> {
        while !self.at.is_multiple_of(8) {
            if self.bit()? {
                return Err(Error::Extent(self.what));
            }
        }
        if self.at / 8 == self.bytes.len() { Ok(()) } else { Err(Error::Extent(self.what)) }
    }
}

/// Appends a bit string to bytes.
#[derive(Debug)]
pub struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    used: u32,
}

impl<'a> BitWriter<'a> {
    /// A bit string that begins at the end of `bytes`.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, used: 8 }
    }

    /// Appends one bit.
    pub fn bit(&mut self, bit: bool) {
        if self.used == 8 {
            self.bytes.push(0);
            self.used = 0;
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << self.used;
        }
        self.used += 1;
    }

    /// Appends the low `count` bits of a value, low bits first.
    pub fn bits(&mut self, value: u32, count: u32) {
        for i in 0..count {
            self.bit(value >> i & 1 == 1);
        }
    }

    /// Appends `count` one bits and a zero bit.
    pub fn unary(&mut self, count: u32) {
        for _ in 0..count {
            self.bit(true);
        }
        self.bit(false);
    }
}
