//! The records of concatenated streams, read forward (spec §3).

use std::io::{self, ErrorKind, Read};

use crate::error::{Error, Result};
use crate::wire::record_header::RecordHeader;
use crate::wire::stream_header::{MAGIC, StreamHeader};

/// Bytes reserved before any of a body has arrived, at most.
const RESERVED: usize = 1 << 20;
/// Bytes looked at together where none are kept.
const PASSED: usize = 1 << 16;

/// An input, and how far it has been read.
pub(crate) struct Records<R> {
    input: R,
    /// Bytes read.
    pub(crate) position: u64,
    /// Where the stream that is being read begins.
    pub(crate) start: u64,
    /// Streams whose header was good.
    pub(crate) streams: u64,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, position: 0, start: 0, streams: 0 }
    }

    /// The next stream's header, or `None` at the good end of the input (ULP-STR-01).
    pub(crate) fn stream_header(&mut self) -> Result<Option<StreamHeader>> {
        self.start = self.position;
        let found = self.next_stream().map_err(|error| error.at(None, self.start))?;
        self.streams += u64::from(found.is_some());
        Ok(found)
    }

    fn next_stream(&mut self) -> Result<Option<StreamHeader>> {
        let first = self.streams == 0;
        let mut bytes = [0; StreamHeader::SIZE];
        let got = self.fill(&mut bytes)?;
        let read = bytes.get(..got).unwrap_or_default();
        if !first && read.iter().all(|byte| *byte == 0) {
            return self.zeros().map(|()| None);
        }
        let magic = read.get(..MAGIC.len()).unwrap_or(read);
        if !MAGIC.starts_with(magic) {
            return Err(if first { Error::NotUlp } else { Error::TrailingBytes });
        }
        if got < bytes.len() {
            return Err(Error::Truncated);
        }
        StreamHeader::parse(&bytes).map(Some)
    }

    fn zeros(&mut self) -> Result<()> {
        let mut buffer = vec![0; PASSED];
        loop {
            let got = self.fill(&mut buffer)?;
            if buffer.iter().take(got).any(|byte| *byte != 0) {
                return Err(Error::TrailingBytes);
            }
            if got < buffer.len() {
                return Ok(());
            }
        }
    }

    /// The header of the next record.
    pub(crate) fn record_header(&mut self) -> Result<RecordHeader> {
        let mut bytes = [0; RecordHeader::SIZE];
        if self.fill(&mut bytes)? < bytes.len() {
            return Err(Error::Truncated);
        }
        RecordHeader::parse(&bytes)
    }

    /// A body, in the memory of `buffer`; allocates no more than what arrives.
    pub(crate) fn body(&mut self, length: u32, mut buffer: Vec<u8>) -> Result<Vec<u8>> {
        buffer.clear();
        buffer.reserve((length as usize).min(RESERVED));
        let got = (&mut self.input).take(length.into()).read_to_end(&mut buffer)?;
        self.position += got as u64;
        if got as u64 == u64::from(length) { Ok(buffer) } else { Err(Error::Truncated) }
    }

    /// Passes over a body that ends with its CRC, checked (ULP-REC-02), without holding it.
    pub(crate) fn skip(&mut self, length: u32) -> Result<()> {
        let mut left = length.checked_sub(4).ok_or(Error::Extent("record"))? as usize;
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; left.min(PASSED)];
        while left > 0 {
            let part = left.min(buffer.len());
            let bytes = buffer.get_mut(..part).unwrap_or_default();
            if self.fill(bytes)? < part {
                return Err(Error::Truncated);
            }
            crc.update(bytes);
            left -= part;
        }
        let mut expected = [0; 4];
        if self.fill(&mut expected)? < expected.len() {
            return Err(Error::Truncated);
        }
        let (expected, actual) = (u32::from_le_bytes(expected), crc.finalize());
        if expected == actual { Ok(()) } else { Err(Error::HeaderCrc { what: "record", expected, actual }) }
    }

    /// Fills `buffer` as far as the input goes.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while let Some(rest) = buffer.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.position += got as u64;
        Ok(got)
    }
}
