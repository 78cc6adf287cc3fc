//! What writes the index (spec §6.6): it watches the records as they leave the encoder.

use std::collections::BTreeMap;

use crate::decode::parts::{parts, reference_ranges};
use crate::error::{Error, Result};
use crate::limits::MAX_PROFILE_SLOTS;
use crate::wire::chunk_header::ChunkHeader;
use crate::wire::index::{Entry, Index, Listed, ReferenceRange};
use crate::wire::layout::Layout;
use crate::wire::record_header::{RecordHeader, RecordType, checked_body};

/// Chunks of a segment, at most.
const SEGMENT_CHUNKS: u64 = 4096;
/// Bytes of a segment, about: what is held until it is written.
const SEGMENT_BYTES: usize = 1 << 16;
/// Streams of fewer chunks have no index: walking their records costs no more than reading it.
const FEWEST_CHUNKS: u64 = 16;
/// Reference ranges of a chunk that are listed one by one; of more, the hull for each reference.
const MOST_RANGES: usize = 32;
/// Bytes of an entry, and of a range in it, at most.
const ENTRY: usize = 16;
const RANGE: usize = 18;

/// The segment that is being gathered.
#[derive(Debug, Default)]
pub(crate) struct Indexer {
    segment: Index,
    chunks: u64,
    content: u64,
    bytes: usize,
    references: u8,
    layout: Layout,
    /// Content offset at which the newest Layout's output ends, and the offset of the record.
    layout_end: u64,
    layout_at: u64,
    /// Content offset at which it begins.
    layout_start: u64,
    /// Newest records of the slots that are filled.
    banks: BTreeMap<u8, u64>,
    profiles: BTreeMap<u16, u64>,
}

impl Indexer {
    /// For a stream with so many references.
    pub(crate) fn new(references: u8) -> Self {
        Self { references, ..Self::default() }
    }

    /// Takes in whole records, the first of which is at `offset` of the stream.
    pub(crate) fn take(&mut self, mut records: &[u8], mut offset: u64) -> Result<()> {
        while let Some((header, rest)) = records.split_first_chunk() {
            let header = RecordHeader::parse(header)?;
            let (body, rest) = rest.split_at_checked(header.length as usize).ok_or(Error::Extent("record"))?;
            self.record(&header, body, offset)?;
            offset += (RecordHeader::SIZE + body.len()) as u64;
            records = rest;
        }
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn record(&mut self, header: &RecordHeader, body: &[u8], offset: u64) -> Result<()> {
        let listed = match header.kind {
            RecordType::Layout => {
                let body = checked_body("Layout", body)?;
                let slots = MAX_PROFILE_SLOTS as u16;
                self.layout = Layout::parse(body, header.count, self.content, self.references, slots)?;
                self.layout_end = self.content + self.layout.length();
                self.layout_start = self.content;
                self.layout_at = offset;
                Listed::Layout { begun: 0 }
            }
            RecordType::Bind => {
                let slot = header.count as u8;
                self.banks.insert(slot, offset);
                Listed::Bind(slot)
            }
            RecordType::Profile => {
                self.profiles.insert(header.count, offset);
                Listed::Profile(header.count)
            }
            RecordType::Chunk => self.chunk(header, body)?,
            _ => return Ok(()),
        };
        self.push(Entry { offset, listed });
        Ok(())
    }

    fn push(&mut self, entry: Entry) {
        self.bytes += ENTRY;
        if let Listed::Chunk { ranges, .. } = &entry.listed {
            self.bytes += RANGE * ranges.len();
        }
        self.segment.entries.push(entry);
    }

    fn chunk(&mut self, header: &RecordHeader, body: &[u8]) -> Result<Listed> {
        let (chunk, _) = ChunkHeader::parse(body, header.count)?;
        let parts = parts(&self.layout, chunk.output_offset, chunk.output_length)?;
        let mut kinds: Vec<u8> = parts.iter().map(|p| p.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let uses = |kind: u8| {
            let substream = kinds.binary_search(&kind).ok().and_then(|i| chunk.substreams.get(i));
            substream.is_some_and(|s| s.method.uses_reference())
        };
        let ranges = reference_ranges(&parts, uses);
        let ranges = ranges.into_iter().map(|(reference, bytes)| ReferenceRange { reference, bytes }).collect();
        self.chunks += 1;
        self.content += u64::from(chunk.output_length);
        Ok(Listed::Chunk { output_length: chunk.output_length, ranges: hulls(ranges) })
    }

    /// Whether a segment should be written now.
    pub(crate) fn full(&self) -> bool {
        let chunks = self.chunks - self.segment.first_chunk;
        chunks >= SEGMENT_CHUNKS || (chunks > 0 && self.bytes >= SEGMENT_BYTES)
    }

    /// Appends the segment that will be at `offset` of the stream; after the last chunk only where the stream is worth an index.
    pub(crate) fn write(&mut self, offset: u64, last: bool, out: &mut Vec<u8>) {
        let empty = self.chunks == self.segment.first_chunk;
        let small = self.segment.previous == 0 && self.chunks <= FEWEST_CHUNKS;
        if last && (empty || small) {
            return;
        }
        self.segment.write(out);
        self.segment =
            Index { previous: offset, first_chunk: self.chunks, content_offset: self.content, entries: Vec::new() };
        self.bytes = 0;
        // What stays in force is listed again, so that a segment needs no other.
        let layout = (self.layout_end > self.content)
            .then_some((self.layout_at, Listed::Layout { begun: self.content - self.layout_start }));
        let banks = self.banks.iter().map(|(slot, at)| (*at, Listed::Bind(*slot)));
        let profiles = self.profiles.iter().map(|(slot, at)| (*at, Listed::Profile(*slot)));
        let mut entries: Vec<_> = layout.into_iter().chain(banks).chain(profiles).collect();
        entries.sort_by_key(|e| e.0);
        entries.into_iter().for_each(|(offset, listed)| self.push(Entry { offset, listed }));
    }

    /// Offset of the last segment, 0 if none has been written.
    pub(crate) fn last(&self) -> u64 {
        self.segment.previous
    }
}

/// The ranges, or if there are many, what encloses those of each reference.
fn hulls(ranges: Vec<ReferenceRange>) -> Vec<ReferenceRange> {
    if ranges.len() <= MOST_RANGES {
        return ranges;
    }
    let mut hulls: BTreeMap<u8, ReferenceRange> = BTreeMap::new();
    for range in ranges {
        let hull = hulls.entry(range.reference).or_insert_with(|| range.clone());
        hull.bytes = hull.bytes.start.min(range.bytes.start)..hull.bytes.end.max(range.bytes.end);
    }
    hulls.into_values().collect()
}
