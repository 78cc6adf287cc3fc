//! Damage of any bit, and records lost, repeated or out of place: an error of the right class, and nothing wrong released.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::{Record, boundaries, compress, decompress, fixed, small_stream, split};
use ulpack::wire::end::End;
use ulpack::{ElementType, ErrorClass};

/// Bytes of a `Stream_Header` that tell a later version from damage.
const VERSION: std::ops::Range<usize> = 6..8;

#[test]
fn every_flipped_bit_is_found() {
    let (content, reference, stream) = small_stream();
    let allowed = boundaries(&stream);
    for bit in 0..8 * stream.len() {
        let mut damaged = stream.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (released, error) = decompress(&damaged, Some(&reference));
        let error = error.unwrap_or_else(|| panic!("bit {bit} made no difference"));
        let class = if VERSION.contains(&(bit / 8)) { ErrorClass::Unsupported } else { ErrorClass::Invalid };
        assert_eq!(error.class(), class, "bit {bit}: {error}");
        assert!(allowed.contains(&released.len()) && content.starts_with(&released), "bit {bit}: {}", released.len());
    }
}

#[test]
fn every_flipped_bit_of_a_second_stream_leaves_the_first_whole() {
    let first = compress(b"first", None, &fixed(ElementType::Bytes));
    let second = compress(b"second", None, &fixed(ElementType::Bytes));
    for bit in 0..8 * second.len() {
        let mut damaged = [first.clone(), second.clone()].concat();
        damaged[first.len() + bit / 8] ^= 1 << (bit % 8);
        let (released, error) = decompress(&damaged, None);
        let error = error.unwrap_or_else(|| panic!("bit {bit} made no difference"));
        let class = if VERSION.contains(&(bit / 8)) { ErrorClass::Unsupported } else { ErrorClass::Invalid };
        assert_eq!(error.class(), class, "bit {bit}: {error}");
        assert!(released == b"first" || released == b"firstsecond", "bit {bit}");
    }
}

/// Checks streams made of the same header and other records: what they decode to is the truth, all of it, or a prefix with an error.
fn check(header: &[u8], records: &[Record], content: &[u8], reference: &[u8], allowed: &[usize], what: &str) -> bool {
    let mut stream = header.to_vec();
    records.iter().for_each(|r| stream.extend_from_slice(&r.bytes));
    let (released, error) = decompress(&stream, Some(reference));
    assert!(allowed.contains(&released.len()) && content.starts_with(&released), "{what}: {}", released.len());
    match error {
        Some(error) => {
            assert_eq!(error.class(), ErrorClass::Invalid, "{what}: {error}");
            true
        }
        None => {
            assert!(released == content, "{what}");
            false
        }
    }
}

/// Makes the End record agree with the stream's length and number of chunks, as one who edits a stream would.
fn correct_end(header: &[u8], records: &mut [Record]) {
    let chunks = records.iter().filter(|r| r.kind == 5).count() as u64;
    let length = header.len() + records.iter().map(|r| r.bytes.len()).sum::<usize>();
    if let Some(last) = records.last_mut().filter(|r| r.kind == 6) {
        let mut end = End::parse(&last.bytes[12..]).unwrap();
        end.chunk_count = chunks;
        end.encoded_length = length as u64;
        last.bytes.clear();
        end.write(&mut last.bytes);
    }
}

const CHUNK: u8 = 5;
const END: u8 = 6;

#[test]
fn dropped_repeated_and_swapped_records_are_found() {
    let (content, reference, stream) = small_stream();
    let allowed = boundaries(&stream);
    let (header, records) = split(&stream);
    assert!(records.iter().filter(|r| r.kind == CHUNK).count() > 8);
    let found = |records: &[Record], what: &str| {
        let mut corrected = records.to_vec();
        correct_end(&header, &mut corrected);
        check(&header, records, &content, &reference, &allowed, what)
            & check(&header, &corrected, &content, &reference, &allowed, what)
    };
    assert!(!found(&records, "as they are"));
    // Other records may not matter where they stand, as a Bind for a later chunk; then the content is the truth.
    let matters = |kind: u8| [CHUNK, END].contains(&kind);
    for i in 0..records.len() {
        let mut dropped = records.clone();
        dropped.remove(i);
        let missed = found(&dropped, &format!("without {i}"));
        assert!(missed || !matters(records[i].kind), "{i} was not missed");
        let mut repeated = records.clone();
        repeated.insert(i, records[i].clone());
        let noticed = found(&repeated, &format!("{i} twice"));
        assert!(noticed || !matters(records[i].kind), "{i} came twice");
        for j in 0..i {
            let mut swapped = records.clone();
            swapped.swap(i, j);
            let noticed = found(&swapped, &format!("{j} and {i} swapped"));
            assert!(noticed || !(matters(records[i].kind) && matters(records[j].kind)), "{j} and {i} were swapped");
        }
    }
}

#[test]
fn a_chunk_of_another_stream_is_found_at_the_end_at_last() {
    let (content, reference, stream) = small_stream();
    let (header, records) = split(&stream);
    let mut other = content.clone();
    other.rotate_left(64);
    let mut options = fixed(ElementType::Bf16);
    options.chunk_length = Some(512);
    let (_, others) = split(&compress(&other, Some(&reference), &options));
    for i in (0..records.len()).filter(|&i| records[i].kind == CHUNK) {
        for foreign in others.iter().filter(|r| r.kind == CHUNK && r.bytes != records[i].bytes) {
            let mut mixed = records.clone();
            mixed[i] = foreign.clone();
            correct_end(&header, &mut mixed);
            let mut stream = header.clone();
            mixed.iter().for_each(|r| stream.extend_from_slice(&r.bytes));
            let (_, error) = decompress(&stream, Some(&reference));
            assert_eq!(error.map(|e| e.class()), Some(ErrorClass::Invalid), "{i}");
        }
    }
}

#[test]
fn salvage_replaces_only_what_is_damaged() {
    let (content, reference, stream) = small_stream();
    let boundaries = boundaries(&stream);
    let (header, records) = split(&stream);
    let mut options = ulpack::DecoderOptions::default();
    options.threads = 1;
    options.salvage = true;
    let mut at = header.len();
    let mut chunk = 0;
    for record in &records {
        if record.kind == CHUNK {
            let mut damaged = stream.clone();
            damaged[at + record.bytes.len() - 1] ^= 0x10;
            let mut decoder = ulpack::Decoder::new(&damaged[..], options.clone(), common::references(Some(&reference)));
            let mut released = Vec::new();
            while let Some(bytes) = decoder.next_chunk().unwrap() {
                released.extend_from_slice(bytes);
            }
            let range = boundaries[chunk]..boundaries[chunk + 1];
            let damage = decoder.summary().damaged;
            // The last byte of a chunk without data is that of its header's CRC: nothing can be told then, and nothing is released.
            let [damage] = damage.as_slice() else { panic!("chunk {chunk}: {damage:?}") };
            assert_eq!((damage.chunk, damage.offset), (chunk as u64, range.start as u64));
            assert_eq!(damage.length, range.len() as u64);
            assert!(released[..range.start] == content[..range.start] && released[range.end..] == content[range.end..]);
            assert!(released[range].iter().all(|&b| b == 0));
            chunk += 1;
        }
        at += record.bytes.len();
    }
}
