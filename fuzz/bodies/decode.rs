//! Decoders given anything: no panic, an error with a class, nothing wrong released, the same answer however it is asked.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};

use arbitrary::{Result, Unstructured};
use ulpack::kernel::Kernel;
use ulpack::{Decoder, DecoderOptions, Encoder, Error, Reader, Reference, inspect_with};

use super::input;
use super::repair::{put_chunk_crc, put_end_crc, repair};

/// Content bytes after which a decoding is left: a few bytes may promise any amount, and there is no more to learn of it.
const ENOUGH: u64 = 8 << 20;

/// Hash and length of bytes. Contents are not kept: those of a small stream may be larger than memory.
type Print = (u64, u64);

fn print<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Print {
    let (mut hasher, mut length) = (DefaultHasher::new(), 0);
    for part in parts {
        hasher.write(part);
        length += part.len() as u64;
    }
    (hasher.finish(), length)
}

/// What a decoder has answered.
struct Answer {
    /// The chunks released.
    chunks: Vec<Print>,
    /// All that was released.
    content: Print,
    /// The error that ended it.
    error: Option<Error>,
    /// Left at [`ENOUGH`].
    left: bool,
}

impl Answer {
    /// Took the stream up to its end, and had nothing against it.
    fn good(&self) -> bool {
        self.error.is_none() && !self.left
    }

    fn text(&self) -> String {
        text(self.error.as_ref())
    }
}

/// Decodes up to the end, an error, or [`ENOUGH`].
fn decode<R: Read>(stream: R, references: Vec<Reference>, options: DecoderOptions) -> Answer {
    drive(&mut Decoder::new(stream, options, references))
}

fn drive<R: Read>(decoder: &mut Decoder<R>) -> Answer {
    let (mut hasher, mut length, mut chunks) = (DefaultHasher::new(), 0, Vec::new());
    let (error, left) = loop {
        match decoder.next_chunk() {
            Ok(Some(bytes)) => {
                chunks.push(print([bytes]));
                hasher.write(bytes);
                length += bytes.len() as u64;
            }
            Ok(None) => break (None, false),
            Err(error) => {
                assert!(!matches!(decoder.next_chunk(), Ok(Some(_))), "content after an error");
                break (Some(error), false);
            }
        }
        if length >= ENOUGH {
            break (None, true);
        }
    };
    Answer { chunks, content: (hasher.finish(), length), error, left }
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
    let once = decode(data, input::any_references(), options(1, false));
    let again = decode(data, input::any_references(), options(1, false));
    assert!(once.chunks == again.chunks && once.text() == again.text(), "two answers");
    // Salvage releases no less.
    let salvaged = decode(data, input::any_references(), options(1, true));
    assert!(salvaged.chunks.starts_with(&once.chunks), "salvage released something else");
}

/// Any bytes as a stream whose checks pass, those of the contents too where a decoder can be made to tell them.
pub fn decode_no_crc(data: &[u8]) {
    let stream = agreed(repair(data));
    let once = decode(&stream[..], input::any_references(), options(1, false));
    let salvaged = decode(&stream[..], input::any_references(), options(2, true));
    assert!(salvaged.chunks.starts_with(&once.chunks), "salvage released something else");
    if once.good() {
        assert!(salvaged.chunks == once.chunks, "salvage of a good stream");
        let twice = [stream.as_slice(), &stream].concat();
        let both = decode(&twice[..], input::any_references(), options(1, false));
        assert!(
            both.left || both.good() && both.chunks == once.chunks.repeat(2),
            "a good stream twice: {}",
            both.text()
        );
    }
    looked_at(&stream, &once);
}

/// Random access gives what decoding gives, or an error; a listing finds no fault with a good stream.
fn looked_at(stream: &[u8], once: &Answer) {
    let listed = inspect_with(stream, input::any_references(), &[]).1;
    assert!(!once.good() || listed.is_ok(), "a good stream is not listed: {}", text(listed.err().as_ref()));
    if let Ok(reader) = Reader::open(stream.to_vec(), options(1, false), input::any_references()) {
        let mut out = Vec::new();
        let copied = reader.copy(0..reader.len().min(ENOUGH), &mut out);
        let same = print([out.as_slice()]) == once.content;
        assert!(same || !once.good() || copied.is_err(), "random access gives another content");
        // The containers in what it holds are looked for as well.
        let _ = reader.tensors();
    }
}

/// A repaired stream whose first chunks have the CRCs of what they decode to.
fn agreed(mut stream: Vec<u8>) -> Vec<u8> {
    for _ in 0..6 {
        stream = match decode(&stream[..], input::any_references(), options(1, false)).error {
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
        let answer = drive(&mut decoder);
        let damaged: Vec<(u64, String)> = decoder.summary().damaged.into_iter().map(|d| (d.chunk, d.reason)).collect();
        (answer.content, answer.text(), damaged)
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
        let whole = decode(&stream[..], input::any_references(), options(1, false));
        let dripping = Dripping { bytes: &stream, step: data.len() as u32 };
        let pieces = decode(dripping, input::any_references(), options(1, false));
        assert!(whole.chunks == pieces.chunks, "another content");
        assert_eq!(whole.text(), pieces.text(), "another error");
        let mut decoder = Decoder::new(&stream[..], options(1, false), input::any_references());
        let (mut hasher, mut length) = (DefaultHasher::new(), 0);
        let mut buffer = [0; 9973];
        let ended = loop {
            // Where the other was left, this one is too.
            let most = if whole.left { buffer.len().min((whole.content.1 - length) as usize) } else { buffer.len() };
            match decoder.read(&mut buffer[..most]) {
                Ok(0) => break true,
                Ok(n) => {
                    hasher.write(&buffer[..n]);
                    length += n as u64;
                }
                Err(_) => break false,
            }
        };
        let read = (hasher.finish(), length);
        assert!(read == whole.content && ended == whole.error.is_none(), "another content through Read");
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
            let one = decode(&stream[..], references(), options(1, salvage));
            let three = decode(&stream[..], references(), options(3, salvage));
            assert!(one.chunks == three.chunks, "another content");
            assert_eq!(one.text(), three.text(), "another error");
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
        let truth = decode(&stream[..], references(), options(1, false));
        assert!(truth.good() && truth.content == print([&content[..]]), "no round trip: {}", truth.text());
        let truth = truth.chunks;
        damage(&mut u, &mut stream)?;
        let released = decode(&stream[..], references(), options(1, false)).chunks;
        assert!(truth.starts_with(&released) || released.starts_with(&truth), "not a prefix");
        // Only whole copies of the stream may give more than it held.
        assert!(released.len() <= truth.len() || stream.len() > content.len() / 2, "more than the truth");
        Ok(())
    })();
}
