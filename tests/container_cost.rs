//! What the tensors of a container cost against what the same tensors cost in an aligned pair of safetensors files.
//!
//! `cargo test --release --test container_cost -- --nocapture` prints the table of `docs/containers.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use common::{decompress_with, shared};
use ulpack::container::{Layout, directory};
use ulpack::wire::chunk_header::ChunkHeader;
use ulpack::wire::layout::Layout as WireLayout;
use ulpack::wire::record_header::{RecordHeader, RecordType, checked_body};
use ulpack::wire::stream_header::StreamHeader;
use ulpack::{DecoderOptions, ElementType, Encoder, EncoderOptions, Reference};

/// A tensor: type, shape, bytes.
type Tensor = (ElementType, Vec<u64>, Vec<u8>);

fn compress(content: &[u8], references: &[Vec<u8>]) -> Vec<u8> {
    let open = || references.iter().map(|r| Reference::Bytes(Arc::from(&r[..]))).collect::<Vec<_>>();
    let mut options = EncoderOptions::default();
    options.threads = 1;
    let mut encoder = Encoder::new(Vec::new(), options, open()).unwrap();
    encoder.write_all(content).unwrap();
    let stream = encoder.finish().unwrap().0;
    let (back, error) = decompress_with(&stream, open(), DecoderOptions::default());
    assert!(error.is_none(), "{error:?}");
    assert!(back == content);
    stream
}

/// Coded bytes of the elements that are not opaque bytes.
fn coded(stream: &[u8]) -> u64 {
    let header = StreamHeader::parse(stream.first_chunk().unwrap()).unwrap();
    let (mut at, mut offset, mut sum) = (StreamHeader::SIZE, 0, 0);
    let mut layout = WireLayout::default();
    while at < stream.len() {
        let record = RecordHeader::parse(stream[at..].first_chunk().unwrap()).unwrap();
        at += RecordHeader::SIZE;
        let body = &stream[at..at + record.length as usize];
        at += body.len();
        match record.kind {
            RecordType::Layout => {
                let body = checked_body("Layout", body).unwrap();
                layout =
                    WireLayout::parse(body, record.count, offset, header.references, header.profile_slots).unwrap();
            }
            RecordType::Chunk => {
                let (chunk, _) = ChunkHeader::parse(body, record.count).unwrap();
                let end = offset + u64::from(chunk.output_length);
                let mut kinds: Vec<u8> = (layout.spans.iter())
                    .filter(|s| s.offset < end && s.offset + layout.span_bytes(s) > offset)
                    .map(|s| s.kind)
                    .collect();
                kinds.sort_unstable();
                kinds.dedup();
                for (kind, substream) in kinds.into_iter().zip(&chunk.substreams) {
                    if layout.kinds[usize::from(kind)].element != ElementType::Bytes {
                        sum += u64::from(substream.length);
                    }
                }
                offset = end;
            }
            _ => {}
        }
    }
    sum
}

/// Tensors of files by name, without the members of archives that lead to them, and by order among those of one name: a DCP file names none.
fn tensors(paths: &[std::path::PathBuf]) -> HashMap<String, Tensor> {
    let mut found = HashMap::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for path in paths {
        let content = std::fs::read(path).unwrap();
        let layout = Layout::of_file(&mut Cursor::new(&content)).unwrap();
        for span in layout.tensors().filter(|s| s.known && s.within == 0 && s.element != ElementType::Bytes) {
            let tensor = span.tensor.as_ref().unwrap();
            let bytes = content[span.offset as usize..span.end() as usize].to_vec();
            let name = tensor.name.to_string();
            let order = seen.entry(name.clone()).or_default();
            *order += 1;
            found.insert(format!("{name}#{order}"), (span.element, tensor.shape.to_vec(), bytes));
        }
    }
    found
}

fn safetensors(tensors: &[(&String, &Tensor)]) -> Vec<u8> {
    let mut header = String::from("{");
    let mut at = 0;
    for (i, (name, (element, shape, bytes))) in tensors.iter().enumerate() {
        let dtype = element.name().to_uppercase();
        let end = at + bytes.len();
        let comma = if i > 0 { "," } else { "" };
        header +=
            &format!("{comma}\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}");
        at = end;
    }
    header.push('}');
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    for (_, (_, _, bytes)) in tensors {
        file.extend_from_slice(bytes);
    }
    file
}

/// Previous file or directory, next file.
const PAIRS: [(&str, &str); 13] = [
    ("plain-bf16-prev.safetensors", "plain-bf16-next.safetensors"),
    ("plain-bf16-prev.safetensors", "shifted-next.safetensors"),
    ("sharded-prev", "sharded-next/model-00001-of-00003.safetensors"),
    ("sharded-prev", "sharded-next/model-00002-of-00003.safetensors"),
    ("sharded-prev", "sharded-next/model-00003-of-00003.safetensors"),
    ("mixed-prev.safetensors", "mixed-next.safetensors"),
    ("step_99.pt", "step_100.pt"),
    ("step_99-legacy.pt", "step_100-legacy.pt"),
    ("scripted-prev.pt", "scripted-next.pt"),
    ("arrays-prev.npz", "arrays-next.npz"),
    ("model-prev.gguf", "model-next.gguf"),
    ("dcp-prev", "dcp-next/__0_0.distcp"),
    ("ckpt-prev.tar", "ckpt-next.tar"),
];

#[test]
fn matched_tensors_cost_what_they_cost_aligned() {
    let mut failures = Vec::new();
    println!(
        "| pair | matched tensors | their bytes | file, compressed | tensors in the file | tensors aligned | ratio |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (prev, next) in PAIRS {
        let (Some(prev_path), Some(next_path)) =
            (shared(&format!("containers/{prev}")), shared(&format!("containers/{next}")))
        else {
            continue;
        };
        let prev_files = directory::files(&prev_path).unwrap();
        let content = std::fs::read(&next_path).unwrap();
        let references: Vec<Vec<u8>> = prev_files.iter().map(|p| std::fs::read(p).unwrap()).collect();
        let stream = compress(&content, &references);
        let (old, new) = (tensors(&prev_files), tensors(&[Path::new(&next_path).to_path_buf()]));
        let mut names: Vec<&String> = new.keys().collect();
        names.sort();
        let counterpart = |name: &String| {
            let (element, _, bytes) = &new[name];
            let tensor = old.get(name)?;
            (tensor.0 == *element && tensor.2.len() == bytes.len()).then_some(tensor)
        };
        let pairs: Vec<_> = names.iter().filter_map(|n| Some((*n, counterpart(n)?, &new[*n]))).collect();
        let aligned_prev = safetensors(&pairs.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>());
        let aligned_next = safetensors(&pairs.iter().map(|p| (p.0, p.2)).collect::<Vec<_>>());
        let aligned = coded(&compress(&aligned_next, &[aligned_prev]));
        // Tensors without a counterpart cost what they cost alone.
        let alone: Vec<_> = names.iter().filter(|n| counterpart(n).is_none()).map(|n| (*n, &new[*n])).collect();
        let unmatched = if alone.is_empty() { 0 } else { coded(&compress(&safetensors(&alone), &[])) };
        let found = coded(&stream).saturating_sub(unmatched);
        let bytes: usize = pairs.iter().map(|p| p.2.2.len()).sum();
        let ratio = found as f64 / aligned.max(1) as f64;
        println!(
            "| {next} against {prev} | {} of {} | {bytes} | {} | {found} | {aligned} | {ratio:.3} |",
            pairs.len(),
            new.len(),
            stream.len()
        );
        if !pairs.is_empty() && found > aligned + aligned / 50 + 16 {
            failures.push((next, found, aligned));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
