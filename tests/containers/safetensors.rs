//! safetensors: headers as they are written, and as they should not be.

use ulpack::ElementType;
use ulpack::container::{Layout, LayoutReader, TypedSpan};

use crate::common::{Sparse, assert_robust, describe, sample, spans, spans_in_windows, tensor};

/// A file with that header and body.
fn file(header: &str, body: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..body).map(|i| i as u8));
    bytes
}

fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
    format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}")
}

fn header(entries: &[String]) -> String {
    format!("{{{}}}", entries.join(","))
}

/// Lines of all spans but the first, the header.
fn body(bytes: &[u8]) -> Vec<String> {
    let spans = spans(bytes);
    assert!(spans[0].known && spans[0].tensor.is_none());
    describe(&spans).lines().skip(1).map(String::from).collect()
}

#[test]
fn samples_have_all_their_tensors() {
    for (name, element) in [
        ("plain-bf16-next.safetensors", ElementType::Bf16),
        ("plain-f16-next.safetensors", ElementType::F16),
        ("plain-f32-next.safetensors", ElementType::F32),
    ] {
        let Some(bytes) = sample(name) else { return };
        let spans = spans(&bytes);
        let tensors: Vec<_> = spans.iter().filter(|s| s.tensor.is_some()).collect();
        assert_eq!(tensors.len(), 12, "{}", describe(&spans));
        assert!(tensors.iter().all(|s| s.element == element && s.known));
        let proj = tensor(&spans, "h.0.proj.weight");
        assert_eq!(&*proj.tensor.as_ref().unwrap().shape, [96, 256]);
        assert_eq!(proj.columns, 256);
    }
}

#[test]
fn every_dtype_of_the_mixed_sample_has_a_type() {
    let Some(bytes) = sample("mixed-next.safetensors") else {
        return;
    };
    let spans = spans(&bytes);
    println!("{}", describe(&spans));
    assert!(spans.iter().all(|s| s.known));
}

#[test]
fn damage_and_truncation_leave_bytes() {
    let text = header(&[
        entry("a", "F32", "[2,3]", 0, 24),
        entry("b\\u00e4\\n", "BF16", "[4]", 24, 32),
        entry("c", "F64", "[]", 32, 40),
    ]);
    assert_robust(&file(&text, 40));
    for name in ["plain-bf16-next.safetensors", "mixed-prev.safetensors"] {
        if let Some(bytes) = sample(name) {
            assert_robust(&bytes);
        }
    }
}

#[test]
fn tensors_in_any_order_of_the_header_come_in_order_of_offset() {
    let text = header(&[entry("z", "F32", "[2]", 8, 16), entry("a", "F32", "[1,2]", 0, 8)]);
    let bytes = file(&text, 16);
    let n = bytes.len() as u64 - 16;
    assert_eq!(body(&bytes), [format!("{n} 8 f32 /2 a [1, 2]"), format!("{} 8 f32 z [2]", n + 8)]);
}

/// safetensors#231, #695, mlx#4439: neither headers nor tensors need be aligned.
#[test]
fn misaligned_tensors_keep_their_own_phase() {
    let text =
        header(&[entry("a", "U8", "[3]", 0, 3), entry("b", "F32", "[2]", 3, 11), entry("c", "BF16", "[1]", 11, 13)]);
    for pad in 0..8 {
        let text = format!("{text}{}", " ".repeat(pad));
        let bytes = file(&text, 13);
        let n = bytes.len() - 13;
        assert_eq!(
            body(&bytes),
            [format!("{n} 3 u8 a [3]"), format!("{} 8 f32 b [2]", n + 3), format!("{} 2 bf16 c [1]", n + 11)]
        );
    }
}

/// safetensors#442, #280.
#[test]
fn empty_tensors_take_no_span() {
    let text = header(&[
        entry("a", "F32", "[0,4]", 0, 0),
        entry("b", "F32", "[0]", 0, 0),
        entry("c", "F32", "[1]", 0, 4),
        entry("d", "F32", "[0]", 4, 4),
    ]);
    let bytes = file(&text, 4);
    assert_eq!(body(&bytes).len(), 1);
    let text = header(&[entry("a", "F32", "[0]", 0, 0), entry("b", "F32", "[0]", 0, 0)]);
    assert_eq!(spans(&file(&text, 0)).len(), 1);
    assert_eq!(spans(&file("{}      ", 0)).len(), 1);
}

/// safetensors#401, #586: the first of several claims to the same bytes holds.
#[test]
fn duplicate_names_and_shared_offsets_do_no_harm() {
    let text =
        header(&[entry("a", "F32", "[2]", 0, 8), entry("a", "BF16", "[2]", 8, 12), entry("tied", "F32", "[2]", 0, 8)]);
    let bytes = file(&text, 12);
    let n = bytes.len() - 12;
    assert_eq!(body(&bytes), [format!("{n} 8 f32 a [2]"), format!("{} 4 bf16 a [2]", n + 8)]);
}

#[test]
fn holes_and_overlaps_are_bytes() {
    let text = header(&[
        entry("a", "F32", "[2]", 0, 8),
        entry("b", "F32", "[2]", 6, 14),
        entry("c", "F32", "[1]", 20, 24),
        entry("backwards", "F32", "[1]", 24, 20),
        entry("beyond", "F32", "[1]", 18446744073709551000, 18446744073709551604),
    ]);
    let bytes = file(&text, 24);
    let n = bytes.len() - 24;
    assert_eq!(
        body(&bytes),
        [
            format!("{n} 8 f32 a [2]"),
            format!("{} 6 bytes?", n + 8),
            format!("{} 6 bytes", n + 14),
            format!("{} 4 f32 c [1]", n + 20)
        ]
    );
}

/// ComfyUI#15602.
#[test]
fn trailing_bytes_are_unknown() {
    let bytes = file(&header(&[entry("a", "F32", "[1]", 0, 4)]), 4 + 5000);
    let n = bytes.len() - 5004;
    assert_eq!(body(&bytes), [format!("{n} 4 f32 a [1]"), format!("{} 5000 bytes?", n + 4)]);
}

/// ComfyUI#6744 and others: a download that broke off.
#[test]
fn a_truncated_file_is_typed_as_far_as_it_goes() {
    let bytes = file(&header(&[entry("a", "F32", "[1000]", 0, 4000)]), 1003);
    let n = bytes.len() - 1003;
    assert_eq!(body(&bytes), [format!("{n} 1000 f32 a [1000]"), format!("{} 3 bytes? a [1000] +1000", n + 1000)]);
}

/// The stream is typed while it flows: a header that promises more than ever comes holds nothing up.
#[test]
fn a_header_that_never_ends_is_answered_for() {
    let mut bytes = (200u64 << 20).to_le_bytes().to_vec();
    bytes.extend(b"{\"a\":");
    bytes.resize(100_000, b' ');
    for window in [1000, 30_000] {
        let spans = spans_in_windows(&bytes, window, &[999]);
        assert!(spans.iter().all(|s| !s.known));
    }
}

/// safetensors#839, candle#2875: dtypes beyond what one reader knows.
#[test]
fn unknown_and_packed_dtypes_are_bytes() {
    let text = header(&[
        entry("a", "F4", "[2,8]", 0, 8),
        entry("b", "AIDN_NF4", "[16]", 8, 16),
        entry("c", "F6_E2M3", "[2,4]", 16, 22),
        entry("d", "F8_E8M0", "[2]", 22, 24),
        entry("e", "F8_E4M3", "[2]", 24, 26),
        entry("f", "C64", "[2,3]", 26, 74),
    ]);
    let bytes = file(&text, 74);
    let n = bytes.len() - 74;
    assert_eq!(
        body(&bytes),
        [
            format!("{n} 8 bytes /4 a [2, 8]"),
            format!("{} 8 bytes? b [16]", n + 8),
            format!("{} 6 bytes /3 c [2, 4]", n + 16),
            format!("{} 2 u8 d [2]", n + 22),
            format!("{} 2 f8_e4m3 e [2]", n + 24),
            format!("{} 48 f32 /6 f [2, 3]", n + 26)
        ]
    );
}

#[test]
fn lengths_that_do_not_fit_the_type_are_not_believed() {
    let text = header(&[
        entry("a", "F32", "[2,2]", 0, 7),
        entry("b", "F32", "[3,3]", 7, 15),
        entry("c", "F32", "[18446744073709551615,18446744073709551615]", 15, 19),
    ]);
    let bytes = file(&text, 19);
    let n = bytes.len() - 19;
    assert_eq!(
        body(&bytes),
        [
            format!("{n} 7 bytes? a [2, 2]"),
            format!("{} 8 f32 b [3, 3]", n + 7),
            format!("{} 4 f32 c [18446744073709551615, 18446744073709551615]", n + 15)
        ]
    );
}

#[test]
fn broken_headers_leave_bytes() {
    let good = header(&[entry("a", "F32", "[1]", 0, 4)]);
    let mut not_utf8 = file(&good, 4);
    not_utf8[10] = 0xff;
    let mut surrogate = file(&header(&[entry("\\ud800", "F32", "[1]", 0, 4)]), 4);
    surrogate.extend([0; 100]);
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    for bytes in [
        not_utf8,
        surrogate,
        file(&deep, 0),
        file(&deep, 100),
        file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4),
        file("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4),
        file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.5,4]}}", 4),
        file("{\"a\":7}", 4),
        file("{} {}", 4),
    ] {
        let spans = spans(&bytes);
        assert!(spans.iter().all(|s: &TypedSpan| !s.known), "{}", describe(&spans));
    }
    for n in [0u64, 1, 1 << 40, 1 << 63, u64::MAX] {
        let mut bytes = n.to_le_bytes().to_vec();
        bytes.extend(b"{\"a\":1}");
        assert_eq!(describe(&spans(&bytes)), "0 15 bytes?\n");
    }
}

#[test]
fn names_are_kept_as_the_header_writes_them() {
    let text = header(&[
        entry("", "U8", "[1]", 0, 1),
        entry("a\\n\\\"b\\u00e4ß", "U8", "[1]", 1, 2),
        "\"__metadata__\":{\"x\":\"y\",\"format\":\"pt\"}".into(),
    ]);
    let spans = spans(&file(&text, 2));
    let names: Vec<String> = spans.iter().filter_map(|s| s.tensor.as_ref().map(|t| t.name.to_string())).collect();
    assert_eq!(names, ["", "a\n\"bäß"]);
}

/// Above the cap on held headers the file is bytes, and nothing is held.
#[test]
fn headers_above_the_cap_are_bytes() {
    let bytes = file(&header(&[entry("a", "F32", "[1]", 0, 4)]), 4);
    for (held, known) in [(bytes.len(), true), (bytes.len() - 13, false)] {
        let mut reader = LayoutReader::with_held(held);
        reader.push(&bytes);
        reader.finish();
        let spans = reader.take(u64::MAX);
        assert_eq!(spans[0].known, known, "{}", describe(&spans));
    }
}

/// safetensors#668: a header of over a million tensors. The work is counted in calls that give spans: one per tensor.
#[test]
fn a_million_tensors_are_spans_one_by_one() {
    let n = 1_290_000u64;
    let mut text = String::from("{\"__metadata__\":{\"format\":\"pt\"}");
    for i in 0..n {
        // The order of the header is not that of the offsets.
        let k = (i * 7919) % n;
        text += &format!(
            ",\"model.layers.{k}.mlp.experts.{i}.down_proj.weight\":{{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_offsets\":[{},{}]}}",
            k * 4,
            k * 4 + 4
        );
    }
    text += "}";
    let bytes = file(&text, n as usize * 4);
    let mut reader = LayoutReader::new();
    let (mut spans, mut taken) = (0u64, 0u64);
    for part in bytes.chunks(32 << 20) {
        reader.push(part);
        taken += part.len() as u64;
        let window = reader.take(taken);
        spans += window.iter().filter(|s| s.element == ElementType::Bf16).count() as u64;
    }
    assert_eq!(spans, n);
}

/// zstd#3852, zfp#19 and others: offsets beyond what 32 bits hold.
#[test]
fn tensors_beyond_four_gibibytes_are_found() {
    let size = 5u64 << 30;
    let text = header(&[
        entry("b", "BF16", "[2]", size, size + 4),
        entry("a", "F32", "[1342177280]", 0, size),
        entry("c", "U8", "[18446744073709551615]", size + 4, u64::MAX),
    ]);
    let front = file(&text, 0);
    let n = front.len() as u64;
    let mut source = Sparse::new(vec![(0, front)], n + size + 4);
    let layout = Layout::of_file(&mut source).unwrap();
    assert_eq!(
        describe(layout.spans()),
        format!("0 {n} bytes\n{n} {size} f32 a [1342177280]\n{} 4 bf16 b [2]\n", n + size)
    );
    assert!(source.read < 1 << 20, "{} bytes read", source.read);
}
