//! Chains of deltas: any step in one pass, any part of it from its share of each step; broken ones are refused before anything is decoded.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "helpers of tests, which may fail like tests")]

mod common;

use std::io::Read;
use std::sync::Arc;

use common::{Counted, checkpoint, compress, references};
use ulpack::{Chain, DecoderOptions, EncoderOptions, Error, Link, ReadAt, inspect};

const STEPS: u64 = 20;
const LAYERS: usize = 8;
const ELEMENTS: usize = 16_384;

fn content(step: u64) -> Vec<u8> {
    checkpoint(LAYERS, ELEMENTS, step)
}

fn delta(step: u64) -> Vec<u8> {
    let mut options = EncoderOptions::default();
    options.threads = 1;
    options.chunk_length = Some(4096);
    compress(&content(step), Some(&content(step - 1)), &options)
}

fn options(threads: usize) -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = threads;
    options
}

fn chain(files: Vec<Vec<u8>>) -> ulpack::Result<Chain> {
    Chain::open(files.into_iter().map(|f| Arc::new(f) as Arc<dyn ReadAt>).collect())
}

fn all(chain: &Chain, at: usize, threads: usize) -> ulpack::Result<Vec<u8>> {
    let mut decoder = chain.decoder(at, options(threads), references(Some(&content(0))))?;
    let mut out = Vec::new();
    decoder.read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn twenty_deltas_are_restored_in_one_pass() {
    let deltas: Vec<Vec<u8>> = (1..=STEPS).map(delta).collect();
    let files = chain(deltas.clone()).unwrap();
    let one = chain(vec![deltas.concat()]).unwrap();
    for chain in [&files, &one] {
        assert_eq!(chain.len() as u64, STEPS);
        for (at, threads) in [(1, 1), (7, 2), (20, 1), (20, 3)] {
            assert!(all(chain, at, threads).unwrap() == content(at as u64), "step {at}");
        }
        assert!(matches!(all(chain, 21, 1), Err(Error::Usage(_))));
        assert!(matches!(all(chain, 0, 1), Err(Error::Usage(_))));
    }
}

#[test]
fn a_tensor_of_the_last_step_reads_its_share_of_each() {
    let files: Vec<Arc<Counted>> = (1..=STEPS).map(|step| Counted::new(delta(step))).collect();
    let chain = Chain::open(files.iter().map(|f| Arc::<Counted>::clone(f) as Arc<dyn ReadAt>).collect()).unwrap();
    let reader = || chain.reader(STEPS as usize, options(1), references(Some(&content(0)))).unwrap();
    let tensors = reader().tensors().unwrap();
    // Another one, which has decoded nothing yet.
    let reader = reader();
    files.iter().for_each(|f| {
        f.take();
    });
    let tensor = tensors.iter().find(|t| t.name == "layer.5.weight").unwrap();
    let mut out = Vec::new();
    reader.copy(tensor.range.clone(), &mut out).unwrap();
    assert!(out == content(STEPS)[tensor.range.start as usize..tensor.range.end as usize]);
    for (step, file) in files.iter().enumerate() {
        let (read, total) = (file.take(), file.bytes.len() as u64);
        // A tensor is an eighth.
        assert!(read > 0 && read * 4 < total, "step {}: {read} of {total}", step + 1);
    }
}

#[test]
fn a_chain_goes_on_from_a_stream_without_reference() {
    let key = compress(&content(2), None, &EncoderOptions::default());
    let chain = chain(vec![delta(1), delta(2), key, delta(3)]).unwrap();
    // The deltas before it are not needed, nor is the base.
    let mut out = Vec::new();
    chain.decoder(4, options(1), Vec::new()).unwrap().read_to_end(&mut out).unwrap();
    assert!(out == content(3));
}

#[test]
fn a_wrong_order_is_said_before_anything_is_decoded() {
    for order in [vec![1, 3, 2], vec![2, 1], vec![1, 3]] {
        let first = order.windows(2).position(|w| w[1] != w[0] + 1).unwrap() + 2;
        let error = chain(order.iter().map(|&s| delta(s)).collect()).err().unwrap();
        assert!(matches!(error, Error::ChainBroken { step, .. } if step == first), "{error}");
    }
    // A wrong base.
    let chain = chain(vec![delta(2), delta(3)]).unwrap();
    let error = all(&chain, 2, 1).unwrap_err();
    assert!(matches!(error.rule(), Error::ReferenceMismatch { .. }), "{error}");
    let error = chain.reader(2, options(1), references(Some(&content(0)))).err().unwrap();
    assert!(matches!(error.rule(), Error::ReferenceMismatch { .. }), "{error}");
}

#[test]
fn a_damaged_step_releases_a_true_prefix() {
    let mut second = delta(2);
    let middle = second.len() / 2;
    second[middle] ^= 0x10;
    let chain = chain(vec![delta(1), second, delta(3)]).unwrap();
    let mut decoder = chain.decoder(3, options(1), references(Some(&content(0)))).unwrap();
    let mut out = Vec::new();
    let error = loop {
        match decoder.next_chunk() {
            Ok(Some(bytes)) => out.extend_from_slice(bytes),
            Ok(None) => panic!("the damage has not been found"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.class(), ulpack::ErrorClass::Invalid, "{error}");
    assert!(content(3).starts_with(&out));
}

#[test]
fn listings_tell_whether_streams_follow() {
    let part = |stream: &[u8]| inspect(stream).0.parts[0].clone();
    let (one, two, three) = (part(&delta(1)), part(&delta(2)), part(&delta(3)));
    assert_eq!(two.link(&one), Link::Follows);
    assert_eq!(three.link(&two), Link::Follows);
    assert_eq!(three.link(&one), Link::Broken);
    assert_eq!(part(&compress(&content(1), None, &EncoderOptions::default())).link(&one), Link::Independent);
}
