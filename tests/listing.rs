//! A listing tells what decoding would tell, as far as records go, and fails no later and no differently.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{compress, decompress, fixed};
use ulpack::{ElementType, EncoderOptions, inspect};

/// Numbers that look like weights, and the same after a step.
fn contents() -> (Vec<u8>, Vec<u8>) {
    let weight = |i: u32, step: u32| {
        let bits = 0x3c00 + (i.wrapping_mul(2_654_435_761) >> 20) as u16;
        (bits + u16::from(i.is_multiple_of(7)) * step as u16).to_le_bytes()
    };
    let all = |step| (0..500).flat_map(|i| weight(i, step)).collect();
    (all(0), all(1))
}

fn options() -> EncoderOptions {
    let mut options = fixed(ElementType::Bf16);
    options.metadata = vec![(String::from("step"), b"3".to_vec())];
    options.sha256 = true;
    options
}

/// What a listing refuses decoding refuses too, with the same class.
fn agree(stream: &[u8], prev: &[u8], what: &str) {
    let listed = inspect(stream).1;
    let decoded = decompress(stream, Some(prev)).1;
    if let Err(listed) = listed {
        let class = decoded.map(|error| error.class());
        assert_eq!(Some(listed.class()), class, "{what}: {listed}");
    }
}

#[test]
fn a_listing_agrees_with_the_encoder() {
    let (prev, next) = contents();
    let stream = compress(&next, Some(&prev), &options());
    let (listing, result) = inspect(&stream[..]);
    result.unwrap();
    assert_eq!(listing.streams, 1);
    assert_eq!(listing.references, 1);
    assert_eq!(listing.chunks, 1);
    assert_eq!(listing.content_bytes, next.len() as u64);
    assert_eq!(listing.coded_bytes, stream.len() as u64);
    assert_eq!(listing.content_crc, Some(crc32fast::hash(&next)));
    assert_eq!(listing.metadata, [(String::from("step"), b"3".to_vec())]);
    let elements: Vec<_> = listing.elements.into_iter().collect();
    assert_eq!(elements, [(ElementType::Bf16, next.len() as u64)]);
    assert!(listing.sha256.is_some());
}

#[test]
fn concatenated_streams_are_taken_together() {
    let (prev, next) = contents();
    let one = compress(&next, Some(&prev), &options());
    let two = compress(&prev, None, &fixed(ElementType::Bf16));
    let mut both = [one.clone(), two.clone()].concat();
    both.extend([0; 1000]);
    let (listing, result) = inspect(&both[..]);
    result.unwrap();
    assert_eq!(listing.streams, 2);
    assert_eq!(listing.content_bytes, (prev.len() + next.len()) as u64);
    assert_eq!(listing.coded_bytes, (one.len() + two.len()) as u64);
    assert_eq!((listing.sha256, listing.content_crc), (None, None));
    both.push(1);
    assert!(inspect(&both[..]).1.is_err());
}

#[test]
fn every_truncation_is_found() {
    let (prev, next) = contents();
    let stream = compress(&next, Some(&prev), &options());
    for length in 0..stream.len() {
        let (listing, result) = inspect(&stream[..length]);
        assert!(result.is_err(), "{length}");
        assert!(listing.coded_bytes <= length as u64, "{length}");
        agree(&stream[..length], &prev, &format!("truncated to {length}"));
    }
}

#[test]
fn flipped_bits_are_judged_as_in_decoding() {
    let (prev, next) = contents();
    let mut stream = compress(&next, Some(&prev), &options());
    for bit in 0..stream.len() * 8 {
        stream[bit / 8] ^= 1 << (bit % 8);
        agree(&stream, &prev, &format!("bit {bit}"));
        stream[bit / 8] ^= 1 << (bit % 8);
    }
}
