//! The structures of the wire: what is parsed and written again is the same bytes.

use ulpack::wire::chunk_header::ChunkHeader;
use ulpack::wire::end::End;
use ulpack::wire::fields::Fields;
use ulpack::wire::index::Index;
use ulpack::wire::layout::Layout;
use ulpack::wire::profile::Profile;
use ulpack::wire::record_header::RecordHeader;
use ulpack::wire::records::{ExternalBank, ReferenceIdentity, parse_digest};
use ulpack::wire::stream_header::StreamHeader;
use ulpack::wire::{bank, leb128, metadata};

use super::repair::repair;

/// Every structure, at the start of the bytes.
pub fn headers(data: &[u8]) {
    stream_header(data);
    let repaired = repair(data);
    stream_header(&repaired);
    let mut at = 24;
    while let Some((header, rest)) = repaired.get(at..).and_then(<[u8]>::split_first_chunk::<12>) {
        let count = u16::from_le_bytes([header[2], header[3]]);
        if let Ok(parsed) = RecordHeader::parse(header) {
            let mut written = Vec::new();
            parsed.write(&mut written);
            assert_eq!(written, header, "Record_Header");
        }
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let Some(body) = rest.get(..length) else { break };
        bodies(body, count);
        bodies(body.get(..body.len().saturating_sub(4)).unwrap_or(&[]), count);
        at += 12 + length;
    }
    bodies(data, data.len() as u16 % 70);
}

fn stream_header(data: &[u8]) {
    if let Some(Ok(parsed)) = data.first_chunk().map(StreamHeader::parse) {
        let mut written = Vec::new();
        parsed.write(&mut written);
        assert_eq!(written, data[..24], "Stream_Header");
    }
}

/// A body as that of every record.
fn bodies(body: &[u8], count: u16) {
    let mut written = Vec::new();
    for (start, references, profiles) in [(0, 1, 4096), (1 << 40, 255, 0), (u64::MAX >> 1, 3, 9)] {
        if let Ok(layout) = Layout::parse(body, count, start, references, profiles) {
            assert!(!layout.spans.is_empty() && layout.kinds.len() == usize::from(count), "Layout");
            assert!(start + layout.length() <= u64::MAX >> 1, "Layout");
            written.clear();
            layout.write(&mut written, start, references);
            assert_eq!(written, body, "Layout");
        }
    }
    if let Ok((header, rest)) = ChunkHeader::parse(body, count) {
        written.clear();
        header.write(&mut written);
        written.extend_from_slice(rest);
        assert_eq!(written, body, "Chunk_Header");
    }
    for at in [24, 1 << 20, u64::MAX >> 1] {
        if let Ok(index) = Index::parse(body, count, at) {
            assert!(index.chunks() == usize::from(count) && index.entries.iter().all(|e| e.offset < at), "Index");
            written.clear();
            index.write(&mut written);
            assert_eq!(written[12..written.len() - 4], *body, "Index");
        }
    }
    if let Ok(end) = End::parse(body) {
        written.clear();
        end.write(&mut written);
        assert_eq!(written[12..], *body, "End");
    }
    if let Ok(bank) = bank::parse(body) {
        for table in bank.scale.iter().chain(&bank.masks).chain(&bank.elements) {
            assert_eq!(table.0.iter().map(|&f| u32::from(f)).sum::<u32>(), 4096, "sum of frequencies");
        }
        written.clear();
        bank::write(&bank, &mut written);
        assert_eq!(written, body, "Bank");
    }
    if let Ok(profile) = Profile::parse(body) {
        // Any of eight forms may be read, the shortest is written.
        written.clear();
        profile.write(&mut written);
        assert!(written.len() <= body.len(), "Profile");
        assert_eq!(Profile::parse(&written).unwrap(), profile, "Profile");
    }
    if let Ok(pairs) = metadata::parse(body, count) {
        written.clear();
        metadata::write(&pairs, &mut written).unwrap();
        assert_eq!(written, body, "Metadata");
    }
    if let Ok(identity) = ReferenceIdentity::parse(body) {
        written.clear();
        identity.write(&mut written, 0, true);
        assert_eq!(written[12..24], *body, "Reference");
    }
    if let Ok(bank) = ExternalBank::parse(body) {
        assert_eq!([bank.sha256.as_slice(), &bank.number.to_le_bytes()].concat(), body, "Bind");
    }
    if let Ok(digest) = parse_digest(body) {
        assert_eq!(digest, body, "Digest");
    }
    let mut fields = Fields::new(body, "LEB128");
    if let Ok(number) = leb128::read(&mut fields) {
        written.clear();
        leb128::write(&mut written, number);
        assert_eq!(written, body[..body.len() - fields.rest().len()], "LEB128");
    }
}
