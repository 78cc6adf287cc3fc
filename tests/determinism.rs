//! The same content, references and options make the same bytes, whatever the threads, the sizes of reads and writes, and the way of the reference.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Random, fixed, references, split};
use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Level, ReadAt, Reference, Typing};

/// A content with stretches of several kinds and its reference: `elements` bf16 numbers, those in the middle of a long one unchanged; some bytes, some zeros.
fn pair(elements: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random(11);
    let mut reference = Vec::with_capacity(elements * 2);
    let mut content = Vec::with_capacity(elements * 2);
    for i in 0..elements {
        let bits = ((random.next() >> 57) as u16) << 3 | 0x3C00 | (i as u16 & 7);
        let middle = (2 << 20..elements.saturating_sub(1 << 20)).contains(&i);
        let next = if middle || i % 3000 < 1000 { bits } else { bits.wrapping_add(random.next() as u16 & 3) };
        reference.extend_from_slice(&bits.to_le_bytes());
        content.extend_from_slice(&next.to_le_bytes());
    }
    for bytes in [&mut reference, &mut content] {
        let noise = random.bytes(5001);
        bytes.extend_from_slice(&noise);
        bytes.extend_from_slice(&vec![0; 70_000]);
    }
    (content, reference)
}

/// Compresses, with writes of the sizes that `size` gives.
fn encode(
    content: &[u8],
    references: Vec<Reference>,
    options: &EncoderOptions,
    mut size: impl FnMut() -> usize,
) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), options.clone(), references).unwrap();
    let mut rest = content;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(size().min(rest.len()));
        encoder.write_all(now).unwrap();
        rest = later;
    }
    encoder.finish().unwrap().0
}

#[test]
fn any_number_of_threads() {
    // More than a window.
    let (content, reference) = pair(17 << 20);
    for level in [Level::Fast, Level::Default] {
        let mut options = fixed(ElementType::Bf16);
        options.level = level;
        // Levels differ in what is decided, not in how the work is shared: the slower one sees less.
        let length = if level == Level::Fast { content.len() } else { 2 << 20 };
        let mut streams = Vec::new();
        for threads in [1, 2, 3, 8] {
            options.threads = threads;
            streams.push(encode(&content[..length], references(Some(&reference)), &options, || 1 << 20));
        }
        assert!(streams.iter().all(|s| *s == streams[0]), "{level:?}");
        for threads in [1, 2, 3, 8] {
            let mut options = DecoderOptions::default();
            options.threads = threads;
            let (back, error) = common::decompress_with(&streams[0], references(Some(&reference)), options);
            assert!(error.is_none() && back == content[..length], "{level:?}, {threads} threads: {error:?}");
        }
    }
}

#[test]
fn any_limit_on_memory() {
    let (content, reference) = pair(1 << 19);
    let mut options = fixed(ElementType::Bf16);
    options.threads = 0;
    let stream = encode(&content, references(Some(&reference)), &options, || 1 << 20);
    for memory in [1, 64 << 20, 200 << 20, 1 << 40] {
        options.memory = Some(memory);
        assert!(encode(&content, references(Some(&reference)), &options, || 1 << 20) == stream, "{memory}");
    }
}

#[test]
fn writes_of_any_size() {
    let (content, reference) = pair(40_000);
    for typing in [Typing::Auto, Typing::Fixed(ElementType::Bf16)] {
        let mut options = fixed(ElementType::Bf16);
        options.typing = typing;
        options.chunk_length = Some(20_000);
        let whole = encode(&content, references(Some(&reference)), &options, || usize::MAX);
        for size in [1, 2, 7, 4095, 65_536, 100_003] {
            let parts = encode(&content, references(Some(&reference)), &options, || size);
            assert!(parts == whole, "{typing:?}, {size}");
        }
        let mut random = Random(12);
        let parts = encode(&content, references(Some(&reference)), &options, || random.below(300) as usize * 100 + 1);
        assert!(parts == whole, "{typing:?}");
    }
}

#[test]
fn writes_of_any_size_over_several_windows() {
    let (content, reference) = pair(17 << 20);
    for typing in [Typing::Auto, Typing::Fixed(ElementType::Bf16)] {
        let mut options = fixed(ElementType::Bf16);
        options.typing = typing;
        options.threads = 2;
        options.level = Level::Fast;
        let whole = encode(&content, references(Some(&reference)), &options, || usize::MAX);
        let parts = encode(&content, references(Some(&reference)), &options, || 999_983);
        assert!(parts == whole, "{typing:?}");
    }
}

#[test]
fn the_rest_at_once_or_in_pieces() {
    let (content, reference) = pair(17 << 20);
    let whole = content.len();
    let short = [0, 1, 65_535, 65_536, 70_001].map(|length| (1, length, vec![0, 1, length / 2, length]));
    let long = [(1, whole, vec![0]), (2, 70_001, vec![0, 1]), (2, whole, vec![whole / 2])];
    for typing in [Typing::Auto, Typing::Fixed(ElementType::Bf16)] {
        for (threads, length, begun) in short.iter().chain(&long) {
            let mut options = fixed(ElementType::Bf16);
            options.typing = typing;
            options.threads = *threads;
            options.columns = Some(1000);
            options.level = Level::Fast;
            let content = &content[..*length];
            let pieces = encode(content, references(Some(&reference)), &options, || 999_983);
            for &first in begun {
                let (first, rest) = content.split_at(first.min(*length));
                let mut encoder = Encoder::new(Vec::new(), options.clone(), references(Some(&reference))).unwrap();
                encoder.write_all(first).unwrap();
                let at_once = encoder.finish_with(rest).unwrap().0;
                assert!(at_once == pieces, "{typing:?}, {threads} threads, {length}, {}", first.len());
            }
        }
    }
}

#[test]
fn flushing_changes_nothing() {
    let (content, reference) = pair(40_000);
    let options = fixed(ElementType::Bf16);
    let whole = encode(&content, references(Some(&reference)), &options, || usize::MAX);
    let mut encoder = Encoder::new(Vec::new(), options, references(Some(&reference))).unwrap();
    encoder.flush().unwrap();
    for piece in content.chunks(10_001) {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
        encoder.write_all(&[]).unwrap();
    }
    assert!(encoder.finish().unwrap().0 == whole);
}

/// Gives its bytes in pieces of any size, with interruptions.
struct Dripping<'a> {
    bytes: &'a [u8],
    random: Random,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.random.below(5) == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = [1, 3, 100, 65_536][self.random.below(4) as usize];
        let count = buffer.len().min(most);
        self.bytes.read(&mut buffer[..count])
    }
}

/// The ways of one reference; a pipe's reads come in pieces.
fn ways(bytes: &[u8]) -> [(&'static str, Reference); 4] {
    struct Owned(Vec<u8>, usize, Random);
    impl Read for Owned {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut inner = Dripping { bytes: &self.0[self.1..], random: Random(self.2.next()) };
            let count = inner.read(buffer)?;
            self.1 += count;
            Ok(count)
        }
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    [
        ("bytes", Reference::Bytes(Arc::from(bytes))),
        ("file", Reference::File(file)),
        ("pipe", Reference::Pipe(Box::new(Cursor::new(bytes.to_vec())))),
        ("slow pipe", Reference::Pipe(Box::new(Owned(bytes.to_vec(), 0, Random(13))))),
    ]
}

/// A stream without its Reference records of the sampled form, which a pipe cannot give, and the End that counts them.
fn without_samples(stream: &[u8]) -> Vec<Vec<u8>> {
    let (header, mut records) = split(stream);
    // The Index tells where records are, these among them.
    records.retain(|r| !(r.kind == 2 && r.bytes[1] == 0) && r.kind != 0x81);
    assert_eq!(records.pop().map(|r| r.kind), Some(6));
    std::iter::once(header).chain(records.into_iter().map(|r| r.bytes)).collect()
}

#[test]
fn what_is_in_memory_is_not_read() {
    /// Counts the bytes that are read of it.
    struct Counted(Vec<u8>, AtomicUsize);
    impl ReadAt for Counted {
        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }
        fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let count = self.0.fill_at(buffer, offset)?;
            self.1.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }
        fn in_memory(&self) -> Option<&[u8]> {
            self.0.in_memory()
        }
    }
    let (content, bytes) = pair(1 << 20);
    let counted = Arc::new(Counted(bytes.clone(), AtomicUsize::new(0)));
    let used = || vec![Reference::Random(Arc::clone(&counted) as Arc<dyn ReadAt>)];
    let options = fixed(ElementType::Bf16);
    let stream = encode(&content, used(), &options, || 1 << 20);
    assert!(stream == encode(&content, references(Some(&bytes)), &options, || 1 << 20));
    let (back, error) = common::decompress_with(&stream, used(), DecoderOptions::default());
    assert!(error.is_none() && back == content);
    // But for its samples, on each side, and for what no chunk needs, which the CRC of the whole takes in.
    assert!(counted.1.load(Ordering::Relaxed) <= 2 * 65_536 + 75_001);
}

#[test]
fn any_way_of_the_reference() {
    // More than a window, so that a pipe has to be followed.
    let (content, reference) = pair(17 << 20);
    for (typing, length) in
        [(Typing::Fixed(ElementType::Bf16), content.len()), (Typing::Fixed(ElementType::Bf16), 30_000)]
    {
        let mut options = fixed(ElementType::Bf16);
        options.typing = typing;
        options.level = Level::Fast;
        options.threads = 2;
        let content = &content[..length];
        let streams = ways(&reference).map(|(name, way)| (name, encode(content, vec![way], &options, || 1 << 20)));
        let [(_, bytes), (_, file), (_, pipe), (_, slow)] = &streams;
        assert!(bytes == file && pipe == slow);
        assert!(without_samples(bytes) == without_samples(pipe), "{length}");
        // A short content carries no samples in any case.
        assert_eq!(bytes == pipe, length < 1 << 16);
        for (_, stream) in [&streams[0], &streams[2]] {
            for (name, way) in ways(&reference) {
                let (back, error) = common::decompress_with(stream, vec![way], DecoderOptions::default());
                assert!(error.is_none() && back == content, "{name}: {error:?}");
            }
        }
    }
}

#[test]
fn a_pipe_serves_while_types_are_found() {
    // A pipe tells less of its layout than a file, so the streams may differ; each must come back in every way.
    let (content, reference) = pair(17 << 20);
    let mut options = EncoderOptions::default();
    options.level = Level::Fast;
    options.threads = 2;
    for (name, way) in ways(&reference).into_iter().skip(1) {
        let stream = encode(&content, vec![way], &options, || 1 << 20);
        for (other, way) in ways(&reference) {
            let (back, error) = common::decompress_with(&stream, vec![way], DecoderOptions::default());
            assert!(error.is_none() && back == content, "{name}, {other}: {error:?}");
        }
    }
}

#[test]
fn reads_of_any_size() {
    let (content, reference) = pair(40_000);
    let mut options = fixed(ElementType::Bf16);
    options.chunk_length = Some(20_000);
    let stream = encode(&content, references(Some(&reference)), &options, || usize::MAX);
    for seed in 0..20 {
        let input = Dripping { bytes: &stream, random: Random(seed) };
        let mut decoder = Decoder::new(input, DecoderOptions::default(), references(Some(&reference)));
        let mut back = Vec::new();
        let mut buffer = vec![0; 30_000];
        let mut random = Random(seed + 100);
        loop {
            let size = random.below(30_000) as usize + 1;
            match decoder.read(&mut buffer[..size]) {
                Ok(0) => break,
                Ok(count) => back.extend_from_slice(&buffer[..count]),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(back == content, "seed {seed}");
    }
}
