//! Every kernel against its scalar twin, on elements of all kinds.

use super::*;
use crate::core::bank::TokenClass;
use crate::core::element::ElementType;
use crate::core::pairs::{PairForm, PairTokens};
use crate::core::plain::PlainForm;
use crate::core::table::FrequencyTable;
use crate::core::thresholds::Thresholds;
use crate::core::token::LengthTokens;
use crate::kernel::Kernel;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }
}

/// Elements near their references, far from them, special, equal.
struct Case {
    next: Vec<u8>,
    reference: Vec<u8>,
    profiles: Vec<i8>,
    pieces: Vec<Piece>,
    maps: [TableMap; 3],
}

impl Case {
    fn new(random: &mut Random, width: usize) -> Self {
        let count = 1 + random.below(700);
        let style = random.below(6);
        let (mut next, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let u = match random.below(if style == 0 { 3 } else { 8 }) {
                0 => 0,
                1 => random.next(),
                2 => random.next() << random.below(64),
                _ => 0x3C80_3C80_3C80_3C80 ^ random.next() & 0x81FF_81FF_81FF_81FF,
            };
            let difference = match random.below(4) {
                0 if style < 4 => random.next() >> random.below(64),
                1 => random.next() % 9,
                _ if style == 5 => 0,
                _ => random.next() % 3,
            };
            reference.extend_from_slice(&u.to_le_bytes()[..width]);
            next.extend_from_slice(&u.wrapping_sub(difference).to_le_bytes()[..width]);
        }
        let profiles =
            if style.is_multiple_of(2) { Vec::new() } else { (0..count).map(|_| random.next() as i8).collect() };
        let mut pieces = Vec::new();
        let length = [32, 64, 256, 1024][random.below(4)];
        for start in (0..count).step_by(length) {
            if random.below(4) > 0 {
                let scale = [random.next() as i16, -40, 0, i16::MAX, i16::MIN][random.below(5)].into();
                pieces.push(Piece { start, length: length.min(count - start), scale });
            }
        }
        let maps = std::array::from_fn(|i| {
            let base = [-50, 0, 700, i16::MAX, i16::MIN][random.below(5)];
            if i == 0 {
                return TableMap::identity(base);
            }
            // Tables in few bins and in many; now and then some that no bin has.
            let (least, more) = (random.below(8).min(1), [1, 8][random.below(2)]);
            let steps = (0..random.below(32)).map(|_| (least + random.below(more)) as u8).collect();
            TableMap::new(&Thresholds { base, steps })
        });
        Self { next, reference, profiles, pieces, maps }
    }

    fn input(&self, reference: bool) -> Input<'_> {
        Input { next: &self.next, reference: if reference { &self.reference } else { &[] }, profiles: &self.profiles }
    }
}

fn others() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|k| k.available() && *k != Kernel::Scalar)
}

/// The symbols, all that differs in bits that no token asks for left out.
fn shown(symbols: &Symbols, bits: &[u8; 256]) -> Vec<(u16, u64)> {
    let steps = symbols.steps().iter().enumerate();
    let raw = |i: usize| match symbols.raws() {
        Raws::None => 0,
        Raws::U16(raws) => raws[i].into(),
        Raws::U32(raws) => raws[i].into(),
        Raws::U64(raws) => raws[i],
    };
    steps
        .map(|(i, &s)| (s, raw(i) & !(u64::MAX.checked_shl(bits[usize::from(s & 0xFF)].into()).unwrap_or(0))))
        .collect()
}

fn length_bits(element: ElementType) -> [u8; 256] {
    let tokens = LengthTokens::new(element.width(), 0);
    std::array::from_fn(|t| tokens.raw_bits(t as u8).min(64) as u8)
}

#[test]
fn distances_are_those_of_the_scalar_code() {
    let mut random = Random(1);
    for round in 0..600usize {
        for element in ElementType::ALL {
            let Some(format) = ValueFormat::of(element) else { continue };
            let case = Case::new(&mut random, format.width());
            let shift = if format.width() > 1 { random.below(5) as u32 * (round % 2) as u32 } else { 0 };
            let exponent = random.below(255) as u8;
            for (reference, large, clip) in [(false, false), (true, false), (false, true), (true, true)]
                .into_iter()
                .flat_map(|(r, l)| [(r, l, None), (r, l, Some(Clip { exponent }))])
            {
                let run = |kernel| {
                    let mut out = Vec::new();
                    distances(kernel, format, shift, large, clip, &case.input(reference), &mut out);
                    out
                };
                for kernel in others() {
                    assert_eq!(run(kernel), run(Kernel::Scalar), "{kernel:?} {element:?} {reference} {large} {clip:?}");
                }
            }
        }
    }
}

/// Around the exponent from which sums are made by floats, and the smallest and largest that there are.
#[test]
fn sums_of_distances_are_those_of_integers() {
    let mut random = Random(9);
    for top in [1, 2, 22, 23, 24, 25, 26, 27, 28, 127, 253, 254] {
        for round in 0..20u32 {
            let elements: Vec<u32> = (0..LARGE_UNIT)
                .map(|i| match (i, random.below(4)) {
                    (0, _) => top << 23 | random.below(1 << 23) as u32,
                    (_, 0) => 0,
                    (_, 1) => random.below(1 << 23) as u32,
                    _ => (random.below(top as usize + 1) as u32) << 23 | random.below(1 << 23) as u32,
                })
                .collect();
            let significand = |d: u32| ((d & 0x7F_FFFF) | 0x80_0000) >> (top - (d >> 23)).min(31);
            let expected = UnitSum {
                nonzero: true,
                sum: elements.iter().map(|&d| significand(d)).sum(),
                exponent: top as i16 - 150,
                weight: 0,
            };
            // The sign does not matter.
            let bytes: Vec<u8> = elements.iter().flat_map(|d| (d | (round & 1) << 31).to_le_bytes()).collect();
            let input = Input { next: &bytes, reference: &[], profiles: &[] };
            for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
                let mut out = Vec::new();
                distances(kernel, ValueFormat::F32, 0, true, None, &input, &mut out);
                assert_eq!(out, [expected], "{kernel:?}, exponents up to {top}");
            }
        }
    }
}

#[test]
fn lengths_are_those_of_the_scalar_code() {
    let mut random = Random(2);
    for round in 0..600usize {
        for element in ElementType::ALL {
            let case = Case::new(&mut random, element.width());
            let shift = if element.width() > 1 { random.below(7) as u8 * (round % 2) as u8 } else { 0 };
            let bits = length_bits(element);
            for reference in [false, true] {
                let lengths = Lengths::new(element, shift, reference);
                let run = |kernel| {
                    let mut symbols = Symbols::default();
                    lengths.symbols(kernel, &case.maps[round % 2], &case.input(reference), &case.pieces, &mut symbols);
                    shown(&symbols, &bits)
                };
                for kernel in others() {
                    assert_eq!(run(kernel), run(Kernel::Scalar), "{kernel:?} {element:?} {reference}");
                }
            }
        }
    }
}

/// The scalar code of this module against that of the decoder's side, one element at a time.
#[test]
fn lengths_are_those_of_the_spec() {
    use crate::core::lambda::{ExponentTerm, clamp16};
    use crate::core::residual::{Ring, zigzag};
    let mut random = Random(3);
    let value = |bytes: &[u8], i: usize, width: usize| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(&bytes[i * width..(i + 1) * width]);
        u64::from_le_bytes(word)
    };
    for _ in 0..300 {
        for element in ElementType::ALL {
            let width = element.width();
            let case = Case::new(&mut random, width);
            let shift = if width > 1 { random.below(5) as u8 } else { 0 };
            let ring = Ring::new(element, shift);
            let tokens = LengthTokens::new(width, shift);
            for reference in [false, true] {
                let term = ExponentTerm::new(element, shift).filter(|_| reference);
                let map = &case.maps[1];
                let mut expected = Vec::new();
                for piece in &case.pieces {
                    for i in piece.start..piece.start + piece.length {
                        let next = value(&case.next, i, width) >> shift;
                        let old = value(&case.reference, i, width) >> shift;
                        let z = match (reference, element.class()) {
                            (true, _) => ring.zigzag(next, old),
                            (false, crate::core::element::Class::Signed) if width > 1 => zigzag(next, ring.bits),
                            _ => next,
                        };
                        let profile = case.profiles.get(i).map_or(0, |&p| i32::from(p));
                        let lambda = clamp16(piece.scale + profile + term.map_or(0, |t| t.of(old)));
                        let token = tokens.token(z);
                        let raw = if width == 1 { 0 } else { tokens.raw(token, z) };
                        expected.push((u16::from(map.table(lambda)) << 8 | u16::from(token), raw));
                    }
                }
                let mut symbols = Symbols::default();
                let lengths = Lengths::new(element, shift, reference);
                lengths.symbols(Kernel::Scalar, map, &case.input(reference), &case.pieces, &mut symbols);
                assert_eq!(shown(&symbols, &length_bits(element)), expected, "{element:?} {reference}");
            }
        }
    }
}

#[test]
fn masks_are_those_of_the_scalar_code_and_of_the_lengths() {
    let mut random = Random(4);
    for round in 0..400usize {
        for element in ElementType::ALL {
            let case = Case::new(&mut random, element.width());
            let shift = if element.width() > 1 { random.below(5) as u8 * (round % 2) as u8 } else { 0 };
            let lengths = Lengths::new(element, shift, true);
            let bits = length_bits(element);
            let maps = (&case.maps[1], &case.maps[2]);
            let run = |kernel| {
                let (mut symbols, mut sets) = (Symbols::default(), Vec::new());
                lengths.masks(kernel, maps, &case.input(true), &case.pieces, &mut sets, &mut symbols);
                (shown(&symbols, &bits), sets)
            };
            let (elements, sets) = run(Kernel::Scalar);
            for kernel in others() {
                assert_eq!(run(kernel), (elements.clone(), sets.clone()), "{kernel:?} {element:?}");
            }
            let mut dense = Symbols::default();
            lengths.symbols(Kernel::Scalar, maps.1, &case.input(true), &case.pieces, &mut dense);
            let (bytes, keep) = (element.width(), u64::MAX >> shift << shift);
            let differs = |i: usize| {
                (0..bytes).any(|k| {
                    let at = i * bytes + k;
                    (case.next[at] ^ case.reference[at]) & (keep >> (8 * k)) as u8 != 0
                })
            };
            let indices: Vec<usize> = case.pieces.iter().flat_map(|p| p.start..p.start + p.length).collect();
            let changed = |(i, _): &(usize, _)| differs(indices[*i]);
            let of_dense = shown(&dense, &bits).into_iter().enumerate().filter(changed);
            assert_eq!(elements, of_dense.map(|(_, s)| s).collect::<Vec<_>>(), "{element:?}");
            let count: u32 = sets.iter().map(|s| (s & 0xFF).count_ones()).sum();
            assert_eq!(count as usize, elements.len());
        }
    }
}

#[test]
fn plain_tokens_are_those_of_the_spec_in_every_kernel() {
    let mut random = Random(5);
    for round in 0..300usize {
        for element in [ElementType::Bf16, ElementType::F16, ElementType::F32, ElementType::F64] {
            let width = element.width();
            let case = Case::new(&mut random, width);
            let shift = random.below(6) as u8 * (round % 2) as u8;
            let window = 1 + random.below(60) as u8;
            let form = PlainForm { sign: round & 2 > 0, top: round & 4 > 0, centre: random.below(80) as u8, window };
            let Some(plains) = Plains::new(element, shift, form) else { panic!("{element:?}") };
            let Some(tokens) = crate::core::plain::PlainTokens::new(element, shift, form) else {
                panic!("{element:?}")
            };
            let bits = std::array::from_fn(|t| tokens.raw_bits(t as u8) as u8);
            let mut expected = Vec::new();
            for piece in &case.pieces {
                for i in piece.start..piece.start + piece.length {
                    let mut word = [0; 8];
                    word[..width].copy_from_slice(&case.next[i * width..(i + 1) * width]);
                    let profile = case.profiles.get(i).map_or(0, |&p| i32::from(p));
                    let lambda = (piece.scale + profile).clamp(i16::MIN.into(), i16::MAX.into());
                    let (token, raw) = tokens.token(u64::from_le_bytes(word) >> shift, lambda);
                    expected.push((u16::from(case.maps[1].table(lambda)) << 8 | u16::from(token), raw));
                }
            }
            for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
                let mut symbols = Symbols::default();
                plains.symbols(kernel, &case.maps[1], &case.input(false), &case.pieces, &mut symbols);
                assert_eq!(shown(&symbols, &bits), expected, "{kernel:?} {element:?} {form:?}");
            }
        }
    }
}

#[test]
fn pair_tokens_are_those_of_the_spec_in_every_kernel() {
    let mut random = Random(7);
    for round in 0..300usize {
        for element in [ElementType::Bf16, ElementType::F16, ElementType::F32] {
            let width = element.width();
            let mut case = Case::new(&mut random, width);
            let count = case.next.len() / width;
            for piece in &mut case.pieces {
                piece.start &= !63;
                piece.length = piece.length.next_multiple_of(64).min(count - piece.start);
            }
            case.pieces.dedup_by_key(|piece| piece.start);
            let shift = random.below(6) as u8 * (round % 2) as u8;
            let form = PairForm { centre: random.below(80) as u8, window: 1 + random.below(15) as u8 };
            let Some(pairs) = Pairs::new(element, shift, form) else { panic!("{element:?}") };
            let Some(tokens) = PairTokens::new(element, shift, form) else { panic!("{element:?}") };
            let bits = std::array::from_fn(|t| tokens.raw_bits(t as u8) as u8);
            let mut expected = Vec::new();
            for piece in &case.pieces {
                let lambda = piece.scale.clamp(i16::MIN.into(), i16::MAX.into());
                let element = |i: usize| {
                    let mut word = [0; 8];
                    word[..width].copy_from_slice(&case.next[i * width..(i + 1) * width]);
                    u64::from_le_bytes(word) >> shift
                };
                let end = piece.start + piece.length;
                for i in (piece.start..end).step_by(2) {
                    let (token, raw) = tokens.token([element(i), element((i + 1).min(end - 1))], lambda);
                    expected.push((u16::from(case.maps[1].table(lambda)) << 8 | u16::from(token), raw));
                }
            }
            for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
                let mut symbols = Symbols::default();
                pairs.symbols(kernel, &case.maps[1], &case.input(false), &case.pieces, &mut symbols);
                assert_eq!(shown(&symbols, &bits), expected, "{kernel:?} {element:?} {form:?}");
            }
        }
    }
}

/// What the coder writes, the decoder's lanes read back; and every kernel writes the same.
#[test]
fn lanes_give_back_what_they_took() {
    use crate::core::bank::{Bank, DecodeBank};
    use crate::core::lanes::Lanes;
    let mut random = Random(6);
    for round in 0..300usize {
        let tables: Vec<FrequencyTable> = (0..1 + random.below(5)).map(|_| table(&mut random)).collect();
        let bank = Bank {
            class: TokenClass::Byte,
            precision: 12,
            scale: None,
            mask_thresholds: Thresholds::default(),
            masks: Vec::new(),
            element_thresholds: Thresholds { base: 0, steps: vec![1; tables.len() - 1] },
            elements: tables.clone(),
        };
        let decode = DecodeBank::new(&bank);
        let limit = [0, 16, 32, 64][round % 4];
        let bits: [u8; 256] = std::array::from_fn(|_| (random.below(limit + 1)) as u8);
        let encoders = StepTable::new(&tables, &bits, None);
        let log2 = [5, 5, 0, 1, 2, 3, 4][random.below(7)];
        let (mut phases, lanes) = (Vec::new(), 1usize << log2);
        for _ in 0..2 {
            let steps: Vec<u16> = (0..random.below(900))
                .map(|_| {
                    let t = random.below(tables.len());
                    let symbols: Vec<usize> = (0..256).filter(|&s| tables[t].0[s] > 0).collect();
                    (t << 8 | symbols[random.below(symbols.len())]) as u16
                })
                .collect();
            let raws: Vec<u64> = steps.iter().map(|_| random.next()).collect();
            phases.push((steps, raws));
        }
        let run = |kernel| {
            let mut words = vec![0xAA; random_length(round)];
            let mut coder = Coder::new(log2, &mut words);
            for (steps, raws) in phases.iter().rev() {
                // Two calls, the later elements first.
                let middle = steps.len() / 2 / 32 * 32;
                for range in [middle..steps.len(), 0..middle] {
                    let raws = &raws[range.clone()];
                    let raws16: Vec<u16> = raws.iter().map(|&r| r as u16).collect();
                    let raws32: Vec<u32> = raws.iter().map(|&r| r as u32).collect();
                    let raws = match limit {
                        0 => Raws::None,
                        16 => Raws::U16(&raws16),
                        32 => Raws::U32(&raws32),
                        _ => Raws::U64(raws),
                    };
                    coder.take(kernel, &encoders, &steps[range], raws);
                }
            }
            let mut out = Vec::new();
            coder.finish(&mut out);
            out
        };
        let data = run(Kernel::Scalar);
        for kernel in others() {
            assert_eq!(run(kernel), data, "{kernel:?} {lanes} lanes, {limit} raw bits");
        }
        let mut decoder = Lanes::new(&data, log2).unwrap();
        for (steps, raws) in &phases {
            for (steps, raws) in steps.chunks(lanes).zip(raws.chunks(lanes)) {
                let (mut index, mut symbols, mut row_bits) = ([0; 32], [0; 32], [0; 32]);
                for (index, step) in index.iter_mut().zip(steps) {
                    *index = (step >> 8) as u8;
                }
                decoder.symbols(&decode.elements, &index, steps.len(), &mut symbols).unwrap();
                for ((&step, &symbol), row_bits) in steps.iter().zip(&symbols).zip(&mut row_bits) {
                    assert_eq!(symbol, step as u8);
                    *row_bits = bits[usize::from(symbol)];
                }
                let mut read = [0u64; 32];
                decoder.raw_bits(&row_bits, &mut read).unwrap();
                for ((read, &raw), &bits) in read.iter().zip(raws).zip(&row_bits) {
                    assert_eq!(*read, raw & !u64::MAX.checked_shl(bits.into()).unwrap_or(0));
                }
            }
        }
        decoder.finish().unwrap();
    }
}

fn random_length(round: usize) -> usize {
    round * 37 % 5000
}

/// A table of few symbols or many, one of them now and then nearly or wholly certain.
fn table(random: &mut Random) -> FrequencyTable {
    let mut table = FrequencyTable([0; 256]);
    let mut left = 4096u16;
    let first = random.below(200);
    for _ in 0..random.below(90) {
        let most = [3, 200, 3000][random.below(3)];
        let take = (1 + random.below(most) as u16).min(left - 1);
        table.0[first + 1 + random.below(55)] += take;
        left -= take;
    }
    table.0[first] = left;
    table
}
