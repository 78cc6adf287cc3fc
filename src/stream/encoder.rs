//! The streaming encoder: content in, records out.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use crate::core::element::ElementType;
use crate::encode::frozen::Frozen;
use crate::encode::level::Level;
use crate::encode::slots::{BANK_SLOTS, Lessons, PROFILE_SLOTS, Slots};
use crate::encode::train::Learned;
use crate::error::{Error, Result};
use crate::limits::{BASELINE_REFERENCES, EXTENDED, MAX_METADATA_BODY, MAX_REFERENCES, WITH_PAIRS};
use crate::stream::advice::Advisor;
use crate::stream::indexer::Indexer;
use crate::stream::options::{EncoderOptions, FrozenSummary, Summary, Typing};
use crate::stream::pool::Pool;
use crate::stream::reference::{Reference, Source, room};
use crate::stream::window::{Buffers, Coded, Job, MAX_CHUNK, MIN_CHUNK, Means, Records, TypedRange, WINDOW};
use crate::wire;
use crate::wire::end::End;
use crate::wire::record_header::{RecordType, write_record};
use crate::wire::stream_header::StreamHeader;

/// Contents shorter than this carry no sampled identity of their reference: the chunk's own CRC of it tells as much.
const SMALL: usize = 1 << 16;

/// Bytes that are read at once.
const READ: usize = 1 << 20;

/// Rows longer than this may be cut by a window.
const LONGEST_ROW: usize = 1 << 20;

/// Compresses what is written to it.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use std::io::Write;
/// use ulpack::{Encoder, EncoderOptions, Reference};
/// let prev: Vec<u8> = (0..50_000u32).flat_map(|i| (i as f32).sqrt().to_le_bytes()).collect();
/// let next: Vec<u8> = (0..50_000u32).flat_map(|i| ((i + 1) as f32).sqrt().to_le_bytes()).collect();
/// // A file, a pipe, or memory; what is coded is written as it comes, in pieces of any size.
/// let mut encoder = Encoder::new(Vec::new(), EncoderOptions::default(), vec![Reference::Bytes(prev.into())])?;
/// next.chunks(1000).try_for_each(|piece| encoder.write_all(piece))?;
/// let (coded, summary) = encoder.finish()?;
/// assert_eq!(summary.content_bytes, 200_000);
/// assert_eq!(summary.coded_bytes, coded.len() as u64);
/// # Ok(()) }
/// ```
pub struct Encoder<W: Write> {
    inner: W,
    options: EncoderOptions,
    references: Vec<Source>,
    means: Means,
    slots: Slots,
    /// The window before the one being gathered.
    running: Option<Running>,
    /// The window, and behind its bytes what the buffer held before.
    window: Vec<u8>,
    /// Bytes of the window.
    gathered: usize,
    /// Room for the references of the next window.
    spare: Vec<u8>,
    /// Where types and places are to be found; `None` where the caller has fixed the type.
    advisor: Option<Advisor>,
    /// Whether the stream promises that every reference range is its own output range.
    in_place: bool,
    /// References that any window has looked at.
    used: BTreeSet<usize>,
    started: bool,
    /// What stands before the first window, until that is coded: header, and the records after it.
    head: Option<(StreamHeader, Vec<u8>)>,
    written: u64,
    indexer: Indexer,
    chunks: u64,
    content: u64,
    content_crc: crc32fast::Hasher,
    digest: Option<Sha256>,
}

/// A window on its way.
enum Running {
    /// Coded by another thread.
    Elsewhere(JoinHandle<Coded>),
    /// Coded by the caller's.
    Done(Box<Coded>),
}

impl<W: Write> Encoder<W> {
    /// An encoder that writes a stream to `inner`, coded against `references`.
    ///
    /// # Errors
    /// Reading a reference failed, or the options contradict each other.
    pub fn new(inner: W, options: EncoderOptions, references: Vec<Reference>) -> Result<Self> {
        if references.len() > MAX_REFERENCES {
            let given = references.len();
            return Err(Error::Usage(format!("{given} references given, at most {MAX_REFERENCES} can be used")));
        }
        if let Some(length) = options.chunk_length.filter(|&n| !(MIN_CHUNK..=MAX_CHUNK).contains(&(n as usize))) {
            return Err(Error::Usage(format!("a chunk length of {length}: it must be {MIN_CHUNK} to {MAX_CHUNK}")));
        }
        let mut threads = options.threads;
        if let Some(memory) = options.memory {
            // Each thread works on a chunk: its content, symbols and output.
            let spare = memory.saturating_sub(4 * WINDOW as u64);
            let fitting = usize::try_from(spare / (8 * MAX_CHUNK as u64)).unwrap_or(usize::MAX).max(1);
            threads = if threads == 0 { fitting.min(8) } else { threads.min(fitting) };
        }
        let mut references: Vec<Source> = references.into_iter().map(Source::open).collect::<Result<_>>()?;
        let advisor = match options.typing {
            Typing::Auto => Some(Advisor::new(&mut references)?),
            Typing::Fixed(_) => None,
        };
        #[allow(clippy::cast_possible_truncation)]
        let indexer = Indexer::new(references.len() as u8);
        Ok(Self {
            inner,
            indexer,
            means: Means {
                level: options.level,
                max_chunk: options.chunk_length.map_or(MAX_CHUNK, |length| length as usize),
                pool: Arc::new(Pool::new(threads)?),
                workspaces: Arc::default(),
            },
            running: None,
            references,
            slots: slots(&options),
            window: Vec::new(),
            gathered: 0,
            spare: Vec::new(),
            advisor,
            in_place: false,
            used: BTreeSet::new(),
            started: false,
            head: None,
            written: 0,
            chunks: 0,
            content: 0,
            content_crc: crc32fast::Hasher::new(),
            digest: options.sha256.then(Sha256::new),
            options,
        })
    }

    /// Learns from what is written from now on, instead of coding it.
    pub(crate) fn learn(&mut self, learned: Learned) {
        self.slots.learned = Some(Lessons { learned, spans: 0 });
    }

    /// Learns from what is left, and gives back what has been learned.
    pub(crate) fn finish_learning(mut self) -> Result<Option<Learned>> {
        if self.gathered > 0 {
            self.flush_window(true)?;
        }
        self.collect()?;
        Ok(self.slots.learned.map(|lessons| lessons.learned))
    }

    /// Takes the rest of the content, and finishes. The same as to write it and to finish, but what needs not be gathered is coded where it is.
    ///
    /// # Errors
    /// Reading a reference or writing failed.
    pub fn finish_with(mut self, mut rest: &[u8]) -> Result<(W, Summary)> {
        while rest.len() > WINDOW {
            let count = self.write(rest)?;
            rest = rest.get(count..).unwrap_or(&[]);
        }
        match (&self.options.typing, &self.advisor) {
            (&Typing::Fixed(element), None) if self.gathered == 0 && !rest.is_empty() => {
                self.pass_window(rest, element, true)?;
            }
            _ => self.write_all(rest)?,
        }
        self.finish()
    }

    /// Writes what is left, and the End record.
    ///
    /// # Errors
    /// Reading a reference or writing failed.
    pub fn finish(mut self) -> Result<(W, Summary)> {
        if self.gathered > 0 || !self.started {
            self.flush_window(true)?;
        }
        self.collect()?;
        let mut out = Vec::new();
        self.indexer.write(self.written, true, &mut out);
        let mut identical = false;
        let content_crc = self.content_crc.clone().finalize();
        for (index, source) in self.references.iter_mut().enumerate() {
            // What the stream does not use need not be read.
            if !self.used.contains(&index) {
                continue;
            }
            let whole = source.whole()?;
            #[allow(clippy::cast_possible_truncation)]
            whole.write(&mut out, index as u8, true);
            identical |= whole.length == self.content && whole.crc == content_crc;
        }
        if let Some(digest) = self.digest.take() {
            write_record(&mut out, RecordType::Digest, 0, 0, &digest.finalize());
        }
        let end = End {
            chunk_count: self.chunks,
            content_length: self.content,
            content_crc,
            encoded_length: self.written + out.len() as u64 + 56,
            index_offset: self.indexer.last(),
        };
        end.write(&mut out);
        self.put(&out)?;
        self.inner.flush()?;
        let summary = Summary {
            content_bytes: self.content,
            coded_bytes: self.written,
            chunks: self.chunks,
            content_crc,
            identical,
            missing: self.advisor.as_ref().map_or(0, Advisor::missing),
            frozen: frozen(&self.slots),
            ..Summary::default()
        };
        Ok((self.inner, summary))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes records that the index lists, and a segment of it when there are enough.
    fn put_listed(&mut self, records: &[u8]) -> Result<()> {
        self.indexer.take(records, self.written)?;
        self.put(records)?;
        if self.indexer.full() {
            let mut segment = Vec::new();
            self.indexer.write(self.written, false, &mut segment);
            self.put(&segment)?;
        }
        Ok(())
    }

    /// Makes `Stream_Header`, Metadata, sampled identities, these unless the content is known to be `small`; nothing the second time.
    fn start(&mut self, small: bool) -> Result<()> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        self.in_place = self.references.len() == 1 && self.all_in_place();
        #[allow(clippy::cast_possible_truncation)]
        let header = StreamHeader {
            in_place: self.in_place,
            references: self.references.len() as u8,
            bank_slots: BANK_SLOTS,
            profile_slots: PROFILE_SLOTS,
            feature_set: if self.references.len() > BASELINE_REFERENCES { EXTENDED } else { 0 },
            max_chunk_length: self.means.max_chunk as u32,
        };
        let mut out = Vec::new();
        if !self.options.metadata.is_empty() {
            let mut body = Vec::new();
            wire::metadata::write(&self.options.metadata, &mut body)?;
            let too_much = body.len() + 4 > MAX_METADATA_BODY as usize;
            let (false, Ok(count)) = (too_much, u16::try_from(self.options.metadata.len())) else {
                return Err(Error::Usage(String::from("metadata: more than 1 MiB or 65,535 keys")));
            };
            write_record(&mut out, RecordType::Metadata, 0, count, &body);
        }
        if !small {
            for (index, source) in self.references.iter().enumerate() {
                if let Some(random) = source.random() {
                    #[allow(clippy::cast_possible_truncation)]
                    random.sampled()?.write(&mut out, index as u8, false);
                }
            }
        }
        self.head = Some((header, out));
        Ok(())
    }

    /// Writes what stands before the first window, now that it is known whether the stream has pairs.
    fn put_head(&mut self, pairs: bool) -> Result<()> {
        let Some((mut header, records)) = self.head.take() else { return Ok(()) };
        if pairs {
            header.feature_set = WITH_PAIRS;
        }
        let mut out = Vec::new();
        header.write(&mut out);
        out.extend_from_slice(&records);
        self.put(&out)
    }

    /// Whether every reference range will surely be its own output range.
    fn all_in_place(&self) -> bool {
        self.advisor.as_ref().is_none_or(|advisor| advisor.in_place(self.gathered(), &self.references))
    }

    /// Codes what the window holds; all of it if `last`.
    fn flush_window(&mut self, last: bool) -> Result<()> {
        if let (Some(advisor), true) = (&mut self.advisor, last) {
            advisor.finish();
        }
        self.start(last && self.gathered < SMALL)?;
        let (length, ranges) = self.ranges(last)?;
        if length == 0 {
            // Nothing to lay out: an empty content is a header and an End (spec §4).
            return self.put_head(false);
        }
        let data = std::mem::take(&mut self.window);
        let rest = data.get(length..self.gathered).unwrap_or(&[]).to_vec();
        self.gathered = 0;
        let job = self.job(&data, length, ranges)?;
        // The window before has been coded while this one was gathered; it is written while this one is coded.
        let before = self.join()?;
        self.gather(&rest);
        let means = self.means.clone();
        let slots = std::mem::take(&mut self.slots);
        let overlap = self.options.overlap || means.pool.threads() > 1;
        self.running = Some(if overlap {
            Running::Elsewhere(thread::spawn(move || job.run(data, slots, &means)))
        } else {
            Running::Done(Box::new(job.run(data, slots, &means)))
        });
        self.put_records(before)?;
        if last || !overlap {
            self.collect()?;
        }
        Ok(())
    }

    /// Codes the first window of `bytes`, which are in the caller's memory, where it is; returns its length. All of them if they are the `last`.
    fn pass_window(&mut self, bytes: &[u8], element: ElementType, last: bool) -> Result<usize> {
        self.start(last && bytes.len() < SMALL)?;
        let (length, ranges) = self.fixed(element, bytes.len().min(WINDOW), last);
        let job = self.job(bytes, length, ranges)?;
        // Where several threads work, the window before may still be on its way.
        self.collect()?;
        let (slots, means) = (std::mem::take(&mut self.slots), self.means.clone());
        let mut written = Ok(());
        let (slots, buffers) = job.run_on(bytes, slots, &means, &mut |records| {
            if written.is_ok() {
                written = self.put_records(records);
            }
        });
        self.slots = slots;
        self.spare = buffers.references;
        written?;
        Ok(length)
    }

    /// The work on a window of `length` bytes, the first ones of `data`.
    fn job(&mut self, data: &[u8], length: usize, ranges: Vec<TypedRange>) -> Result<Job> {
        self.used.extend(ranges.iter().filter_map(|r| r.reference.map(|r| usize::from(r.0))));
        if let Some(digest) = &mut self.digest {
            digest.update(data.get(..length).unwrap_or(&[]));
        }
        let buffer = std::mem::take(&mut self.spare);
        let job = Job::new(buffer, length, self.content, ranges, &mut self.references)?;
        self.content += length as u64;
        Ok(job)
    }

    /// Writes the window that is being coded, if any, when it is done.
    fn collect(&mut self) -> Result<()> {
        let records = self.join()?;
        self.put_records(records)
    }

    /// Waits for the window that is being coded, if any, and takes banks and buffers back from it; returns its records.
    fn join(&mut self) -> Result<Records> {
        let Coded { records, slots, buffers: Buffers { data, references } } = match self.running.take() {
            None => return Ok(Records::default()),
            Some(Running::Done(coded)) => *coded,
            Some(Running::Elsewhere(handle)) => {
                handle.join().map_err(|_| Error::Io(io::Error::other("a worker thread failed")))?
            }
        };
        self.slots = slots;
        if data.len() > self.window.len() {
            let gathered = std::mem::replace(&mut self.window, data);
            let count = std::mem::take(&mut self.gathered);
            self.gather(gathered.get(..count).unwrap_or(&[]));
        }
        self.spare = references;
        Ok(records)
    }

    /// Writes records of a window, if there are any.
    fn put_records(&mut self, records: Records) -> Result<()> {
        if records.head.is_empty() && records.chunks.is_empty() {
            return Ok(());
        }
        self.put_head(records.pairs)?;
        self.put_listed(&records.head)?;
        for chunk in records.chunks {
            self.put_listed(&chunk.record)?;
            self.means.workspaces.give_back(chunk.record);
            if let Some(read) = chunk.read
                && let Some(source) = self.references.get_mut(usize::from(read.index))
            {
                source.known(read.offset, read.length, read.crc)?;
            }
            let crc = crc32fast::Hasher::new_with_initial_len(chunk.content_crc, chunk.length);
            self.content_crc.combine(&crc);
            self.chunks += 1;
        }
        Ok(())
    }

    /// The bytes of the window.
    fn gathered(&self) -> &[u8] {
        self.window.get(..self.gathered).unwrap_or(&[])
    }

    /// Counts content that has been put behind the window's bytes.
    fn arrived(&mut self, count: usize) {
        let bytes = self.window.get(self.gathered..self.gathered + count).unwrap_or(&[]);
        if let Some(advisor) = &mut self.advisor {
            advisor.push(bytes);
        }
        self.gathered += count;
    }

    /// Puts back bytes that the advisor has seen before.
    fn gather(&mut self, bytes: &[u8]) {
        room(&mut self.window, self.gathered, bytes.len()).copy_from_slice(bytes);
        self.gathered += bytes.len();
    }

    /// Takes what `source` gives until it ends: the same as to write it, but read to where it is needed. Returns how many bytes.
    ///
    /// # Errors
    /// Reading the source or a reference failed, or writing.
    pub fn read_from(&mut self, source: &mut impl Read) -> Result<u64> {
        let mut all = 0;
        loop {
            if self.gathered >= WINDOW {
                self.flush_window(false)?;
            }
            if self.window.is_empty() {
                // Pages that are never reached are never there.
                self.window = vec![0; WINDOW];
            }
            let most = READ.min(WINDOW - self.gathered);
            let count = match source.read(room(&mut self.window, self.gathered, most)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?.min(most),
            };
            if count == 0 {
                return Ok(all);
            }
            self.arrived(count);
            all += count as u64;
        }
    }

    /// How much of the window to code now, and what it holds.
    fn ranges(&mut self, last: bool) -> Result<(usize, Vec<TypedRange>)> {
        let whole = self.gathered;
        if let Some(advisor) = &mut self.advisor {
            let length = if last { whole } else { advisor.cut(self.content, whole) };
            let data = self.window.get(..length).unwrap_or(&[]);
            let mut ranges = advisor.ranges(data, self.content, &mut self.references)?;
            if self.in_place {
                for range in &mut ranges {
                    let own = self.content + range.bytes.start as u64;
                    range.reference =
                        range.reference.filter(|&(_, e, at, _)| at == own && e.width() == range.element.width());
                }
            }
            return Ok((length, ranges));
        }
        let Typing::Fixed(element) = self.options.typing else {
            return Ok((whole, Vec::new()));
        };
        Ok(self.fixed(element, whole, last))
    }

    /// The same where all elements are of one type.
    fn fixed(&self, element: ElementType, whole: usize, last: bool) -> (usize, Vec<TypedRange>) {
        // Windows end at whole elements, and at whole rows where they are known.
        let columns = self.options.columns.unwrap_or(0);
        let row = element.width() * columns.max(1) as usize;
        let unit = if row <= LONGEST_ROW { row } else { element.width() };
        let length = if last { whole } else { whole / unit * unit };
        let reference = (!self.references.is_empty()).then_some((0, element, self.content, u64::MAX));
        let range = TypedRange { bytes: 0..length, element, columns, reference, gap: false };
        (length, if length > 0 { vec![range] } else { Vec::new() })
    }
}

/// Empty slots, and the banks that the user has given.
fn slots(options: &EncoderOptions) -> Slots {
    let frozen = Frozen {
        file: options.bank.clone(),
        external: options.external_bank,
        only: options.frozen_only,
        pairs: options.level == Level::Fast,
    };
    Slots::new(frozen)
}

/// How frozen banks have done, where there were any to use.
fn frozen(slots: &Slots) -> Option<FrozenSummary> {
    let report = slots.report;
    (report.content + report.refused > 0).then_some(FrozenSummary {
        content_bytes: report.content,
        refused_bytes: report.refused,
        frozen_cost: report.frozen.div_ceil(8),
        inline_cost: report.own.div_ceil(8),
    })
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered >= WINDOW {
            self.flush_window(false)?;
        }
        if let (Typing::Fixed(element), None) = (self.options.typing, &self.advisor)
            && self.gathered == 0
            && bytes.len() > WINDOW
            && self.means.pool.threads() == 1
        {
            return Ok(self.pass_window(bytes, element, false)?);
        }
        let count = bytes.len().min(WINDOW - self.gathered);
        room(&mut self.window, self.gathered, count).copy_from_slice(&bytes[..count]);
        self.arrived(count);
        Ok(count)
    }

    /// Flushes the writer below; what the window holds stays until it is full.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
