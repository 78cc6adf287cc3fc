//! Deltas applied where their reference is: only changed chunks are written (spec §3.1, IN_PLACE).
//!
//! All chunks are verified before the first is written. What is about to be written to a file is first written to a journal beside it, so that after a
//! kill at any moment the same call goes on where it was: each chunk then holds the result, or its reference, or is in the journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::decode::chunk::{self, Chunk, Work};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::stream::buffers::Buffers;
use crate::stream::map::{self, Place};
use crate::stream::open_stream::OpenStream;
use crate::stream::options::DecoderOptions;
use crate::stream::pool::Pool;
use crate::stream::read_at::ReadAt;
use crate::stream::state::check_memory;
use crate::wire::end::End;
use crate::wire::fields::{Fields, check_crc, push_crc};

/// First bytes of a journal.
const MAGIC: &[u8; 8] = b"ulp-jrn1";
/// Bytes that a journal holds at a time, about.
const JOURNAL: usize = 32 << 20;
/// Chunks in work for each thread.
const BATCH: usize = 2;
/// Bytes of changes that are kept from when they were verified to when they are made; more are decoded a second time.
const KEPT: usize = 64 << 20;
/// Bytes compared at a time: of weights that change here and there, few more than these need to be kept.
const PART: usize = 16;

/// What has been applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Chunks of the stream.
    pub chunks: u64,
    /// Chunks that were written; the others held the result already.
    pub written: u64,
    /// Bytes of these.
    pub bytes_written: u64,
}

/// Turns `content`, the reference of the stream `delta`, into the content of the stream. `delta` must have been made for it: all references at the place of the content.
///
/// Nothing is written before all chunks are verified; where `content` has the result already, in part or in whole, it stays.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{DecoderOptions, ElementType, EncoderOptions, Reference, Typing};
/// let weights = |step: u32| (0..50_000u32).flat_map(|i| (i / 100 * 100 + step).to_le_bytes()).collect::<Vec<u8>>();
/// let (prev, next) = (weights(0), weights(1));
/// let mut options = EncoderOptions::default();
/// options.typing = Typing::Fixed(ElementType::U32);
/// let delta = ulpack::compress(&next, options, vec![Reference::Bytes(prev.clone().into())])?;
/// let mut buffer = prev;
/// ulpack::apply_in_place(&mut buffer, &delta, DecoderOptions::default())?;
/// assert_eq!(buffer, next);
/// # Ok(()) }
/// ```
///
/// # Errors
/// The stream's IN_PLACE flag is not set, it is damaged, or `content` has another length or is neither reference nor result: then it is as it was.
pub fn apply_in_place(content: &mut [u8], delta: &[u8], options: DecoderOptions) -> Result<Applied> {
    let kept = options.memory.and_then(|memory| usize::try_from(memory / 4).ok()).map_or(KEPT, |most| most.min(KEPT));
    // Borrowed bytes cannot be shared with the stream's source, which may outlive them in general.
    let delta = Delta::open(Arc::new(delta.to_vec()), options)?;
    let (expected, actual) = (delta.stream.bounds.end.content_length, content.len() as u64);
    if expected != actual {
        return Err(Error::Usage(format!("the buffer has {actual} bytes, the stream's content {expected}")));
    }
    let place = |c: &Place| Some(usize::try_from(c.output.start).ok()?..usize::try_from(c.output.end).ok()?);
    let places: Vec<_> = delta.stream.map.chunks.iter().filter_map(place).enumerate().collect();
    let own = |place: &Range<usize>| content.get(place.clone()).unwrap_or(&[]);
    let room = AtomicUsize::new(kept);
    let judged = delta.pool.map(&places, |(number, place)| {
        let own = own(place);
        let Some(new) = delta.judge(*number, own)? else { return Ok(None) };
        let change = Change::new(own, &new, &room)?;
        delta.buffers.give(new);
        Ok(Some(change))
    });
    let changes: Vec<Option<Change>> = judged.into_iter().collect::<Result<_>>()?;
    let mut work = Vec::new();
    let mut rest = content;
    for ((number, place), change) in places.into_iter().zip(changes) {
        let (own, after) = rest.split_at_mut_checked(place.len()).ok_or(Error::Extent("Chunk"))?;
        rest = after;
        work.extend(change.map(|change| (number, own, change)));
    }
    let done = delta.pool.turn(work, |(number, own, change): (usize, &mut [u8], Change)| -> Result<u64> {
        match change {
            Change::Parts(parts, last) => {
                let (own, tail) = own.as_chunks_mut();
                for (at, new) in parts {
                    if let Some(own) = own.get_mut(at as usize) {
                        *own = new;
                    }
                }
                tail.copy_from_slice(&last);
            }
            Change::Whole => {
                if let Some(new) = delta.judge(number, own)? {
                    own.copy_from_slice(new.get(..own.len()).ok_or(Error::Extent("Chunk"))?);
                    delta.buffers.give(new);
                }
            }
        }
        Ok(own.len() as u64)
    });
    let mut applied = Applied { chunks: delta.stream.map.chunks.len() as u64, ..Applied::default() };
    for length in done {
        applied.bytes_written += length?;
        applied.written += 1;
    }
    Ok(applied)
}

/// The same for a file. `journal`, beside it, exists only while it is being written; where a call was killed, the same call again completes it.
///
/// # Errors
/// As of [`apply_in_place`], save that the file may have another length than the content; reading or writing failed; or `journal` is of another delta.
pub fn apply_to_file(
    file: &File,
    journal: &Path,
    delta: impl ReadAt + 'static,
    options: DecoderOptions,
) -> Result<Applied> {
    let delta = Delta::open(Arc::new(delta), options)?;
    let end = delta.stream.bounds.end;
    replay(file, journal, &end)?;
    let numbers: Vec<usize> = (0..delta.stream.map.chunks.len()).collect();
    let judged = |number: usize| -> Result<Option<Vec<u8>>> {
        let place = delta.stream.map.chunks.get(number).ok_or(Error::Extent("Chunk"))?;
        let length = usize::try_from(place.output.end - place.output.start).unwrap_or(0);
        let mut own = vec![0; length];
        let got = file.fill_at(&mut own, place.output.start)?;
        own.truncate(got);
        delta.judge(number, &own)
    };
    let batch = delta.pool.threads() * BATCH;
    let mut changed = Vec::new();
    for numbers in numbers.chunks(batch.max(1)) {
        let found = delta
            .pool
            .map(numbers, |&number| judged(number).map(|new| new.map(|new| delta.buffers.give(new)).is_some()));
        for (number, found) in numbers.iter().zip(found) {
            changed.extend(found?.then_some(*number));
        }
    }
    let mut applied = Applied { chunks: numbers.len() as u64, ..Applied::default() };
    let mut waiting: Vec<(u64, Vec<u8>)> = Vec::new();
    for numbers in changed.chunks(batch.max(1)) {
        for (new, number) in delta.pool.map(numbers, |&number| judged(number)).into_iter().zip(numbers) {
            let place = delta.stream.map.chunks.get(*number).ok_or(Error::Extent("Chunk"))?;
            let Some(new) = new? else { continue };
            applied.written += 1;
            applied.bytes_written += new.len() as u64;
            waiting.push((place.output.start, new));
        }
        if waiting.iter().map(|w| w.1.len()).sum::<usize>() >= JOURNAL {
            commit(file, journal, &end, &waiting, &delta.pool)?;
            waiting.clear();
        }
    }
    if !waiting.is_empty() {
        commit(file, journal, &end, &waiting, &delta.pool)?;
    }
    if file.metadata()?.len() != end.content_length {
        file.set_len(end.content_length)?;
        file.sync_all()?;
    }
    match fs::remove_file(journal) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(applied),
    }
}

/// What becomes of a chunk's place.
enum Change {
    /// Parts that differ, and the bytes behind the last part.
    Parts(Vec<(u32, [u8; PART])>, Vec<u8>),
    /// What is decoded once more.
    Whole,
}

impl Change {
    /// What makes `new` of `own`, which has its length: kept while there is room.
    fn new(own: &[u8], new: &[u8], room: &AtomicUsize) -> Result<Self> {
        if own.len() != new.len() {
            return Err(Error::Extent("Chunk"));
        }
        let ((own, _), (new, tail)) = (own.as_chunks(), new.as_chunks());
        let different = (0..).zip(own.iter().zip(new)).filter(|(_, (own, new))| own != new);
        let parts: Vec<_> = different.map(|(at, (_, new))| (at, *new)).collect();
        let size = parts.capacity() * size_of::<(u32, [u8; PART])>();
        let taken = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(size));
        Ok(taken.map_or(Self::Whole, |_| Self::Parts(parts, tail.to_vec())))
    }
}

/// A stream that may be applied in place.
struct Delta {
    stream: OpenStream,
    pool: Pool,
    kernel: Kernel,
    /// What chunks have been decoded into.
    buffers: Buffers,
}

impl Delta {
    fn open(source: Arc<dyn ReadAt>, options: DecoderOptions) -> Result<Self> {
        let mut streams = map::streams(source.as_ref())?;
        let (Some(bounds), true) = (streams.pop(), streams.is_empty()) else {
            return Err(Error::Usage(String::from(
                "several streams cannot be applied in place; apply one after another",
            )));
        };
        if !bounds.header.in_place {
            return Err(Error::Usage(String::from(
                "the stream's IN_PLACE flag is not set: some of its references stand elsewhere, or it has none; restore it with -d",
            )));
        }
        check_memory(&bounds.header, options.memory)?;
        let stream = OpenStream::new(source, bounds, &options.banks)?;
        let kernel = options.kernel.unwrap_or_else(Kernel::active);
        Ok(Self { stream, pool: Pool::new(options.threads)?, kernel, buffers: Buffers::default() })
    }

    /// What a chunk's place must hold instead of `own`; `None` where that is what it holds.
    fn judge(&self, number: usize, own: &[u8]) -> Result<Option<Vec<u8>>> {
        let chunk = self.stream.chunk(number)?;
        let header = &chunk.header;
        let holds = || own.len() == header.output_length as usize && crc32fast::hash(own) == header.content_crc;
        // Mostly nothing has been applied yet: only of a chunk that does not change its CRC is looked at first.
        let unchanged = header.reference_crc == header.content_crc;
        if unchanged && holds() {
            return Ok(None);
        }
        let offset = self.stream.map.chunks.get(number).map_or(0, |c| c.offset) + self.stream.bounds.start;
        match self.decode(&chunk, own) {
            Ok(new) => Ok(Some(new).filter(|new| new != own)),
            Err(_) if !unchanged && holds() => Ok(None),
            Err(error) => Err(error.at(Some(number as u64), offset)),
        }
    }

    fn decode(&self, chunk: &Chunk, own: &[u8]) -> Result<Vec<u8>> {
        let start = chunk.header.output_offset;
        let mut reference = Vec::with_capacity(chunk.ranges.len());
        for (index, range) in &chunk.ranges {
            // In an IN_PLACE stream they are parts of the chunk's own output range.
            let at = |offset: u64| usize::try_from(offset.checked_sub(start)?).ok();
            let bytes = at(range.start).zip(at(range.end)).and_then(|(from, to)| own.get(from..to));
            let actual = start + own.len() as u64;
            reference.push(bytes.ok_or(Error::ReferenceShort { index: (*index).into(), needed: range.end, actual })?);
        }
        let mut out = self.buffers.take();
        // The header's length is within the stream's max_chunk_length.
        out.resize(chunk.header.output_length as usize, 0);
        let mut work = [Work { chunk, reference: &reference, out: &mut out }];
        chunk::decode(self.kernel, &mut work).pop().unwrap_or(Err(Error::Extent("Chunk")))?;
        Ok(out)
    }
}

/// What a journal says of its delta.
fn identity(end: &End) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&end.encoded_length.to_le_bytes());
    bytes.extend_from_slice(&end.content_length.to_le_bytes());
    bytes.extend_from_slice(&end.content_crc.to_le_bytes());
    bytes
}

/// Writes chunks to the journal, then to the file; each is on the disk before the next begins.
fn commit(file: &File, journal: &Path, end: &End, chunks: &[(u64, Vec<u8>)], pool: &Pool) -> Result<()> {
    let mut bytes = identity(end);
    bytes.reserve(chunks.iter().map(|c| c.1.len() + 12).sum::<usize>() + 4);
    for (offset, content) in chunks {
        bytes.extend_from_slice(&offset.to_le_bytes());
        #[allow(clippy::cast_possible_truncation)]
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(content);
    }
    push_crc(&mut bytes, 0);
    let mut written = OpenOptions::new().write(true).create(true).truncate(true).open(journal)?;
    written.write_all(&bytes)?;
    written.sync_all()?;
    drop(bytes);
    pool.map(chunks, |(offset, content)| write_all_at(file, content, *offset))
        .into_iter()
        .collect::<io::Result<()>>()?;
    file.sync_data()?;
    Ok(())
}

/// Writes the chunks of a journal that a kill has left. One that is not complete has not been followed by any write.
fn replay(file: &File, journal: &Path, end: &End) -> Result<()> {
    let mut bytes = Vec::new();
    match File::open(journal) {
        Ok(mut left) => left.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let Some((body, crc)) = bytes.split_last_chunk() else { return Ok(()) };
    if check_crc("journal", body, u32::from_le_bytes(*crc)).is_err() {
        return Ok(());
    }
    let Some(chunks) = body.strip_prefix(identity(end).as_slice()) else {
        return Err(Error::Usage(format!(
            "{}: another delta was being applied when it was stopped; apply that one again first",
            journal.display()
        )));
    };
    let mut fields = Fields::new(chunks, "journal");
    while !fields.rest().is_empty() {
        let (offset, length) = (fields.u64()?, fields.u32()?);
        write_all_at(file, fields.bytes(length as usize)?, offset)?;
    }
    file.sync_data()?;
    Ok(())
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        bytes = bytes.get(count..).unwrap_or(&[]);
        offset += count as u64;
    }
    Ok(())
}
