//! Where the records of a stream are: from its index, else from the headers of its records (spec §6.6).

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::limits::{MAX_INDEX_BODY, MAX_LAYOUT_BODY, MAX_METADATA_BODY, MAX_PROFILE_BODY};
use crate::stream::read_at::ReadAt;
use crate::wire::chunk_header::ChunkHeader;
use crate::wire::end::End;
use crate::wire::fields::Fields;
use crate::wire::index::{Entry, Index, Listed};
use crate::wire::record_header::{RecordHeader, RecordType, checked_body};
use crate::wire::stream_header::{MAGIC, StreamHeader};

/// Bytes of an End record.
const END: u64 = (RecordHeader::SIZE + End::SIZE) as u64;
/// Bytes looked at together for zeros at the end of a file: few at first, as there are none mostly.
const FEW_ZEROS: usize = 64;
const ZEROS: usize = 1 << 16;

/// One stream of a file, and what its End says of it.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Offset in the file.
    pub(crate) start: u64,
    pub(crate) header: StreamHeader,
    pub(crate) end: End,
}

/// Where a chunk is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Offset of its record in the stream.
    pub(crate) offset: u64,
    /// Its content, from the start of the stream's.
    pub(crate) output: Range<u64>,
    /// Its segment, and its entry there.
    segment: usize,
    entry: usize,
}

/// The records that a chunk may need: offsets in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) layout: u64,
    /// Content offset at which the Layout begins.
    pub(crate) layout_start: u64,
    pub(crate) banks: BTreeMap<u8, u64>,
    pub(crate) profiles: BTreeMap<u16, u64>,
}

/// The records of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) chunks: Vec<Place>,
    /// Whether an index told.
    pub(crate) indexed: bool,
    segments: Vec<Index>,
}

/// Finds the streams of a file from its end: each End tells where its stream begins.
pub(crate) fn streams(source: &dyn ReadAt) -> Result<Vec<Bounds>> {
    let size = source.size()?;
    let mut first = [0; StreamHeader::SIZE];
    let got = source.fill_at(&mut first, 0)?;
    if !MAGIC.starts_with(first.get(..got.min(MAGIC.len())).unwrap_or(&[])) {
        return Err(Error::NotUlp);
    }
    if got < first.len() {
        return Err(Error::Truncated);
    }
    StreamHeader::parse(&first)?;
    let mut end = without_zeros(source, size)?;
    let mut found = Vec::new();
    while end > 0 {
        let bounds = last_stream(source, end)?;
        end = bounds.start;
        found.push(bounds);
    }
    found.reverse();
    Ok(found)
}

/// The end of what is not zero.
fn without_zeros(source: &dyn ReadAt, mut size: u64) -> Result<u64> {
    let mut piece = vec![0; ZEROS];
    let mut most = FEW_ZEROS;
    while size > 0 {
        let start = size.saturating_sub(most as u64);
        let count = usize::try_from(size - start).unwrap_or(0).min(most);
        most = ZEROS;
        let bytes = piece.get_mut(..count).unwrap_or_default();
        let got = source.fill_at(bytes, start)?;
        match bytes.get(..got).unwrap_or(&[]).iter().rposition(|&b| b != 0) {
            Some(last) => return Ok(start + last as u64 + 1),
            None => size = start,
        }
    }
    Ok(0)
}

/// The stream that ends at `end`.
fn last_stream(source: &dyn ReadAt, end: u64) -> Result<Bounds> {
    let at = end.checked_sub(END).ok_or(Error::Truncated)?;
    let mut bytes = [0; END as usize];
    read_exact(source, &mut bytes, at)?;
    let (header, body) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
    // No End there: the stream has been cut off, or something follows it.
    let header =
        RecordHeader::parse(header).ok().filter(|h| h.kind == RecordType::End && h.length as usize == End::SIZE);
    let record = header.ok_or(Error::Truncated).and_then(|_| End::parse(body))?;
    let wrong = Error::Contradiction { field: "encoded_length", expected: record.encoded_length, actual: end };
    let start = end.checked_sub(record.encoded_length).filter(|s| *s + StreamHeader::SIZE as u64 <= at);
    let start = start.ok_or(wrong)?;
    let mut header = [0; StreamHeader::SIZE];
    read_exact(source, &mut header, start)?;
    let header = StreamHeader::parse(&header).map_err(|error| error.at(None, start))?;
    Ok(Bounds { start, header, end: record })
}

fn read_exact(source: &dyn ReadAt, buffer: &mut [u8], offset: u64) -> Result<()> {
    if source.fill_at(buffer, offset)? < buffer.len() { Err(Error::Truncated) } else { Ok(()) }
}

impl Bounds {
    /// Offset in the stream of its End record.
    pub(crate) fn end_offset(&self) -> u64 {
        self.end.encoded_length - END
    }

    /// The header of the record at an offset of the stream.
    pub(crate) fn record_header(&self, source: &dyn ReadAt, offset: u64) -> Result<RecordHeader> {
        let mut bytes = [0; RecordHeader::SIZE];
        read_exact(source, &mut bytes, self.start + offset)?;
        let header = RecordHeader::parse(&bytes)?;
        let end = offset + RecordHeader::SIZE as u64 + u64::from(header.length);
        if end > self.end.encoded_length { Err(Error::Truncated) } else { Ok(header) }
    }

    /// The record at an offset of the stream, which must be of this type; its body as it is. Allocates what the stream is long enough for.
    pub(crate) fn record(&self, source: &dyn ReadAt, offset: u64, kind: RecordType) -> Result<(RecordHeader, Vec<u8>)> {
        let header = self.record_header(source, offset)?;
        if header.kind != kind {
            let (expected, actual) = (kind.id().into(), header.kind.id().into());
            return Err(Error::Contradiction { field: "type of a record in the Index", expected, actual });
        }
        let most = match kind {
            RecordType::Chunk => u64::from(self.header.max_chunk_length) + ChunkHeader::size(header.count) as u64,
            RecordType::Profile => MAX_PROFILE_BODY.into(),
            RecordType::Index => MAX_INDEX_BODY.into(),
            RecordType::Metadata => MAX_METADATA_BODY.into(),
            _ => MAX_LAYOUT_BODY.into(),
        };
        if u64::from(header.length) > most {
            return Err(Error::Field { field: "record length", value: header.length.into() });
        }
        let mut body = vec![0; header.length as usize];
        read_exact(source, &mut body, self.start + offset + RecordHeader::SIZE as u64)?;
        Ok((header, body))
    }

    /// Finds all chunks.
    pub(crate) fn map(&self, source: &dyn ReadAt) -> Result<Map> {
        let (segments, indexed) = match self.index(source)? {
            Some(segments) => (segments, true),
            None => (vec![self.walk(source)?], false),
        };
        let mut map = Map { chunks: Vec::new(), indexed, segments: Vec::new() };
        let mut content = 0;
        let mut last = 0;
        for (number, segment) in segments.iter().enumerate() {
            let contradiction = |field, expected, actual| Error::Contradiction { field, expected, actual };
            if segment.first_chunk != map.chunks.len() as u64 {
                return Err(contradiction("first_chunk", segment.first_chunk, map.chunks.len() as u64));
            }
            if segment.content_offset != content {
                return Err(contradiction("content_offset", segment.content_offset, content));
            }
            for (entry, Entry { offset, listed }) in segment.entries.iter().enumerate() {
                let Listed::Chunk { output_length, .. } = listed else { continue };
                if *offset <= last {
                    return Err(contradiction("offset of a chunk in the Index", *offset, last));
                }
                last = *offset;
                let output = content..content + u64::from(*output_length);
                content = output.end;
                map.chunks.push(Place { offset: *offset, output, segment: number, entry });
            }
        }
        for (field, expected, actual) in [
            ("chunk_count", self.end.chunk_count, map.chunks.len() as u64),
            ("content_length", self.end.content_length, content),
        ] {
            if expected != actual {
                return Err(Error::Contradiction { field, expected, actual });
            }
        }
        map.segments = segments;
        Ok(map)
    }

    /// The segments of the index, in order; `None` where there is none, or one of a later form.
    fn index(&self, source: &dyn ReadAt) -> Result<Option<Vec<Index>>> {
        let mut segments = Vec::new();
        let mut at = self.end.index_offset;
        if at >= self.end_offset() {
            return Err(Error::Field { field: "index_offset", value: at });
        }
        while at != 0 {
            let place = |error: Error| error.at(None, self.start + at);
            let (header, body) = self.record(source, at, RecordType::Index).map_err(place)?;
            if header.flags != 0 {
                return Ok(None);
            }
            let segment = checked_body("Index", &body).and_then(|body| Index::parse(body, header.count, at));
            let segment = segment.map_err(place)?;
            at = segment.previous;
            segments.push(segment);
        }
        segments.reverse();
        Ok((!segments.is_empty()).then_some(segments))
    }

    /// All records, from their headers, as one segment without reference ranges.
    fn walk(&self, source: &dyn ReadAt) -> Result<Index> {
        let mut segment = Index::default();
        let mut offset = StreamHeader::SIZE as u64;
        while offset < self.end_offset() {
            let place = |error: Error| error.at(None, self.start + offset);
            // Of a chunk the header's first fields come along.
            let mut bytes = [0; RecordHeader::SIZE + 12];
            read_exact(source, &mut bytes, self.start + offset).map_err(place)?;
            let (header, chunk) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
            let header = RecordHeader::parse(header).map_err(place)?;
            let listed = match header.kind {
                RecordType::Layout => Some(Listed::Layout { begun: 0 }),
                RecordType::Bind => u8::try_from(header.count).ok().map(Listed::Bind),
                RecordType::Profile => Some(Listed::Profile(header.count)),
                RecordType::Chunk => {
                    let mut fields = Fields::new(chunk, "Chunk_Header");
                    fields.u64().map_err(place)?;
                    let output_length = fields.u32().map_err(place)?;
                    if output_length > self.header.max_chunk_length {
                        let value = output_length.into();
                        return Err(place(Error::Field { field: "output_length", value }));
                    }
                    Some(Listed::Chunk { output_length, ranges: Vec::new() })
                }
                _ => None,
            };
            segment.entries.extend(listed.map(|listed| Entry { offset, listed }));
            offset += RecordHeader::SIZE as u64 + u64::from(header.length);
        }
        if offset > self.end_offset() { Err(Error::Truncated) } else { Ok(segment) }
    }
}

impl Map {
    /// The records that a chunk may need, those that its header and Layout name among them.
    ///
    /// # Errors
    /// No Layout is listed before it.
    pub(crate) fn needs(&self, chunk: &Place) -> Result<Needs> {
        let lost = Error::Order("a chunk in the Index without its Layout");
        let entries = self.segments.get(chunk.segment).and_then(|s| s.entries.get(..chunk.entry));
        let mut needs = Needs::default();
        // Content of the chunks between a record and this one.
        let mut between = 0;
        for entry in entries.unwrap_or(&[]).iter().rev() {
            match &entry.listed {
                Listed::Layout { begun } if needs.layout == 0 => {
                    needs.layout = entry.offset;
                    let before = chunk.output.start.checked_sub(between).and_then(|b| b.checked_sub(*begun));
                    needs.layout_start = before.ok_or(Error::Order("a Layout in the Index before the content"))?;
                }
                Listed::Layout { .. } => {}
                Listed::Bind(slot) => drop(needs.banks.entry(*slot).or_insert(entry.offset)),
                Listed::Profile(slot) => drop(needs.profiles.entry(*slot).or_insert(entry.offset)),
                Listed::Chunk { output_length, .. } => between += u64::from(*output_length),
            }
        }
        if needs.layout == 0 { Err(lost) } else { Ok(needs) }
    }

    /// The reference ranges that the index lists for a chunk.
    pub(crate) fn ranges(&self, chunk: &Place) -> &[crate::wire::index::ReferenceRange] {
        match self.segments.get(chunk.segment).and_then(|s| s.entries.get(chunk.entry)) {
            Some(Entry { listed: Listed::Chunk { ranges, .. }, .. }) => ranges,
            _ => &[],
        }
    }

    /// The chunks that hold a part of the content, by number.
    pub(crate) fn covering(&self, content: &Range<u64>) -> Range<usize> {
        let first = self.chunks.partition_point(|c| c.output.end <= content.start);
        let last = self.chunks.partition_point(|c| c.output.start < content.end);
        first..last.max(first)
    }
}
