//! A stream cut anywhere is invalid, and what is released is a prefix of the content that ends at a chunk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::{boundaries, compress, decompress, fixed, small_stream};
use ulpack::{ElementType, Error, ErrorClass};

#[test]
fn every_truncation_is_reported_and_releases_whole_chunks() {
    let (content, reference, stream) = small_stream();
    let allowed = boundaries(&stream);
    assert!(allowed.len() > 8 && allowed.last() == Some(&content.len()), "{allowed:?}");
    let mut most = 0;
    for length in 0..stream.len() {
        let (released, error) = decompress(&stream[..length], Some(&reference));
        let error = error.unwrap_or_else(|| panic!("{length} bytes were accepted"));
        assert!(matches!(error.rule(), Error::Truncated), "{length} bytes: {error}");
        assert_eq!(error.class(), ErrorClass::Invalid);
        assert!(allowed.contains(&released.len()) && content.starts_with(&released), "{length}: {}", released.len());
        // More bytes never release less.
        assert!(released.len() >= most, "{length}");
        most = released.len();
    }
    // All that was needed is there before the End record.
    assert_eq!(most, content.len());
}

#[test]
fn a_second_stream_cut_anywhere_leaves_the_first_whole() {
    let first = compress(b"first", None, &fixed(ElementType::Bytes));
    let second = compress(b"second", None, &fixed(ElementType::Bytes));
    for length in 1..second.len() {
        let mut both = first.clone();
        both.extend_from_slice(&second[..length]);
        let (released, error) = decompress(&both, None);
        let error = error.unwrap_or_else(|| panic!("{length} bytes were accepted"));
        assert!(matches!(error.rule(), Error::Truncated), "{length} bytes: {error}");
        assert!(released == b"first" || released == b"firstsecond", "{length}");
    }
}

#[test]
fn the_start_of_something_else_is_not_a_truncated_stream() {
    for other in [&b"{"[..], b"\x89PNG", b"\x89ulp\n", b"\x28\xB5\x2F\xFD", &[0], &[0; 100]] {
        let (released, error) = decompress(other, None);
        assert!(released.is_empty());
        assert!(matches!(error.as_ref().map(Error::rule), Some(Error::NotUlp)), "{other:?}: {error:?}");
    }
}
