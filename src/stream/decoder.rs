//! The streaming decoder.

use std::io::Read;

use crate::error::{Error, Result};
use crate::stream::{DecoderOptions, Reference, Summary};

/// Decompresses concatenated streams, chunk by verified chunk.
pub struct Decoder<R: Read> {
    inner: R,
}

impl<R: Read> Decoder<R> {
    /// A decoder that reads streams from `inner`.
    pub fn new(inner: R, options: DecoderOptions, references: Vec<Reference>) -> Self {
        let _ = (options, references);
        Self { inner }
    }

    /// Reads and checks the first Stream_Header, so that a caller can open its output after the first good header.
    ///
    /// # Errors
    /// The input is not a ulp stream, or one that cannot be read.
    pub fn read_header(&mut self) -> Result<()> {
        let _ = &self.inner;
        Err(Error::Usage(String::from("not yet")))
    }

    /// The next verified chunk's content, or `None` at the good end of the input.
    ///
    /// # Errors
    /// Any violated rule; all content before it has been returned.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        Err(Error::Usage(String::from("not yet")))
    }

    /// What has been decoded so far.
    pub fn summary(&self) -> Summary {
        Summary::default()
    }
}
