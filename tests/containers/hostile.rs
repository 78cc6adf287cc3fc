//! Bytes that are no file at all: tiny ones, random ones, every magic with random bytes behind it.

use ulpack::container::LayoutReader;

use crate::archive::{Archive, Sizes, vectors};
use crate::common::{Random, assert_cover, assert_robust, describe, spans, spans_in_portions};
use crate::{npy, tar};

/// The first bytes of all containers that are recognised, and of some that are not.
fn starts() -> Vec<Vec<u8>> {
    let mut starts: Vec<Vec<u8>> = [
        &b""[..],
        b"\x89ulp\r\n",
        b"\x28\xb5\x2f\xfd",
        b"\x1f\x8b",
        b"\xfd7zXZ\0",
        b"\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[",
        b"\x02\0\0\0\0\0\0\0{}",
        b"PK\x03\x04",
        b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0a\0\0\0a/data.pkl",
        b"PK\x05\x06",
        b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e\x80\x02",
        b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e",
        b"\x93NUMPY\x01\0\x76\0{'descr': '<f4', ",
        b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0",
        b"\x89HDF\r\n\x1a\n",
        b"\x08\x07\x12\x07pytorch",
    ]
    .iter()
    .map(|start| start.to_vec())
    .collect();
    starts.push(tar::header(b"a", 100, b'0'));
    starts.push(tar::header(b"a", 5000, b'x'));
    starts
}

#[test]
fn random_bytes_behind_every_magic_are_covered() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for start in starts() {
        for round in 0..300 {
            let mut bytes = start.clone();
            let n = random.below(if round % 10 == 0 { 5000 } else { 200 });
            // Small numbers are more often lengths and opcodes than large ones.
            let small = round % 3 == 0;
            bytes.extend((0..n).map(|_| if small { random.below(8) as u8 } else { random.next() as u8 }));
            spans(&bytes);
        }
    }
}

/// zstd#2637, xdelta#17: the shortest streams.
#[test]
fn the_shortest_streams_have_spans() {
    assert!(spans_in_portions(b"", &[1]).is_empty());
    let mut reader = LayoutReader::new();
    reader.push(b"");
    assert!(reader.take(u64::MAX).is_empty());
    reader.finish();
    assert!(reader.take(u64::MAX).is_empty());
    for start in starts() {
        for n in 1..=start.len().min(64) {
            spans(&start[..n]);
        }
        let mut long = start;
        long.resize(64, 0);
        spans(&long);
    }
    assert_eq!(describe(&spans(b"x")), "0 1 bytes?\n");
}

#[test]
fn random_opcodes_are_covered() {
    let mut random = Random(0xfeed_beef_0000_0001);
    let codes = b"(.0127}]aehjqrtuslbcoiRQNKMJX\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x92\x93\x94\x95";
    for _ in 0..3000 {
        let mut pickle = b"\x80\x02".to_vec();
        for _ in 0..random.below(200) {
            let code = codes[random.below(codes.len())];
            pickle.push(code);
            let argument = match code {
                b'c' | b'i' => b"a\nb\n".to_vec(),
                b'X' => b"\x02\0\0\0xy".to_vec(),
                b'K' | b'q' | b'h' => vec![random.below(6) as u8],
                _ => continue,
            };
            pickle.extend(argument);
        }
        for sizes in [Sizes::Header, Sizes::Descriptor] {
            let mut archive = Archive::new(sizes);
            archive.add("a/data.pkl", &pickle);
            let bytes = archive.finish();
            let whole = spans_in_portions(&bytes, &[usize::MAX]);
            assert_eq!(spans_in_portions(&bytes, &[1, 20]), whole);
        }
    }
}

/// One container inside another, damaged anywhere.
#[test]
fn containers_inside_each_other_survive_damage() {
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &vectors(&[("x", 3)]));
    archive.add("a/data/0", &[1; 12]);
    let mut npz = Archive::new(Sizes::Header);
    npz.add("a.npy", &npy::array("'<f4'", "False", "(2, 3)", 24));
    npz.add("b.pt", &archive.finish());
    let mut bytes = tar::member("m.npz", b'0', &npz.finish());
    bytes.extend(tar::end());
    let spans = spans(&bytes);
    let names: Vec<String> = spans.iter().filter_map(|s| s.tensor.as_ref().map(|t| t.to_string())).collect();
    assert_eq!(names, ["m.npz:a", "m.npz:b.pt:x"]);
    assert_robust(&bytes);
}

/// However small the cap on held bytes, there is an answer, and it does not depend on portions.
#[test]
fn any_cap_on_held_bytes_gives_one_answer() {
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &vectors(&[("first", 3), ("second", 2)]));
    archive.add("a/data/0", &[1; 12]);
    archive.add("a/data/1", &[1; 8]);
    let archive = archive.finish();
    let mut tarred = tar::member("a.npy", b'0', &npy::array("'<f4'", "False", "(2, 3)", 24));
    tarred.extend(tar::member("a.pt", b'0', &archive));
    for bytes in [archive, tarred] {
        for held in (0..200).chain([500, 511, 512, 600, 1000, 5000, 100_000]) {
            let mut answers = Vec::new();
            for portion in [1, 17, bytes.len()] {
                let mut reader = LayoutReader::with_held(held);
                bytes.chunks(portion).for_each(|part| reader.push(part));
                reader.finish();
                let spans = reader.take(u64::MAX);
                assert_cover(&spans, 0, bytes.len() as u64);
                answers.push(describe(&spans));
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{held}: {answers:#?}");
        }
    }
}
