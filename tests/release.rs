//! Nothing is released that the encoder was not given: references that are not the right ones, and what follows a stream.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use common::{Random, boundaries, compress, decompress, decompress_with, fixed, references, small_stream};
use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, Error, ErrorClass, Reference};

/// The ways in which a reference reaches a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Bytes,
    File,
    Pipe,
}

const WAYS: [Way; 3] = [Way::Bytes, Way::File, Way::Pipe];

fn reference(way: Way, bytes: &[u8]) -> Reference {
    match way {
        Way::Bytes => Reference::Bytes(Arc::from(bytes)),
        Way::File => {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            Reference::File(file)
        }
        Way::Pipe => Reference::Pipe(Box::new(Cursor::new(bytes.to_vec()))),
    }
}

fn decode(stream: &[u8], way: Way, bytes: &[u8]) -> (Vec<u8>, Option<Error>) {
    let mut options = DecoderOptions::default();
    options.threads = 1;
    decompress_with(stream, vec![reference(way, bytes)], options)
}

/// Whether the error says that the reference is not the right one.
fn says_reference(error: &Error) -> bool {
    matches!(
        error.rule(),
        Error::ReferenceMismatch { .. } | Error::ReferenceLength { .. } | Error::ReferenceShort { .. }
    )
}

/// A pair large enough to carry a sampled identity, its reference longer than the content, and the stream.
fn pair() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut random = Random(5);
    let mut reference = Vec::new();
    let mut content = Vec::new();
    for _ in 0..50_000 {
        let bits = half::bf16::from_f64(random.normal()).to_bits();
        reference.extend_from_slice(&bits.to_le_bytes());
        content.extend_from_slice(&bits.wrapping_add(random.below(3) as u16).to_le_bytes());
    }
    let mut options = fixed(ElementType::Bf16);
    options.chunk_length = Some(16_384);
    let stream = compress(&content, Some(&reference), &options);
    (content, reference, stream)
}

#[test]
fn the_right_reference_serves_in_every_way() {
    for (content, reference, stream) in [pair(), small_stream()] {
        for way in WAYS {
            let (released, error) = decode(&stream, way, &reference);
            assert!(error.is_none() && released == content, "{way:?}: {error:?}");
        }
    }
}

#[test]
fn a_changed_reference_is_named_and_nothing_wrong_released() {
    for (content, reference, stream) in [pair(), small_stream()] {
        let allowed = boundaries(&stream);
        let mut random = Random(6);
        let mut places: Vec<usize> = (0..60).map(|_| random.below(reference.len() as u64) as usize).collect();
        places.extend([0, 1, reference.len() - 1]);
        for (way, place) in WAYS.into_iter().flat_map(|w| places.iter().map(move |&p| (w, p))) {
            let mut changed = reference.clone();
            changed[place] ^= 1 << random.below(8);
            let (released, error) = decode(&stream, way, &changed);
            match error {
                Some(error) => {
                    assert!(says_reference(&error), "{way:?}, byte {place}: {error}");
                    assert_eq!(error.class(), ErrorClass::Invalid);
                    assert!(
                        content.starts_with(&released) && allowed.contains(&released.len()),
                        "{way:?}, byte {place}"
                    );
                }
                // Of a file, only what the stream needs is read; of a pipe, all is checked.
                None => assert!(released == content && way != Way::Pipe, "{way:?}, byte {place}"),
            }
        }
    }
}

#[test]
fn a_byte_changed_where_the_content_needs_it_is_always_found() {
    let (_, reference, stream) = pair();
    // All of it is needed: every element differs by chance only.
    for place in (0..reference.len()).step_by(997) {
        for way in WAYS {
            let mut changed = reference.clone();
            changed[place] ^= 0x40;
            let (_, error) = decode(&stream, way, &changed);
            assert!(error.as_ref().is_some_and(says_reference), "{way:?}, byte {place}: {error:?}");
        }
    }
}

#[test]
fn bytes_missing_or_added_are_named() {
    for (content, reference, stream) in [pair(), small_stream()] {
        let allowed = boundaries(&stream);
        let length = reference.len();
        let without = |place: usize| [&reference[..place], &reference[place + 1..]].concat();
        let with = |place: usize| [&reference[..place], &[0x55], &reference[place..]].concat();
        let others = [
            ("first missing", without(0)),
            ("middle missing", without(length / 2)),
            ("last missing", without(length - 1)),
            ("half missing", reference[..length / 2].to_vec()),
            ("all missing", Vec::new()),
            ("one before", with(0)),
            ("one inside", with(length / 2)),
            ("one behind", with(length)),
        ];
        for (what, other) in &others {
            for way in WAYS {
                let (released, error) = decode(&stream, way, other);
                match error {
                    Some(error) => {
                        assert!(says_reference(&error), "{way:?}, {what}: {error}");
                        assert!(content.starts_with(&released) && allowed.contains(&released.len()), "{way:?}, {what}");
                    }
                    // A small stream has no sampled identity: bytes behind what it needs may go unseen in a file.
                    None => {
                        assert!(released == content && length < 1 << 16 && way != Way::Pipe, "{way:?}, {what}");
                        assert!(["one behind", "last missing"].contains(what), "{way:?}, {what}");
                    }
                }
            }
        }
    }
}

#[test]
fn another_reference_is_refused_before_anything_is_released() {
    let (_, reference, stream) = pair();
    let mut random = Random(8);
    let other = random.bytes(reference.len());
    for way in WAYS {
        let (released, error) = decode(&stream, way, &other);
        assert!(error.as_ref().is_some_and(says_reference), "{way:?}: {error:?}");
        assert!(released.is_empty(), "{way:?}: {} bytes", released.len());
    }
}

#[test]
fn a_missing_reference_is_asked_for() {
    let (_, _, stream) = pair();
    let (released, error) = decompress(&stream, None);
    assert!(released.is_empty());
    assert!(
        matches!(error.as_ref().map(Error::rule), Some(Error::ReferenceMissing { needed: 1, given: 0 })),
        "{error:?}"
    );
}

#[test]
fn zeros_may_follow_a_stream_and_nothing_else() {
    let (content, reference, stream) = small_stream();
    for zeros in [1, 3, 23, 24, 25, 512, 100_000] {
        let padded = [stream.as_slice(), &vec![0; zeros]].concat();
        let (released, error) = decompress(&padded, Some(&reference));
        assert!(error.is_none() && released == content, "{zeros} zeros: {error:?}");
        for junk in [&[1][..], b"not a stream, and longer than a header of one", &stream] {
            let bad = [padded.as_slice(), junk].concat();
            let (released, error) = decompress(&bad, Some(&reference));
            assert!(matches!(error.as_ref().map(Error::rule), Some(Error::TrailingBytes)), "{zeros} zeros: {error:?}");
            assert!(released == content, "{zeros} zeros");
        }
    }
    for junk in [&[1][..], b"PK", &[0xFF; 100]] {
        let bad = [stream.as_slice(), junk].concat();
        let (released, error) = decompress(&bad, Some(&reference));
        assert!(matches!(error.as_ref().map(Error::rule), Some(Error::TrailingBytes)), "{junk:?}: {error:?}");
        assert!(released == content, "{junk:?}");
    }
}

#[test]
fn concatenated_streams_decode_to_the_concatenation() {
    let (content, reference, stream) = small_stream();
    let plain = compress(b"plain", None, &fixed(ElementType::Bytes));
    let empty = compress(b"", None, &fixed(ElementType::Bytes));
    let all = [plain.as_slice(), &empty, &stream, &empty, &stream, &plain].concat();
    let (released, error) = decompress(&all, Some(&reference));
    assert!(error.is_none(), "{error:?}");
    assert!(released == [b"plain", content.as_slice(), &content, b"plain"].concat());
}

#[test]
fn a_piped_reference_serves_one_stream() {
    let (content, reference, stream) = small_stream();
    let twice = [stream.as_slice(), &stream].concat();
    let (released, error) = decode(&twice, Way::Pipe, &reference);
    assert_eq!(error.as_ref().map(Error::class), Some(ErrorClass::Usage), "{error:?}");
    assert!(released == content);
}

#[test]
fn an_error_of_the_input_is_not_damage() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() { Err(io::Error::from(io::ErrorKind::ConnectionReset)) } else { self.0.read(buffer) }
        }
    }
    let (content, reference, stream) = small_stream();
    for length in [0, 10, 24, 30, 100, stream.len() / 2, stream.len() - 1] {
        let mut decoder =
            Decoder::new(Failing(&stream[..length]), DecoderOptions::default(), references(Some(&reference)));
        let mut released = Vec::new();
        let error = io::copy(&mut decoder, &mut released).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{length}");
        assert!(content.starts_with(&released), "{length}");
    }
}

/// Gives so many bytes, then fails.
struct Broken(Vec<u8>, usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&self.0[self.1..]).read(buffer)?;
        self.1 += count;
        if count == 0 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(count) }
    }
}

#[test]
fn an_error_of_a_reference_is_not_a_mismatch() {
    let (content, reference, stream) = pair();
    for length in [0, 1, 16_384, 40_000, reference.len() - 1] {
        let broken = || vec![Reference::Pipe(Box::new(Broken(reference[..length].to_vec(), 0)))];
        let (released, error) = decompress_with(&stream, broken(), DecoderOptions::default());
        assert_eq!(error.as_ref().map(Error::class), Some(ErrorClass::Io), "{length}: {error:?}");
        assert!(content.starts_with(&released), "{length}");

        let encoder = Encoder::new(Vec::new(), fixed(ElementType::Bf16), broken());
        let result = encoder.and_then(|mut encoder| {
            encoder.write_all(&content)?;
            encoder.finish()
        });
        assert_eq!(result.err().map(|e| e.class()), Some(ErrorClass::Io), "{length}");
    }
}

#[test]
fn an_error_of_the_output_reaches_the_caller() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(self.0);
            self.0 -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (content, reference, stream) = small_stream();
    for room in [0, 1, 24, 100, 1000] {
        assert!(room < stream.len());
        for threads in [1, 2] {
            let mut options = fixed(ElementType::Bf16);
            options.threads = threads;
            let result = Encoder::new(Full(room), options, references(Some(&reference))).and_then(|mut encoder| {
                encoder.write_all(&content)?;
                encoder.finish()
            });
            let error = result.err().unwrap_or_else(|| panic!("{room} bytes were enough"));
            assert!(matches!(&error, Error::Io(e) if e.kind() == io::ErrorKind::StorageFull), "{room}: {error}");
        }
    }
}

#[test]
fn a_decoder_that_has_failed_or_ended_stays_so() {
    let (content, reference, stream) = small_stream();
    for length in [stream.len() / 2, stream.len()] {
        let mut decoder = Decoder::new(&stream[..length], DecoderOptions::default(), references(Some(&reference)));
        let mut released = Vec::new();
        let ended = loop {
            match decoder.next_chunk() {
                Ok(Some(bytes)) => released.extend_from_slice(bytes),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        assert_eq!(ended, length == stream.len());
        for _ in 0..3 {
            assert!(!matches!(decoder.next_chunk(), Ok(Some(_))));
        }
        assert!(content.starts_with(&released));
    }
}

#[test]
fn reads_of_any_size_release_the_same_bytes_and_no_more() {
    let (content, reference, stream) = pair();
    let mut random = Random(17);
    let mut damaged = stream.clone();
    // Within a late chunk, so that large buffers have good ones before it.
    let at = stream.len() * 3 / 4;
    damaged[at] ^= 4;
    for stream in [&stream, &damaged] {
        let (expected, error) = decompress(stream, Some(&reference));
        for most in [1, 7, 4096, 16_384, 40_000, 1 << 20] {
            for threads in [1, 2] {
                let mut options = DecoderOptions::default();
                options.threads = threads;
                let mut decoder = Decoder::new(stream.as_slice(), options, references(Some(&reference)));
                let mut released = Vec::new();
                let mut buffer = vec![0xAA; most];
                let failed = loop {
                    let length = if most > 4096 { most - random.below(2000) as usize } else { most };
                    match decoder.read(&mut buffer[..length]) {
                        Ok(0) => break false,
                        Ok(n) => released.extend_from_slice(&buffer[..n]),
                        Err(_) => break true,
                    }
                };
                assert_eq!(failed, error.is_some(), "{most} {threads}");
                assert!(released == expected && content.starts_with(&released), "{most} {threads}");
                let summary = decoder.summary();
                assert_eq!(summary.content_bytes, released.len() as u64, "{most} {threads}");
            }
        }
    }
}
