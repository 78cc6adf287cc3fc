//! What a stream holds, from its records alone: nothing is decoded, no reference is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

use crate::core::element::ElementType;
use crate::decode::bank_files::BankFiles;
use crate::error::{Error, Result};
use crate::limits::{BUILT_IN_BANKS, DRAFT, VERSION};
use crate::stream::state::{Event, State};
use crate::wire::bank_file::BankFile;
use crate::wire::end::End;
use crate::wire::record_header::{RecordHeader, RecordType};
use crate::wire::records::{EXTERNAL, ExternalBank};
use crate::wire::stream_header::{MAGIC, StreamHeader};

/// What [`inspect`] finds in concatenated streams, taken together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Streams whose header is good.
    pub streams: u64,
    /// Version byte and draft byte.
    pub version: (u8, u8),
    /// Whether every decoder must be able to read all of it (spec §13).
    pub baseline: bool,
    /// Whether it may be decoded in the place of its reference.
    pub in_place: bool,
    /// Most references of any stream.
    pub references: u8,
    /// Chunks.
    pub chunks: u64,
    /// Bytes of content in these chunks.
    pub content_bytes: u64,
    /// Bytes of stream, up to the last good record.
    pub coded_bytes: u64,
    /// Bytes of content by element type, as far as layouts tell.
    pub elements: BTreeMap<ElementType, u64>,
    /// Substreams by name of the method.
    pub methods: BTreeMap<&'static str, u64>,
    /// Banks bound.
    pub banks: u64,
    /// SHA-256 of the bank files that decoding needs.
    pub bank_files: BTreeSet<[u8; 32]>,
    /// Substreams by number of the built-in bank they use.
    pub built_in_banks: BTreeMap<u8, u64>,
    /// Bytes of memory that one decoding thread needs, about.
    pub memory: u64,
    /// Keys and values of all Metadata records.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// SHA-256 of the content, where the only stream has it.
    pub sha256: Option<[u8; 32]>,
    /// CRC32 of the content, where there is one stream.
    pub content_crc: Option<u32>,
}

/// Reads all records of concatenated streams. What has been found is returned next to the error that ended it, if any: the
/// structure and its checksums are good where there is none; only decoding can tell whether the content is.
pub fn inspect(input: impl Read) -> (Listing, Result<()>) {
    inspect_with_banks(input, &[])
}

/// [`inspect`] with the bank files that the streams may need: one that is not among them ends it as it ends decoding.
pub fn inspect_with_banks(input: impl Read, banks: &[Arc<BankFile>]) -> (Listing, Result<()>) {
    let listing = Listing { baseline: true, ..Listing::default() };
    let mut walk = Walk { input, position: 0, start: 0, bank_files: BankFiles::new(banks), listing };
    let result = walk.streams();
    (walk.listing, result)
}

struct Walk<R> {
    input: R,
    /// Bytes read.
    position: u64,
    /// Where the stream begins.
    start: u64,
    bank_files: BankFiles,
    listing: Listing,
}

impl<R: Read> Walk<R> {
    fn streams(&mut self) -> Result<()> {
        loop {
            self.start = self.position;
            match self.stream_header().map_err(|error| error.at(None, self.start))? {
                Some(header) => self.stream(header)?,
                None => return Ok(()),
            }
        }
    }

    /// The next stream's header, or `None` at the good end of the input (ULP-STR-01).
    fn stream_header(&mut self) -> Result<Option<StreamHeader>> {
        let first = self.listing.streams == 0;
        let mut bytes = [0; StreamHeader::SIZE];
        let got = self.read_up_to(&mut bytes)?;
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
        let mut buffer = [0; 4096];
        loop {
            let got = self.read_up_to(&mut buffer)?;
            if buffer.iter().take(got).any(|byte| *byte != 0) {
                return Err(Error::TrailingBytes);
            }
            if got < buffer.len() {
                return Ok(());
            }
        }
    }

    fn stream(&mut self, header: StreamHeader) -> Result<()> {
        let listing = &mut self.listing;
        listing.streams += 1;
        listing.version = (VERSION, DRAFT);
        listing.baseline &= header.feature_set == 0;
        listing.in_place |= header.in_place;
        listing.references = listing.references.max(header.references);
        // Output, coded bytes and reference of a chunk, and its banks.
        let memory = u64::from(header.max_chunk_length) * 3 + u64::from(header.bank_slots.min(16)) * (512 << 10);
        listing.memory = listing.memory.max(memory);
        listing.coded_bytes = self.position;

        let mut state = State::new(header);
        state.bank_files = self.bank_files.clone();
        loop {
            let offset = self.position;
            let record = self.record_header().map_err(|error| error.at(None, offset))?;
            let chunk = (record.kind == RecordType::Chunk).then_some(state.chunks);
            let end = self.record(&mut state, &record).map_err(|error| error.at(chunk, offset))?;
            self.listing.coded_bytes = self.position;
            if let Some(end) = end {
                self.check(&state, &end).map_err(|error| error.at(None, offset))?;
                return Ok(());
            }
        }
    }

    fn record_header(&mut self) -> Result<RecordHeader> {
        let mut bytes = [0; RecordHeader::SIZE];
        if self.read_up_to(&mut bytes)? < bytes.len() {
            return Err(Error::Truncated);
        }
        RecordHeader::parse(&bytes)
    }

    fn record(&mut self, state: &mut State, record: &RecordHeader) -> Result<Option<End>> {
        state.check_length(record)?;
        if let RecordType::Index | RecordType::Ancillary(_) = record.kind {
            if record.kind == RecordType::Index {
                state.index_offset = self.position - RecordHeader::SIZE as u64 - self.start;
            }
            return self.skip(record.length).map(|()| None);
        }
        let body = self.body(record.length)?;
        if record.kind == RecordType::Chunk {
            let chunk = state.chunk(record, body)?;
            self.listing.chunks += 1;
            self.listing.content_bytes += u64::from(chunk.header.output_length);
            for substream in &chunk.header.substreams {
                *self.listing.methods.entry(substream.method.name()).or_default() += 1;
                if let Some(number) = substream.bank.checked_sub(BUILT_IN_BANKS) {
                    *self.listing.built_in_banks.entry(number).or_default() += 1;
                }
            }
            return Ok(None);
        }
        if let (RecordType::Bind, Some(payload)) = (record.kind, body.split_last_chunk::<4>())
            && record.flags & EXTERNAL != 0
            && let Ok(bank) = ExternalBank::parse(payload.0)
        {
            self.listing.bank_files.insert(bank.sha256);
        }
        let event = state.record(record, &body)?;
        match (event, record.kind) {
            (Event::End(end), _) => return Ok(Some(end)),
            (_, RecordType::Layout) => {
                for span in &state.layout.spans {
                    let bytes = self.listing.elements.entry(state.layout.kind_of(span).element).or_default();
                    *bytes += state.layout.span_bytes(span);
                }
            }
            (_, RecordType::Bind) => self.listing.banks += 1,
            _ => {}
        }
        Ok(None)
    }

    /// ULP-END-01, but for what only decoding can tell.
    fn check(&mut self, state: &State, end: &End) -> Result<()> {
        for (field, expected, actual) in [
            ("chunk_count", end.chunk_count, state.chunks),
            ("content_length", end.content_length, state.offset),
            ("encoded_length", end.encoded_length, self.position - self.start),
            ("index_offset", end.index_offset, state.index_offset),
        ] {
            if expected != actual {
                return Err(Error::Contradiction { field, expected, actual });
            }
        }
        let alone = self.listing.streams == 1;
        self.listing.sha256 = state.digest.filter(|_| alone);
        self.listing.content_crc = Some(end.content_crc).filter(|_| alone);
        self.listing.metadata.extend_from_slice(&state.metadata);
        Ok(())
    }

    /// A body, allocating no more than what arrives.
    fn body(&mut self, length: u32) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        let got = (&mut self.input).take(length.into()).read_to_end(&mut body)?;
        self.position += got as u64;
        if got as u64 == u64::from(length) { Ok(body) } else { Err(Error::Truncated) }
    }

    /// Passes a body that ends with its CRC (ULP-REC-02).
    fn skip(&mut self, length: u32) -> Result<()> {
        let mut left = u64::from(length.checked_sub(4).ok_or(Error::Extent("record"))?);
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = [0; 4096];
        while left > 0 {
            let part = left.min(buffer.len() as u64);
            let bytes = buffer.get_mut(..part as usize).unwrap_or_default();
            if (self.read_up_to(bytes)? as u64) < part {
                return Err(Error::Truncated);
            }
            crc.update(bytes);
            left -= part;
        }
        let mut expected = [0; 4];
        if self.read_up_to(&mut expected)? < expected.len() {
            return Err(Error::Truncated);
        }
        let (expected, actual) = (u32::from_le_bytes(expected), crc.finalize());
        if expected == actual { Ok(()) } else { Err(Error::HeaderCrc { what: "record", expected, actual }) }
    }

    /// Fills `buffer` as far as the input goes.
    fn read_up_to(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
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
