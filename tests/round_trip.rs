//! Every content comes back bit for bit, whatever its type, length, phase, reference and options.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::{Random, compress, decompress, fixed, round_trip};
use ulpack::{ElementType, EncoderOptions, Error, Level};

const LEVELS: [Level; 3] = [Level::Fast, Level::Default, Level::Small];
const FLOATS: [ElementType; 6] =
    [ElementType::F8E4M3, ElementType::F8E5M2, ElementType::Bf16, ElementType::F16, ElementType::F32, ElementType::F64];

/// Runs `f` for every item, on two threads.
fn each<T: Sync>(items: &[T], f: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    f(item);
                }
            });
        }
    });
}

/// A float's bit pattern of this type nearest to `value`.
fn pattern(element: ElementType, value: f64) -> u64 {
    match element {
        ElementType::F64 => value.to_bits(),
        ElementType::F32 => u64::from((value as f32).to_bits()),
        ElementType::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        ElementType::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
        // Half of an E5M2 is a binary16; E4M3 takes its place in the same way.
        _ => u64::from(half::f16::from_f64(value).to_bits() >> 8),
    }
}

/// So many elements like those of a trained matrix, whatever the type.
fn weights(element: ElementType, count: usize, random: &mut Random) -> Vec<u8> {
    let width = element.width();
    let mut bytes = Vec::with_capacity(count * width);
    for _ in 0..count {
        let value = random.normal() * 0.02;
        let bits = if element.is_float() { pattern(element, value) } else { (value * 1000.0) as i64 as u64 };
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    bytes
}

/// The elements of `bytes` moved by a few units in the last place, one in `every`.
fn moved(element: ElementType, bytes: &[u8], every: u64, random: &mut Random) -> Vec<u8> {
    let width = element.width();
    let mut moved = bytes.to_vec();
    for element in moved.chunks_exact_mut(width) {
        if random.below(every) == 0 {
            let mut bits = [0; 8];
            bits[..width].copy_from_slice(element);
            let bits = u64::from_le_bytes(bits).wrapping_add(random.below(7)).wrapping_sub(3);
            element.copy_from_slice(&bits.to_le_bytes()[..width]);
        }
    }
    moved
}

#[test]
fn short_contents_of_every_type_against_short_references() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(element.id().into());
        let options = fixed(element);
        for length in 0..=64 {
            for reference_length in 0..=64 {
                let reference = random.bytes(reference_length);
                let mut content = random.bytes(length);
                let common = length.min(reference_length);
                match random.below(4) {
                    0 => content[..common].copy_from_slice(&reference[..common]),
                    1 => {
                        let near = moved(element, &reference[..common], 3, &mut random);
                        content[..common].copy_from_slice(&near);
                    }
                    2 => content.fill(0),
                    _ => {}
                }
                round_trip(&content, Some(&reference), &options);
            }
        }
    });
}

#[test]
fn short_contents_at_every_length_without_reference() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(100 + u64::from(element.id()));
        for length in 0..=300 {
            let mut content = weights(element, length / element.width() + 1, &mut random);
            content.truncate(length);
            round_trip(&content, None, &fixed(element));
        }
    });
}

#[test]
fn a_reference_of_any_length() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(200 + u64::from(element.id()));
        let width = element.width();
        let whole = weights(element, 6000, &mut random);
        let content = moved(element, &whole, 2, &mut random);
        for length in [0, 1, width, 100 * width + width / 2, whole.len() / 2 - 1, whole.len() - 1, whole.len()] {
            round_trip(&content, Some(&whole[..length]), &fixed(element));
            round_trip(&content[..length], Some(&whole), &fixed(element));
        }
    });
}

#[test]
fn all_patterns_of_16_bits_against_sampled_references() {
    let specials = [0, 0x8000, 1, 0x8001, 0x007F, 0x0080, 0x03FF, 0x0400, 0x3F80, 0x3C00, 0xBF80, 0x7BFF, 0x7F7F];
    let not_finite = [0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFFF];
    let mut random = Random(16);
    let sampled: Vec<u16> = (0..10).map(|_| random.next() as u16).collect();
    let references: Vec<u16> = specials.into_iter().chain(not_finite).chain(sampled).collect();
    let every = |f: &dyn Fn(u16) -> u16| -> Vec<u8> { (0..=u16::MAX).flat_map(|u| f(u).to_le_bytes()).collect() };
    let content = every(&|u| u);
    for element in [ElementType::Bf16, ElementType::F16] {
        each(&references, |&reference| {
            round_trip(&content, Some(&every(&|_| reference)), &fixed(element));
        });
        // Every pattern beside another one, near and far, in order and out of it.
        for step in [1, 3, 0x0080, 0x7FFF, 0x8000, 0xFFFE] {
            round_trip(&content, Some(&every(&|u| u.wrapping_add(step))), &fixed(element));
        }
        let shuffled = every(&|u| u.wrapping_mul(40_503));
        round_trip(&shuffled, Some(&content), &fixed(element));
        round_trip(&shuffled, None, &fixed(element));
        round_trip(&content, None, &fixed(element));
    }
}

/// Patterns of a float type at the edges of its classes: zeros, subnormals, one, largest, infinities, NaNs with payloads; both signs.
fn specials(element: ElementType) -> Vec<u64> {
    let ulpack::core::element::Class::Float { mantissa, exponent, .. } = element.class() else {
        unreachable!("{element:?} is a float")
    };
    let sign = 1u64 << (mantissa + exponent);
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    let top = 1u64 << (mantissa - 1);
    let one = ((1u64 << (exponent - 1)) - 1) << mantissa;
    let mut patterns = vec![
        0,
        1,
        top - 1,
        top,
        (1 << mantissa) - 1,
        1 << mantissa,
        one - 1,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | top,
        infinity | top | 1,
        infinity | (top - 1),
        sign - 1,
    ];
    patterns.extend(patterns.clone().iter().map(|p| p | sign));
    patterns
}

#[test]
fn special_values_against_special_values() {
    each(&FLOATS, |&element| {
        let width = element.width();
        let specials = specials(element);
        let mut content = Vec::new();
        let mut reference = Vec::new();
        for a in &specials {
            for b in &specials {
                content.extend_from_slice(&a.to_le_bytes()[..width]);
                reference.extend_from_slice(&b.to_le_bytes()[..width]);
            }
        }
        for level in LEVELS {
            let mut options = fixed(element);
            options.level = level;
            round_trip(&content, Some(&reference), &options);
            round_trip(&content, None, &options);
        }
    });
}

#[test]
fn special_values_among_weights() {
    each(&FLOATS, |&element| {
        let mut random = Random(300 + u64::from(element.id()));
        let width = element.width();
        let specials = specials(element);
        let mut reference = weights(element, 20_000, &mut random);
        let mut content = moved(element, &reference, 2, &mut random);
        for _ in 0..400 {
            for bytes in [&mut content, &mut reference] {
                let at = random.below(20_000) as usize * width;
                let special = specials[random.below(specials.len() as u64) as usize];
                bytes[at..at + width].copy_from_slice(&special.to_le_bytes()[..width]);
            }
        }
        round_trip(&content, Some(&reference), &fixed(element));
        round_trip(&content, None, &fixed(element));
    });
}

#[test]
fn levels_columns_and_chunk_lengths() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(400 + u64::from(element.id()));
        let columns = 96;
        // Columns of different magnitudes, which profiles describe.
        let width = element.width();
        let mut reference = weights(element, 100 * columns, &mut random);
        for (i, value) in reference.chunks_exact_mut(width).enumerate() {
            if element.is_float() && width > 1 {
                value.copy_from_slice(
                    &pattern(element, random.normal() * f64::powi(2.0, (i % columns) as i32 / 8 - 6)).to_le_bytes()
                        [..width],
                );
            }
        }
        let content = moved(element, &reference, 1, &mut random);
        for level in LEVELS {
            for columns in [None, Some(1), Some(columns as u32), Some(columns as u32 - 1), Some(1 << 20)] {
                for chunk_length in [None, Some(64), Some(1000)] {
                    let mut options = fixed(element);
                    options.level = level;
                    options.columns = columns;
                    options.chunk_length = chunk_length;
                    round_trip(
                        &content[..if chunk_length == Some(64) { 4001 } else { content.len() }],
                        Some(&reference),
                        &options,
                    );
                }
            }
            let mut options = fixed(element);
            options.level = level;
            options.columns = Some(columns as u32);
            round_trip(&content, None, &options);
        }
    });
}

#[test]
fn types_found_at_any_phase() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(500 + u64::from(element.id()));
        for phase in 0..9 {
            let mut reference = random.bytes(phase);
            reference.extend(weights(element, 9000, &mut random));
            let mut content = reference.clone();
            let near = moved(element, &reference[phase..], 2, &mut random);
            content[phase..].copy_from_slice(&near);
            content.extend(random.bytes(3));
            let mut options = EncoderOptions::default();
            options.threads = 1;
            round_trip(&content, Some(&reference), &options);
            round_trip(&content, None, &options);
        }
    });
}

#[test]
fn sparse_and_constant_contents() {
    each(&ElementType::ALL, |&element| {
        let mut random = Random(600 + u64::from(element.id()));
        let width = element.width();
        let zeros = vec![0; 200_000 * width];
        let constant = random.bytes(width).repeat(200_000);
        let mut sparse = zeros.clone();
        for _ in 0..500 {
            let at = random.below(200_000) as usize * width;
            sparse[at..at + width].copy_from_slice(&random.bytes(width));
        }
        for content in [&zeros, &constant, &sparse] {
            let alone = round_trip(content, None, &fixed(element));
            let same = round_trip(content, Some(content), &fixed(element));
            let against_zeros = round_trip(content, Some(&zeros), &fixed(element));
            assert!(alone < 8000 && same < 400 && against_zeros < 8000, "{element:?}: {alone} {same} {against_zeros}");
        }
        // Low bits that are always zero.
        let mut coarse = weights(element, 30_000, &mut random);
        for value in coarse.chunks_exact_mut(width).filter(|_| width > 1) {
            value[0] &= 0xE0;
        }
        round_trip(&coarse, None, &fixed(element));
        round_trip(&coarse, Some(&moved(element, &coarse, 2, &mut random)), &fixed(element));
    });
}

#[test]
fn random_content_hardly_grows() {
    let mut random = Random(1);
    for length in [1, 100, 5000, 1 << 16, (3 << 20) + 7] {
        let content = random.bytes(length);
        let reference = random.bytes(length);
        for element in ElementType::ALL {
            let most = length + length / 1000 + 1024;
            for reference in [None, Some(reference.as_slice())] {
                if length > 1 << 20 && reference.is_some() != (element.width() > 2) {
                    continue;
                }
                let size = round_trip(&content, reference, &fixed(element));
                assert!(size <= most, "{element:?}: {length} became {size}");
            }
        }
        let mut options = EncoderOptions::default();
        options.threads = 1;
        let size = round_trip(&content, Some(&reference), &options);
        assert!(size <= length + length / 1000 + 1024, "auto: {length} became {size}");
    }
}

#[test]
fn an_empty_content_is_short() {
    for reference in [None, Some(&[][..]), Some(&[1, 2, 3][..])] {
        for element in ElementType::ALL {
            assert!(round_trip(&[], reference, &fixed(element)) <= 128);
        }
        assert!(round_trip(&[], reference, &EncoderOptions::default()) <= 128);
    }
}

#[test]
fn a_content_equal_to_its_reference_is_tiny() {
    let mut random = Random(2);
    let content = weights(ElementType::Bf16, 4 << 20, &mut random);
    let size = round_trip(&content, Some(&content), &fixed(ElementType::Bf16));
    assert!(size <= content.len() / 2000, "{size} bytes");
}

#[test]
fn contents_of_several_windows() {
    let mut random = Random(3);
    let piece = weights(ElementType::Bf16, 1 << 20, &mut random);
    // More than twice a window of the encoder, with an odd tail.
    let mut reference = piece.repeat(35);
    reference.extend([1, 2, 3]);
    let mut content = reference.clone();
    for i in 0..1000 {
        content[i * 70_001] ^= 1;
    }
    let mut options = fixed(ElementType::Bf16);
    options.level = Level::Fast;
    options.threads = 2;
    let size = round_trip(&content, Some(&reference), &options);
    assert!(size < 100_000, "{size}");
}

#[test]
fn a_chunk_length_that_cannot_be_is_refused() {
    for length in [0, 63, (4 << 20) + 1, u32::MAX] {
        let mut options = EncoderOptions::default();
        options.chunk_length = Some(length);
        let encoder = ulpack::Encoder::new(Vec::new(), options, Vec::new());
        assert!(matches!(encoder, Err(Error::Usage(_))));
    }
}

#[test]
fn chunks_are_no_longer_than_asked() {
    let mut random = Random(4);
    let content = weights(ElementType::F32, 5000, &mut random);
    for length in [64, 100, 4096] {
        let mut options = fixed(ElementType::F32);
        options.chunk_length = Some(length);
        let stream = compress(&content, None, &options);
        let boundaries = common::boundaries(&stream);
        assert!(boundaries.windows(2).all(|w| w[1] - w[0] <= length as usize));
        assert_eq!(boundaries.last(), Some(&content.len()));
        assert!(decompress(&stream, None).0 == content);
    }
}
