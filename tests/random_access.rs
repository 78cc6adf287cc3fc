//! Random access: any part of the content is what decoding gives, with and without an index, and little more is read than it needs.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests, which may fail like tests")]

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use common::{Counted, Random, checkpoint, compress, decompress_with, fixed, references, without_index};
use ulpack::{DecoderOptions, ElementType, EncoderOptions, Error, ErrorClass, Reader, Reference};

fn options() -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = 2;
    options
}

fn open(stream: &[u8], reference: Option<&[u8]>) -> Reader {
    Reader::open(stream.to_vec(), options(), references(reference)).unwrap()
}

/// Types found from the content, in small chunks.
fn automatic(chunk_length: u32) -> EncoderOptions {
    let mut options = EncoderOptions::default();
    options.threads = 1;
    options.chunk_length = Some(chunk_length);
    options
}

fn part(reader: &Reader, range: std::ops::Range<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    reader.copy(range, &mut out).unwrap();
    out
}

#[test]
fn any_range_is_that_of_the_content() {
    let (prev, next) = (checkpoint(3, 20_000, 0), checkpoint(3, 20_000, 1));
    // Chunks in one segment of the index and in several, none at all.
    for chunk_length in [64, 1000, 4096] {
        for reference in [None, Some(prev.as_slice())] {
            let stream = compress(&next, reference, &automatic(chunk_length));
            let indexed = open(&stream, reference);
            let walked = open(&without_index(&stream), reference);
            assert!(indexed.streams()[0].indexed && !walked.streams()[0].indexed);
            let mut random = Random(u64::from(chunk_length));
            for _ in 0..60 {
                let start = random.below(next.len() as u64 + 1);
                let end = start + random.below((next.len() as u64 - start + 1).min(3 * u64::from(chunk_length)));
                let expected = &next[start as usize..end as usize];
                assert!(part(&indexed, start..end) == expected, "{chunk_length} {start}..{end}");
                assert!(part(&walked, start..end) == expected, "{chunk_length} {start}..{end}, without index");
            }
            assert!(part(&indexed, 0..next.len() as u64) == next);
            let beyond = indexed.copy(0..next.len() as u64 + 1, &mut Vec::new()).unwrap_err();
            assert_eq!(beyond.class(), ErrorClass::Usage);
        }
    }
}

#[test]
fn several_streams_and_zeros_are_one_content() {
    let (prev, next) = (checkpoint(1, 5_000, 0), checkpoint(1, 5_000, 1));
    let mut stream = compress(&next, Some(&prev), &automatic(1000));
    stream.extend(compress(&[], None, &fixed(ElementType::Bytes)));
    stream.extend(compress(&prev, None, &automatic(500)));
    stream.extend([0; 70_000]);
    let reader = open(&stream, Some(&prev));
    assert_eq!(reader.streams().len(), 3);
    let all = [next.as_slice(), &prev].concat();
    assert!(part(&reader, 0..all.len() as u64) == all);
    let middle = next.len() as u64 - 5..next.len() as u64 + 5;
    assert_eq!(part(&reader, middle.clone()), all[middle.start as usize..middle.end as usize]);
}

#[test]
fn one_tensor_costs_its_chunks_and_a_few_small_reads() {
    let (layers, elements) = (24, 32_768);
    let (prev, next) = (checkpoint(layers, elements, 0), checkpoint(layers, elements, 9));
    let stream = compress(&next, Some(&prev), &automatic(8192));
    let total = stream.len() as u64;
    let (coded, reference) = (Counted::new(stream), Counted::new(prev.clone()));
    let random: Arc<dyn ulpack::ReadAt> = Arc::<Counted>::clone(&reference);
    let reader = Reader::open(Arc::clone(&coded), options(), vec![Reference::Random(random)]).unwrap();
    let opening = coded.take();
    // The ends, the identities and the index.
    assert!(opening * 40 < total, "{opening} of {total}");
    // The samples of the reference.
    assert!(reference.take() <= 1 << 16);

    let tensors = reader.tensors().unwrap();
    assert_eq!(tensors.len(), layers);
    let (names, _) = (coded.take(), reference.take());
    let tensor = tensors.iter().find(|t| t.name == "layer.17.weight").unwrap();
    assert_eq!((tensor.element, &tensor.shape[..]), (ElementType::Bf16, &[512, 64][..]));
    let content = part(&reader, tensor.range.clone());
    assert!(content == next[tensor.range.start as usize..tensor.range.end as usize]);
    let (read, of_reference) = (coded.take(), reference.take());
    // A tensor is a 24th of the content, and begins and ends inside a chunk; the Layout, banks and profiles are read beside it.
    assert!(read * 12 < total, "{read} of {total}");
    let share = tensor.range.end - tensor.range.start;
    assert!(of_reference <= share + 2 * 8192, "{of_reference} of {}", prev.len());
    assert!((names + opening) * 8 < total, "{names} + {opening} of {total}");
    // What the index says of the reference is what is read of it.
    let listed = reader.reference_ranges(tensor.range.clone());
    assert_eq!(listed.iter().map(|(_, r)| r.end - r.start).sum::<u64>(), of_reference);
}

#[test]
fn what_needs_no_reference_is_read_without_one() {
    let prev = checkpoint(1, 40_000, 0);
    let mut next = checkpoint(1, 40_000, 1);
    let own = next.len();
    next.extend(Random(5).bytes(10_000));
    let stream = compress(&next, Some(&prev), &automatic(1000));
    let reader = open(&stream, None);
    let tail = own as u64 + 2000..next.len() as u64;
    assert!(part(&reader, tail.clone()) == next[tail.start as usize..]);
    let error = reader.copy(500..2500, &mut Vec::new()).unwrap_err();
    assert!(matches!(error.rule(), Error::ReferenceMissing { .. }), "{error}");
    // Another reference is refused when it is opened.
    let other = checkpoint(1, 40_000, 7);
    let error = Reader::open(stream, options(), references(Some(&other))).err().unwrap();
    assert!(matches!(error.rule(), Error::ReferenceMismatch { .. }), "{error}");
}

#[test]
fn what_is_no_stream_or_cut_off_is_refused() {
    let content = Random(1).bytes(30_000);
    let stream = compress(&content, None, &automatic(1000));
    let open = |bytes: &[u8]| Reader::open(bytes.to_vec(), options(), Vec::new());
    for length in (0..stream.len()).step_by(7) {
        let error = open(&stream[..length]).err().unwrap();
        assert_eq!(error.class(), ErrorClass::Invalid, "{length}: {error}");
    }
    assert!(matches!(open(&content), Err(Error::NotUlp)));
    assert!(open(&[&stream[..], &[1]].concat()).is_err());
    assert!(open(&[&stream[..100], &stream[..]].concat()).is_err());
}

#[test]
fn flipped_bits_are_found_or_make_no_difference() {
    let (prev, next) = (checkpoint(1, 1_000, 0), checkpoint(1, 1_000, 1));
    let mut stream = compress(&next, Some(&prev), &automatic(100));
    for bit in (0..stream.len() * 8).step_by(3) {
        stream[bit / 8] ^= 1 << (bit % 8);
        if let Ok(reader) = Reader::open(stream.clone(), options(), references(Some(&prev))) {
            let mut out = Vec::new();
            let result = reader.copy(0..reader.len(), &mut out);
            // Bytes that are not needed here may be damaged: the identity of the whole reference, the end of an ancillary record.
            assert!(next.starts_with(&out) && (result.is_err() || out.len() == next.len()), "bit {bit}");
        }
        stream[bit / 8] ^= 1 << (bit % 8);
    }
}

/// All vectors of the corpus: what must be accepted is read, and nothing else is ever given out than the truth.
#[test]
fn the_corpus_is_read_as_it_is_decoded() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let (mut accepted, mut hostile, mut refused) = (0, 0, 0);
    for vector in manifest["vectors"].as_array().unwrap() {
        let name = vector["name"].as_str().unwrap();
        let stream = fs::read(folder.join(vector["file"].as_str().unwrap())).unwrap();
        let given = || -> Vec<Reference> {
            let files = vector["references"].as_array().unwrap().iter();
            files.map(|f| Reference::Bytes(fs::read(folder.join(f.as_str().unwrap())).unwrap().into())).collect()
        };
        let (truth, error) = decompress_with(&stream, given(), options());
        let mut out = Vec::new();
        let result = Reader::open(stream, options(), given()).and_then(|r| r.copy(0..r.len(), &mut out));
        if name.starts_with("valid/") && error.is_none() {
            assert!(result.is_ok() && out == truth, "{name}: {result:?}");
            accepted += 1;
        } else if name.starts_with("invalid/index/") {
            // Decoding does not look into an index; here it leads to the truth or to nothing.
            assert!(truth.starts_with(&out) && (result.is_err() || out == truth), "{name}");
            refused += u64::from(result.is_err());
            hostile += 1;
        }
    }
    assert!(accepted > 100 && hostile > 30, "{accepted} {hostile}");
    // Leaves alone what does no harm.
    assert!(refused + 3 >= hostile, "{refused} of {hostile}");
}

/// The tensors of every sample container: those that its layout has, with the same bytes.
#[test]
fn tensors_are_those_of_the_layout() {
    let Some(folder) = common::shared("containers") else { return };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut found = 0;
    for path in paths.iter().filter(|p| p.is_file()) {
        let content = fs::read(path).unwrap();
        if content.len() > 8 << 20 {
            continue;
        }
        let layout = ulpack::container::Layout::of_file(&mut std::io::Cursor::new(&content)).unwrap();
        let mut expected: Vec<(String, u64)> = Vec::new();
        let mut last = None;
        for span in layout.tensors() {
            let tensor = span.tensor.as_ref().unwrap();
            match expected.last_mut() {
                Some((_, length)) if last.as_ref().is_some_and(|l| Arc::ptr_eq(l, tensor)) => *length += span.length,
                _ => expected.push((tensor.to_string(), span.length)),
            }
            last = Some(Arc::clone(tensor));
        }
        for stream in [compress(&content, None, &automatic(700)), compress(&content, None, &automatic(1 << 20))] {
            let tensors = open(&stream, None).tensors().unwrap();
            let names = tensors.iter().map(|t| (t.name.clone(), t.range.end - t.range.start));
            assert_eq!(names.collect::<Vec<_>>(), expected, "{}", path.display());
            let listed: Vec<_> = ulpack::inspect(&stream[..]).0.tensors;
            let listed: Vec<_> = listed.into_iter().filter_map(|row| Some((row.name?, row.bytes))).collect();
            let sum = |all: &[(String, u64)]| all.iter().map(|t| t.1).sum::<u64>();
            // Types that are told behind a tensor come too late for a listing, which reads forward.
            assert!(listed.len() <= expected.len() && sum(&listed) <= sum(&expected), "{}", path.display());
            if path.extension().is_some_and(|e| e == "safetensors" || e == "gguf" || e == "npy") {
                assert_eq!(listed, expected, "{}", path.display());
            }
        }
        found += expected.len();
    }
    assert!(found > 20, "{found}");
}
