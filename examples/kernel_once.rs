//! Codes one file once, with nothing around it: what `bench/instructions.sh` counts the instructions of.
//!
//!     kernel_once encode TYPE LEVEL CONTENT REFERENCE STREAM
//!     kernel_once decode STREAM REFERENCE
//!
//! `-` stands for no reference. The decoder's result is dropped: tests compare contents, this program costs as little as it can itself.

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::process::ExitCode;

use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Level, Reference, Typing};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn references(path: &str) -> Result<Vec<Reference>> {
    if path == "-" {
        return Ok(Vec::new());
    }
    Ok(vec![Reference::Bytes(fs::read(path)?.into())])
}

fn run(words: &[&str]) -> Result<()> {
    match *words {
        ["encode", element, level, content, reference, stream] => {
            let mut options = EncoderOptions::default();
            options.typing = Typing::Fixed(ElementType::from_name(element).ok_or("no such element type")?);
            options.level = match level {
                "1" => Level::Fast,
                "5" => Level::Default,
                "9" => Level::Small,
                _ => return Err("no such level".into()),
            };
            options.threads = 1;
            let mut encoder = Encoder::new(Vec::new(), options, references(reference)?)?;
            encoder.write_all(&fs::read(content)?)?;
            fs::write(stream, encoder.finish()?.0)?;
        }
        ["decode", stream, reference] => {
            let mut options = DecoderOptions::default();
            options.threads = 1;
            let stream = fs::read(stream)?;
            let mut decoder = Decoder::new(stream.as_slice(), options, references(reference)?);
            while decoder.next_chunk()?.is_some() {}
        }
        _ => {
            return Err(
                "usage: kernel_once encode TYPE LEVEL CONTENT REFERENCE STREAM | decode STREAM REFERENCE".into()
            );
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kernel_once: {error}");
            ExitCode::FAILURE
        }
    }
}
