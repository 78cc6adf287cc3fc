//! The parsers of containers given anything: spans without gap or overlap, the same however the bytes come.

use std::io::Cursor;

use arbitrary::{Result, Unstructured};
use ulpack::container::{Layout, LayoutReader, TypedSpan};

/// First bytes that parsers look for.
const STARTS: [&[u8]; 8] = [
    b"",
    b"\x40\x01\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"",
    b"PK\x03\x04\x14\0\0\0\0\0",
    b"\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
    b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0",
    b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
    b"\x80\x02}q\x00(X\x01\0\0\0aq\x01ctorch._utils\n_rebuild_tensor_v2\n",
    b"dir/file.npy\0\0\0\0",
];

/// Checks the spans of a content, whole and in portions.
pub fn containers(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let _ = (|| -> Result<()> {
        let mut content = if u.ratio(1, 3)? { safetensors(&mut u)? } else { u.choose(&STARTS)?.to_vec() };
        let portion = u.int_in_range(1..=700)?;
        let held = u.int_in_range(16..=5000)?;
        content.extend_from_slice(u.take_rest());

        let mut reader = LayoutReader::with_held(held);
        reader.push(&content);
        reader.finish();
        let whole = reader.take(u64::MAX);
        check(&whole, content.len());

        let mut reader = LayoutReader::with_held(held);
        content.chunks(portion).for_each(|part| reader.push(part));
        reader.finish();
        assert_eq!(reader.take(u64::MAX), whole, "portions of {portion}");

        let mut reader = LayoutReader::with_held(held);
        let mut taken = Vec::new();
        for (i, part) in content.chunks(portion).enumerate() {
            reader.push(part);
            if i % 3 == 2 {
                taken.extend(reader.take(((i - 1) * portion) as u64));
            }
        }
        reader.finish();
        taken.extend(reader.take(u64::MAX));
        check(&taken, content.len());

        let layout = Layout::of_file(&mut Cursor::new(&content)).unwrap();
        check(layout.spans(), content.len());
        Ok(())
    })();
}

/// The header of a safetensors file whose tensors lie anywhere, in each other too.
fn safetensors(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut tensors = Vec::new();
    for i in 0..u.int_in_range(0..=6)? {
        let dtype = u.choose(&["F32", "BF16", "F64", "I8", "F8_E4M3", "C64", "X"])?;
        let (begin, end) = (u.int_in_range(0..=90)?, u.int_in_range(0..=130)?);
        let shape = u.int_in_range(0..=40)?;
        tensors
            .push(format!("\"t{i}\":{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{begin},{end}]}}"));
    }
    let header = format!("{{{}}}", tensors.join(","));
    let mut content = (header.len() as u64).to_le_bytes().to_vec();
    content.extend_from_slice(header.as_bytes());
    Ok(content)
}

fn check(spans: &[TypedSpan], length: usize) {
    let mut at = 0;
    for span in spans {
        assert_eq!(span.offset, at, "a gap or an overlap");
        assert!(span.length > 0 && span.length % span.element.width() as u64 == 0, "broken elements: {span:?}");
        at = span.end();
    }
    assert_eq!(at, length as u64, "the spans end elsewhere");
}
