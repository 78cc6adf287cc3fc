//! npy: descriptions of items, versions of headers.

use crate::common::{assert_robust, describe, sample, spans};

/// An array of that description.
pub(crate) fn array(descr: &str, fortran: &str, shape: &str, length: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..length).map(|i| i as u8));
    bytes
}

fn second_line(bytes: &[u8]) -> String {
    let text = describe(&spans(bytes));
    text.lines().nth(1).unwrap_or_default().into()
}

#[test]
fn a_sample_is_one_array() {
    for name in ["array-f16-next.npy", "array-f16-prev.npy"] {
        let Some(bytes) = sample(name) else { return };
        let text = describe(&spans(&bytes));
        assert_eq!(text, "0 128 bytes\n128 65536 f16 /256  [128, 256]\n");
        assert_robust(&bytes);
    }
}

#[test]
fn descriptions_of_items_give_types_and_rows() {
    for (descr, shape, length, expected) in [
        ("'<f4'", "(2, 3)", 24, "f32 /3  [2, 3]"),
        ("'<f4'", "()", 4, "f32  []"),
        ("'|b1'", "(8,)", 8, "u8  [8]"),
        ("'<i8'", "(1,)", 8, "i64  [1]"),
        ("'<M8[ns]'", "(1,)", 8, "i64  [1]"),
        ("'<c8'", "(2, 2)", 32, "f32 /4  [2, 2]"),
        ("'<V2'", "(2, 2)", 8, "bf16 /2  [2, 2]"),
        ("'|V1'", "(4,)", 4, "bytes? /1  [4]"),
        ("'>f4'", "(2, 3)", 24, "bytes /4  [2, 3]"),
        ("'>u1'", "(4,)", 4, "u8  [4]"),
        ("'|S5'", "(2,)", 10, "bytes /5  [2]"),
        ("'<U3'", "(2, 2)", 48, "u32 /6  [2, 2]"),
        ("[('a', '<f4'), ('b', '<i2', (3,))]", "(2,)", 20, "bytes /10  [2]"),
        ("'<f16'", "(1,)", 16, "bytes /16  [1]"),
    ] {
        let bytes = array(descr, "False", shape, length);
        let header = bytes.len() - length;
        assert_eq!(second_line(&bytes), format!("{header} {length} {expected}"));
        assert_robust(&bytes);
    }
}

#[test]
fn fortran_order_gives_the_shape_in_memory() {
    let bytes = array("'<f4'", "True", "(2, 3)", 24);
    assert!(second_line(&bytes).ends_with("24 f32 /2  [3, 2]"));
}

#[test]
fn later_versions_have_longer_headers() {
    let old = array("'<f4'", "False", "(2,)", 8);
    for version in [2u8, 3] {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        bytes.extend(((old.len() - 18) as u32).to_le_bytes());
        bytes.extend(&old[10..]);
        let start = bytes.len() - 8;
        assert_eq!(second_line(&bytes), format!("{start} 8 f32  [2]"));
    }
}

/// Several arrays saved to one file follow each other.
#[test]
fn arrays_may_follow_each_other() {
    let mut bytes = array("'<f4'", "False", "(2,)", 8);
    bytes.extend(array("'<u2'", "False", "(0,)", 0));
    bytes.extend(array("'<u2'", "False", "(3,)", 6));
    bytes.extend(b"rest");
    let text = describe(&spans(&bytes));
    let kinds: Vec<&str> = text.lines().filter_map(|l| l.split(' ').nth(2)).collect();
    assert_eq!(kinds, ["bytes", "f32", "bytes", "u16", "bytes?"]);
}

#[test]
fn absurd_headers_leave_bytes() {
    for (descr, shape) in [
        ("'|O'", "(2,)"),
        ("'<f4'", "(18446744073709551615, 18446744073709551615)"),
        ("'<f4'", "(-1,)"),
        ("'<f3'", "(1,)"),
        ("'<f99999999999999999999'", "(1,)"),
        ("[]", "7"),
        ("7", "(1,)"),
        ("''", "(1,)"),
        ("'é'", "(1,)"),
    ] {
        let bytes = array(descr, "False", shape, 64);
        let text = describe(&spans(&bytes));
        assert_eq!(text, format!("0 {} bytes?\n", bytes.len()), "{descr} {shape}");
    }
}
