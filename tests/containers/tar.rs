//! tar: members recognised by themselves, long names, sparse headers, archives inside archives.

use crate::common::{assert_robust, describe, sample, spans};
use crate::npy::array;

/// A header block.
pub(crate) fn header(name: &[u8], size: u64, kind: u8) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    checksum(&mut block);
    block
}

fn checksum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

pub(crate) fn member(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = header(name.as_bytes(), data.len() as u64, kind);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

pub(crate) fn end() -> Vec<u8> {
    vec![0; 1024]
}

/// The lines of spans that belong to tensors, without their offsets.
fn tensors(bytes: &[u8]) -> Vec<String> {
    let spans = spans(bytes);
    let lines = spans.iter().filter(|span| span.tensor.is_some());
    lines
        .map(|span| {
            let line = describe(std::slice::from_ref(span));
            line.split_once(' ').unwrap().1.trim_end().to_string()
        })
        .collect()
}

#[test]
fn a_sample_has_the_tensors_of_its_members() {
    for (name, step) in [("ckpt-next.tar", "1700"), ("ckpt-prev.tar", "1690")] {
        let Some(bytes) = sample(name) else { return };
        let found = spans(&bytes);
        let tensors: Vec<_> = found.iter().filter_map(|s| s.tensor.as_ref()).collect();
        assert_eq!(tensors.len(), 24, "{step} {}", describe(&found));
        let shards = tensors.iter().filter(|t| t.path.contains("/sharded/model-0000"));
        assert_eq!(shards.count(), 12);
        assert_robust(&bytes);
    }
}

#[test]
fn members_are_recognised_by_themselves() {
    let mut bytes = member("dir/", b'5', b"");
    bytes.extend(member("dir/a.npy", b'0', &array("'<f4'", "False", "(2,)", 8)));
    bytes.extend(member("link", b'2', b""));
    bytes.extend(member("empty", b'0', b""));
    bytes.extend(member("text", b'0', b"hello"));
    bytes.extend(member("b.npy", 0, &array("'<f2'", "False", "(3,)", 6)));
    bytes.extend(end());
    assert_eq!(tensors(&bytes), ["8 f32 dir/a.npy: [2]", "6 f16 b.npy: [3]"]);
    assert_robust(&bytes);
}

#[test]
fn long_names_come_from_pax_and_gnu_headers() {
    let long = "d/".repeat(100) + "x";
    let data = array("'<f4'", "False", "(2,)", 8);
    let record = format!(" path={long}\n");
    let length = record.len() + 3;
    let mut bytes = member("pax", b'x', format!("{length}{record}").as_bytes());
    bytes.extend(member("d/d", b'0', &data));
    bytes.extend(member("plain", b'0', &data));
    bytes.extend(member("././@LongLink", b'K', b"target\0"));
    bytes.extend(member("././@LongLink", b'L', format!("{long}\0").as_bytes()));
    bytes.extend(member("d/d", b'0', &data));
    bytes.extend(end());
    assert_eq!(
        tensors(&bytes),
        [format!("8 f32 {long}: [2]"), "8 f32 plain: [2]".into(), format!("8 f32 {long}: [2]")]
    );
}

#[test]
fn sizes_come_from_pax_headers_and_as_binary_numbers() {
    let data = array("'<f4'", "False", "(100,)", 400);
    let size = data.len();
    let record = format!("12 size={size}\n");
    let mut bytes = member("pax", b'x', record.as_bytes());
    let mut wrong = member("a", b'0', &data);
    wrong[124..136].copy_from_slice(b"00000000000\0");
    checksum(&mut wrong[..512]);
    bytes.extend(wrong);
    let mut binary = member("b", b'0', &data);
    binary[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x10]);
    assert_eq!(size, 0x210);
    checksum(&mut binary[..512]);
    bytes.extend(binary);
    bytes.extend(end());
    assert_eq!(tensors(&bytes), ["400 f32 a: [100]", "400 f32 b: [100]"]);
    assert_robust(&bytes);
}

#[test]
fn further_headers_of_sparse_members_are_passed() {
    let data = array("'<f4'", "False", "(2,)", 8);
    let mut sparse = header(b"s", data.len() as u64, b'S');
    sparse[482] = 1;
    checksum(&mut sparse);
    let mut more = vec![b'0'; 512];
    more[504] = 1;
    sparse.extend(&more);
    more[504] = 0;
    sparse.extend(&more);
    sparse.extend(&data);
    sparse.resize(sparse.len().next_multiple_of(512), 0);
    sparse.extend(member("b", b'0', &data));
    sparse.extend(end());
    assert_eq!(tensors(&sparse), ["8 f32 s: [2]", "8 f32 b: [2]"]);
}

/// Archives inside archives are read to a bounded depth; deeper ones are bytes.
#[test]
fn nesting_is_bounded() {
    let mut bytes = array("'<f4'", "False", "(2,)", 8);
    let mut found = Vec::new();
    for depth in 0..40 {
        bytes = member(&format!("m{depth}"), b'0', &bytes);
        bytes.extend(end());
        found.push(tensors(&bytes));
    }
    assert_eq!(found[0], ["8 f32 m0: [2]"]);
    assert_eq!(found[1], ["8 f32 m1:m0: [2]"]);
    assert!(found[39].is_empty());
}

/// A member whose contents are damaged costs only its own types.
#[test]
fn a_damaged_member_leaves_the_others() {
    let mut broken = array("'<f4'", "False", "(2,)", 8);
    broken[20] = b'!';
    let mut bytes = member("a", b'0', &broken);
    bytes.extend(member("b", b'0', &array("'<f4'", "False", "(2,)", 8)));
    bytes.extend(end());
    assert_eq!(tensors(&bytes), ["8 f32 b: [2]"]);
}

#[test]
fn archives_may_follow_each_other() {
    let one = [member("a", b'0', &array("'<f4'", "False", "(2,)", 8)), end()].concat();
    let mut both = one.repeat(2);
    both.extend(b"something else");
    let spans = spans(&both);
    assert_eq!(tensors(&both).len(), 2);
    assert!(!spans.last().unwrap().known);
}

#[test]
fn absurd_sizes_leave_bytes() {
    for size in [[0xff; 12], *b"77777777777\0", *b"9999999999x\0"] {
        let mut bytes = member("a", b'0', &array("'<f4'", "False", "(2,)", 8));
        bytes[124..136].copy_from_slice(&size);
        checksum(&mut bytes[..512]);
        assert_robust(&bytes);
        spans(&bytes);
    }
}

#[test]
fn names_that_are_not_utf8_are_replaced() {
    let data = array("'<f4'", "False", "(2,)", 8);
    let mut bytes = header(b"\xff\n-", data.len() as u64, b'0');
    bytes.extend(&data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    assert_eq!(tensors(&bytes), ["8 f32 \u{fffd}\n-: [2]"]);
}
