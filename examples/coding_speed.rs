//! Encodes and decodes tiled files in memory, one thread: `coding_speed TYPE LEVEL CONTENT REFERENCE|- [ROUNDS]`. For profiles.
//!
//! Speeds are by processor time. Decoding leaves the content where the decoder has it: nothing is copied. `CHUNK=N` sets the most bytes of a chunk,
//! `BANK=FILE` gives a bank file.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::sync::Arc;

use ulpack::{BankFile, Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Level, Reference, Typing};

fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// A file's content without its safetensors header, and without whatever is not a whole element, repeated up to 128 MiB.
fn tile(path: &str) -> Vec<u8> {
    let file = std::fs::read(path).unwrap();
    let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let data = &file[header..];
    let data = &data[..data.len() / 64 * 64];
    data.repeat((128usize << 20).div_ceil(data.len()))
}

/// Median and least of the seconds that each round takes.
fn time(rounds: usize, mut round: impl FnMut()) -> (f64, f64) {
    let seconds = |_| {
        let before = cpu_seconds();
        round();
        cpu_seconds() - before
    };
    let mut times: Vec<f64> = (0..rounds).map(seconds).collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut options = EncoderOptions::default();
    options.typing = Typing::Fixed(ElementType::from_name(&args[0]).unwrap());
    options.level = match args[1].as_str() {
        "1" => Level::Fast,
        "9" => Level::Small,
        _ => Level::Default,
    };
    options.threads = 1;
    options.chunk_length = std::env::var("CHUNK").ok().map(|c| c.parse().unwrap());
    options.bank = std::env::var("BANK").ok().map(|b| Arc::new(BankFile::parse(&std::fs::read(b).unwrap()).unwrap()));
    let content = tile(&args[2]);
    let reference: Option<Arc<[u8]>> = (args[3] != "-").then(|| tile(&args[3]).into());
    let references = || reference.iter().map(|r| Reference::Bytes(Arc::clone(r))).collect::<Vec<_>>();
    let rounds: usize = args.get(4).map_or(3, |r| r.parse().unwrap());

    let mut coded = Vec::new();
    let encoding = time(rounds, || {
        let mut encoder = Encoder::new(Vec::new(), options.clone(), references()).unwrap();
        encoder.write_all(&content).unwrap();
        coded = encoder.finish().unwrap().0;
    });
    let decoder = || {
        let mut options = DecoderOptions::default();
        options.threads = 1;
        Decoder::new(coded.as_slice(), options, references())
    };
    let decoding = time(rounds, || {
        let mut decoder = decoder();
        while decoder.next_chunk().unwrap().is_some() {}
    });
    let (mut decoder, mut at) = (decoder(), 0);
    while let Some(bytes) = decoder.next_chunk().unwrap() {
        assert!(content[at..].starts_with(bytes));
        at += bytes.len();
    }
    assert_eq!(at, content.len());

    let speed = |seconds: f64| content.len() as f64 / seconds / 1e6;
    let ratio = coded.len() as f64 / content.len() as f64;
    println!("{} level {} ratio {ratio:.5} crc {:08x}", args[0], args[1], crc32fast::hash(&coded));
    for (what, (median, least)) in [("encode", encoding), ("decode", decoding)] {
        println!("{what} {:>8.1} MB/s (best {:.1})", speed(median), speed(least));
    }
}
