//! Times the library on two files, for `python/bench/speed.py`: compresses the second against the first, in memory, and decompresses; prints both times in seconds.

use std::sync::Arc;
use std::time::Instant;

use ulpack::{DecoderOptions, ElementType, EncoderOptions, Reference, Typing};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<_> = std::env::args_os().skip(1).map(std::fs::read).collect::<Result<_, _>>()?;
    let [prev, next] = files.as_slice() else {
        return Err("usage: python_speed PREV NEXT".into());
    };
    let prev: Arc<[u8]> = Arc::from(prev.as_slice());
    let mut options = EncoderOptions::default();
    options.typing = Typing::Fixed(ElementType::Bf16);
    options.threads = 1;
    let start = Instant::now();
    let coded = ulpack::compress(next, options, vec![Reference::Bytes(Arc::clone(&prev))])?;
    let encoding = start.elapsed();
    let mut options = DecoderOptions::default();
    options.threads = 1;
    let start = Instant::now();
    let back = ulpack::decompress(&coded, options, vec![Reference::Bytes(prev)])?;
    let decoding = start.elapsed();
    if &back != next {
        return Err("the content differs".into());
    }
    println!("{} {}", encoding.as_secs_f64(), decoding.as_secs_f64());
    Ok(())
}
