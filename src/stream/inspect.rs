//! What a stream holds, from its records: only chunks with the headers of containers are decoded, for the names of tensors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use crate::core::element::ElementType;
use crate::decode::bank_files::BankFiles;
use crate::decode::chunk::{self, Chunk};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::limits::{BUILT_IN_BANKS, DRAFT, VERSION};
use crate::stream::reader::{ReferenceInfo, StreamInfo};
use crate::stream::records::Records;
use crate::stream::reference::Reference;
use crate::stream::references::{References, reference_bytes};
use crate::stream::state::{Event, State, memory_needed};
use crate::stream::table::{Names, Row, Table};
use crate::wire::bank_file::BankFile;
use crate::wire::end::End;
use crate::wire::record_header::{RecordHeader, RecordType};
use crate::wire::records::{EXTERNAL, ExternalBank};
use crate::wire::stream_header::StreamHeader;

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
    /// What is known of each stream, as far as they are complete.
    pub parts: Vec<StreamInfo>,
    /// Tensors in the order of the content, then, by type, what belongs to none.
    pub tensors: Vec<Row>,
    /// What is known of their names.
    pub names: Names,
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
    inspect_with(input, Vec::new(), &[])
}

/// The same with references, by whose help headers of containers can be decoded that are coded against them, and which are compared with what the streams
/// tell of theirs (pipes are of no use here); and with the bank files that the streams may need: one that is not among them ends it as it ends decoding.
pub fn inspect_with(input: impl Read, references: Vec<Reference>, banks: &[Arc<BankFile>]) -> (Listing, Result<()>) {
    let listing = Listing { baseline: true, ..Listing::default() };
    let references = match References::open(references) {
        Ok(references) => references,
        Err(error) => return (listing, Err(error)),
    };
    let bank_files = BankFiles::new(banks);
    let table = Table::default();
    let mut walk = Walk { input: Records::new(input), listing, bank_files, references, usable: false, table };
    let result = walk.streams();
    let Walk { mut listing, table, .. } = walk;
    listing.names = table.names;
    listing.tensors = table.rows();
    (listing, result)
}

struct Walk<R> {
    input: Records<R>,
    bank_files: BankFiles,
    listing: Listing,
    references: References,
    /// Whether the references given are those of the stream.
    usable: bool,
    table: Table,
}

impl<R: Read> Walk<R> {
    fn streams(&mut self) -> Result<()> {
        while let Some(header) = self.input.stream_header()? {
            self.stream(header)?;
        }
        Ok(())
    }

    fn stream(&mut self, header: StreamHeader) -> Result<()> {
        let listing = &mut self.listing;
        listing.streams += 1;
        listing.version = (VERSION, DRAFT);
        listing.baseline &= header.feature_set == 0;
        listing.in_place |= header.in_place;
        listing.references = listing.references.max(header.references);
        listing.memory = listing.memory.max(memory_needed(&header));
        listing.coded_bytes = self.input.position;
        self.usable = self.references.given() > 0 && self.references.begin(header.references, true).is_ok();

        let mut state = State::new(header);
        state.bank_files = self.bank_files.clone();
        loop {
            let offset = self.input.position;
            let record = self.input.record_header().map_err(|error| error.at(None, offset))?;
            let chunk = (record.kind == RecordType::Chunk).then_some(state.chunks);
            let end = self.record(&mut state, &record).map_err(|error| error.at(chunk, offset))?;
            self.listing.coded_bytes = self.input.position;
            if let Some(end) = end {
                self.end(&state, &end).map_err(|error| error.at(None, offset))?;
                return Ok(());
            }
        }
    }

    fn record(&mut self, state: &mut State, record: &RecordHeader) -> Result<Option<End>> {
        state.check_length(record)?;
        if let RecordType::Index | RecordType::Ancillary(_) = record.kind {
            if record.kind == RecordType::Index {
                state.index_offset = self.input.position - RecordHeader::SIZE as u64 - self.input.start;
            }
            return self.input.skip(record.length).map(|()| None);
        }
        let body = self.input.body(record.length, Vec::new())?;
        if record.kind == RecordType::Chunk {
            let chunk = state.chunk(record, body)?;
            self.chunk(&chunk);
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
            (Event::Sampled(index), _) => {
                let told = state.references.get(index).and_then(|r| r.sampled);
                // A wrong reference must not spoil the listing, which tells of it.
                self.usable &= told.is_some_and(|told| self.references.check_sampled(index, told).is_ok());
            }
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

    fn chunk(&mut self, chunk: &Chunk) {
        let start = self.listing.content_bytes;
        let length = u64::from(chunk.header.output_length);
        self.listing.chunks += 1;
        self.listing.content_bytes += length;
        for substream in &chunk.header.substreams {
            *self.listing.methods.entry(substream.method.name()).or_default() += 1;
            if let Some(number) = substream.bank.checked_sub(BUILT_IN_BANKS) {
                *self.listing.built_in_banks.entry(number).or_default() += 1;
            }
        }
        let passed = self.table.pass(length);
        let mut content = Vec::new();
        if passed < length {
            match self.decode(chunk) {
                Ok(bytes) => content = bytes,
                Err(names) => self.table.names = names,
            }
        }
        let rest = usize::try_from(passed).ok().and_then(|passed| content.get(passed..));
        self.table.take(chunk, start, rest.unwrap_or(&[]));
    }

    fn decode(&self, chunk: &Chunk) -> std::result::Result<Vec<u8>, Names> {
        if !chunk.ranges.is_empty() && !self.usable {
            return Err(Names::NeedReference);
        }
        let randoms = self.references.randoms();
        let mut buffer = Vec::new();
        let reference = reference_bytes(&chunk.ranges, &randoms, &mut buffer).map_err(|_| Names::NeedReference)?;
        match chunk::decode_one(Kernel::active(), chunk, &reference) {
            Ok(content) => Ok(content),
            Err(Error::ReferenceMismatch { .. }) => Err(Names::NeedReference),
            Err(_) => Err(Names::Damaged),
        }
    }

    fn end(&mut self, state: &State, end: &End) -> Result<()> {
        state.check_end(end, self.input.position - self.input.start)?;
        let alone = self.listing.streams == 1;
        self.listing.sha256 = state.digest.filter(|_| alone);
        self.listing.content_crc = Some(end.content_crc).filter(|_| alone);
        self.listing.metadata.extend_from_slice(&state.metadata);
        let mut references = Vec::new();
        for known in &state.references {
            let given = self.references.has(known)?;
            references.push(ReferenceInfo { sampled: known.sampled, whole: known.whole, given });
        }
        let content = self.listing.content_bytes - end.content_length..self.listing.content_bytes;
        self.listing.parts.push(StreamInfo {
            coded: self.input.start..self.input.position,
            content,
            content_crc: end.content_crc,
            chunks: end.chunk_count,
            in_place: state.header.in_place,
            indexed: end.index_offset != 0,
            references,
            metadata: state.metadata.clone(),
        });
        Ok(())
    }
}
