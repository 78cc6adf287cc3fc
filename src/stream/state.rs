//! What a decoder knows of a stream between records (spec §3 to §6).

use std::collections::BTreeSet;

use crate::decode::bank_files::BankFiles;
use crate::decode::chunk::Chunk;
use crate::decode::slots::Slots;
use crate::error::{Error, Result};
use crate::limits::{MAX_BIND_BODY, MAX_LAYOUT_BODY, MAX_METADATA_BODY, MAX_PROFILE_BODY};
use crate::wire;
use crate::wire::chunk_header::ChunkHeader;
use crate::wire::end::End;
use crate::wire::layout::Layout;
use crate::wire::profile::Profile;
use crate::wire::record_header::{RecordHeader, RecordType, checked_body};
use crate::wire::records::{EXTERNAL, ExternalBank, ReferenceIdentity, WHOLE, parse_digest};
use crate::wire::stream_header::StreamHeader;

/// Identities of one reference, as far as the stream has told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identities {
    pub(crate) sampled: Option<ReferenceIdentity>,
    pub(crate) whole: Option<ReferenceIdentity>,
}

/// What a record other than a Chunk asks its reader to do.
#[derive(Debug)]
pub(crate) enum Event {
    /// Nothing.
    None,
    /// The sampled form of a reference is known.
    Sampled(usize),
    /// The stream has ended.
    End(End),
}

/// The state of one stream.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) header: StreamHeader,
    /// Newest layout.
    pub(crate) layout: Layout,
    /// Content offset at which the newest layout ends.
    pub(crate) layout_end: u64,
    pub(crate) slots: Slots,
    /// Where the banks of external Binds come from.
    pub(crate) bank_files: BankFiles,
    pub(crate) references: Vec<Identities>,
    pub(crate) metadata: Vec<(String, Vec<u8>)>,
    /// Keys of the metadata.
    keys: BTreeSet<String>,
    pub(crate) digest: Option<[u8; 32]>,
    /// Content bytes of the chunks so far.
    pub(crate) offset: u64,
    pub(crate) chunks: u64,
    /// Offset in the stream of the last Index record.
    pub(crate) index_offset: u64,
    /// Chunks that could not be read (salvage only): the next one may begin later.
    lost: u64,
    metadata_bytes: u64,
    ending: bool,
    /// References that a Layout has named.
    named: Vec<bool>,
}

impl State {
    pub(crate) fn new(header: StreamHeader) -> Self {
        Self {
            header,
            layout: Layout::default(),
            layout_end: 0,
            slots: Slots::new(&header),
            bank_files: BankFiles::default(),
            references: vec![Identities::default(); header.references.into()],
            metadata: Vec::new(),
            keys: BTreeSet::new(),
            digest: None,
            offset: 0,
            chunks: 0,
            index_offset: 0,
            lost: 0,
            metadata_bytes: 0,
            ending: false,
            named: vec![false; header.references.into()],
        }
    }

    /// Checks a record's length before its body is read (ULP-REC-05).
    pub(crate) fn check_length(&self, record: &RecordHeader) -> Result<()> {
        let (field, most) = match record.kind {
            RecordType::Layout => ("Layout length", MAX_LAYOUT_BODY.into()),
            RecordType::Reference => ("Reference length", 16),
            RecordType::Bind => ("Bind length", MAX_BIND_BODY.into()),
            RecordType::Profile => ("Profile length", MAX_PROFILE_BODY.into()),
            RecordType::Chunk => {
                ("Chunk length", u64::from(self.header.max_chunk_length) + ChunkHeader::size(record.count) as u64)
            }
            RecordType::End => ("End length", End::SIZE as u64),
            RecordType::Metadata => ("Metadata length", u64::from(MAX_METADATA_BODY) - self.metadata_bytes),
            RecordType::Digest => ("Digest length", 36),
            RecordType::Index | RecordType::Ancillary(_) => return Ok(()),
        };
        let length = u64::from(record.length);
        if length > most { Err(Error::Field { field, value: length }) } else { Ok(()) }
    }

    /// Takes in a record other than Chunk, Index and unknown ancillary ones.
    pub(crate) fn record(&mut self, record: &RecordHeader, body: &[u8]) -> Result<Event> {
        match record.kind {
            RecordType::End => {
                let end = End::parse(body)?;
                if self.offset != self.layout_end {
                    return Err(Error::Order("End before all output of the Layout"));
                }
                return Ok(Event::End(end));
            }
            RecordType::Layout => {
                let body = checked_body("Layout", body)?;
                if self.offset != self.layout_end {
                    return Err(Error::Order("Layout before all output of the last one"));
                }
                self.not_ending()?;
                let (references, profiles) = (self.header.references, self.header.profile_slots);
                let layout = Layout::parse(body, record.count, self.offset, references, profiles)?;
                if self.header.in_place {
                    check_in_place(&layout)?;
                }
                for reference in layout.kinds.iter().filter_map(|k| k.reference) {
                    if let Some(named) = self.named.get_mut(usize::from(reference.index)) {
                        *named = true;
                    }
                }
                self.layout_end = self.offset + layout.length();
                self.layout = layout;
            }
            RecordType::Reference => {
                let identity = ReferenceIdentity::parse(checked_body("Reference", body)?)?;
                return self.reference(record, identity);
            }
            RecordType::Bind => {
                let body = checked_body("Bind", body)?;
                if record.count >= u16::from(self.header.bank_slots) {
                    return Err(Error::Field { field: "bank slot", value: record.count.into() });
                }
                if record.flags & EXTERNAL != 0 {
                    let bank = self.bank_files.bank(&ExternalBank::parse(body)?)?;
                    self.slots.share_bank(record.count, bank)?;
                } else {
                    self.slots.set_bank(record.count, wire::bank::parse(body)?)?;
                }
            }
            RecordType::Profile => {
                let profile = Profile::parse(checked_body("Profile", body)?)?;
                self.slots.set_profile(record.count, profile.values)?;
            }
            RecordType::Metadata => {
                let body = checked_body("Metadata", body)?;
                self.metadata_bytes += u64::from(record.length);
                for (key, value) in wire::metadata::parse(body, record.count)? {
                    if !self.keys.insert(key.clone()) {
                        return Err(Error::Order("a metadata key comes twice"));
                    }
                    self.metadata.push((key, value));
                }
            }
            RecordType::Digest => {
                let digest = parse_digest(checked_body("Digest", body)?)?;
                if self.digest.replace(digest).is_some() {
                    return Err(Error::Order("a second Digest"));
                }
                self.ending = true;
            }
            RecordType::Chunk | RecordType::Index | RecordType::Ancillary(_) => {}
        }
        Ok(Event::None)
    }

    fn reference(&mut self, record: &RecordHeader, identity: ReferenceIdentity) -> Result<Event> {
        let index = usize::from(record.count);
        let named = self.named.get(index).copied().unwrap_or(false);
        let known =
            self.references.get_mut(index).ok_or(Error::Field { field: "reference", value: record.count.into() })?;
        if record.flags & WHOLE != 0 {
            self.ending = true;
            if known.whole.replace(identity).is_some() {
                return Err(Error::Order("a second whole form of a reference"));
            }
            return Ok(Event::None);
        }
        if known.sampled.replace(identity).is_some() {
            return Err(Error::Order("a second sampled form of a reference"));
        }
        if named {
            return Err(Error::Order("a reference's sampled form after its first use"));
        }
        Ok(Event::Sampled(index))
    }

    /// ULP-END-01, but for the content's CRC, which only decoding can tell.
    pub(crate) fn check_end(&self, end: &End, encoded_length: u64) -> Result<()> {
        for (field, expected, actual) in [
            ("chunk_count", end.chunk_count, self.chunks),
            ("content_length", end.content_length, self.offset),
            ("encoded_length", end.encoded_length, encoded_length),
            ("index_offset", end.index_offset, self.index_offset),
        ] {
            if expected != actual {
                return Err(Error::Contradiction { field, expected, actual });
            }
        }
        Ok(())
    }

    /// Nothing more may be coded after a Digest or the whole form of a reference.
    fn not_ending(&self) -> Result<()> {
        if self.ending { Err(Error::Order("content after a Digest or a whole Reference")) } else { Ok(()) }
    }

    /// Gives up a chunk whose header cannot be read (salvage).
    pub(crate) fn lose_chunk(&mut self) {
        self.lost += 1;
        self.chunks += 1;
    }

    /// Content bytes that lost chunks have left out before content offset `next`, or before the end of the Layout, if they can have held so many; from
    /// here on they count as produced.
    pub(crate) fn gap(&mut self, next: Option<u64>) -> u64 {
        let end = next.unwrap_or(self.layout_end);
        let gap = end.saturating_sub(self.offset);
        let most = self.lost.saturating_mul(self.header.max_chunk_length.into());
        if gap == 0 || gap > most || end > self.layout_end {
            return 0;
        }
        self.lost = 0;
        self.offset = end;
        gap
    }

    /// Takes in the body of a Chunk record.
    pub(crate) fn chunk(&mut self, record: &RecordHeader, body: Vec<u8>) -> Result<Chunk> {
        self.not_ending()?;
        let max = self.header.max_chunk_length;
        let chunk = Chunk::parse(body, record.count, self.offset, max, &self.layout, &self.slots)?;
        self.offset += u64::from(chunk.header.output_length);
        self.chunks += 1;
        Ok(chunk)
    }
}

/// ULP-HDR-07.
pub(crate) fn check_in_place(layout: &Layout) -> Result<()> {
    for span in &layout.spans {
        let kind = layout.kind_of(span);
        if let Some(reference) = kind.reference
            && (reference.element.width() != kind.element.width() || span.reference_offset != span.offset)
        {
            return Err(Error::Order("a span of an IN_PLACE stream has another place in the reference"));
        }
    }
    Ok(())
}

/// Memory that one thread needs: output, coded bytes and reference of a chunk, and the banks.
pub(crate) fn memory_needed(header: &StreamHeader) -> u64 {
    u64::from(header.max_chunk_length) * 3 + u64::from(header.bank_slots.min(16)) * (512 << 10)
}

/// Refuses a stream that needs more memory than is allowed.
pub(crate) fn check_memory(header: &StreamHeader, allowed: Option<u64>) -> Result<()> {
    let needed = memory_needed(header);
    match allowed.filter(|&allowed| needed > allowed) {
        Some(allowed) => Err(Error::OverLimit { what: "memory", needed, allowed }),
        None => Ok(()),
    }
}
