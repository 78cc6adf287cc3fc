//! The library's side of `python/bench/speed.py`: `python_speed CONTENT [REFERENCE]` compresses and decompresses in memory, on one thread, once for each line on
//! stdin, and prints the seconds of processor time that both took.
#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufRead, stdin};
use std::sync::Arc;

use ulpack::{DecoderOptions, ElementType, EncoderOptions, Reference, Typing};

fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(told.split_whitespace().next().unwrap_or_default().parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args_os().skip(1).map(std::fs::read);
    let content = files.next().ok_or("usage: python_speed CONTENT [REFERENCE]")??;
    let reference: Option<Arc<[u8]>> = files.next().transpose()?.map(Arc::from);
    let references = || reference.iter().map(|bytes| Reference::Bytes(Arc::clone(bytes))).collect();
    let mut encoding = EncoderOptions::default();
    encoding.typing = Typing::Fixed(ElementType::Bf16);
    encoding.threads = 1;
    let mut decoding = DecoderOptions::default();
    decoding.threads = 1;
    for line in stdin().lock().lines() {
        line?;
        let start = cpu_seconds()?;
        let coded = ulpack::compress(&content, encoding.clone(), references())?;
        let middle = cpu_seconds()?;
        let back = ulpack::decompress(&coded, decoding.clone(), references())?;
        let end = cpu_seconds()?;
        if back != content {
            return Err("the content differs".into());
        }
        println!("{} {}", middle - start, end - middle);
    }
    Ok(())
}
