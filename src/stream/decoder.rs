//! The streaming decoder: records in, verified chunks out (spec §3).

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::decode::bank_files::BankFiles;
use crate::decode::chunk::{self, Chunk, Work};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::stream::buffers::Buffers;
use crate::stream::options::{Damage, DecoderOptions, Summary};
use crate::stream::pool::Pool;
use crate::stream::records::Records;
use crate::stream::reference::{RandomAccess, Reference, Source};
use crate::stream::references::{References, reference_bytes};
use crate::stream::state::{Event, State, check_memory};
use crate::wire::chunk_header::ChunkHeader;
use crate::wire::end::End;
use crate::wire::record_header::{RecordHeader, RecordType};

/// Chunks decoded at a time for each thread.
const BATCH: usize = 2;
/// Zeros released at a time for lost chunks.
const GAP_PIECE: u64 = 1 << 20;
/// Coded and reference bytes of the chunks decoded at a time, about.
const BATCH_BYTES: u64 = 48 << 20;

/// Decompresses concatenated streams, chunk by verified chunk.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{Decoder, DecoderOptions, EncoderOptions, Reference};
/// let prev = vec![1u8; 100_000];
/// let next = vec![2u8; 100_000];
/// let reference = || vec![Reference::Bytes(prev.clone().into())];
/// let coded = ulpack::compress(&next, EncoderOptions::default(), reference())?;
/// // A file, a socket, anything that is read forward; a decoder is also a `Read`.
/// let mut decoder = Decoder::new(coded.as_slice(), DecoderOptions::default(), reference());
/// let mut content = Vec::new();
/// while let Some(verified) = decoder.next_chunk()? {
///     content.extend_from_slice(verified);
/// }
/// assert_eq!(content, next);
/// # Ok(()) }
/// ```
pub struct Decoder<R: Read> {
    input: Records<R>,
    options: DecoderOptions,
    given: Option<Vec<Reference>>,
    references: References,
    pool: Option<Arc<Pool>>,
    /// Coded and reference bytes of the chunks decoded at a time, about.
    batch_bytes: u64,
    bank_files: BankFiles,
    bodies: Buffers,
    reads: Buffers,
    contents: Buffers,
    state: Option<State>,
    /// Content bytes of lost chunks not yet made up for (salvage only).
    gap: u64,
    /// The chunk behind those.
    stashed: Option<Job>,
    /// Decoded content not yet released.
    ready: VecDeque<Vec<u8>>,
    current: Vec<u8>,
    taken: usize,
    /// What comes after the ready chunks.
    pending: Option<Result<Event>>,
    ended: bool,
    content_crc: crc32fast::Hasher,
    digest: Option<Sha256>,
    summary: Summary,
}

/// A chunk to be decoded, and where its record begins.
struct Job {
    chunk: Chunk,
    number: u64,
    offset: u64,
    output_offset: u64,
    /// Reference bytes, where they had to be read in order.
    reference: Option<Vec<u8>>,
}

impl<R: Read> Decoder<R> {
    /// A decoder that reads streams from `input`; `references` in the order of the encoder.
    pub fn new(input: R, options: DecoderOptions, references: Vec<Reference>) -> Self {
        Self {
            bank_files: BankFiles::new(&options.banks),
            input: Records::new(input),
            options,
            given: Some(references),
            references: References::default(),
            pool: None,
            batch_bytes: BATCH_BYTES,
            bodies: Buffers::default(),
            reads: Buffers::default(),
            contents: Buffers::default(),
            state: None,
            gap: 0,
            stashed: None,
            ready: VecDeque::new(),
            current: Vec::new(),
            taken: 0,
            pending: None,
            ended: false,
            content_crc: crc32fast::Hasher::new(),
            digest: None,
            summary: Summary::default(),
        }
    }

    /// Works on these threads, on so many bytes at a time.
    pub(crate) fn share(&mut self, pool: Arc<Pool>, batch_bytes: u64) {
        self.pool = Some(pool);
        self.batch_bytes = batch_bytes;
    }

    /// Reads up to the first chunks, which tells whether the references are the right ones.
    pub(crate) fn prime(&mut self) -> Result<()> {
        self.read_header()?;
        if self.ready.is_empty() && self.pending.is_none() && !self.ended {
            self.fill(&mut []);
        }
        match self.pending.take() {
            Some(Err(error)) if self.ready.is_empty() => {
                self.ended = true;
                Err(error)
            }
            other => {
                self.pending = other;
                Ok(())
            }
        }
    }

    /// Reads and checks the first `Stream_Header`, so that a caller can open its output after the first good header.
    ///
    /// # Errors
    /// The input is not a ulp stream, or one that cannot be read.
    pub fn read_header(&mut self) -> Result<()> {
        if self.state.is_none() && !self.ended {
            self.start_stream()?;
        }
        Ok(())
    }

    /// The next verified chunk's content, or `None` at the good end of the input.
    ///
    /// # Errors
    /// Any violated rule; all content before it has been returned.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                self.contents.give(std::mem::replace(&mut self.current, bytes));
                self.taken = self.current.len();
                return Ok(Some(&self.current));
            }
            if self.gap > 0 {
                self.fill_gap();
                continue;
            }
            if let Some(event) = self.pending.take() {
                match event {
                    Ok(Event::End(end)) => self.end_stream(&end)?,
                    Ok(_) => {}
                    Err(error) => {
                        self.ended = true;
                        return Err(error);
                    }
                }
                continue;
            }
            if self.ended {
                return Ok(None);
            }
            if self.state.is_none() {
                self.start_stream()?;
                continue;
            }
            self.fill(&mut []);
        }
    }

    /// The next chunk as [`next_chunk`](Self::next_chunk) has it, to keep: for callers that pass it on to another thread. `spent`, whatever it holds, is memory
    /// for chunks to come; what the last call gave, once it is no longer needed.
    ///
    /// # Errors
    /// As [`next_chunk`](Self::next_chunk).
    pub fn take_chunk(&mut self, spent: Vec<u8>) -> Result<Option<Vec<u8>>> {
        self.contents.give(spent);
        if self.next_chunk()?.is_none() {
            return Ok(None);
        }
        self.taken = 0;
        Ok(Some(std::mem::take(&mut self.current)))
    }

    /// What has been decoded so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary { coded_bytes: self.input.position, ..self.summary.clone() }
    }

    /// Key and value pairs of the Metadata records read so far in the current stream.
    #[must_use]
    pub fn metadata(&self) -> &[(String, Vec<u8>)] {
        self.state.as_ref().map_or(&[], |s| &s.metadata)
    }

    /// Reads the header of the next stream, or finds the end of the input (ULP-STR-01).
    fn start_stream(&mut self) -> Result<()> {
        let first = self.input.streams == 0;
        let header = match self.input.stream_header() {
            Ok(Some(header)) => header,
            Ok(None) => {
                self.ended = true;
                return Ok(());
            }
            Err(error) => {
                self.ended = true;
                return Err(error);
            }
        };
        if self.pool.is_none() {
            self.pool = Some(Arc::new(Pool::new(self.options.threads)?));
        }
        if let Some(given) = self.given.take() {
            self.references = References::open(given)?;
        }
        self.references.begin(header.references, first)?;
        check_memory(&header, self.options.memory)?;
        self.content_crc = crc32fast::Hasher::new();
        self.digest = None;
        let mut state = State::new(header);
        state.bank_files = self.bank_files.clone();
        self.state = Some(state);
        Ok(())
    }

    /// Reads records up to a batch of chunks or an event, and decodes the chunks: into `place` where they fit, of which it returns how many bytes are
    /// good, else to be ready.
    fn fill(&mut self, place: &mut [u8]) -> usize {
        let mut jobs: Vec<Job> = self.stashed.take().into_iter().collect();
        let mut bytes = 0;
        let limit = self.pool.as_ref().map_or(1, |p| p.threads()) * BATCH;
        let budget = self.options.memory.map_or(self.batch_bytes, |m| (m / 4).min(self.batch_bytes));
        while jobs.len() < limit && (jobs.is_empty() || bytes < budget) {
            let offset = self.input.position;
            let chunks = self.state.as_ref().map_or(0, |s| s.chunks);
            match self.record() {
                Ok(Ok(chunk)) => match self.job(chunk, chunks, offset) {
                    Ok(job) if self.gap > 0 => {
                        // Zeros stand for what was lost, before this chunk.
                        self.stashed = Some(job);
                        break;
                    }
                    Ok(job) => {
                        bytes += u64::from(job.chunk.header.output_length) + job.chunk.reference_length();
                        jobs.push(job);
                    }
                    Err(error) => {
                        self.pending = Some(Err(error.at(Some(chunks), offset)));
                        break;
                    }
                },
                Ok(Err(Event::None)) => {}
                Ok(Err(event)) => {
                    self.pending = Some(Ok(event));
                    break;
                }
                Err(error) => {
                    self.pending = Some(Err(error));
                    break;
                }
            }
        }
        self.decode(jobs, place)
    }

    /// Releases some zeros for what lost chunks have left out.
    fn fill_gap(&mut self) {
        let length = self.gap.min(GAP_PIECE);
        self.gap -= length;
        self.summary.content_bytes += length;
        if let Some(last) = self.summary.damaged.last_mut() {
            last.length += length;
        }
        self.ready.push_back(vec![0; usize::try_from(length).unwrap_or(0)]);
    }

    /// Reads one record: a chunk, or an event.
    fn record(&mut self) -> Result<std::result::Result<Chunk, Event>> {
        let offset = self.input.position;
        let number = self.state.as_ref().map_or(0, |s| s.chunks);
        let header = self.input.record_header().map_err(|error| error.at(None, offset))?;
        let chunk = (header.kind == RecordType::Chunk).then_some(number);
        self.body(&header, offset).map_err(|error| error.at(chunk, offset))
    }

    fn body(&mut self, record: &RecordHeader, offset: u64) -> Result<std::result::Result<Chunk, Event>> {
        if let Some(state) = &mut self.state {
            state.check_length(record)?;
            if record.kind == RecordType::Index {
                state.index_offset = offset - self.input.start;
            }
        }
        if let RecordType::Index | RecordType::Ancillary(_) = record.kind {
            self.input.skip(record.length)?;
            return Ok(Err(Event::None));
        }
        let body = self.input.body(record.length, self.bodies.take())?;
        let state = self.state.as_mut().ok_or(Error::Truncated)?;
        if self.options.salvage {
            let next = match record.kind {
                RecordType::Chunk => ChunkHeader::parse(&body, record.count).ok().map(|(h, _)| Some(h.output_offset)),
                RecordType::Layout | RecordType::End => Some(None),
                _ => None,
            };
            self.gap += next.map_or(0, |next| state.gap(next));
        }
        if record.kind == RecordType::Chunk {
            let chunk = state.chunk(record, body);
            if let (Err(error), true) = (&chunk, self.options.salvage) {
                let damage = Damage { chunk: state.chunks, offset: state.offset, length: 0, reason: error.to_string() };
                self.summary.damaged.push(damage);
                state.lose_chunk();
                return Ok(Err(Event::None));
            }
            return chunk.map(Ok);
        }
        let event = state.record(record, &body)?;
        self.bodies.give(body);
        if let Event::Sampled(index) = event {
            if let Some(told) = state.references.get(index).and_then(|r| r.sampled) {
                self.references.check_sampled(index, told)?;
            }
            return Ok(Err(Event::None));
        }
        Ok(Err(event))
    }

    /// Makes a chunk a job; what a pipe gives is read now, in order.
    fn job(&mut self, chunk: Chunk, number: u64, offset: u64) -> Result<Job> {
        let output_offset = chunk.header.output_offset;
        let piped = |i: &u8| self.references.get(usize::from(*i)).is_some_and(|r| r.random().is_none());
        let mut job = Job { chunk, number, offset, output_offset, reference: None };
        if job.chunk.ranges.iter().any(|(i, _)| piped(i)) {
            let mut bytes = self.reads.take();
            let mut at = 0;
            for (index, range) in &job.chunk.ranges {
                let index = usize::from(*index);
                let source = self.references.get_mut(index)?;
                let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                let got = source.read(index, range.start, length, &mut bytes, at)?;
                at += got;
                if got < length {
                    return Err(Error::ReferenceShort { index, needed: range.end, actual: range.start + got as u64 });
                }
            }
            bytes.truncate(at);
            job.reference = Some(bytes);
        }
        Ok(job)
    }

    /// Decodes jobs in parallel; what comes before the first failure is in `place` or ready.
    fn decode(&mut self, jobs: Vec<Job>, mut place: &mut [u8]) -> usize {
        let randoms = self.references.randoms();
        let kernel = self.options.kernel.unwrap_or_else(Kernel::active);
        let (reads, contents) = (&self.reads, &self.contents);
        // Chunks are decoded two at a time where no thread goes idle for it.
        let threads = self.pool.as_ref().map_or(1, |p| p.threads());
        let together = if jobs.len() > threads { 2 } else { 1 };
        let direct = jobs.iter().map(Job::length).sum::<usize>() <= place.len();
        let outputs = jobs.iter().map(|job| {
            if !direct {
                return Output::Own(contents.take());
            }
            let (own, rest) = std::mem::take(&mut place).split_at_mut(job.length());
            place = rest;
            Output::Place(own)
        });
        let mut outputs: Vec<Output<'_>> = outputs.collect();
        let groups: Vec<_> = jobs.chunks(together).zip(outputs.chunks_mut(together)).collect();
        let work =
            |(group, outputs): (&[Job], &mut [Output<'_>])| decode_group(kernel, group, outputs, &randoms, reads);
        let results = match &self.pool {
            Some(pool) => pool.turn(groups, work),
            None => groups.into_iter().map(work).collect(),
        };
        let mut placed = 0;
        let mut results = results.into_iter().flatten();
        for (job, mut output) in jobs.iter().zip(outputs) {
            match results.next().unwrap_or(Err(Error::Extent("Chunk"))) {
                Ok(()) => {
                    self.content_crc.combine(&hasher(job));
                    self.summary.chunks += 1;
                }
                Err(Error::Io(error)) => {
                    self.fail(Error::Io(error));
                    break;
                }
                Err(error) if self.options.salvage => {
                    let length = u64::from(job.chunk.header.output_length);
                    self.summary.damaged.push(Damage {
                        chunk: job.number,
                        offset: job.output_offset,
                        length,
                        reason: error.to_string(),
                    });
                    output.bytes(job.length()).fill(0);
                }
                Err(error) => {
                    self.fail(error.at(Some(job.number), job.offset));
                    break;
                }
            }
            let content = output.bytes(job.length());
            if self.options.sha256 {
                self.digest.get_or_insert_default().update(&*content);
            }
            self.summary.content_bytes += content.len() as u64;
            match output {
                Output::Own(content) => self.ready.push_back(content),
                Output::Place(content) => placed += content.len(),
            }
        }
        for job in jobs {
            self.bodies.give(job.chunk.into_body());
            self.reads.give(job.reference.unwrap_or_default());
        }
        placed
    }

    /// Ends with an error, and nothing that was to come before it but behind its chunk.
    fn fail(&mut self, error: Error) {
        self.gap = 0;
        self.stashed = None;
        self.pending = Some(Err(error));
    }

    /// Checks the End record against the stream (ULP-END-01) and the whole references (ULP-REF-03).
    fn end_stream(&mut self, end: &End) -> Result<()> {
        let result = self.check_end(end);
        self.ended = result.is_err();
        self.state = None;
        result.map_err(|error| error.at(None, self.input.position))
    }

    fn check_end(&mut self, end: &End) -> Result<()> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        let content_crc = self.content_crc.clone().finalize();
        state.check_end(end, self.input.position - self.input.start)?;
        if self.summary.damaged.is_empty() {
            if end.content_crc != content_crc {
                let (expected, actual) = (end.content_crc.into(), content_crc.into());
                return Err(Error::Contradiction { field: "content_crc", expected, actual });
            }
            if let (Some(digest), true) = (state.digest, self.options.sha256) {
                let found: [u8; 32] = self.digest.take().unwrap_or_default().finalize().into();
                if digest != found {
                    return Err(Error::Digest);
                }
            }
        }
        for (index, known) in state.references.iter().enumerate() {
            let Ok(source) = self.references.get_mut(index) else { continue };
            if let (Some(told), Source::Pipe(_)) = (known.whole, &source) {
                let found = source.whole()?;
                if told.length != found.length {
                    return Err(Error::ReferenceLength { index, expected: told.length, actual: found.length });
                }
                if told.crc != found.crc {
                    return Err(Error::ReferenceMismatch { index: Some(index), expected: told.crc, actual: found.crc });
                }
            }
        }
        self.summary.content_crc = content_crc;
        Ok(())
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let rest = self.current.get(self.current.len() - self.unread()..).unwrap_or(&[]);
            if !rest.is_empty() {
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                self.taken += count;
                return Ok(count);
            }
            // Chunks go straight to a buffer that is large enough for them.
            let idle = self.ready.is_empty() && self.gap == 0 && self.pending.is_none() && !self.ended;
            if idle && self.state.is_some() {
                let placed = self.fill(buffer);
                if placed > 0 {
                    return Ok(placed);
                }
                continue;
            }
            if self.next_chunk()?.is_none() {
                return Ok(0);
            }
            self.taken = 0;
        }
    }
}

impl<R: Read> Decoder<R> {
    fn unread(&self) -> usize {
        self.current.len().saturating_sub(self.taken)
    }
}

/// Where a chunk's content goes.
enum Output<'a> {
    /// The caller's memory.
    Place(&'a mut [u8]),
    /// A buffer of the decoder.
    Own(Vec<u8>),
}

impl Output<'_> {
    /// The first `length` bytes; there are as many in a place.
    fn bytes(&mut self, length: usize) -> &mut [u8] {
        match self {
            Self::Place(place) => place,
            Self::Own(buffer) => {
                if buffer.len() < length {
                    // Not resized: memory that is zero from the start need not be cleared.
                    *buffer = vec![0; length];
                }
                buffer.truncate(length);
                buffer
            }
        }
    }
}

/// Decodes one or two chunks.
fn decode_group(
    kernel: Kernel,
    group: &[Job],
    outputs: &mut [Output<'_>],
    randoms: &[Option<RandomAccess>],
    reads: &Buffers,
) -> Vec<Result<()>> {
    let mut read: Vec<Vec<u8>> = group.iter().map(|_| reads.take()).collect();
    let references: Vec<Result<Vec<&[u8]>>> =
        group.iter().zip(&mut read).map(|(job, read)| job.reference_bytes(randoms, read)).collect();
    let work = group.iter().zip(&references).zip(outputs);
    let mut work: Vec<Work<'_>> = work
        .filter_map(|((job, reference), out)| {
            let reference = reference.as_ref().ok()?;
            Some(Work { chunk: &job.chunk, reference, out: out.bytes(job.length()) })
        })
        .collect();
    let mut decoded = chunk::decode(kernel, &mut work).into_iter();
    let outcome = |reference: Result<_>| reference.and_then(|_| decoded.next().unwrap_or(Err(Error::Extent("Chunk"))));
    let results = references.into_iter().map(outcome).collect();
    read.into_iter().for_each(|buffer| reads.give(buffer));
    results
}

impl Job {
    /// Content bytes.
    fn length(&self) -> usize {
        self.chunk.header.output_length as usize
    }

    /// The bytes of each reference range: those in memory as they are, others read into `buffer`.
    fn reference_bytes<'a>(
        &'a self,
        randoms: &'a [Option<RandomAccess>],
        buffer: &'a mut Vec<u8>,
    ) -> Result<Vec<&'a [u8]>> {
        let ranges = &self.chunk.ranges;
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if let Some(mut bytes) = self.reference.as_deref() {
            let mut slices = Vec::with_capacity(ranges.len());
            for (_, range) in ranges {
                let (own, rest) = bytes.split_at_checked(length(range)).ok_or(Error::Extent("reference"))?;
                slices.push(own);
                bytes = rest;
            }
            return Ok(slices);
        }
        reference_bytes(ranges, randoms, buffer)
    }
}

/// The CRC of a decoded chunk, as something to combine.
fn hasher(job: &Job) -> crc32fast::Hasher {
    let header = &job.chunk.header;
    crc32fast::Hasher::new_with_initial_len(header.content_crc, header.output_length.into())
}
