//! Decoders given anything: no panic, an error with a class, nothing wrong released, the same answer however it is asked.

use std::io::{self, Read, Write};

use arbitrary::{Result, Unstructured};
use ulpack::kernel::Kernel;
use ulpack::{Decoder, DecoderOptions, Encoder, Error, Reference};

use super::input;
use super::repair::{put_chunk_crc, put_end_crc, repair};

/// The chunks that a decoder releases, and the error that ends them.
fn decode<R: Read>(stream: R, references: Vec<Reference>, options: DecoderOptions) -> (Vec<Vec<u8>>, Option<Error>) {
    let mut decoder = Decoder::new(stream, options, references);
    let mut chunks = Vec::new();
    loop {
        match decoder.next_chunk() {
            Ok(Some(bytes)) => chunks.push(bytes.to_vec()),
            Ok(None) => return (chunks, None),
            Err(error) => {
                assert!(!matches!(decoder.next_chunk(), Ok(Some(_))), "content after an error");
                return (chunks, Some(error));
            }
        }
    }
}

fn options(threads: usize, salvage: bool) -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = threads;
    options.salvage = salvage;
    options.sha256 = true;
    options
}

fn text(error: Option<&Error>) -> String {
    error.map(|e| format!("{:?}: {e}", e.class())).unwrap_or_default()
}

/// Any bytes as a stream.
pub fn decode_any(data: &[u8]) {
    let (chunks, error) = decode(data, input::any_references(), options(1, false));
    let again = decode(data, input::any_references(), options(1, false));
    assert!(chunks == again.0 && text(error.as_ref()) == text(again.1.as_ref()), "two answers");
    // Salvage releases no less.
    let (salvaged, _) = decode(data, input::any_references(), options(1, true));
    assert!(salvaged.starts_with(&chunks), "salvage released something else");
}

/// Any bytes as a stream whose checks pass, those of the contents too where a decoder can be made to tell them.
pub fn decode_no_crc(data: &[u8]) {
    let stream = agreed(repair(data));
    let (chunks, error) = decode(&stream[..], input::any_references(), options(1, false));
    let (salvaged, _) = decode(&stream[..], input::any_references(), options(2, true));
    assert!(salvaged.starts_with(&chunks), "salvage released something else");
    if error.is_none() {
        assert!(salvaged == chunks, "salvage of a good stream");
        let twice = [stream.as_slice(), &stream].concat();
        let (both, error) = decode(&twice[..], input::any_references(), options(1, false));
        assert!(error.is_none() && both.concat() == chunks.concat().repeat(2), "a good stream twice: {error:?}");
    }
}

/// A repaired stream whose first chunks have the CRCs of what they decode to.
fn agreed(mut stream: Vec<u8>) -> Vec<u8> {
    for _ in 0..6 {
        let (_, error) = decode(&stream[..], input::any_references(), options(1, false));
        stream = match error {
            Some(Error::At { chunk: Some(_), offset, source }) => match *source {
                Error::ContentCrc { actual, .. } => put_chunk_crc(&stream, offset, false, actual),
                Error::ReferenceMismatch { actual, .. } => put_chunk_crc(&stream, offset, true, actual),
                _ => break,
            },
            Some(Error::At { chunk: None, source, .. }) => match *source {
                Error::Contradiction { field: "content_crc", actual, .. } => put_end_crc(&stream, actual as u32),
                _ => break,
            },
            _ => break,
        };
    }
    stream
}

/// Streams with good CRCs, through the kernels of every instruction set that this machine has: the same content, the same error.
pub fn scalar_vs_fast(data: &[u8]) {
    let stream = agreed(repair(data));
    let with = |kernel| {
        let mut options = options(1, true);
        options.kernel = Some(kernel);
        let mut decoder = Decoder::new(&stream[..], options, input::any_references());
        let mut content = Vec::new();
        let error = loop {
            match decoder.next_chunk() {
                Ok(Some(bytes)) => content.extend_from_slice(bytes),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let damaged: Vec<(u64, String)> = decoder.summary().damaged.into_iter().map(|d| (d.chunk, d.reason)).collect();
        (content, text(error.as_ref()), damaged)
    };
    let scalar = with(Kernel::Scalar);
    for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
        assert!(with(kernel) == scalar, "{kernel:?} differs");
    }
}

/// Gives its bytes in pieces of uneven sizes, with interruptions.
struct Dripping<'a> {
    bytes: &'a [u8],
    step: u32,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.step = self.step.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if self.step >> 29 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(1 + (self.step >> 24) as usize % 40);
        self.bytes.read(&mut buffer[..most])
    }
}

/// The same stream in pieces, and read in pieces.
pub fn split_reads(data: &[u8]) {
    for stream in [data.to_vec(), repair(data)] {
        let (chunks, error) = decode(&stream[..], input::any_references(), options(1, false));
        let dripping = Dripping { bytes: &stream, step: data.len() as u32 };
        let (pieces, other) = decode(dripping, input::any_references(), options(1, false));
        assert!(chunks == pieces, "another content");
        assert_eq!(text(error.as_ref()), text(other.as_ref()), "another error");
        let mut decoder = Decoder::new(&stream[..], options(1, false), input::any_references());
        let mut read = Vec::new();
        let mut buffer = [0; 97];
        let ended = loop {
            match decoder.read(&mut buffer) {
                Ok(0) => break true,
                Ok(n) => read.extend_from_slice(&buffer[..n]),
                Err(_) => break false,
            }
        };
        assert!(read == chunks.concat() && ended == error.is_none(), "another content through Read");
    }
}

/// A content, its reference and options, and the stream they make.
#[allow(clippy::type_complexity)]
fn made(u: &mut Unstructured<'_>) -> Result<(Vec<u8>, Option<Vec<u8>>, Vec<u8>)> {
    let options = input::options(u)?;
    let content: Vec<u8> = u.arbitrary()?;
    let content = content.repeat(u.int_in_range(1..=50)?);
    let reference = input::reference(u, &content)?;
    let mut encoder = Encoder::new(Vec::new(), options, input::references(reference.as_deref())).unwrap();
    encoder.write_all(&content).unwrap();
    Ok((content, reference, encoder.finish().unwrap().0))
}

/// The same content with several threads: the same stream, good or damaged, the same answer.
pub fn threads_equal(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let _ = (|| -> Result<()> {
        let mut encoder_options = input::options(&mut u)?;
        let content: Vec<u8> = u.arbitrary()?;
        let content = content.repeat(u.int_in_range(1..=50)?);
        let reference = input::reference(&mut u, &content)?;
        let mut encode = |threads| {
            encoder_options.threads = threads;
            let references = input::references(reference.as_deref());
            let mut encoder = Encoder::new(Vec::new(), encoder_options.clone(), references).unwrap();
            encoder.write_all(&content).unwrap();
            encoder.finish().unwrap().0
        };
        let mut stream = encode(1);
        assert!(stream == encode(3), "another stream");
        damage(&mut u, &mut stream)?;
        for salvage in [false, true] {
            let references = || input::references(reference.as_deref());
            let (chunks, error) = decode(&stream[..], references(), options(1, salvage));
            let (others, other) = decode(&stream[..], references(), options(3, salvage));
            assert!(chunks == others, "another content");
            assert_eq!(text(error.as_ref()), text(other.as_ref()), "another error");
        }
        Ok(())
    })();
}

/// Changes, cuts, moves or repeats parts of a stream, or nothing.
fn damage(u: &mut Unstructured<'_>, stream: &mut Vec<u8>) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3u8)? {
        if stream.is_empty() {
            break;
        }
        let at = u.choose_index(stream.len())?;
        let length = u.int_in_range(0..=(stream.len() - at).min(600))?;
        let part = stream[at..at + length].to_vec();
        match u.int_in_range(0..=5u8)? {
            0 | 1 => stream[at] ^= u.int_in_range(1..=255u8)?,
            2 => stream.truncate(at),
            3 => drop(stream.drain(at..at + length)),
            4 => drop(stream.splice(at..at, part)),
            _ => {
                let to = u.choose_index(stream.len())?;
                stream.splice(to..to, part);
            }
        }
    }
    Ok(())
}

/// Damage of any kind: what is released is a prefix of the truth that ends at a chunk.
pub fn prefix_release(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let _ = (|| -> Result<()> {
        let (content, reference, mut stream) = made(&mut u)?;
        let references = || input::references(reference.as_deref());
        let (truth, error) = decode(&stream[..], references(), options(1, false));
        assert!(error.is_none() && truth.concat() == content, "no round trip: {error:?}");
        damage(&mut u, &mut stream)?;
        let (released, _) = decode(&stream[..], references(), options(1, false));
        assert!(truth.starts_with(&released) || released.starts_with(&truth), "not a prefix");
        // Only whole copies of the stream may give more than it held.
        assert!(released.len() <= truth.len() || stream.len() > content.len() / 2, "more than the truth");
        Ok(())
    })();
}
