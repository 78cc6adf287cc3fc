//! The structures of the wire: what is written is parsed as the same value, the sizes are those of the spec, and there is one form of every value.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail like tests")]

mod common;

use common::Random;
use ulpack::ElementType;
use ulpack::core::bank::{Bank, TokenClass};
use ulpack::core::pairs::PairForm;
use ulpack::core::plain::PlainForm;
use ulpack::core::table::FrequencyTable;
use ulpack::core::thresholds::Thresholds;
use ulpack::limits::{MAX_KINDS, MAX_PROFILE_COLUMNS, MAX_TABLES};
use ulpack::wire::bits::{BitReader, BitWriter};
use ulpack::wire::chunk_header::{ChunkHeader, Method, SubstreamHeader};
use ulpack::wire::end::End;
use ulpack::wire::fields::Fields;
use ulpack::wire::index::{Entry, Index, Listed, ReferenceRange};
use ulpack::wire::layout::{Kind, KindReference, Layout, Span};
use ulpack::wire::profile::Profile;
use ulpack::wire::record_header::{RecordHeader, RecordType, checked_body, write_record};
use ulpack::wire::records::ReferenceIdentity;
use ulpack::wire::stream_header::StreamHeader;
use ulpack::wire::{bank, leb128, metadata};

const TIMES: usize = 2000;

/// A number below 2^bits, small and large ones alike.
fn number(random: &mut Random, bits: u32) -> u64 {
    let bits = random.below(u64::from(bits) + 1) as u32;
    if bits == 0 { 0 } else { random.next() >> (64 - bits) }
}

fn one_of<T: Copy>(random: &mut Random, items: &[T]) -> T {
    items[random.below(items.len() as u64) as usize]
}

#[test]
fn stream_headers() {
    let mut random = Random(1);
    for _ in 0..TIMES {
        let extended = random.below(2) == 1;
        let in_place = random.below(3) == 0;
        let header = StreamHeader {
            in_place,
            references: if in_place { 1 } else { random.below(if extended { 256 } else { 17 }) as u8 },
            bank_slots: random.below(if extended { 129 } else { 65 }) as u8,
            profile_slots: random.below(4097) as u16,
            feature_set: if extended { 1 + random.below(2) as u8 } else { 0 },
            max_chunk_length: number(&mut random, if extended { 26 } else { 22 }).max(1) as u32,
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        assert_eq!(bytes.len(), StreamHeader::SIZE);
        assert_eq!(StreamHeader::parse(bytes.first_chunk().unwrap()).unwrap(), header);
    }
}

#[test]
fn record_headers() {
    use RecordType::{Ancillary, Bind, Chunk, Digest, End, Index, Layout, Metadata, Profile, Reference};
    let mut random = Random(2);
    let kinds =
        [Layout, Reference, Bind, Profile, Chunk, End, Index, Metadata, Digest, Ancillary(0x80), Ancillary(0xFF)];
    for _ in 0..TIMES {
        let kind = one_of(&mut random, &kinds);
        let header = RecordHeader {
            kind,
            flags: match kind {
                Reference | Bind => random.below(2) as u8,
                Ancillary(_) => random.next() as u8,
                _ => 0,
            },
            count: if [End, Digest].contains(&kind) { 0 } else { number(&mut random, 16) as u16 },
            length: number(&mut random, 32) as u32,
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        assert_eq!(bytes.len(), RecordHeader::SIZE);
        assert_eq!(RecordHeader::parse(bytes.first_chunk().unwrap()).unwrap(), header);
    }
}

#[test]
fn bodies_of_records() {
    let mut random = Random(3);
    for length in 0..TIMES {
        let body = random.bytes(length);
        let mut bytes = Vec::new();
        write_record(&mut bytes, RecordType::Layout, 0, 7, &body);
        assert_eq!(bytes.len(), RecordHeader::SIZE + length + 4);
        assert_eq!(checked_body("Layout", &bytes[12..]).unwrap(), body);
    }
}

#[test]
fn ends() {
    let mut random = Random(4);
    for _ in 0..TIMES {
        let end = End {
            chunk_count: number(&mut random, 64),
            content_length: number(&mut random, 64),
            content_crc: random.next() as u32,
            encoded_length: number(&mut random, 64),
            index_offset: number(&mut random, 64),
        };
        let mut bytes = Vec::new();
        end.write(&mut bytes);
        assert_eq!(bytes.len(), RecordHeader::SIZE + End::SIZE);
        assert_eq!(End::parse(&bytes[12..]).unwrap(), end);
    }
}

#[test]
fn reference_identities() {
    let mut random = Random(5);
    for _ in 0..TIMES {
        let identity = ReferenceIdentity { length: number(&mut random, 64), crc: random.next() as u32 };
        let (index, whole) = (random.next() as u8, random.below(2) == 1);
        let mut bytes = Vec::new();
        identity.write(&mut bytes, index, whole);
        let header = RecordHeader::parse(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!((header.kind, header.flags, header.count), (RecordType::Reference, u8::from(whole), index.into()));
        assert_eq!(ReferenceIdentity::parse(checked_body("Reference", &bytes[12..]).unwrap()).unwrap(), identity);
    }
}

fn kind(random: &mut Random, references: u8) -> Kind {
    let element = one_of(random, &ElementType::ALL);
    let reference = (references > 0 && random.below(2) == 1).then(|| KindReference {
        element: if element.is_float() {
            let floats: Vec<ElementType> = ElementType::ALL.into_iter().filter(|e| e.is_float()).collect();
            one_of(random, &floats)
        } else {
            element
        },
        index: random.below(references.into()) as u8,
    });
    Kind { element, reference }
}

#[test]
fn layouts() {
    let mut random = Random(6);
    for _ in 0..TIMES {
        let references = random.below(256) as u8;
        let profiles = number(&mut random, 12) as u16;
        let start = number(&mut random, 50);
        let kinds: Vec<Kind> = (0..=random.below(MAX_KINDS as u64)).map(|_| kind(&mut random, references)).collect();
        let kinds = kinds[..kinds.len().min(MAX_KINDS)].to_vec();
        let mut layout = Layout { kinds, spans: Vec::new() };
        let mut offset = start;
        let mut after = start;
        for _ in 0..=random.below(30) {
            let number_of_kind = random.below(layout.kinds.len() as u64) as u8;
            let kind = layout.kinds[usize::from(number_of_kind)];
            let elements = number(&mut random, 40).max(1);
            // Where it is expected, and anywhere.
            let place = [offset, after, number(&mut random, 50)][random.below(3) as usize];
            let span = Span {
                kind: number_of_kind,
                offset,
                elements,
                profile: (profiles > 0 && random.below(2) == 1).then(|| random.below(profiles.into()) as u16),
                reference_offset: if kind.reference.is_some() { place } else { 0 },
            };
            offset += layout.span_bytes(&span);
            if let Some(reference) = kind.reference {
                after = place + elements * reference.element.width() as u64;
            }
            layout.spans.push(span);
        }
        assert_eq!(layout.length(), offset - start);
        let mut bytes = Vec::new();
        layout.write(&mut bytes, start, references);
        let count = layout.kinds.len() as u16;
        assert_eq!(Layout::parse(&bytes, count, start, references, profiles).unwrap(), layout);
        // Nothing before the end is a Layout of the same spans.
        if let Ok(other) = Layout::parse(&bytes[..bytes.len() - 1], count, start, references, profiles) {
            assert!(other.spans.len() < layout.spans.len());
        }
    }
}

#[test]
fn chunk_headers() {
    let mut random = Random(7);
    for _ in 0..TIMES {
        let substreams: Vec<SubstreamHeader> = (0..random.below(5))
            .map(|_| {
                let method = one_of(&mut random, &Method::ALL);
                let length = random.below(100) as u32;
                if !method.uses_bank() {
                    return SubstreamHeader::simple(method, length);
                }
                let smallest = if method == Method::Mask { 8 } else { 5 };
                SubstreamHeader {
                    method,
                    bank: random.next() as u8,
                    block: if random.below(3) == 0 {
                        0
                    } else {
                        smallest + random.below(21 - u64::from(smallest)) as u8
                    },
                    shift: random.next() as u8,
                    lanes: random.below(6) as u8,
                    profiles: random.below(2) == 1,
                    scale_base: random.next() as i16,
                    length,
                }
            })
            .collect();
        let header = ChunkHeader {
            output_offset: number(&mut random, 63),
            output_length: number(&mut random, 32) as u32,
            content_crc: random.next() as u32,
            reference_crc: random.next() as u32,
            substreams,
        };
        let count = header.substreams.len() as u16;
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        assert_eq!(bytes.len(), ChunkHeader::size(count));
        assert_eq!(bytes.len(), 24 + SubstreamHeader::SIZE * usize::from(count));
        let data = random.bytes(header.substreams.iter().map(|s| s.length as usize).sum());
        bytes.extend_from_slice(&data);
        assert_eq!(ChunkHeader::parse(&bytes, count).unwrap(), (header, data.as_slice()));
        bytes.push(0);
        assert!(ChunkHeader::parse(&bytes, count).is_err());
    }
}

#[test]
fn profiles() {
    let mut random = Random(8);
    for i in 0..TIMES {
        let spread = 1 << random.below(8);
        let length = if i == 0 { MAX_PROFILE_COLUMNS } else { 1 + random.below(300) as usize };
        let profile =
            Profile { values: (0..length).map(|_| (random.below(spread) as i64 - spread as i64 / 2) as i8).collect() };
        let mut bytes = Vec::new();
        profile.write(&mut bytes);
        assert_eq!(Profile::parse(&bytes).unwrap(), profile);
        bytes.push(0);
        assert!(Profile::parse(&bytes).is_err());
    }
    let extremes = Profile { values: (i8::MIN..=i8::MAX).collect() };
    let mut bytes = Vec::new();
    extremes.write(&mut bytes);
    assert_eq!(Profile::parse(&bytes).unwrap(), extremes);
}

#[test]
fn metadata_pairs() {
    let mut random = Random(9);
    for _ in 0..TIMES {
        let keys = ["step", "run", "ключ", "a b", "=", "\0", "名"];
        let pairs: Vec<(String, Vec<u8>)> = (0..random.below(8))
            .map(|i| {
                let length = random.below(50) as usize;
                (format!("{}{i}", one_of(&mut random, &keys)), random.bytes(length))
            })
            .collect();
        let mut bytes = Vec::new();
        metadata::write(&pairs, &mut bytes).unwrap();
        assert_eq!(metadata::parse(&bytes, pairs.len() as u16).unwrap(), pairs);
        assert!(metadata::parse(&bytes, pairs.len() as u16 + 1).is_err());
        if !pairs.is_empty() {
            assert!(metadata::parse(&bytes, pairs.len() as u16 - 1).is_err());
        }
    }
    let mut bytes = Vec::new();
    assert!(metadata::write(&[(String::new(), Vec::new())], &mut bytes).is_err());
    assert!(metadata::write(&[("k".repeat(65_536), Vec::new())], &mut bytes).is_err());
}

/// A table with frequencies that `precision` can write.
fn table(random: &mut Random, alphabet: usize, precision: u8) -> FrequencyTable {
    loop {
        let mut table = FrequencyTable([0; 256]);
        let mut left = 4096u16;
        for _ in 0..random.below(40) {
            let symbol = random.below(alphabet as u64) as usize;
            let frequency = bank::truncate(number(random, 11) as u16, precision);
            if table.0[symbol] == 0 && frequency < left {
                table.0[symbol] = frequency;
                left -= frequency;
            }
        }
        // What is left is that of the most frequent symbol, which is not written.
        let implied = random.below(alphabet as u64) as usize;
        if table.0[implied] == 0 {
            table.0[implied] = left;
            if usize::from(table.most_frequent()) == implied {
                return table;
            }
        }
    }
}

#[test]
fn banks() {
    let mut random = Random(10);
    for _ in 0..TIMES / 4 {
        let form = PlainForm {
            sign: random.below(2) == 1,
            top: random.below(2) == 1,
            centre: random.next() as u8,
            window: 1 + random.below(63) as u8,
        };
        let pairs = PairForm { centre: random.next() as u8, window: 1 + random.below(15) as u8 };
        let classes = [
            TokenClass::Byte,
            TokenClass::Length2,
            TokenClass::Length1,
            TokenClass::Plain(form),
            TokenClass::Pairs(pairs),
        ];
        let class = one_of(&mut random, &classes);
        let precision = 1 + random.below(12) as u8;
        let most = one_of(&mut random, &[4, 4, 4, MAX_TABLES as u64]);
        let tables = 1 + random.below(most);
        let masks = random.below(tables + 1);
        let mut thresholds = |tables: u64| Thresholds {
            base: if tables == 0 { 0 } else { random.next() as i16 },
            steps: (1..tables).map(|_| 1 + random.below(255 / (tables - 1)) as u8).collect(),
        };
        let (mask_thresholds, element_thresholds) = (thresholds(masks), thresholds(tables - masks));
        let mut group = |count: u64, alphabet: usize| -> Vec<FrequencyTable> {
            (0..count).map(|_| table(&mut random, alphabet, precision)).collect()
        };
        let bank = Bank {
            class,
            precision,
            scale: group(tables % 2, 256).pop(),
            mask_thresholds,
            masks: group(masks, 256),
            element_thresholds,
            elements: group(tables - masks, class.alphabet()),
        };
        let mut bytes = Vec::new();
        bank::write(&bank, &mut bytes);
        assert_eq!(bank::parse(&bytes).unwrap(), bank);
        bytes.push(0);
        assert!(bank::parse(&bytes).is_err());
    }
}

#[test]
fn numbers_and_bits() {
    let mut random = Random(11);
    for _ in 0..TIMES {
        let value = number(&mut random, 64);
        let mut bytes = Vec::new();
        leb128::write(&mut bytes, value);
        assert_eq!(bytes.len(), (64 - value.leading_zeros()).div_ceil(7).max(1) as usize);
        assert_eq!(leb128::read(&mut Fields::new(&bytes, "number")).unwrap(), value);
        assert_eq!(leb128::unzigzag(leb128::zigzag(value as i64)), value as i64);

        let fields: Vec<(u32, u32)> = (0..random.below(20))
            .map(|_| {
                let count = random.below(33) as u32;
                (count, (number(&mut random, 32) & ((1 << count) - 1)) as u32)
            })
            .collect();
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        for &(count, value) in &fields {
            writer.bits(value, count);
            writer.unary(value % 30);
        }
        let mut reader = BitReader::new(&bytes, "bits");
        for &(count, value) in &fields {
            assert_eq!(reader.bits(count).unwrap(), value);
            assert_eq!(reader.unary(29).unwrap(), value % 30);
        }
        reader.finish().unwrap();
    }
}

/// A segment of a stream that goes on up to the offset returned.
fn some_index(random: &mut Random) -> (Index, u64) {
    let mut index = Index {
        previous: number(random, 40),
        first_chunk: number(random, 64),
        content_offset: number(random, 62),
        entries: Vec::new(),
    };
    let mut offset = 24 + number(random, 40);
    for i in 0..=random.below(20) {
        let listed = match random.below(4) {
            _ if i == 0 => 0,
            listed => listed,
        };
        let listed = match listed {
            1 => Listed::Layout { begun: random.below(index.content_offset + 1) },
            2 => Listed::Bind(random.next() as u8),
            3 => Listed::Profile(random.next() as u16),
            _ => Listed::Chunk {
                output_length: number(random, 32).max(1) as u32,
                ranges: (0..random.below(4))
                    .map(|_| {
                        let start = number(random, 62);
                        let bytes = start..start + 1 + number(random, 61);
                        ReferenceRange { reference: random.next() as u8, bytes }
                    })
                    .collect(),
            },
        };
        index.entries.push(Entry { offset, listed });
        offset += 16 + number(random, 32);
    }
    (index, offset.max(42 << 40))
}

#[test]
fn indices() {
    let mut random = Random(12);
    for _ in 0..TIMES {
        let (index, at) = some_index(&mut random);
        let mut record = Vec::new();
        index.write(&mut record);
        let (header, body) = record.split_first_chunk().unwrap();
        let header = RecordHeader::parse(header).unwrap();
        let body = checked_body("Index", body).unwrap();
        assert_eq!((header.kind, usize::from(header.count)), (RecordType::Index, index.chunks()));
        assert_eq!(Index::parse(body, header.count, at).unwrap(), index);
        // No shorter or longer form, no other number of chunks, no record behind the index.
        let last = index.entries.last().unwrap().offset;
        assert!(Index::parse(&body[..body.len() - 1], header.count, at).is_err());
        assert!(Index::parse(&[body, &[1]].concat(), header.count, at).is_err());
        assert!(Index::parse(body, header.count + 1, at).is_err());
        assert!(Index::parse(body, header.count, last + 15).is_err());
    }
}
