//! Memory that a stream can make its decoder use, and the maxima of the format.
//!
//! A decoder with one thread may use [`BASE`], [`PER_BYTE`] for each byte it has read of the stream, seven buffers as long as the longest chunk has
//! promised (content, coded form and reference bytes of the two chunks it works on, and the content it has released), 528 KiB for each bank that a chunk
//! uses, and a byte for each profile column. A counting allocator holds it to that.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail like tests")]
#![allow(unsafe_code, reason = "the allocator of a test that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;
use std::io::{self, Read};

use common::{Random, compress, fixed, references};
use ulpack::core::bank::{Bank, TokenClass};
use ulpack::core::table::FrequencyTable;
use ulpack::core::thresholds::Thresholds;
use ulpack::limits;
use ulpack::wire::chunk_header::{ChunkHeader, Method, SubstreamHeader};
use ulpack::wire::end::End;
use ulpack::wire::layout::{Kind, KindReference, Layout, Span};
use ulpack::wire::record_header::{RecordHeader, RecordType, write_record};
use ulpack::wire::stream_header::StreamHeader;
use ulpack::wire::{bank, metadata};
use ulpack::{Decoder, DecoderOptions, ElementType, EncoderOptions, Error, ErrorClass, Reference};

/// What a decoder may use in any case: buffers.
const BASE: usize = 3 << 20;
/// Bytes it may use for each byte read.
const PER_BYTE: usize = 100;
/// Buffers of the length of a chunk.
const BUFFERS: usize = 7;
/// A bank with 33 tables, ready for decoding.
const BANK: usize = 528 << 10;

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // A thread that is ending has no counters any more, and nobody asks for them.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: all calls are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        count(block.size() as isize);
        // SAFETY: as for the caller.
        unsafe { System.alloc(block) }
    }

    unsafe fn alloc_zeroed(&self, block: Block) -> *mut u8 {
        count(block.size() as isize);
        // SAFETY: as for the caller.
        unsafe { System.alloc_zeroed(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        count(-(block.size() as isize));
        // SAFETY: as for the caller.
        unsafe { System.dealloc(pointer, block) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, block: Block, size: usize) -> *mut u8 {
        // Both may exist while the contents move.
        count(size as isize);
        count(-(block.size() as isize));
        // SAFETY: as for the caller.
        unsafe { System.realloc(pointer, block, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes that `f` had allocated at a time.
fn peak<T>(f: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = f();
    (usize::try_from(PEAK.get() - before).unwrap(), result)
}

/// What became of a decoding.
struct Decoded {
    peak: usize,
    /// Bytes taken from the input.
    read: usize,
    content: u64,
    error: Option<Error>,
}

struct Counted<R> {
    inner: R,
    read: usize,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read += count;
        Ok(count)
    }
}

fn decode(stream: impl Read, references: Vec<Reference>) -> Decoded {
    let mut input = Counted { inner: stream, read: 0 };
    let mut options = DecoderOptions::default();
    options.threads = 1;
    let (peak, (content, error)) = peak(|| {
        let mut decoder = Decoder::new(&mut input, options, references);
        let mut content = 0;
        loop {
            match decoder.next_chunk() {
                Ok(Some(bytes)) => content += bytes.len() as u64,
                Ok(None) => return (content, None),
                Err(error) => return (content, Some(error)),
            }
        }
    });
    Decoded { peak, read: input.read, content, error }
}

/// Decodes, and checks the memory; `promised` is what the chunks in work are known to need.
fn bounded(what: &str, stream: impl Read, references: Vec<Reference>, promised: usize) -> Decoded {
    let decoded = decode(stream, references);
    let most = BASE + PER_BYTE * decoded.read + promised;
    println!("{what}: {} bytes read, {} allocated, {most} allowed", decoded.read, decoded.peak);
    assert!(decoded.peak <= most, "{what}: {} bytes read, {} allocated, {most} allowed", decoded.read, decoded.peak);
    decoded
}

fn header(references: u8, extended: bool) -> Vec<u8> {
    let header = StreamHeader {
        in_place: false,
        references,
        bank_slots: if extended { 128 } else { 64 },
        profile_slots: 4096,
        feature_set: u8::from(extended),
        max_chunk_length: if extended { limits::MAX_CHUNK_LENGTH } else { limits::BASELINE_CHUNK_LENGTH },
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    bytes
}

fn layout(kinds: Vec<Kind>, spans: &[(u8, u64)]) -> Vec<u8> {
    let mut layout = Layout { kinds, spans: Vec::new() };
    let mut offset = 0;
    for &(kind, elements) in spans {
        layout.spans.push(Span { kind, offset, elements, profile: None, reference_offset: offset });
        offset += layout.span_bytes(layout.spans.last().unwrap());
    }
    let mut body = Vec::new();
    layout.write(&mut body, 0, 1);
    let mut bytes = Vec::new();
    write_record(&mut bytes, RecordType::Layout, 0, layout.kinds.len() as u16, &body);
    bytes
}

fn plain(element: ElementType) -> Kind {
    Kind { element, reference: None }
}

/// A chunk of zeros, whose substreams have this data.
fn chunk(offset: u64, length: u32, substreams: &[(SubstreamHeader, Vec<u8>)]) -> Vec<u8> {
    let header = ChunkHeader {
        output_offset: offset,
        output_length: length,
        content_crc: crc32fast::hash(&vec![0; length as usize]),
        reference_crc: 0,
        substreams: substreams.iter().map(|s| SubstreamHeader { length: s.1.len() as u32, ..s.0 }).collect(),
    };
    let mut body = Vec::new();
    header.write(&mut body);
    substreams.iter().for_each(|s| body.extend_from_slice(&s.1));
    let mut bytes = Vec::new();
    let count = substreams.len() as u16;
    RecordHeader { kind: RecordType::Chunk, flags: 0, count, length: body.len() as u32 }.write(&mut bytes);
    bytes.extend_from_slice(&body);
    bytes
}

fn constant(element: ElementType) -> (SubstreamHeader, Vec<u8>) {
    (SubstreamHeader::simple(Method::Constant, 0), vec![0; element.width()])
}

/// The record, and the bytes of the stream so far, ended by an End that agrees.
fn ended(mut stream: Vec<u8>, chunks: u64, content: u64) -> Vec<u8> {
    let mut crc = crc32fast::Hasher::new();
    let zeros = vec![0; 1 << 20];
    let mut left = content;
    while left > 0 {
        let part = left.min(1 << 20);
        crc.update(&zeros[..part as usize]);
        left -= part;
    }
    let end = End {
        chunk_count: chunks,
        content_length: content,
        content_crc: crc.finalize(),
        encoded_length: stream.len() as u64 + 56,
        index_offset: 0,
    };
    end.write(&mut stream);
    stream
}

const RECORDS: [(RecordType, u32); 8] = [
    (RecordType::Layout, limits::MAX_LAYOUT_BODY),
    (RecordType::Reference, 16),
    (RecordType::Bind, limits::MAX_BIND_BODY),
    (RecordType::Profile, limits::MAX_PROFILE_BODY),
    (RecordType::Chunk, limits::BASELINE_CHUNK_LENGTH + 24 + 12),
    (RecordType::End, 44),
    (RecordType::Metadata, limits::MAX_METADATA_BODY),
    (RecordType::Digest, 36),
];

#[test]
fn lengths_are_promises_only() {
    for (kind, most) in RECORDS {
        let count = u16::from(![RecordType::End, RecordType::Digest].contains(&kind));
        let with = |length| {
            let mut stream = header(1, false);
            RecordHeader { kind, flags: 0, count, length }.write(&mut stream);
            stream
        };
        // As long as may be, but not there.
        let decoded = bounded(&format!("{kind:?} of {most}"), &with(most)[..], references(Some(&[])), 0);
        assert!(matches!(decoded.error.unwrap().rule(), Error::Truncated), "{kind:?}");
        // Longer, and there: refused before it is read.
        for length in [most + 1, u32::MAX] {
            let input = with(length).chain_zeros(1 << 24);
            let decoded = bounded(&format!("{kind:?} of {length}"), input, references(Some(&[])), 0);
            assert_eq!(decoded.error.unwrap().class(), ErrorClass::Invalid, "{kind:?}");
            assert_eq!(decoded.read, 36, "{kind:?}");
        }
    }
}

/// Bytes followed by zeros.
trait ChainZeros {
    fn chain_zeros(self, count: u64) -> impl Read;
}

impl ChainZeros for Vec<u8> {
    fn chain_zeros(self, count: u64) -> impl Read {
        io::Cursor::new(self).chain(io::repeat(0).take(count))
    }
}

#[test]
fn what_is_skipped_is_not_held() {
    let mut stream = header(0, false);
    RecordHeader { kind: RecordType::Ancillary(0xA0), flags: 0, count: 0, length: 1 << 26 }.write(&mut stream);
    let decoded = decode(stream.chain_zeros((1 << 26) - 4), Vec::new());
    assert!(matches!(decoded.error.unwrap().rule(), Error::Truncated));
    assert!(decoded.peak < BASE, "{} bytes for an ancillary record", decoded.peak);

    let decoded = decode(ended(header(0, false), 0, 0).chain_zeros(1 << 26), Vec::new());
    assert!(decoded.error.is_none());
    assert!(decoded.peak < BASE, "{} bytes for padding", decoded.peak);
}

#[test]
fn a_layout_may_promise_anything() {
    let spans = [(0, (1 << 62) + 1), (0, 1 << 61)];
    let stream = [header(0, false), layout(vec![plain(ElementType::Bytes)], &spans)].concat();
    let decoded = bounded("spans of 2^62 bytes", &stream[..], Vec::new(), 0);
    assert!(matches!(decoded.error.unwrap().rule(), Error::Truncated));
    for salvage in [false, true] {
        let stream = ended(stream.clone(), 0, 0);
        let mut options = DecoderOptions::default();
        options.salvage = salvage;
        let (peak, error) = peak(|| Decoder::new(&stream[..], options, Vec::new()).next_chunk().err());
        assert!(matches!(error.unwrap().rule(), Error::Order(_)) && peak < BASE, "{peak}");
    }
}

#[test]
fn as_many_spans_as_may_be() {
    let kinds: Vec<Kind> = ElementType::ALL.iter().map(|&e| plain(e)).collect();
    let spans: Vec<(u8, u64)> = (0..limits::MAX_SPANS).map(|i| ((i % 2) as u8, 1)).collect();
    let constants = [constant(ElementType::Bytes), constant(ElementType::U8)];
    let mut stream = [header(0, false), layout(kinds.clone(), &spans)].concat();
    stream.extend(chunk(0, limits::MAX_SPANS as u32, &constants));
    let stream = ended(stream, 1, limits::MAX_SPANS as u64);
    let decoded = bounded("65,536 spans", &stream[..], Vec::new(), BUFFERS * limits::MAX_SPANS);
    assert!(decoded.error.is_none(), "{:?}", decoded.error);
    assert_eq!(decoded.content, limits::MAX_SPANS as u64);

    let more: Vec<(u8, u64)> = (0..=limits::MAX_SPANS).map(|_| (0, 1)).collect();
    let stream = [header(0, false), layout(kinds, &more)].concat();
    let decoded = bounded("65,537 spans", &stream[..], Vec::new(), 0);
    assert!(matches!(decoded.error.unwrap().rule(), Error::Field { field: "spans", .. }));
}

#[test]
fn long_chunks_of_few_bytes() {
    for (element, count) in [(ElementType::Bytes, 1), (ElementType::Bytes, 40), (ElementType::F64, 10)] {
        let length = limits::BASELINE_CHUNK_LENGTH;
        let elements = u64::from(length) * count / element.width() as u64;
        let mut stream = [header(0, false), layout(vec![plain(element)], &[(0, elements)])].concat();
        for i in 0..count {
            stream.extend(chunk(i * u64::from(length), length, &[constant(element)]));
        }
        let stream = ended(stream, count, count * u64::from(length));
        let decoded = bounded(&format!("{count} constant chunks"), &stream[..], Vec::new(), BUFFERS * length as usize);
        assert!(decoded.error.is_none(), "{:?}", decoded.error);
        assert_eq!(decoded.content, count * u64::from(length));
    }
}

/// A bank of as many tables as may be, in few bytes.
fn large_bank() -> Vec<u8> {
    let certain = vec![FrequencyTable::certain(0); limits::MAX_TABLES];
    let bank = Bank {
        class: TokenClass::Byte,
        precision: 1,
        scale: Some(FrequencyTable::certain(0)),
        mask_thresholds: Thresholds::default(),
        masks: Vec::new(),
        element_thresholds: Thresholds { base: 0, steps: vec![1; limits::MAX_TABLES - 1] },
        elements: certain,
    };
    let mut body = Vec::new();
    bank::write(&bank, &mut body);
    body
}

#[test]
fn as_many_banks_as_may_be() {
    let (body, slots) = (large_bank(), limits::BASELINE_BANK_SLOTS);
    let substream = SubstreamHeader {
        method: Method::Plain,
        bank: 0,
        block: 0,
        shift: 0,
        lanes: 0,
        profiles: false,
        scale_base: 0,
        length: 4,
    };
    for (what, used, rounds) in
        [("banks in slots", false, 1), ("banks in use", true, 1), ("banks in use, bound anew", true, 4)]
    {
        let mut stream =
            [header(0, false), layout(vec![plain(ElementType::U8)], &[(0, (slots * rounds) as u64)])].concat();
        let mut chunks = 0;
        for _ in 0..rounds {
            for slot in 0..slots {
                write_record(&mut stream, RecordType::Bind, 0, slot as u16, &body);
                if used {
                    let data = (1u32 << 16).to_le_bytes().to_vec();
                    stream.extend(chunk(chunks, 1, &[(SubstreamHeader { bank: slot as u8, ..substream }, data)]));
                    chunks += 1;
                }
            }
        }
        let stream = if used { ended(stream, chunks, chunks) } else { stream };
        // Two more than the slots hold may be in use while they are replaced.
        let promised = if used { (slots + 2) * BANK } else { 0 } + slots * 20_000;
        let decoded = bounded(what, &stream[..], Vec::new(), promised);
        assert_eq!(decoded.error.is_none(), used, "{what}: {:?}", decoded.error);
        assert_eq!(decoded.content, chunks, "{what}");
    }
}

#[test]
fn profiles_of_few_bytes() {
    let profile = |columns: u32, bytes: usize| {
        let mut body = columns.to_le_bytes().to_vec();
        body.push(0);
        body.resize(5 + bytes, 0);
        body
    };
    let columns = limits::MAX_PROFILE_COLUMNS;
    let mut stream = header(0, false);
    write_record(&mut stream, RecordType::Profile, 0, 0, &profile(columns as u32, columns / 8 - 1));
    let decoded = bounded("a profile without values", &stream[..], Vec::new(), 0);
    assert!(matches!(decoded.error.unwrap().rule(), Error::Extent(_)));

    for count in [1, 2] {
        let mut stream = header(0, false);
        for slot in 0..count {
            write_record(&mut stream, RecordType::Profile, 0, slot, &profile(columns as u32, columns / 8));
        }
        let decoded = bounded("all the columns that may be", &ended(stream, 0, 0)[..], Vec::new(), 2 * columns);
        assert_eq!(decoded.error.is_none(), count == 1, "{:?}", decoded.error);
    }
}

#[test]
fn metadata_of_many_keys() {
    let pairs: Vec<(String, Vec<u8>)> = (0..60_000).map(|i| (format!("{i:x}"), Vec::new())).collect();
    let mut stream = header(0, false);
    let mut body = Vec::new();
    metadata::write(&pairs, &mut body).unwrap();
    write_record(&mut stream, RecordType::Metadata, 0, pairs.len() as u16, &body);
    let decoded = bounded("60,000 keys", &ended(stream.clone(), 0, 0)[..], Vec::new(), 0);
    assert!(decoded.error.is_none(), "{:?}", decoded.error);
    // More records, more than a mebibyte in all.
    for i in 0..2 {
        let more: Vec<(String, Vec<u8>)> = pairs.iter().map(|(k, v)| (format!("{k}.{i}"), v.clone())).collect();
        let mut body = Vec::new();
        metadata::write(&more, &mut body).unwrap();
        write_record(&mut stream, RecordType::Metadata, 0, more.len() as u16, &body);
    }
    let decoded = bounded("180,000 keys", &ended(stream, 0, 0)[..], Vec::new(), 0);
    assert!(matches!(decoded.error.unwrap().rule(), Error::Field { field: "Metadata length", .. }));
}

#[test]
fn references_far_away() {
    let reference = Some(KindReference { element: ElementType::F64, index: 0 });
    let kind = Kind { element: ElementType::F8E5M2, reference };
    let length = limits::BASELINE_CHUNK_LENGTH;
    for offset in [0, 1 << 20, 1 << 40, (1 << 63) - 8 * u64::from(length) - 1] {
        let mut layout = Layout { kinds: vec![kind], spans: Vec::new() };
        layout.spans.push(Span {
            kind: 0,
            offset: 0,
            elements: length.into(),
            profile: None,
            reference_offset: offset,
        });
        let mut body = Vec::new();
        layout.write(&mut body, 0, 1);
        let mut stream = header(1, false);
        write_record(&mut stream, RecordType::Layout, 0, 1, &body);
        let same = (SubstreamHeader::simple(Method::Same, 0), Vec::new());
        stream.extend(chunk(0, length, &[same]));
        let bytes = vec![0; 1 << 20];
        let ways = [references(Some(&bytes)), vec![Reference::Pipe(Box::new(io::Cursor::new(bytes.clone())))]];
        for way in ways {
            // What a pipe has given is kept for a while, and no more than it has.
            let decoded = bounded(&format!("a reference at {offset}"), &stream[..], way, 6 << 20);
            assert!(matches!(decoded.error.unwrap().rule(), Error::ReferenceShort { .. }));
        }
    }
}

#[test]
fn many_kinds_in_one_chunk() {
    let reference = |element| Some(KindReference { element, index: 0 });
    let kinds: Vec<Kind> = (0..limits::MAX_KINDS)
        .map(|i| {
            let element = ElementType::ALL[9 + i % 6];
            Kind { element, reference: reference(ElementType::ALL[9 + (i / 6) % 6]).filter(|_| i % 11 != 0) }
        })
        .collect();
    let spans: Vec<(u8, u64)> = (0..limits::MAX_SPANS).map(|i| ((i % kinds.len()) as u8, 1)).collect();
    let length: u32 = spans.iter().map(|s| kinds[usize::from(s.0)].element.width() as u32).sum();
    let substreams: Vec<_> = kinds
        .iter()
        .map(|k| match k.reference {
            Some(_) => (SubstreamHeader::simple(Method::Same, 0), Vec::new()),
            None => constant(k.element),
        })
        .collect();
    let mut stream = [header(1, false), layout(kinds, &spans)].concat();
    stream.extend(chunk(0, length, &substreams));
    let zeros = vec![0; 1 << 20];
    let decoded = bounded("64 kinds", &stream[..], references(Some(&zeros)), BUFFERS * 8 * limits::MAX_SPANS);
    // The CRC of the reference is not that of so many zeros, but all has been decoded to see it.
    assert!(matches!(decoded.error.unwrap().rule(), Error::Truncated | Error::ReferenceMismatch { .. }));
}

#[test]
fn damaged_streams() {
    let mut random = Random(3);
    let content: Vec<u8> = (0..40_000u32).flat_map(|i| ((i % 700) as f32 * 0.1).to_le_bytes()).collect();
    let mut options = fixed(ElementType::F32);
    options.chunk_length = Some(20_000);
    options.columns = Some(50);
    let stream = compress(&content, Some(&content[4..]), &options);
    for _ in 0..400 {
        let mut damaged = stream.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len() as u64) as usize;
            damaged[at] = random.next() as u8;
        }
        bounded("damaged", &damaged[..], references(Some(&content[4..])), BUFFERS * 20_000 + 4 * BANK);
    }
}

/// Containers whose headers promise anything, and files that are no containers: an encoder's advice costs about what it has read. Found by fuzzing: of
/// a gzip file with a reference millions of spans were foretold.
#[test]
fn an_encoder_is_not_led_astray() {
    let starts: [&[u8]; 10] = [
        b"\x1f\x8b\x08\0",
        b"\x28\xb5\x2f\xfd",
        b"\xfd7zXZ\0",
        b"\xff\xff\xff\xff\xff\xff\xff\x7f{\"a\":",
        b"\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,9223372036854775807]}}     ",
        b"PK\x03\x04\x14\0\x08\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0a.n",
        b"\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999), }",
        b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02(l\xff\xff\xff\x7f",
    ];
    let mut options = EncoderOptions::default();
    options.threads = 1;
    let cost = |content: &[u8]| {
        let mut reference = content.to_vec();
        reference[4000] ^= 1;
        peak(|| compress(content, Some(&reference), &options)).0
    };
    let noise = Random(4).bytes(8000);
    let usual = cost(&noise);
    for start in starts {
        let content = [start, &noise[start.len()..]].concat();
        let found = cost(&content);
        println!("{start:?}: {found} bytes, {usual} for noise");
        assert!(found <= usual + (4 << 20), "{start:?}: {found} bytes, {usual} for noise");
    }
}

/// The rows of the table of §13: quantity, maximum, Baseline.
fn table() -> Vec<(String, String, String)> {
    let spec = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/spec/format.md")).unwrap();
    let section = spec.split("## 13. Limits").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells =
        |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect() };
    let rows = section.lines().filter(|l| l.starts_with("| ") && !l.contains("---")).skip(1);
    rows.map(|row| {
        let [quantity, maximum, baseline] = cells(row).try_into().unwrap();
        (quantity, maximum, baseline)
    })
    .collect()
}

/// `2^26`, `65,536`, `2^63 − 1`.
fn value(cell: &str) -> Option<u64> {
    let cell = cell.replace(',', "");
    if let Some(power) = cell.strip_suffix(" − 1") {
        return Some(value(power)? - 1);
    }
    match cell.split_once('^') {
        Some((base, exponent)) => Some(base.parse::<u64>().ok()?.pow(exponent.parse().ok()?)),
        None => cell.parse().ok(),
    }
}

#[test]
fn the_limits_are_those_of_the_spec() {
    let known: [(&str, u64, u64); 16] = [
        ("max_chunk_length", limits::MAX_CHUNK_LENGTH.into(), limits::BASELINE_CHUNK_LENGTH.into()),
        ("references", limits::MAX_REFERENCES as u64, limits::BASELINE_REFERENCES as u64),
        ("bank_slots", limits::MAX_BANK_SLOTS as u64, limits::BASELINE_BANK_SLOTS as u64),
        ("profile_slots", limits::MAX_PROFILE_SLOTS as u64, limits::MAX_PROFILE_SLOTS as u64),
        ("kinds per Layout", limits::MAX_KINDS as u64, limits::MAX_KINDS as u64),
        ("spans per Layout", limits::MAX_SPANS as u64, limits::MAX_SPANS as u64),
        ("Layout body", limits::MAX_LAYOUT_BODY.into(), limits::MAX_LAYOUT_BODY.into()),
        ("columns of all profiles", limits::MAX_PROFILE_COLUMNS as u64, limits::MAX_PROFILE_COLUMNS as u64),
        ("Profile body", limits::MAX_PROFILE_BODY.into(), limits::MAX_PROFILE_BODY.into()),
        ("Bind body", limits::MAX_BIND_BODY.into(), limits::MAX_BIND_BODY.into()),
        ("banks in a bank file", limits::MAX_FILE_BANKS as u64, limits::MAX_FILE_BANKS as u64),
        ("bank file", limits::MAX_BANK_FILE, limits::MAX_BANK_FILE),
        ("Chunk body", 0, 0),
        ("Metadata body, all in sum", limits::MAX_METADATA_BODY.into(), limits::MAX_METADATA_BODY.into()),
        ("Index body", limits::MAX_INDEX_BODY.into(), limits::MAX_INDEX_BODY.into()),
        ("content", limits::MAX_OFFSET - 1, limits::MAX_OFFSET - 1),
    ];
    let table = table();
    let names: Vec<&str> = table.iter().map(|r| r.0.as_str()).collect();
    assert_eq!(names, known.map(|k| k.0), "the rows of the spec and those known here");
    for ((name, maximum, baseline), (_, most, base)) in table.iter().zip(known) {
        if name == "Chunk body" {
            assert_eq!(maximum, "max_chunk_length + 24 + 12 · count");
            assert_eq!(ChunkHeader::size(7), 24 + 12 * 7);
            continue;
        }
        assert_eq!(value(maximum), Some(most), "{name}");
        if !baseline.is_empty() {
            assert_eq!(value(baseline), Some(base), "{name}, Baseline");
        }
    }
}

#[test]
fn every_maximum_fits_its_field() {
    let fits = |most: u64, bits: u32| assert!(most >> bits == 0, "{most} in {bits} bits");
    fits(limits::MAX_CHUNK_LENGTH.into(), 32);
    fits(limits::MAX_REFERENCES as u64, 8);
    fits(limits::MAX_BANK_SLOTS as u64, 8);
    // Ids of banks: slots below the built-in ones.
    fits(limits::MAX_BANK_SLOTS as u64 - 1, 7);
    assert_eq!(usize::from(limits::BUILT_IN_BANKS), limits::MAX_BANK_SLOTS);
    fits(limits::MAX_PROFILE_SLOTS as u64, 16);
    fits(limits::MAX_PROFILE_COLUMNS as u64, 32);
    // Kinds in the head of a span.
    fits(limits::MAX_KINDS as u64 - 1, 6);
    fits(limits::MAX_TABLES as u64, 8);
    fits(u64::from(limits::MAX_CHUNK_LENGTH) + ChunkHeader::size(u16::MAX) as u64, 32);
    for (_, most) in RECORDS {
        fits(most.into(), 32);
    }
    // The largest bodies that the other maxima allow fit those of the bodies.
    let span = 1 + 10 + 3 + 10;
    assert!(4 * limits::MAX_KINDS + span * limits::MAX_SPANS + 4 <= limits::MAX_LAYOUT_BODY as usize);
    let value_bits = 256;
    assert!(
        limits::MAX_PROFILE_COLUMNS / 8 * value_bits > limits::MAX_PROFILE_BODY as usize,
        "only by the shorter forms"
    );
    let table_bits = 16 + 255 * (25 + 11);
    assert!(12 + 255 + (limits::MAX_TABLES + 1) * table_bits / 8 + 5 <= limits::MAX_BIND_BODY as usize);
}
