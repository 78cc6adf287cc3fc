//! Decoding in memory, one thread: `bench_decode REPEATS (STREAM REFERENCE|-)…` prints the median speed of each stream, all of them interleaved:
//! by the clock, and by the processor time where the system tells it, which other work on the machine disturbs less.

use std::sync::Arc;
use std::time::Instant;

use ulpack::{Decoder, DecoderOptions, Reference};

/// Seconds this process has run on a processor.
fn processor_seconds() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(status.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn median(speeds: &mut [f64]) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((repeats, files)) = arguments.split_first() else { return Err("REPEATS (STREAM REFERENCE|-)…".into()) };
    let repeats: usize = repeats.parse()?;
    let mut cases = Vec::new();
    for pair in files.chunks_exact(2) {
        let reference: Option<Arc<[u8]>> = if pair[1] == "-" { None } else { Some(std::fs::read(&pair[1])?.into()) };
        cases.push((pair[0].clone(), std::fs::read(&pair[0])?, reference, Vec::new(), Vec::new()));
    }
    for _ in 0..repeats {
        for (_, stream, reference, speeds, by_processor) in &mut cases {
            let references = reference.iter().map(|r| Reference::Bytes(r.clone())).collect();
            let mut options = DecoderOptions::default();
            options.threads = 1;
            let processor = processor_seconds();
            let start = Instant::now();
            let mut decoder = Decoder::new(stream.as_slice(), options, references);
            let mut bytes = 0;
            while let Some(content) = decoder.next_chunk()? {
                bytes += content.len();
            }
            let megabytes = bytes as f64 / 1e6;
            speeds.push(megabytes / start.elapsed().as_secs_f64());
            if let (Some(before), Some(after)) = (processor, processor_seconds()) {
                by_processor.push(megabytes / (after - before));
            }
        }
    }
    println!("  clock  processor   (MB/s, medians)");
    for (name, _, _, speeds, by_processor) in &mut cases {
        println!("{:>7.0}    {:>7.0}   {name}", median(speeds), median(by_processor));
    }
    Ok(())
}
