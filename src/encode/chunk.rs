//! Coding of one chunk of a window (spec §7).

use crate::encode::bind::Coder;
use crate::encode::kind::{Gathered, KindPlan};
use crate::encode::plan::Plan;
use crate::encode::scales::Scales;
use crate::encode::span::SpanReference;
use crate::encode::symbols::Elements;
use crate::encode::workspace::Workspace;
use crate::wire::chunk_header::{ChunkHeader, Method, SubstreamHeader};
use crate::wire::record_header::{RecordHeader, RecordType};

/// A coded chunk.
#[derive(Clone, Debug)]
pub struct CodedChunk {
    /// The record.
    pub record: Vec<u8>,
    /// CRC32 of the content.
    pub content_crc: u32,
    /// Bytes of the content.
    pub length: u64,
    /// Whether every byte equals its reference at the same place.
    pub same: bool,
    /// The reference bytes used, where they follow one another.
    pub read: Option<ReadRange>,
}

/// Bytes of a reference and their CRC32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRange {
    /// Which reference.
    pub index: u8,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// Their CRC32.
    pub crc: u32,
}

impl ReadRange {
    /// Appends bytes of a reference at `offset`; false where they do not follow.
    fn append(&mut self, index: u8, offset: u64, length: u64) -> bool {
        if self.length == 0 {
            (self.index, self.offset) = (index, offset);
        }
        let follows = self.index == index && self.offset + self.length == offset;
        self.length += length;
        follows
    }
}

impl Plan<'_> {
    /// Codes a chunk whose content is `content`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn encode(&self, chunk: usize, content: &[u8]) -> CodedChunk {
        let ranges = self.ranges(chunk);
        let mut header = ChunkHeader {
            output_offset: self.start + self.range(chunk).start as u64,
            output_length: content.len() as u32,
            content_crc: crc32fast::hash(content),
            reference_crc: 0,
            substreams: Vec::with_capacity(ranges.len()),
        };
        let count = ranges.len() as u16;
        // The headers' place is kept free until their content is known.
        let headers = RecordHeader::SIZE + ChunkHeader::size(count);
        let mut record = self.workspaces.record();
        record.reserve(headers + content.len() / 2);
        record.resize(headers, 0);
        let mut methods = vec![Method::Raw; self.kinds.len()];
        self.workspaces.with(|workspace| {
            for (kind, range) in ranges {
                let before = record.len();
                let plan = &self.kinds[kind];
                let gathered = plan.gather(range);
                let scales = self.take_scales(chunk, kind);
                let coder = self.coder(chunk, kind);
                let mut substream = substream(plan, &gathered, scales, coder, workspace, &mut record);
                substream.length = (record.len() - before) as u32;
                methods[kind] = substream.method;
                header.substreams.push(substream);
            }
        });
        let parts = self.parts(chunk);
        let mut crc = crc32fast::Hasher::new();
        let mut read = ReadRange { index: 0, offset: 0, length: 0, crc: 0 };
        let mut follow = true;
        for (kind, range) in parts.iter().filter(|p| methods[p.0].uses_reference()) {
            self.kinds[*kind].references(range.clone(), |reference| {
                crc.update(reference.bytes);
                follow &= read.append(reference.index, reference.offset, reference.bytes.len() as u64);
            });
        }
        header.reference_crc = crc.finalize();
        read.crc = header.reference_crc;
        let length = (record.len() - RecordHeader::SIZE) as u32;
        let mut written = Vec::with_capacity(headers);
        RecordHeader { kind: RecordType::Chunk, flags: 0, count, length }.write(&mut written);
        header.write(&mut written);
        if let Some(place) = record.get_mut(..written.len()) {
            place.copy_from_slice(&written);
        }
        let start = header.output_offset;
        let same = parts.iter().all(|(kind, range)| {
            methods[*kind] == Method::Same && self.kinds[*kind].in_place(range.clone(), self.start, start)
        });
        let read = Some(read).filter(|_| follow);
        CodedChunk { record, content_crc: header.content_crc, length: content.len() as u64, same, read }
    }
}

impl KindPlan<'_> {
    /// Gives the references of elements `range`, unconverted, in order.
    fn references(&self, range: std::ops::Range<usize>, mut f: impl FnMut(SpanReference<'_>)) {
        let first = self.members.partition_point(|m| m.before + m.span.elements() <= range.start);
        for m in self.members[first..].iter().take_while(|m| m.before < range.end) {
            let start = range.start.saturating_sub(m.before);
            let end = (range.end - m.before).min(m.span.elements());
            if let Some(r) = m.span.part(start, end).reference {
                f(r);
            }
        }
    }

    /// Whether the elements' references are unconverted.
    fn in_place(&self, _range: std::ops::Range<usize>, _window: u64, _start: u64) -> bool {
        self.kind.reference.is_some_and(|r| r.element == self.kind.element)
    }
}

/// SAME or CONSTANT, where one of them will do: they need no bank.
pub(crate) fn simple(plan: &KindPlan<'_>, elements: &Elements<'_>) -> Option<Method> {
    if plan.kind.reference.is_some() && elements.next == elements.reference {
        return Some(Method::Same);
    }
    let width = plan.kind.element.width();
    let first = elements.next.get(..width)?;
    elements.next.chunks_exact(width).all(|e| e == first).then_some(Method::Constant)
}

/// Codes the elements of one kind, by the cheapest method; appends the data.
#[allow(clippy::cast_possible_truncation)]
fn substream(
    plan: &KindPlan<'_>,
    gathered: &Gathered<'_>,
    scales: Option<Scales>,
    coder: Option<&Coder>,
    workspace: &mut Workspace,
    data: &mut Vec<u8>,
) -> SubstreamHeader {
    let elements = gathered.elements();
    let start = data.len();
    match simple(plan, &elements) {
        Some(Method::Constant) => {
            data.extend_from_slice(elements.next.get(..plan.kind.element.width()).unwrap_or(&[]));
            return SubstreamHeader::simple(Method::Constant, 0);
        }
        Some(method) => return SubstreamHeader::simple(method, 0),
        None => {}
    }
    if let Some(Coder { coding, bank, id }) = coder {
        let count = coding.count(&elements);
        let scales = scales.unwrap_or_else(|| coding.scales_of(workspace.kernel, elements));
        let lanes = lanes(count);
        coding.encode(elements, &scales, bank, lanes, workspace, data);
        if data.len() - start < elements.next.len() {
            return SubstreamHeader {
                method: Method::of(coding.model),
                bank: *id,
                block: coding.block,
                shift: coding.shift,
                lanes,
                profiles: !elements.profiles.is_empty() && coding.class.elements() == 1,
                scale_base: scales.base,
                length: 0,
            };
        }
        data.truncate(start);
    }
    data.extend_from_slice(elements.next);
    SubstreamHeader::simple(Method::Raw, 0)
}

/// log2 of the lanes for so many elements: a lane costs three bytes, and few elements need no speed.
fn lanes(count: usize) -> u8 {
    match count {
        0..256 => 0,
        256..1024 => 1,
        1024..4096 => 2,
        4096..16_384 => 3,
        16_384..32_768 => 4,
        _ => 5,
    }
}
