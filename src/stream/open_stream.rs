//! One stream of a file, open for random access: each chunk with the records that it needs.

use std::sync::{Arc, Mutex, PoisonError};

use crate::decode::bank_files::BankFiles;
use crate::decode::chunk::Chunk;
use crate::decode::parts::parts;
use crate::decode::slots::Slots;
use crate::error::{Error, Result};
use crate::limits::{BUILT_IN_BANKS, MAX_METADATA_BODY};
use crate::stream::map::{Bounds, Map, Needs, Place};
use crate::stream::read_at::ReadAt;
use crate::stream::state::{Identities, check_in_place};
use crate::wire;
use crate::wire::bank_file::BankFile;
use crate::wire::chunk_header::ChunkHeader;
use crate::wire::layout::Layout;
use crate::wire::profile::Profile;
use crate::wire::record_header::{RecordHeader, RecordType, checked_body};
use crate::wire::records::{EXTERNAL, ExternalBank, ReferenceIdentity, WHOLE};
use crate::wire::stream_header::StreamHeader;

/// A stream and what has been read of it.
pub(crate) struct OpenStream {
    pub(crate) source: Arc<dyn ReadAt>,
    pub(crate) bounds: Bounds,
    pub(crate) map: Map,
    /// References' identities, as far as the records before the first Layout and after the last chunk tell.
    pub(crate) references: Vec<Identities>,
    pub(crate) metadata: Vec<(String, Vec<u8>)>,
    bank_files: BankFiles,
    state: Mutex<State>,
}

/// The records in the slots, by what the last chunk needed: the next one mostly needs the same.
#[derive(Default)]
struct State {
    layout: Option<(u64, Arc<Layout>)>,
    slots: Slots,
    held: Needs,
}

impl OpenStream {
    /// Reads what does not depend on a chunk.
    pub(crate) fn new(source: Arc<dyn ReadAt>, bounds: Bounds, banks: &[Arc<BankFile>]) -> Result<Self> {
        let map = bounds.map(source.as_ref())?;
        let header = bounds.header;
        let references = vec![Identities::default(); header.references.into()];
        let slots = Slots::new(&header);
        let state = Mutex::new(State { slots, ..State::default() });
        let bank_files = BankFiles::new(banks);
        let mut stream = Self { source, bounds, map, references, metadata: Vec::new(), bank_files, state };
        stream.around(StreamHeader::SIZE as u64)?;
        if let Some(last) = stream.map.chunks.last().map(|c| c.offset) {
            stream.around(last)?;
        }
        Ok(stream)
    }

    /// Takes in the small records from `offset` on, up to what begins or ends the content; a chunk there is passed over.
    fn around(&mut self, mut offset: u64) -> Result<()> {
        let start = self.bounds.start;
        let mut first = true;
        while offset < self.bounds.end_offset() {
            let place = |error: Error| error.at(None, start + offset);
            let header = self.bounds.record_header(self.source.as_ref(), offset).map_err(place)?;
            match header.kind {
                RecordType::Chunk if first => {}
                RecordType::Chunk | RecordType::Layout => break,
                RecordType::Reference => {
                    let (_, body) = self.bounds.record(self.source.as_ref(), offset, header.kind).map_err(place)?;
                    let body = checked_body("Reference", &body).map_err(place)?;
                    let identity = ReferenceIdentity::parse(body).map_err(place)?;
                    let known = self.references.get_mut(usize::from(header.count));
                    let value = header.count.into();
                    let known = known.ok_or(place(Error::Field { field: "reference", value }))?;
                    let form = if header.flags & WHOLE == 0 { &mut known.sampled } else { &mut known.whole };
                    *form = Some(identity);
                }
                RecordType::Metadata if header.length <= MAX_METADATA_BODY => {
                    let (_, body) = self.bounds.record(self.source.as_ref(), offset, header.kind).map_err(place)?;
                    let body = checked_body("Metadata", &body).map_err(place)?;
                    self.metadata.extend(wire::metadata::parse(body, header.count).map_err(place)?);
                }
                _ => {}
            }
            first = false;
            offset += RecordHeader::SIZE as u64 + u64::from(header.length);
        }
        Ok(())
    }

    /// A chunk, its banks and profiles, checked against each other.
    pub(crate) fn chunk(&self, number: usize) -> Result<Chunk> {
        let place = self.map.chunks.get(number).ok_or(Error::Extent("Chunk"))?;
        self.prepare(place).map_err(|error| error.at(Some(number as u64), self.bounds.start + place.offset))
    }

    fn prepare(&self, place: &Place) -> Result<Chunk> {
        let (record, body) = self.bounds.record(self.source.as_ref(), place.offset, RecordType::Chunk)?;
        let (header, _) = ChunkHeader::parse(&body, record.count)?;
        let length = place.output.end - place.output.start;
        for (field, expected, actual) in [
            ("output_offset", header.output_offset, place.output.start),
            ("output_length", header.output_length.into(), length),
        ] {
            if expected != actual {
                return Err(Error::Contradiction { field, expected, actual });
            }
        }
        let needs = self.map.needs(place)?;
        let max = self.bounds.header.max_chunk_length;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = self.layout(&mut state, &needs)?;
        self.fill_slots(&mut state, &needs, &header, &layout)?;
        Chunk::parse(body, record.count, place.output.start, max, &layout, &state.slots)
    }

    fn layout(&self, state: &mut State, needs: &Needs) -> Result<Arc<Layout>> {
        if let Some((_, layout)) = state.layout.as_ref().filter(|l| l.0 == needs.layout) {
            return Ok(Arc::clone(layout));
        }
        let (record, body) = self.bounds.record(self.source.as_ref(), needs.layout, RecordType::Layout)?;
        let body = checked_body("Layout", &body)?;
        let header = self.bounds.header;
        let layout = Layout::parse(body, record.count, needs.layout_start, header.references, header.profile_slots)?;
        if header.in_place {
            check_in_place(&layout)?;
        }
        let layout = Arc::new(layout);
        state.layout = Some((needs.layout, Arc::clone(&layout)));
        Ok(layout)
    }

    /// Fills the slots that a chunk names with what was in them where it stands.
    fn fill_slots(&self, state: &mut State, needs: &Needs, header: &ChunkHeader, layout: &Layout) -> Result<()> {
        // What is no longer, or not yet, in force must not stay.
        let State { slots, held, .. } = state;
        held.banks.retain(|slot, at| {
            let keep = needs.banks.get(slot) == Some(at);
            if !keep {
                slots.clear_bank(*slot);
            }
            keep
        });
        held.profiles.retain(|slot, at| {
            let keep = needs.profiles.get(slot) == Some(at);
            if !keep {
                slots.clear_profile(*slot);
            }
            keep
        });
        let banks = header.substreams.iter().filter(|s| s.method.uses_bank() && s.bank < BUILT_IN_BANKS);
        for slot in banks.map(|s| s.bank) {
            let (None, Some(&at)) = (held.banks.get(&slot), needs.banks.get(&slot)) else { continue };
            let (record, body) = self.slot_record(at, RecordType::Bind, slot.into())?;
            let body = checked_body("Bind", &body)?;
            if record.flags & EXTERNAL != 0 {
                slots.share_bank(slot.into(), self.bank_files.bank(&ExternalBank::parse(body)?)?)?;
            } else {
                slots.set_bank(slot.into(), wire::bank::parse(body)?)?;
            }
            held.banks.insert(slot, at);
        }
        if header.substreams.iter().any(|s| s.profiles) {
            for part in parts(layout, header.output_offset, header.output_length)? {
                let Some(slot) = part.profile.filter(|slot| !held.profiles.contains_key(slot)) else { continue };
                let Some(&at) = needs.profiles.get(&slot) else { continue };
                let (_, body) = self.slot_record(at, RecordType::Profile, slot)?;
                slots.set_profile(slot, Profile::parse(checked_body("Profile", &body)?)?.values)?;
                held.profiles.insert(slot, at);
            }
        }
        Ok(())
    }

    fn slot_record(&self, at: u64, kind: RecordType, slot: u16) -> Result<(RecordHeader, Vec<u8>)> {
        let (record, body) = self.bounds.record(self.source.as_ref(), at, kind)?;
        if record.count == slot {
            Ok((record, body))
        } else {
            Err(Error::Contradiction { field: "slot in the Index", expected: slot.into(), actual: record.count.into() })
        }
    }
}
