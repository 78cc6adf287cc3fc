//! npz, and zip archives that are neither torch's nor numpy's.

use crate::archive::{Archive, Sizes};
use crate::common::{assert_robust, describe, sample, spans, tensor};
use crate::npy::array;

#[test]
fn samples_have_their_arrays() {
    let Some(bytes) = sample("arrays-next.npz") else {
        return;
    };
    let found = spans(&bytes);
    let tensors: Vec<_> = found.iter().filter(|s| s.tensor.is_some()).collect();
    assert_eq!(tensors.len(), 12);
    assert!(found.iter().all(|s| s.known));
    assert_eq!(tensor(&found, "wte.weight").columns, 256);
    assert_robust(&bytes);
    let Some(bytes) = sample("arrays-deflated-next.npz") else {
        return;
    };
    assert_eq!(describe(&spans(&bytes)), format!("0 {} bytes\n", bytes.len()));
}

/// numpy writes sizes into an extra field of the header, or, to a pipe, behind the array.
#[test]
fn arrays_written_to_files_and_pipes_are_found() {
    for sizes in [Sizes::Header, Sizes::Extra, Sizes::Descriptor, Sizes::WideDescriptor] {
        let mut archive = Archive::new(sizes);
        archive.align = false;
        archive.add("a.npy", &array("'<f4'", "False", "(2, 3)", 24));
        archive.add("none.npy", &array("'<f4'", "False", "(0,)", 0));
        archive.add("folder/b.npy", &array("'<f8'", "True", "(2, 3)", 48));
        let bytes = archive.finish();
        let spans = spans(&bytes);
        assert_eq!(tensor(&spans, "a").columns, 3);
        assert_eq!(tensor(&spans, "folder/b").columns, 2);
        assert!(spans.iter().all(|s| s.known), "{}", describe(&spans));
        assert_robust(&bytes);
    }
}

#[test]
fn arrays_that_cannot_be_read_leave_the_others() {
    for sizes in [Sizes::Header, Sizes::WideDescriptor] {
        let mut archive = Archive::new(sizes);
        archive.add("objects.npy", &array("'|O'", "False", "(2,)", 100));
        archive.add("text.npy", b"not an array at all");
        archive.add("a.npy", &array("'<f4'", "False", "(2, 3)", 24));
        let spans = spans(&archive.finish());
        assert_eq!(tensor(&spans, "a").columns, 3, "{}", describe(&spans));
    }
}

/// Other members are recognised by themselves where their size is known.
#[test]
fn members_of_other_archives_are_recognised() {
    let mut inner = Archive::new(Sizes::Header);
    inner.add("a.npy", &array("'<f4'", "False", "(2, 3)", 24));
    let inner = inner.finish();
    let mut archive = Archive::new(Sizes::Header);
    archive.add("config.json", b"{}");
    archive.add("inner.zip", &inner);
    archive.add_as("weights.h5", 8, &[1; 50]);
    let spans = spans(&archive.finish());
    assert_eq!(tensor(&spans, "inner.zip:a").columns, 3);
}

#[test]
fn absurd_headers_leave_bytes() {
    let mut archive = Archive::new(Sizes::Extra);
    archive.align = false;
    archive.add("a.npy", &array("'<f4'", "False", "(2, 3)", 24));
    let good = archive.finish();
    for size in [u64::MAX, 1 << 63, 200, 0] {
        let mut bytes = good.clone();
        let at = 30 + 5 + 4;
        bytes[at..at + 16].copy_from_slice(&size.to_le_bytes().repeat(2));
        spans(&bytes);
        assert_robust(&bytes);
    }
    let mut bytes = b"PK\x06\x06".to_vec();
    bytes.splice(0..0, good.iter().copied());
    bytes.extend(u64::MAX.to_le_bytes());
    spans(&bytes);
}
