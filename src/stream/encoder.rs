//! The streaming encoder.

use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::stream::{EncoderOptions, Reference, Summary};

/// Compresses what is written to it.
pub struct Encoder<W: Write> {
    inner: W,
}

impl<W: Write> Encoder<W> {
    /// An encoder that writes a stream to `inner`, coded against `references`.
    ///
    /// # Errors
    /// Reading a reference failed, or the options contradict each other.
    pub fn new(inner: W, options: EncoderOptions, references: Vec<Reference>) -> Result<Self> {
        let _ = (options, references);
        Ok(Self { inner })
    }

    /// Writes what is left, and the End record.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(self) -> Result<(W, Summary)> {
        Err(Error::Usage(String::from("not yet")))
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
