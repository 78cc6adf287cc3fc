//! Bank files: what they are, what an encoder does with them, what a decoder needs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::sync::Arc;

use common::{Random, compress, decompress_with, fixed, references, shared};
use ulpack::core::model::Model;
use ulpack::{
    BankFile, DecoderOptions, ElementType, Encoder, EncoderOptions, Error, ErrorClass, Grouping, Summary, Trainer,
    Training,
};

/// bf16 weights of `count` elements, in tensors of different scale, and what a step of this size makes of them.
fn pair(seed: u64, count: usize, step: f64) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random(seed);
    let (mut prev, mut next) = (Vec::new(), Vec::new());
    for i in 0..count {
        let scale = [0.02, 0.1, 0.5][i * 3 / count];
        let weight = scale * random.normal();
        let moved = weight + step * scale * random.normal();
        prev.extend_from_slice(&half::bf16::from_f64(weight).to_bits().to_le_bytes());
        next.extend_from_slice(&half::bf16::from_f64(moved).to_bits().to_le_bytes());
    }
    (prev, next)
}

fn train(training: Training, samples: &[(&[u8], Option<&[u8]>)]) -> BankFile {
    let mut trainer = Trainer::new(training);
    for (content, reference) in samples {
        trainer.add(*content, &fixed(ElementType::Bf16), references(*reference)).unwrap();
    }
    trainer.finish().unwrap().0
}

/// A file with statistics of plain bf16 and of steps like those of `pair(_, _, 0.01)`.
fn trained() -> Arc<BankFile> {
    let (prev, next) = pair(1, 200_000, 0.01);
    Arc::new(train(Training::default(), &[(&next, None), (&next, Some(&prev))]))
}

fn with_bank(file: &Arc<BankFile>) -> EncoderOptions {
    let mut options = fixed(ElementType::Bf16);
    options.bank = Some(Arc::clone(file));
    options
}

fn encode(content: &[u8], reference: Option<&[u8]>, options: EncoderOptions) -> (Vec<u8>, Summary) {
    use std::io::Write;
    let mut encoder = Encoder::new(Vec::new(), options, references(reference)).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn decode(stream: &[u8], reference: Option<&[u8]>, banks: Vec<Arc<BankFile>>) -> (Vec<u8>, Option<Error>) {
    let mut options = DecoderOptions::default();
    options.banks = banks;
    decompress_with(stream, references(reference), options)
}

#[test]
fn a_file_is_what_it_is_parsed_as() {
    let file = trained();
    let again = BankFile::parse(file.bytes()).unwrap();
    assert_eq!(again, *file);
    assert_eq!(BankFile::new(again.banks().to_vec()).unwrap().bytes(), file.bytes());
    let models: Vec<_> = file.banks().iter().map(|b| (b.element, b.model)).collect();
    let element = ElementType::Bf16;
    // Plain ones of single elements and of pairs.
    assert_eq!(models, [(element, Model::Plain), (element, Model::Plain), (element, Model::Residual)]);
}

#[test]
fn damaged_files_are_refused() {
    let bytes = trained().bytes().to_vec();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let error = BankFile::parse(&damaged).unwrap_err();
        let version = (6..8).contains(&at);
        let class = if version { ErrorClass::Unsupported } else { ErrorClass::Invalid };
        assert_eq!(error.class(), class, "byte {at}: {error}");
        assert!(BankFile::parse(&bytes[..at]).is_err(), "{at} bytes");
    }
    assert!(BankFile::parse(&[&bytes[..], &[0]].concat()).is_err());
    assert!(matches!(BankFile::parse(b"no bank file, but long enough to be one"), Err(Error::NotBankFile)));
}

#[test]
fn embedded_banks_make_streams_that_stand_alone() {
    let file = trained();
    let (prev, next) = pair(2, 150_000, 0.01);
    for reference in [None, Some(&prev[..])] {
        let (stream, summary) = encode(&next, reference, with_bank(&file));
        let (back, error) = decode(&stream, reference, Vec::new());
        assert!(error.is_none() && back == next, "{error:?}");
        let frozen = summary.frozen.unwrap();
        assert_eq!((frozen.content_bytes, frozen.refused_bytes), (next.len() as u64, 0));
        let inline = compress(&next, reference, &fixed(ElementType::Bf16));
        assert!(stream.len() < inline.len() + inline.len() / 50, "{} {}", stream.len(), inline.len());
    }
}

#[test]
fn what_a_bank_has_not_seen_takes_esc() {
    let file = trained();
    let (prev, next) = pair(2, 1_000_000, 0.01);
    let mut far = next.clone();
    // As far from its reference as nothing in the samples is, and where no sample of the content looks.
    far[1_300_001] ^= 0x3F;
    for external in [false, true] {
        let mut options = with_bank(&file);
        options.external_bank = external;
        let usual = encode(&next, Some(&prev), options.clone()).0;
        let stream = encode(&far, Some(&prev), options).0;
        assert!(stream.len().abs_diff(usual.len()) < 16, "{} {}", stream.len(), usual.len());
        let (back, error) = decode(&stream, Some(&prev), vec![Arc::clone(&file)]);
        assert!(error.is_none() && back == far, "{error:?}");
    }
}

#[test]
fn what_samples_of_a_large_content_do_not_show_takes_esc() {
    // Steps of changing size, so that blocks pay.
    let (mut prev, mut next) = (Vec::new(), Vec::new());
    let mut random = Random(1);
    for i in 0..500_000 {
        let weight = random.normal();
        let moved = weight + 0.06 * (f64::from(i) / 3000.0).sin().exp() * random.normal();
        prev.extend_from_slice(&half::bf16::from_f64(weight).to_bits().to_le_bytes());
        next.extend_from_slice(&half::bf16::from_f64(moved).to_bits().to_le_bytes());
    }
    let (prev, next) = (prev.repeat(9), next.repeat(9));
    let mut far = next.clone();
    for i in 0..60 {
        // Near the ends of what is counted and of what is not.
        far[i * 65_536 * 2 + 32_769] ^= 0x3F;
    }
    let mut small = fixed(ElementType::Bf16);
    small.level = ulpack::Level::Small;
    let counted = encode(&next, Some(&prev), small).0;
    for reference in [None, Some(&prev[..])] {
        let usual = encode(&next, reference, fixed(ElementType::Bf16)).0;
        assert!(
            reference.is_none() || usual.len() < counted.len() + counted.len() / 500,
            "{} {}",
            usual.len(),
            counted.len()
        );
        let stream = encode(&far, reference, fixed(ElementType::Bf16)).0;
        // Each spoils the scale of its block, and without a reference, where blocks are no use here, that of its chunk.
        let spoilt = if reference.is_some() { 1 << 10 } else { 1 << 20 };
        assert!(stream.len() < usual.len() + 60 * spoilt, "{} {}", stream.len(), usual.len());
        let (back, error) = decode(&stream, reference, Vec::new());
        assert!(error.is_none() && back == far, "{error:?}");
    }
}

#[test]
fn external_banks_must_be_at_hand() {
    let file = trained();
    let (prev, next) = pair(2, 150_000, 0.01);
    let mut options = with_bank(&file);
    let embedded = encode(&next, Some(&prev), options.clone()).0;
    options.external_bank = true;
    let stream = encode(&next, Some(&prev), options).0;
    assert!(stream.len() + 500 < embedded.len(), "tables are left out");
    let (back, error) = decode(&stream, Some(&prev), Vec::new());
    assert!(back.is_empty());
    let error = error.unwrap();
    assert!(matches!(error.rule(), Error::BankMissing(digest) if digest == file.sha256()), "{error}");
    assert_eq!(error.class(), ErrorClass::Unsupported);
    // Another file, and this one among others.
    let other = Arc::new(train(Training { tables: 4, ..Training::default() }, &[(&next, None)]));
    assert!(decode(&stream, Some(&prev), vec![Arc::clone(&other)]).1.is_some());
    let (back, error) = decode(&stream, Some(&prev), vec![other, file]);
    assert!(error.is_none() && back == next, "{error:?}");
}

#[test]
fn a_bank_that_is_clearly_wrong_gives_way_to_an_inline_one() {
    let file = trained();
    // Steps of sixteen ulps or none.
    let prev = pair(3, 150_000, 0.0).0;
    let mut random = Random(4);
    let next: Vec<u8> = prev.chunks(2).flat_map(|w| [w[0] ^ (random.below(2) << 4) as u8, w[1]]).collect();
    let inline = compress(&next, Some(&prev), &fixed(ElementType::Bf16));
    let (stream, summary) = encode(&next, Some(&prev), with_bank(&file));
    assert_eq!(summary.frozen.unwrap().refused_bytes, next.len() as u64);
    assert_eq!(stream, inline);
    let mut options = with_bank(&file);
    options.frozen_only = true;
    let (stream, summary) = encode(&next, Some(&prev), options);
    let frozen = summary.frozen.unwrap();
    assert!(frozen.frozen_cost > frozen.inline_cost && frozen.refused_bytes == 0);
    assert!(stream.len() > inline.len());
    let (back, error) = decode(&stream, Some(&prev), Vec::new());
    assert!(error.is_none() && back == next, "{error:?}");
}

#[test]
fn no_bank_makes_a_stream_larger_than_raw() {
    let file = trained();
    let noise = Random(9).bytes(300_000);
    for only in [false, true] {
        let mut options = with_bank(&file);
        options.frozen_only = only;
        let (stream, _) = encode(&noise, None, options);
        assert!(stream.len() < noise.len() + 400, "{}", stream.len());
        let (back, error) = decode(&stream, None, Vec::new());
        assert!(error.is_none() && back == noise, "{error:?}");
    }
}

#[test]
fn threads_and_pieces_change_neither_banks_nor_streams() {
    let (prev, next) = pair(4, 700_000, 0.01);
    let with_threads = |threads| {
        let mut options = fixed(ElementType::Bf16);
        options.threads = threads;
        let mut trainer = Trainer::new(Training { grouping: Grouping::Distance, ..Training::default() });
        trainer.add(&next[..], &options, references(Some(&prev))).unwrap();
        let file = Arc::new(trainer.finish().unwrap().0);
        options.bank = Some(Arc::clone(&file));
        (file.bytes().to_vec(), encode(&next, Some(&prev), options).0)
    };
    assert!(with_threads(1) == with_threads(3));
}

#[test]
fn groupings_share_as_they_say() {
    let (prev, next) = pair(5, 1_200_000, 0.01);
    let count = |training: Training| {
        let file = train(training, &[(&next, Some(&prev))]);
        (file.banks().len(), file.banks().iter().map(|b| b.bank.elements.len()).sum::<usize>())
    };
    let of = |grouping, tau| count(Training { grouping, tau, ..Training::default() });
    assert_eq!(of(Grouping::Global, 0.05).0, 1);
    let chunks = of(Grouping::Chunk, 0.05).0;
    assert!(chunks > 1);
    // Nothing is farther than 1 from anything.
    assert_eq!(of(Grouping::Distance, 1.0), (1, 1));
    let (few, many) = (of(Grouping::Distance, 0.3), of(Grouping::Distance, 0.01));
    assert!(few.1 <= many.1 && many.0 <= chunks, "{few:?} {many:?}");
    assert!(of(Grouping::Cost, 0.05).0 <= chunks);
    assert_eq!(of(Grouping::Tensor, 0.05).0, 1, "one span of one type is one tensor");
}

#[test]
fn nothing_to_learn_from_is_an_error() {
    let noise = Random(9).bytes(300_000);
    let mut trainer = Trainer::new(Training::default());
    trainer.add(&noise[..], &fixed(ElementType::U8), Vec::new()).unwrap();
    assert_eq!(trainer.finish().unwrap_err().class(), ErrorClass::Usage);
}

#[test]
fn an_earlier_checkpoint_serves_a_later_one() {
    let files = ["bf16-step01200", "bf16-step01600", "bf16-step01610", "bf16-step01700"];
    let read = |name: &str| shared(&format!("trajectory/{name}.safetensors")).map(|path| std::fs::read(path).unwrap());
    let Some(files) = files.into_iter().map(read).collect::<Option<Vec<_>>>() else { return };
    let mut trainer = Trainer::new(Training::default());
    let mut options = EncoderOptions::default();
    options.threads = 1;
    trainer.add(&files[0][..], &options, Vec::new()).unwrap();
    trainer.add(&files[2][..], &options, references(Some(&files[1]))).unwrap();
    let file = Arc::new(trainer.finish().unwrap().0);
    // Size over that with an inline bank, in thousandths.
    for (reference, most) in [(None, 1005), (Some(&files[1][..]), 1010)] {
        let inline = compress(&files[3], reference, &options).len();
        let mut options = options.clone();
        options.bank = Some(Arc::clone(&file));
        let (stream, summary) = encode(&files[3], reference, options);
        assert!(summary.frozen.unwrap().content_bytes > files[3].len() as u64 * 9 / 10);
        assert!(stream.len() * 1000 <= inline * most, "{} {inline}", stream.len());
    }
}

/// The tensors' bytes of a safetensors file of the trajectory.
fn payload(name: &str) -> Option<Vec<u8>> {
    let file = std::fs::read(shared(&format!("trajectory/{name}.safetensors"))?).unwrap();
    let header = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    Some(file[8 + header..].to_vec())
}

/// Bytes of the streams of `length` bytes each from `count` places of the file, and of as much of the large stream.
fn small_and_large(length: usize, count: usize) -> Option<(f64, f64)> {
    let (prev, next) = (payload("bf16-step01600")?, payload("bf16-step01700")?);
    let options = fixed(ElementType::Bf16);
    let large = compress(&next, Some(&prev), &options).len() as f64 / next.len() as f64;
    let small: usize = (0..count)
        .map(|k| {
            let at = ((next.len() - length) / (count - 1) * k) & !63;
            let (prev, next) = (&prev[at..at + length], &next[at..at + length]);
            let stream = compress(next, Some(prev), &options);
            let (back, error) = decode(&stream, Some(prev), Vec::new());
            assert!(error.is_none() && back == next, "{error:?}");
            stream.len()
        })
        .sum();
    println!(
        "{length} bytes: {:.0} each, {:.0} of the large stream",
        small as f64 / count as f64,
        large * length as f64
    );
    Some((small as f64 / count as f64, large * length as f64))
}

#[test]
fn small_dense_deltas_are_cheap_with_built_in_banks() {
    let (Some(tiny), Some(small)) = (small_and_large(4 << 10, 200), small_and_large(64 << 10, 40)) else { return };
    assert!(tiny.0 <= tiny.1 + 220.0, "4 KiB: {tiny:?}");
    assert!(small.0 <= small.1 * 1.03, "64 KiB: {small:?}");
}
