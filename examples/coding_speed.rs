//! Encodes tiled files in memory, one thread: `encode_speed TYPE LEVEL CONTENT REFERENCE|- [ROUNDS]`. For profiles.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Level, Reference, Typing};

fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let element = ElementType::from_name(&args[0]).unwrap();
    let level = match args[1].as_str() {
        "1" => Level::Fast,
        "9" => Level::Small,
        _ => Level::Default,
    };
    let tile = |path: &str| {
        let file = std::fs::read(path).unwrap();
        // The header and whatever is not a whole element is left out of the repetitions.
        let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        let data = &file[header..];
        let data = &data[..data.len() / 64 * 64];
        data.iter().copied().cycle().take((128usize << 20).div_ceil(data.len()) * data.len()).collect::<Vec<u8>>()
    };
    let content = tile(&args[2]);
    let reference: Option<Arc<[u8]>> = (args[3] != "-").then(|| tile(&args[3]).into());
    let rounds: usize = args.get(4).map_or(3, |r| r.parse().unwrap());
    let mut times = Vec::new();
    let mut coded = Vec::new();
    for _ in 0..rounds {
        let mut options = EncoderOptions::default();
        options.typing = Typing::Fixed(element);
        options.level = level;
        options.threads = 1;
        let references = || reference.iter().map(|r| Reference::Bytes(Arc::clone(r))).collect::<Vec<_>>();
        let (clock, cpu) = (Instant::now(), cpu_seconds());
        let mut encoder = Encoder::new(Vec::new(), options, references()).unwrap();
        encoder.write_all(&content).unwrap();
        coded = encoder.finish().unwrap().0;
        let _ = clock;
        times.push(cpu_seconds() - cpu);
    }
    if std::env::var_os("CHECK").is_some() {
        let references = reference.iter().map(|r| Reference::Bytes(Arc::clone(r))).collect::<Vec<_>>();
        let mut options = DecoderOptions::default();
        options.threads = 1;
        let mut decoder = Decoder::new(coded.as_slice(), options, references);
        let mut at = 0;
        while let Some(bytes) = decoder.next_chunk().unwrap() {
            assert!(content[at..at + bytes.len()] == *bytes);
            at += bytes.len();
        }
        assert_eq!(at, content.len());
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{} level {} {:>8.1} MB/s (best {:.1})  ratio {:.5} crc {:08x}",
        args[0],
        args[1],
        content.len() as f64 / times[times.len() / 2] / 1e6,
        content.len() as f64 / times[0] / 1e6,
        coded.len() as f64 / content.len() as f64,
        crc32fast::hash(&coded)
    );
}
