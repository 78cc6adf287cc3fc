//! Index (spec §6.6): where the records of a stream are, in segments.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::limits::{MAX_INDEX_BODY, MAX_OFFSET};
use crate::wire::fields::Fields;
use crate::wire::leb128;
use crate::wire::record_header::{RecordType, write_record};
use crate::wire::stream_header::StreamHeader;

/// Bytes of the smallest record: a header and the CRC of its body.
const SMALLEST_RECORD: u64 = 16;

/// Bytes of a reference that a chunk needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceRange {
    /// Index of the reference.
    pub reference: u8,
    /// Its bytes.
    pub bytes: Range<u64>,
}

/// What an entry says of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A Layout.
    Layout {
        /// Output bytes that it describes before the chunks that follow in the segment; 0 but where the Layout is listed again.
        begun: u64,
    },
    /// A Bind of this slot.
    Bind(u8),
    /// A Profile of this slot.
    Profile(u16),
    /// A Chunk.
    Chunk {
        /// Content bytes.
        output_length: u32,
        /// Reference bytes that it needs, or more.
        ranges: Vec<ReferenceRange>,
    },
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Offset of its `Record_Header` in the stream.
    pub offset: u64,
    /// What it is.
    pub listed: Listed,
}

/// §6.6: a segment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Index {
    /// Offset of the segment before, 0 for the first.
    pub previous: u64,
    /// Chunks before those listed.
    pub first_chunk: u64,
    /// Content bytes before them.
    pub content_offset: u64,
    /// Records in the order of the stream.
    pub entries: Vec<Entry>,
}

impl Index {
    /// Number of chunks listed.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.entries.iter().filter(|e| matches!(e.listed, Listed::Chunk { .. })).count()
    }

    /// Parses the body (without CRC) of the record at offset `at` of its stream.
    ///
    /// # Errors
    /// ULP-IDX-01 and 02, as far as the body tells.
    pub fn parse(body: &[u8], count: u16, at: u64) -> Result<Self> {
        if body.len() + 4 > MAX_INDEX_BODY as usize {
            return Err(Error::Field { field: "Index length", value: body.len() as u64 + 4 });
        }
        let mut fields = Fields::new(body, "Index");
        let (previous, first_chunk, content_offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        if previous >= at {
            return Err(Error::Field { field: "Index previous", value: previous });
        }
        let mut offset = 0u64;
        let mut content = content_offset;
        let mut chunks = 0u64;
        let mut entries = Vec::new();
        while !fields.rest().is_empty() {
            let kind = fields.u8()?;
            let distance = leb128::read(&mut fields)?;
            let least = if entries.is_empty() { StreamHeader::SIZE as u64 } else { SMALLEST_RECORD };
            let end = offset.checked_add(distance).filter(|&o| o <= at.saturating_sub(SMALLEST_RECORD));
            offset = match end {
                Some(end) if distance >= least => end,
                _ => return Err(Error::Field { field: "Index distance", value: distance }),
            };
            let listed = match kind {
                1 => Listed::Layout { begun: begun(&mut fields, content)? },
                3 => Listed::Bind(slot(&mut fields)?),
                4 => Listed::Profile(slot(&mut fields)?),
                5 => {
                    let output_length = leb128::read(&mut fields)?;
                    let output_length = u32::try_from(output_length)
                        .ok()
                        .filter(|&n| n > 0)
                        .ok_or(Error::Field { field: "Index output_length", value: output_length })?;
                    let ranges = ranges(&mut fields, content)?;
                    content = content
                        .checked_add(output_length.into())
                        .filter(|&c| c < MAX_OFFSET)
                        .ok_or(Error::Field { field: "Index content_offset", value: content_offset })?;
                    chunks += 1;
                    Listed::Chunk { output_length, ranges }
                }
                _ => return Err(Error::Unknown { what: "Index entry", value: kind.into() }),
            };
            entries.push(Entry { offset, listed });
        }
        if chunks != u64::from(count) || chunks == 0 {
            return Err(Error::Contradiction { field: "Index count", expected: count.into(), actual: chunks });
        }
        Ok(Self { previous, first_chunk, content_offset, entries })
    }

    /// Appends the record.
    #[allow(clippy::cast_possible_truncation)]
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        for field in [self.previous, self.first_chunk, self.content_offset] {
            body.extend_from_slice(&field.to_le_bytes());
        }
        let mut before = 0;
        let mut content = self.content_offset;
        for entry in &self.entries {
            entry.write(before, content, &mut body);
            before = entry.offset;
            if let Listed::Chunk { output_length, .. } = entry.listed {
                content += u64::from(output_length);
            }
        }
        write_record(out, RecordType::Index, 0, self.chunks() as u16, &body);
    }
}

impl Entry {
    /// Appends an entry that follows one at offset `before`, with `content` bytes of content before its chunk.
    fn write(&self, before: u64, content: u64, body: &mut Vec<u8>) {
        let kind = match self.listed {
            Listed::Layout { .. } => RecordType::Layout,
            Listed::Bind(_) => RecordType::Bind,
            Listed::Profile(_) => RecordType::Profile,
            Listed::Chunk { .. } => RecordType::Chunk,
        };
        body.push(kind.id());
        leb128::write(body, self.offset - before);
        match &self.listed {
            Listed::Layout { begun } => leb128::write(body, *begun),
            Listed::Bind(slot) => leb128::write(body, (*slot).into()),
            Listed::Profile(slot) => leb128::write(body, (*slot).into()),
            Listed::Chunk { output_length, ranges } => {
                leb128::write(body, (*output_length).into());
                leb128::write(body, ranges.len() as u64);
                let mut expected = content;
                for range in ranges {
                    body.push(range.reference);
                    #[allow(clippy::cast_possible_wrap)]
                    leb128::write(body, leb128::zigzag(range.bytes.start.wrapping_sub(expected) as i64));
                    leb128::write(body, range.bytes.end - range.bytes.start);
                    expected = range.bytes.end;
                }
            }
        }
    }
}

fn slot<T: TryFrom<u64>>(fields: &mut Fields<'_>) -> Result<T> {
    let slot = leb128::read(fields)?;
    T::try_from(slot).map_err(|_| Error::Field { field: "Index slot", value: slot })
}

/// The output of a Layout before `content`.
fn begun(fields: &mut Fields<'_>, content: u64) -> Result<u64> {
    let begun = leb128::read(fields)?;
    if begun <= content { Ok(begun) } else { Err(Error::Field { field: "Index begun", value: begun }) }
}

/// The reference ranges of a chunk with `expected` bytes of content before it.
fn ranges(fields: &mut Fields<'_>, mut expected: u64) -> Result<Vec<ReferenceRange>> {
    let count = leb128::read(fields)?;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let reference = fields.u8()?;
        let away = leb128::unzigzag(leb128::read(fields)?);
        let length = leb128::read(fields)?;
        let start = expected.checked_add_signed(away);
        let end = start.and_then(|s| s.checked_add(length)).filter(|&e| e < MAX_OFFSET && length > 0);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Error::Field { field: "Index reference range", value: length });
        };
        ranges.push(ReferenceRange { reference, bytes: start..end });
        expected = end;
    }
    Ok(ranges)
}
