//! What the tests share.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail like tests")]

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Error, Reference, Typing};

/// Options with a fixed element type.
pub fn fixed(element: ElementType) -> EncoderOptions {
    let mut options = EncoderOptions::default();
    options.typing = Typing::Fixed(element);
    options.threads = 1;
    options
}

/// One reference in memory, or none.
pub fn references(reference: Option<&[u8]>) -> Vec<Reference> {
    reference.map(|r| Reference::Bytes(Arc::from(r))).into_iter().collect()
}

pub fn compress(content: &[u8], reference: Option<&[u8]>, options: &EncoderOptions) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), options.clone(), references(reference)).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap().0
}

/// All content up to the end or the first error, and that error.
pub fn decompress(stream: &[u8], reference: Option<&[u8]>) -> (Vec<u8>, Option<Error>) {
    let mut options = DecoderOptions::default();
    options.threads = 1;
    decompress_with(stream, references(reference), options)
}

pub fn decompress_with(stream: &[u8], references: Vec<Reference>, options: DecoderOptions) -> (Vec<u8>, Option<Error>) {
    let mut decoder = Decoder::new(stream, options, references);
    let mut content = Vec::new();
    loop {
        match decoder.next_chunk() {
            Ok(Some(bytes)) => content.extend_from_slice(bytes),
            Ok(None) => return (content, None),
            Err(error) => return (content, Some(error)),
        }
    }
}

pub fn round_trip(content: &[u8], reference: Option<&[u8]>, options: &EncoderOptions) -> usize {
    let stream = compress(content, reference, options);
    let (back, error) = decompress(&stream, reference);
    assert!(error.is_none(), "{error:?}");
    assert!(back == content, "content differs");
    stream.len()
}

/// A file of `../shared/data`, or `None` with a note where the data is absent.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    if path.exists() {
        Some(path)
    } else {
        eprintln!("note: ../shared/data/{name} is absent, skipped");
        None
    }
}

/// A record of a stream: its type byte and its bytes, header included.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: u8,
    pub bytes: Vec<u8>,
}

/// The `Stream_Header` and the records of one stream.
pub fn split(stream: &[u8]) -> (Vec<u8>, Vec<Record>) {
    let (header, mut rest) = stream.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let (bytes, after) = rest.split_at(12 + length);
        records.push(Record { kind: bytes[0], bytes: bytes.to_vec() });
        rest = after;
    }
    (header.to_vec(), records)
}

/// The lengths at which a decoder may have stopped: content before each chunk of one stream, and all of it.
pub fn boundaries(stream: &[u8]) -> Vec<usize> {
    let (_, records) = split(stream);
    let mut boundaries = vec![0];
    for record in records.iter().filter(|r| r.kind == 5) {
        let length = u32::from_le_bytes(record.bytes[20..24].try_into().unwrap()) as usize;
        boundaries.push(boundaries.last().unwrap() + length);
    }
    boundaries
}

/// A small pair and its stream of several chunks, in which every method occurs: content, reference, stream.
pub fn small_stream() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut random = Random(7);
    let mut reference = Vec::new();
    let mut content = Vec::new();
    // A quarter each: a few changed, all changed, equal, without likeness; then a constant.
    for quarter in 0..4 {
        for _ in 0..512 {
            let bits = half::bf16::from_f64(random.normal()).to_bits();
            let near = bits.wrapping_add((random.below(5)) as u16).wrapping_sub(2);
            let far = half::bf16::from_f64(random.normal()).to_bits();
            let next = match quarter {
                0 if random.below(16) == 0 => near,
                0 | 2 => bits,
                1 => near,
                _ => far,
            };
            reference.extend_from_slice(&bits.to_le_bytes());
            content.extend_from_slice(&next.to_le_bytes());
        }
    }
    content.extend_from_slice(&[0x3F; 1024]);
    content.extend_from_slice(&random.bytes(77));
    let mut options = fixed(ElementType::Bf16);
    options.chunk_length = Some(512);
    options.metadata = vec![(String::from("step"), b"1601".to_vec())];
    options.sha256 = true;
    let stream = compress(&content, Some(&reference), &options);
    (content, reference, stream)
}

/// Pseudo-random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 32) as u8).collect()
    }

    /// About a standard normal number.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }
}

/// A safetensors file of these tensors: name, dtype, shape, bytes.
pub fn safetensors(tensors: &[(&str, &str, &[u64], Vec<u8>)]) -> Vec<u8> {
    let mut at = 0;
    let mut entries = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let end = at + bytes.len();
        entries.push(format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}"));
        at = end;
    }
    let mut header = format!("{{{}}}", entries.join(","));
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    tensors.iter().for_each(|t| file.extend_from_slice(&t.3));
    file
}

/// A checkpoint of some bf16 matrices of `elements` each, `layer.0.weight` and so on, after so many steps from a seed: each step changes every weight a little.
pub fn checkpoint(layers: usize, elements: usize, steps: u64) -> Vec<u8> {
    let names: Vec<String> = (0..layers).map(|i| format!("layer.{i}.weight")).collect();
    let columns = 64;
    let shape = [(elements / columns) as u64, columns as u64];
    let tensor = |layer: usize| {
        let mut start = Random(layer as u64 + 1);
        let mut bits: Vec<u16> = (0..elements).map(|_| half::bf16::from_f64(start.normal() * 0.02).to_bits()).collect();
        for step in 0..steps {
            let mut random = Random(step * 1000 + layer as u64);
            bits.iter_mut().for_each(|b| *b = b.wrapping_add(u16::from(random.below(8) == 0)));
        }
        bits.iter().flat_map(|b| b.to_le_bytes()).collect::<Vec<u8>>()
    };
    let tensors: Vec<(&str, &str, &[u64], Vec<u8>)> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), "BF16", &shape[..], tensor(i))).collect();
    safetensors(&tensors)
}

/// Bytes with random access that count what is read of them.
pub struct Counted {
    pub bytes: Vec<u8>,
    pub read: std::sync::atomic::AtomicU64,
}

impl Counted {
    pub fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, read: std::sync::atomic::AtomicU64::new(0) })
    }

    /// What has been read since the last call.
    pub fn take(&self) -> u64 {
        self.read.swap(0, std::sync::atomic::Ordering::SeqCst)
    }
}

impl ulpack::ReadAt for Counted {
    fn size(&self) -> std::io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let count = self.bytes.fill_at(buffer, offset)?;
        self.read.fetch_add(count as u64, std::sync::atomic::Ordering::SeqCst);
        Ok(count)
    }
}

/// The stream without its Index records, its End made to agree.
pub fn without_index(stream: &[u8]) -> Vec<u8> {
    let (mut out, records) = split(stream);
    for record in records.iter().filter(|r| r.kind != 0x81) {
        let mut bytes = record.bytes.clone();
        if record.kind == 6 {
            let encoded = (out.len() + bytes.len()) as u64;
            bytes[32..40].copy_from_slice(&encoded.to_le_bytes());
            bytes[40..48].fill(0);
            let crc = crc32fast::hash(&bytes[12..48]);
            bytes[48..52].copy_from_slice(&crc.to_le_bytes());
        }
        out.extend_from_slice(&bytes);
    }
    out
}
