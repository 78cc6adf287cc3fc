//! Random access to the content of streams: only the chunks that a part needs are read and decoded.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::container::{Layout, LayoutReader, TypedSpan};
use crate::core::element::ElementType;
use crate::decode::chunk;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::stream::chain::{Link, link};
use crate::stream::map::{self, Bounds};
use crate::stream::open_stream::OpenStream;
use crate::stream::options::DecoderOptions;
use crate::stream::pool::Pool;
use crate::stream::read_at::ReadAt;
use crate::stream::reference::{RandomAccess, Reference};
use crate::stream::references::{References, reference_bytes};
use crate::stream::state::{Identities, check_memory};
use crate::wire::records::ReferenceIdentity;

/// Decoded bytes that are kept for the next reads, about.
const KEPT: usize = 8 << 20;
/// Chunks decoded at a time for each thread.
const BATCH: usize = 2;

/// The content of concatenated streams, read at any position.
///
/// Opening reads the End records and the index; where there is no index, the headers of all records. Every chunk is verified before any
/// of it is given out.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{DecoderOptions, EncoderOptions, Reader};
/// let content: Vec<u8> = (0..100_000u32).flat_map(|i| i.to_le_bytes()).collect();
/// let coded = ulpack::compress(&content, EncoderOptions::default(), Vec::new())?;
/// let reader = Reader::open(coded, DecoderOptions::default(), Vec::new())?;
/// assert_eq!(reader.len(), 400_000);
/// let mut part = Vec::new();
/// reader.copy(4_000..4_008, &mut part)?;
/// assert_eq!(part, [1000u32.to_le_bytes(), 1001u32.to_le_bytes()].concat());
/// # Ok(()) }
/// ```
pub struct Reader {
    streams: Vec<Member>,
    options: DecoderOptions,
    pool: Pool,
    kept: Mutex<VecDeque<Kept>>,
    length: u64,
}

/// A decoded chunk: stream, number, content.
type Kept = (usize, usize, Arc<Vec<u8>>);

/// A stream, where its content begins, and its references.
struct Member {
    stream: OpenStream,
    content: Range<u64>,
    randoms: Vec<Option<RandomAccess>>,
}

/// A tensor of the content, as its container describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name, after the members of archives that lead to it, each with a `:`.
    pub name: String,
    /// Element type; bytes where the format has none for it.
    pub element: ElementType,
    /// Dimensions, the last one contiguous; empty for scalars and where the container does not tell.
    pub shape: Vec<u64>,
    /// Bytes of the content.
    pub range: Range<u64>,
}

/// What is known of one stream of a file without decoding it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamInfo {
    /// Bytes of the file.
    pub coded: Range<u64>,
    /// Bytes of the content.
    pub content: Range<u64>,
    /// CRC32 of this stream's content.
    pub content_crc: u32,
    /// Number of chunks.
    pub chunks: u64,
    /// Whether it may be decoded in the place of its reference.
    pub in_place: bool,
    /// Whether it has an index.
    pub indexed: bool,
    /// What is known of each reference: length and CRC32 of its samples, and of all of it.
    pub references: Vec<ReferenceInfo>,
    /// Keys and values of its metadata.
    pub metadata: Vec<(String, Vec<u8>)>,
}

/// What a stream tells of a reference (spec §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceInfo {
    /// Sampled form.
    pub sampled: Option<ReferenceIdentity>,
    /// Whole form.
    pub whole: Option<ReferenceIdentity>,
    /// Whether it is among the references given to [`inspect_with`](crate::inspect_with); `None` where none was given or the stream tells too little.
    pub given: Option<bool>,
}

impl StreamInfo {
    /// Whether the content of the stream `before` is a reference of this one.
    #[must_use]
    pub fn link(&self, before: &Self) -> Link {
        let known = self.references.iter().map(|r| Identities { sampled: r.sampled, whole: r.whole });
        link(&known.collect::<Vec<_>>(), before.content.end - before.content.start, before.content_crc)
    }
}

impl Reader {
    /// Opens the streams of `source`, a file or bytes in memory; `references` as for a [`Decoder`](crate::Decoder), but no pipes. Without any, what needs
    /// none can be read.
    ///
    /// # Errors
    /// No stream, a truncated one, an index that contradicts it, references that are not those of the encoder.
    pub fn open(source: impl ReadAt + 'static, options: DecoderOptions, references: Vec<Reference>) -> Result<Self> {
        let source: Arc<dyn ReadAt> = Arc::new(source);
        let bounds = map::streams(source.as_ref())?;
        Self::chained(source, bounds, options, references, true)
    }

    /// Opens some of the streams of a file. The reference of a step in a chain is not sampled: that would decode parts of all steps before it.
    pub(crate) fn chained(
        source: Arc<dyn ReadAt>,
        bounds: Vec<Bounds>,
        options: DecoderOptions,
        references: Vec<Reference>,
        sample: bool,
    ) -> Result<Self> {
        let pool = Pool::new(options.threads)?;
        let mut references = References::open(references)?;
        if references.piped() {
            return Err(Error::Usage(String::from(
                "random access needs references that are files; a pipe can only be read forward",
            )));
        }
        let mut streams = Vec::with_capacity(bounds.len());
        let mut at = 0u64;
        for bounds in bounds {
            check_memory(&bounds.header, options.memory)?;
            let stream = OpenStream::new(Arc::clone(&source), bounds, &options.banks)?;
            let end = at.checked_add(stream.bounds.end.content_length).ok_or(Error::Extent("content"))?;
            let mut randoms = Vec::new();
            if references.given() > 0 {
                references.begin(stream.bounds.header.references, true)?;
                for (index, known) in stream.references.iter().enumerate() {
                    if let Some(told) = known.sampled.filter(|_| sample) {
                        references.check_sampled(index, told)?;
                    }
                }
                randoms = references.randoms();
            }
            streams.push(Member { stream, content: at..end, randoms });
            at = end;
        }
        Ok(Self { streams, options, pool, kept: Mutex::default(), length: at })
    }

    /// Bytes of content.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there is no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What is known of each stream.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamInfo> {
        let info = |member: &Member| {
            let Bounds { start, header, end } = &member.stream.bounds;
            StreamInfo {
                coded: *start..start + end.encoded_length,
                content: member.content.clone(),
                content_crc: end.content_crc,
                chunks: end.chunk_count,
                in_place: header.in_place,
                indexed: member.stream.map.indexed,
                references: member
                    .stream
                    .references
                    .iter()
                    .map(|known| ReferenceInfo { sampled: known.sampled, whole: known.whole, given: None })
                    .collect(),
                metadata: member.stream.metadata.clone(),
            }
        };
        self.streams.iter().map(info).collect()
    }

    /// The reference ranges that the index lists for a part of the content, reference index and bytes: what a store may be asked for in advance. Empty without index.
    #[must_use]
    pub fn reference_ranges(&self, range: Range<u64>) -> Vec<(u8, Range<u64>)> {
        let mut found = Vec::new();
        for (stream, number) in self.covering(&range) {
            let Some(member) = self.streams.get(stream) else { continue };
            let Some(place) = member.stream.map.chunks.get(number) else { continue };
            found.extend(member.stream.map.ranges(place).iter().map(|r| (r.reference, r.bytes.clone())));
        }
        found
    }

    /// Writes a part of the content to `out`, in order, some chunks at a time.
    ///
    /// # Errors
    /// The range is not inside the content, a chunk is damaged, a reference does not match or has not been given, or writing failed. What has been
    /// written is right.
    pub fn copy(&self, range: Range<u64>, out: &mut impl Write) -> Result<()> {
        if range.start > range.end || range.end > self.length {
            return Err(Error::Usage(format!(
                "bytes {}:{} are not inside the content, which has {}",
                range.start, range.end, self.length
            )));
        }
        let chunks = self.covering(&range);
        for batch in chunks.chunks((self.pool.threads() * BATCH).max(1)) {
            let decoded = self.pool.map(batch, |&(stream, number)| self.decoded(stream, number));
            for (content, &(stream, number)) in decoded.into_iter().zip(batch) {
                let content = content?;
                let place = self.place(stream, number);
                let from = range.start.max(place.start) - place.start;
                let to = range.end.min(place.end).saturating_sub(place.start);
                #[allow(clippy::cast_possible_truncation)]
                out.write_all(content.get(from as usize..to as usize).unwrap_or(&[]))?;
            }
        }
        Ok(())
    }

    /// The tensors of the content, in its order, by the headers of its containers. Only the chunks that hold headers are decoded.
    ///
    /// # Errors
    /// As of [`copy`](Self::copy). A content that is no container has no tensors.
    pub fn tensors(&self) -> Result<Vec<TensorInfo>> {
        let mut reader = LayoutReader::new();
        while reader.position() < self.length {
            let at = reader.position();
            reader.advance();
            let skip = reader.skippable().min(self.length - at);
            if skip > 0 {
                reader.skip(skip);
                continue;
            }
            let Some(&(stream, number)) = self.covering(&(at..at + 1)).first() else { break };
            let content = self.decoded(stream, number)?;
            let within = usize::try_from(at - self.place(stream, number).start).unwrap_or(usize::MAX);
            reader.push(content.get(within..).filter(|rest| !rest.is_empty()).ok_or(Error::Extent("Chunk"))?);
        }
        reader.finish();
        Ok(tensors(Layout::of_reader(&mut reader).spans()))
    }

    /// The chunks that hold a part of the content: stream and number in it.
    fn covering(&self, range: &Range<u64>) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (number, member) in self.streams.iter().enumerate() {
            let start = range.start.max(member.content.start);
            let end = range.end.min(member.content.end);
            if start < end {
                let own = start - member.content.start..end - member.content.start;
                found.extend(member.stream.map.covering(&own).map(|chunk| (number, chunk)));
            }
        }
        found
    }

    /// The content of a chunk, as a part of all content.
    fn place(&self, stream: usize, number: usize) -> Range<u64> {
        let found = self.streams.get(stream).and_then(|m| Some((m, m.stream.map.chunks.get(number)?)));
        found.map_or(0..0, |(member, place)| {
            member.content.start + place.output.start..member.content.start + place.output.end
        })
    }

    /// A verified chunk, from those kept or decoded now.
    fn decoded(&self, stream: usize, number: usize) -> Result<Arc<Vec<u8>>> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = lock().iter().find(|k| (k.0, k.1) == (stream, number)) {
            return Ok(Arc::clone(&kept.2));
        }
        let content = Arc::new(self.decode(stream, number)?);
        let mut kept = lock();
        kept.push_back((stream, number, Arc::clone(&content)));
        let mut total: usize = kept.iter().map(|k| k.2.len()).sum();
        while total > KEPT && kept.len() > 1 {
            total -= kept.pop_front().map_or(0, |k| k.2.len());
        }
        Ok(content)
    }

    fn decode(&self, stream: usize, number: usize) -> Result<Vec<u8>> {
        let member = self.streams.get(stream).ok_or(Error::Extent("stream"))?;
        let chunk = member.stream.chunk(number)?;
        let place = |error: Error| {
            let offset = member.stream.map.chunks.get(number).map_or(0, |c| c.offset);
            error.at(Some(number as u64), member.stream.bounds.start + offset)
        };
        let mut buffer = Vec::new();
        let reference = reference_bytes(&chunk.ranges, &member.randoms, &mut buffer).map_err(place)?;
        let kernel = self.options.kernel.unwrap_or_else(Kernel::active);
        chunk::decode_one(kernel, &chunk, &reference).map_err(place)
    }
}

impl ReadAt for Reader {
    fn size(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.length);
        let mut done = 0;
        for (stream, number) in self.covering(&(offset..end)) {
            let content = self.decoded(stream, number)?;
            let place = self.place(stream, number);
            let from = usize::try_from(offset.saturating_sub(place.start)).unwrap_or(usize::MAX);
            let bytes = content.get(from..).unwrap_or(&[]);
            let rest = buffer.get_mut(done..).unwrap_or_default();
            let count = bytes.len().min(rest.len());
            if let (Some(to), Some(from)) = (rest.get_mut(..count), bytes.get(..count)) {
                to.copy_from_slice(from);
            }
            done += count;
        }
        Ok(done)
    }
}

/// The tensors that spans belong to.
pub(crate) fn tensors(spans: &[TypedSpan]) -> Vec<TensorInfo> {
    let mut found: Vec<(Arc<crate::container::Tensor>, TensorInfo)> = Vec::new();
    for span in spans {
        let Some(tensor) = &span.tensor else { continue };
        match found.last_mut().filter(|(last, info)| Arc::ptr_eq(last, tensor) && info.range.end == span.offset) {
            Some((_, info)) => {
                if info.element != span.element {
                    // A tail that is no whole element.
                    info.element = ElementType::Bytes;
                }
                info.range.end = span.end();
            }
            None => {
                let info = TensorInfo {
                    name: tensor.to_string(),
                    element: span.element,
                    shape: tensor.shape.to_vec(),
                    range: span.offset..span.end(),
                };
                found.push((Arc::clone(tensor), info));
            }
        }
    }
    found.into_iter().map(|f| f.1).collect()
}
