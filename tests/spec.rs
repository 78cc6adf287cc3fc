//! The spec's tables against the code: what a stranger reads is what this library does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail like tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ulpack::core::element::{Class, ElementType};
use ulpack::limits::{DRAFT, VERSION};
use ulpack::wire::chunk_header::{ChunkHeader, Method, SubstreamHeader};
use ulpack::wire::end::End;
use ulpack::wire::record_header::{RecordHeader, RecordType};
use ulpack::wire::stream_header::StreamHeader;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The text from a heading to the next one.
fn section(text: &str, heading: &str) -> String {
    let start = text.find(&format!("\n{heading}")).unwrap_or_else(|| panic!("no section {heading}")) + 1;
    let rest = &text[start..];
    rest[..rest[1..].find("\n#").map_or(rest.len(), |end| end + 1)].to_owned()
}

/// The rows of the first table whose head has these columns.
fn table(text: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect()
    };
    let mut lines = text.lines().skip_while(|l| !(l.starts_with('|') && cells(l) == columns));
    assert!(lines.next().is_some(), "no table of {columns:?}");
    lines.skip(1).take_while(|l| l.starts_with('|')).map(cells).collect()
}

/// Offset, size and name of the fields of a structure, which follow one another.
fn fields(text: &str, columns: &[&str]) -> Vec<(usize, usize, String)> {
    let mut at = 0;
    let mut fields = Vec::new();
    for row in table(text, columns).into_iter().take_while(|row| row[0].parse::<usize>().is_ok()) {
        let (offset, size) = (row[0].parse().unwrap(), row[1].parse::<usize>());
        assert_eq!(offset, at, "{row:?}");
        // A size that depends on the count ends what can be checked.
        let Ok(size) = size else { break };
        fields.push((offset, size, row[2].split([':', '(']).next().unwrap().trim().to_owned()));
        at += size;
    }
    fields
}

fn size(fields: &[(usize, usize, String)]) -> usize {
    fields.last().map_or(0, |f| f.0 + f.1)
}

/// The little-endian number in the field of that name.
fn field(bytes: &[u8], fields: &[(usize, usize, String)], name: &str) -> u64 {
    let (offset, size, _) = fields.iter().find(|f| f.2 == name).unwrap_or_else(|| panic!("no field {name}"));
    let mut number = [0; 8];
    number[..*size].copy_from_slice(&bytes[*offset..offset + size]);
    u64::from_le_bytes(number)
}

/// Bytes written in hexadecimal, as `89 75 6C`.
fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect()
}

#[test]
fn element_types() {
    let spec = read("spec/format.md");
    let columns = ["id", "name", "bits w", "exponent bias", "mantissa bits m", "exponent bits e", "class"];
    let rows = table(&section(&spec, "## 2. Element types"), &columns);
    assert_eq!(rows.len(), ElementType::ALL.len() + 1);
    assert_eq!(rows[0][..2], ["0", "(none)"]);
    assert!(ElementType::from_id(0).is_err() && ElementType::from_id(16).is_err());
    for row in &rows[1..] {
        let element = ElementType::from_id(row[0].parse().unwrap()).unwrap();
        assert_eq!(element.name(), row[1]);
        assert_eq!(ElementType::from_name(&row[1]), Some(element));
        assert_eq!(element.width() * 8, row[2].parse::<usize>().unwrap(), "{row:?}");
        let numbers = || -> [i64; 3] { [3, 4, 5].map(|i| row[i].parse().unwrap()) };
        match element.class() {
            Class::Unsigned => assert_eq!(row[6], "integer"),
            Class::Signed => assert_eq!(row[6], "signed integer"),
            Class::Float { bias, mantissa, exponent } => {
                assert!(row[6].starts_with("float"), "{row:?}");
                assert_eq!(numbers(), [i64::from(bias), i64::from(mantissa), i64::from(exponent)], "{row:?}");
            }
        }
    }
}

#[test]
fn stream_header() {
    let spec = read("spec/format.md");
    let text = section(&spec, "### 3.1");
    let columns = ["offset", "size", "field", "values"];
    let fields = fields(&text, &columns);
    assert_eq!(size(&fields), StreamHeader::SIZE);
    let header = StreamHeader {
        in_place: true,
        references: 1,
        bank_slots: 77,
        profile_slots: 0x0543,
        feature_set: 1,
        max_chunk_length: 0x0123_4567,
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    let expected = [
        ("version", VERSION.into()),
        ("draft", DRAFT.into()),
        ("flags", 1),
        ("references", 1),
        ("bank_slots", 77),
        ("profile_slots", 0x0543),
        ("feature_set", 1),
        ("reserved", 0),
        ("max_chunk_length", 0x0123_4567),
        ("crc", crc32fast::hash(&bytes[..20]).into()),
    ];
    for (name, value) in expected {
        assert_eq!(field(&bytes, &fields, name), value, "{name}");
    }
    assert_eq!(fields.len(), expected.len() + 1);
    let rows = table(&text, &columns);
    assert_eq!(bytes[..6], hex(&rows[0][3]));
    assert_eq!(rows[1][3], VERSION.to_string());
    assert_eq!(rows[2][3].split(' ').next().unwrap(), DRAFT.to_string());
}

#[test]
fn record_header_and_types() {
    let spec = read("spec/format.md");
    let text = section(&spec, "### 3.2");
    let fields = fields(&text, &["offset", "size", "field", "meaning"]);
    assert_eq!(size(&fields), RecordHeader::SIZE);
    let mut bytes = Vec::new();
    RecordHeader { kind: RecordType::Reference, flags: 1, count: 0x0102, length: 0x0304_0506 }.write(&mut bytes);
    let expected = [
        ("type", 2),
        ("flags", 1),
        ("count", 0x0102),
        ("length", 0x0304_0506),
        ("crc", crc32fast::hash(&bytes[..8]).into()),
    ];
    for (name, value) in expected {
        assert_eq!(field(&bytes, &fields, name), value, "{name}");
    }
    assert_eq!(fields.len(), expected.len());

    let rows = table(&text, &["type", "record", "section"]);
    let mut named = 0;
    for id in 0..=255u8 {
        let mut bytes = vec![id, 0, 0, 0, 44, 0, 0, 0];
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        let row = rows.iter().find(|row| number(&row[0]) == u64::from(id));
        match (RecordHeader::parse(bytes.first_chunk().unwrap()), row) {
            (Ok(header), Some(row)) => {
                assert_eq!(format!("{:?}", header.kind), row[1]);
                assert_eq!(header.kind.id(), id);
                named += 1;
            }
            (Ok(header), None) => assert_eq!(header.kind, RecordType::Ancillary(id)),
            (Err(_), None) => assert!(id < 0x80, "{id}"),
            (Err(error), Some(row)) => panic!("{row:?}: {error}"),
        }
    }
    assert_eq!(named, rows.len());
}

/// A decimal number or a hexadecimal one.
fn number(text: &str) -> u64 {
    text.strip_prefix("0x").map_or_else(|| text.parse().unwrap(), |hex| u64::from_str_radix(hex, 16).unwrap())
}

#[test]
fn end() {
    let spec = read("spec/format.md");
    let text = section(&spec, "## 4. End");
    let columns = ["offset", "size", "field"];
    let fields = fields(&text, &columns);
    assert_eq!(size(&fields), End::SIZE);
    let end = End {
        chunk_count: 0x1112_1314_1516_1718,
        content_length: 0x2122_2324_2526_2728,
        content_crc: 0x3132_3334,
        encoded_length: 0x4142_4344_4546_4748,
        index_offset: 0x5152_5354_5556_5758,
    };
    let mut bytes = Vec::new();
    end.write(&mut bytes);
    let body = &bytes[12..];
    for (name, value) in [
        ("chunk_count", end.chunk_count),
        ("content_length", end.content_length),
        ("content_crc", end.content_crc.into()),
        ("encoded_length", end.encoded_length),
        ("index_offset", end.index_offset),
        ("crc", crc32fast::hash(&body[..36]).into()),
    ] {
        assert_eq!(field(body, &fields, name), value, "{name}");
    }
    let rows = table(&text, &columns);
    let magic = rows.last().unwrap()[2].strip_prefix("closing magic ").unwrap().to_owned();
    assert_eq!(body[40..], hex(&magic));
}

#[test]
fn chunk_header_and_methods() {
    let spec = read("spec/format.md");
    let fields = fields(&section(&spec, "## 7. Chunk"), &["offset", "size", "field"]);
    let header = ChunkHeader {
        output_offset: 0x1112_1314_1516_1718,
        output_length: 0x2122_2324,
        content_crc: 0x3132_3334,
        reference_crc: 0x4142_4344,
        substreams: vec![SubstreamHeader::simple(Method::Same, 0)],
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    for (name, value) in [
        ("output_offset", header.output_offset),
        ("output_length", header.output_length.into()),
        ("content_crc", header.content_crc.into()),
        ("reference_crc", header.reference_crc.into()),
    ] {
        assert_eq!(field(&bytes, &fields, name), value, "{name}");
    }
    assert_eq!(size(&fields) + 12 + 4, bytes.len());

    let columns = ["method", "name", "data", "uses the reference", "uses a bank"];
    let rows = table(&section(&spec, "## 8. Substreams"), &columns);
    assert_eq!(rows.len(), Method::ALL.len());
    for (method, row) in Method::ALL.into_iter().zip(&rows) {
        assert_eq!((method as u8).to_string(), row[0]);
        assert_eq!(method.name().to_uppercase(), row[1]);
        assert_eq!([method.uses_reference(), method.uses_bank()].map(|b| if b { "yes" } else { "no" }), row[3..]);
    }
}

#[test]
fn the_registry_names_what_the_format_names() {
    let (spec, registry) = (read("spec/format.md"), read("spec/registry.md"));
    let records = table(&section(&spec, "### 3.2"), &["type", "record", "section"]);
    let registered = table(&registry, &["id", "name", "critical", "reader", "writer"]);
    assert_eq!(
        records.iter().map(|r| (number(&r[0]), &r[1])).collect::<Vec<_>>(),
        registered.iter().map(|r| (number(&r[0]), &r[1])).collect::<Vec<_>>()
    );
    for row in &registered {
        assert_eq!(row[2] == "yes", number(&row[0]) < 0x80, "{row:?}");
    }
    let methods = table(&section(&registry, "## Methods"), &["id", "name", "reader", "writer"]);
    assert_eq!(methods.iter().map(|r| r[1].to_lowercase()).collect::<Vec<_>>(), Method::ALL.map(Method::name));
    let elements = table(&section(&registry, "## Element types"), &["id", "name", "reader", "writer"]);
    let names: Vec<&str> = elements.iter().flat_map(|row| row[1].split(", ")).collect();
    assert_eq!(names, ElementType::ALL.map(ElementType::name));
}

#[test]
fn the_crc_is_that_of_the_spec() {
    let spec = read("spec/format.md");
    let check = spec.split("CRC32(\"123456789\") = ").nth(1).unwrap();
    assert_eq!(u32::from_str_radix(&check[..8], 16).unwrap(), crc32fast::hash(b"123456789"));
}

/// All requirement ids in a text.
fn ids(text: &str) -> BTreeSet<String> {
    text.match_indices("ULP-")
        .filter_map(|(at, _)| text.get(at..at + 10))
        .filter(|id| id.as_bytes()[8..].iter().all(u8::is_ascii_digit) && id.as_bytes()[7] == b'-')
        .map(ToOwned::to_owned)
        .collect()
}

fn sources(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_code_names_requirements_that_exist() {
    let spec = read("spec/format.md");
    let known = ids(&spec);
    assert!(known.len() > 40);
    let mut code = String::new();
    sources(&root().join("src"), &mut code);
    let unknown: Vec<_> = ids(&code).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The items of lists that state a requirement: id, subject, text.
fn requirements(spec: &str) -> Vec<(String, String, String)> {
    let mut items: Vec<(String, String, String)> = Vec::new();
    let mut open = false;
    for line in spec.lines() {
        if let Some(item) = line.strip_prefix("- ULP-") {
            let (head, text) = item.split_once(": ").unwrap_or_else(|| panic!("no colon: {line}"));
            let (id, subject) = head.split_once(", ").unwrap_or_else(|| panic!("no subject: {line}"));
            items.push((format!("ULP-{id}"), subject.to_owned(), text.to_owned()));
            open = true;
        } else if open && line.starts_with("  ") {
            items.last_mut().unwrap().2.push_str(line);
        } else {
            open = false;
            // §1.1 says what the word means.
            let explains =
                line.starts_with("MUST, MUST NOT, SHOULD and MAY are") || line.contains("a decoder MUST reject");
            assert!(explains || !line.contains("MUST"), "a MUST without an id: {line}");
        }
    }
    items
}

#[test]
fn every_must_has_an_id_and_a_subject() {
    let spec = read("spec/format.md");
    let requirements = requirements(&spec);
    let mut stated = BTreeSet::new();
    for (id, subject, text) in &requirements {
        assert!(stated.insert(id.clone()), "{id} is stated twice");
        assert!(["stream", "decoder", "encoder", "bank file"].contains(&subject.as_str()), "{id}: {subject}");
        assert!(text.contains("MUST"), "{id} requires nothing");
        // What a decoder says of a stream that breaks a rule.
        for class in text.split('[').skip(1).map(|t| t.split(']').next().unwrap()) {
            let class = class.split(':').next().unwrap();
            assert!(["invalid", "unsupported", "over limit"].contains(&class), "{id}: {class}");
        }
    }
    assert_eq!(stated, ids(&spec), "mentioned, but not stated");
}

#[test]
fn the_procedures_of_the_spec_decode_the_corpus() {
    let Ok(output) = Command::new("python3").arg(root().join("conformance/check_spec.py")).output() else {
        eprintln!("note: python3 is absent, skipped");
        return;
    };
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    assert!(read("spec/format.md").matches("```python").count() > 10);
}

#[test]
fn the_built_in_banks_are_those_of_the_spec() {
    let digest: String = ulpack::wire::built_in::sha256().unwrap().iter().map(|b| format!("{b:02x}")).collect();
    assert!(section(&read("spec/format.md"), "### 12.2").contains(&digest), "{digest}");
    let banks = ulpack::wire::built_in::banks();
    assert!(!banks.is_empty() && banks.len() <= 128, "what ids from 128 on can name");
}
