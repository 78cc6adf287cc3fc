//! Substreams of all kinds, made from a few bytes, and the comparison of every kernel with the scalar code.
#![allow(dead_code, missing_docs, unreachable_pub)]

use ulpack::ElementType;
use ulpack::core::bank::{Bank, DecodeBank, TokenClass};
use ulpack::core::element::Class;
use ulpack::core::lambda::{ExponentTerm, clamp16};
use ulpack::core::model::Model;
use ulpack::core::pairs::{PairForm, PairTokens};
use ulpack::core::plain::{PlainForm, PlainTokens};
use ulpack::core::residual::{Ring, zigzag};
use ulpack::core::table::{FrequencyTable, encode_table};
use ulpack::core::thresholds::{TableMap, Thresholds};
use ulpack::core::token::{ESC, LengthTokens};
use ulpack::decode::substream::{Job, Substream};
use ulpack::kernel::Kernel;

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 8) % n.max(1)
    }
}

/// A substream with data that may be good or not.
pub struct Case {
    element: ElementType,
    model: Model,
    shift: u8,
    block: u8,
    lanes: u8,
    scale_base: i16,
    bank: Bank,
    decoders: DecodeBank,
    profiles: Vec<i8>,
    reference: Vec<u8>,
    count: usize,
    data: Vec<u8>,
    /// The elements, where the data is good.
    content: Option<Vec<u8>>,
}

/// A table in which every symbol of the alphabet has a frequency, a few of them large ones.
fn table(random: &mut Random, alphabet: usize) -> FrequencyTable {
    let mut frequencies = [0u16; 256];
    frequencies[..alphabet].fill(1);
    let mut left = 4096 - alphabet as u16;
    let centre = random.below(alphabet as u64);
    while left > 0 {
        let spread = 1 + random.below(24);
        let symbol = (centre + random.below(spread)) % alphabet as u64;
        let more = (1 + random.below(600) as u16).min(left);
        frequencies[symbol as usize] += more;
        left -= more;
    }
    FrequencyTable(frequencies)
}

/// One step of a lane, in decoding order.
enum Step {
    Symbol { lane: usize, frequency: u32, cumulative: u32 },
    Raw { lane: usize, bits: u32, value: u32 },
}

fn rans(steps: &[Step], lanes: usize) -> Vec<u8> {
    let mut states = vec![1u32 << 16; lanes];
    let mut words = Vec::new();
    for step in steps.iter().rev() {
        match *step {
            Step::Symbol { lane, frequency, cumulative } => {
                let x = &mut states[lane];
                if u64::from(*x) >= u64::from(frequency) << 20 {
                    words.push(*x as u16);
                    *x >>= 16;
                }
                *x = ((*x / frequency) << 12) + *x % frequency + cumulative;
            }
            Step::Raw { lane, bits, value } => {
                let x = &mut states[lane];
                if (u64::from(*x) << bits) >> 32 != 0 {
                    words.push(*x as u16);
                    *x >>= 16;
                }
                *x = *x << bits | value;
            }
        }
    }
    let states = states.iter().flat_map(|x| x.to_le_bytes());
    states.chain(words.iter().rev().flat_map(|w| w.to_le_bytes())).collect()
}

impl Case {
    /// A case from any bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
        let mut seed = [0; 8];
        for (i, seed) in seed.iter_mut().enumerate() {
            *seed = byte(8 + i);
        }
        let mut random = Random(u64::from_le_bytes(seed));
        let element = ElementType::ALL[usize::from(byte(0)) % 15];
        let model = [Model::Residual, Model::Plain, Model::Mask][usize::from(byte(1)) % 3];
        let width = element.width();
        let mantissa =
            if let Class::Float { mantissa, .. } = element.class() { mantissa as u8 } else { 8 * width as u8 };
        let plain_float = model == Model::Plain && element.is_float() && width > 1;
        let mut shift = if width == 1 || byte(2) < 128 { 0 } else { byte(2) % mantissa };
        let pairs = plain_float && width < 8 && byte(3) & 4 == 4;
        let class = if pairs {
            TokenClass::Pairs(PairForm { centre: random.next() as u8, window: 1 + random.below(15) as u8 })
        } else if plain_float {
            let (sign, top) = (byte(3) & 1 == 1, byte(3) & 2 == 2);
            let most = (254 >> (u8::from(sign) + u8::from(top))).min(254) as u64;
            let window = 1 + random.below(most) as u8;
            shift = shift.min(mantissa - u8::from(top));
            TokenClass::Plain(PlainForm { sign, top, centre: random.next() as u8, window })
        } else {
            TokenClass::of_lengths(element)
        };
        let block = match byte(4) % 4 {
            0 => 0,
            _ if model == Model::Mask => 8 + byte(4) / 4 % 3,
            _ => 5 + u8::from(pairs) + byte(4) / 4 % 6,
        };
        let lanes = if byte(5) % 4 == 0 { byte(5) / 4 % 6 } else { 5 };
        let count = usize::from(u16::from_le_bytes([byte(6), byte(7)])) % 5000;
        let tables = |random: &mut Random, alphabet| {
            let number = 1 + random.below(31) as usize;
            let steps = (1..number).map(|_| 1 + random.below(8) as u8).collect();
            let base = match random.below(8) {
                0 => i16::MAX - random.below(300) as i16,
                1 => random.next() as i16,
                _ => random.below(300) as i16 - 150,
            };
            let tables = (0..number).map(|_| table(random, alphabet)).collect();
            (Thresholds { base, steps }, tables)
        };
        let (element_thresholds, elements) = tables(&mut random, class.alphabet());
        let (mask_thresholds, masks) = tables(&mut random, 256);
        let scale = Some(table(&mut random, 40));
        let bank = Bank { class, precision: 12, scale, mask_thresholds, masks, element_thresholds, elements };
        let decoders = DecodeBank::new(&bank);
        let profiles =
            if byte(16) % 3 == 0 && !pairs { (0..count).map(|_| random.next() as i8).collect() } else { Vec::new() };
        let reference = if model == Model::Plain {
            Vec::new()
        } else {
            // Mostly of one magnitude; some any.
            let common = random.next();
            let top = 64 - 8 * width as u32;
            let elements = (0..count).map(|_| {
                let u = if random.below(16) == 0 { random.next() } else { common ^ random.next() >> (top + 4) };
                u >> shift << shift
            });
            elements.flat_map(|u| u.to_le_bytes()[..width].to_vec()).collect()
        };
        let scale_base = match byte(17) % 8 {
            0 => i16::MAX - random.below(300) as i16,
            1 => random.next() as i16,
            _ => random.below(400) as i16 - 200,
        };
        let data = Vec::new();
        let mut case = Self {
            element,
            model,
            shift,
            block,
            lanes,
            scale_base,
            bank,
            decoders,
            profiles,
            reference,
            count,
            data,
            content: None,
        };
        let kind = byte(18) % 4;
        if kind == 0 {
            // Any words: good states, and nothing else that must be good.
            case.data = (0..4 << lanes).map(|i| if i % 4 == 2 { 1 } else { random.next() as u8 }).collect();
            if bytes.len() > 32 {
                case.data.extend_from_slice(&bytes[32..]);
            } else {
                let length = random.below(20_000);
                case.data.extend((0..length).map(|_| (random.next() >> 32) as u8));
            }
            return case;
        }
        let content = case.encode(&mut random);
        match kind {
            1 => {
                let at = random.below(case.data.len() as u64) as usize;
                case.data[at] ^= 1 << random.below(8);
            }
            2 if byte(19) < 128 => case.data.truncate(random.below(case.data.len() as u64) as usize),
            2 => case.data.push(byte(20)),
            _ => case.content = Some(content),
        }
        case
    }

    /// Makes up elements and codes them; gives the elements.
    fn encode(&mut self, random: &mut Random) -> Vec<u8> {
        let width = self.element.width();
        let ring = Ring::new(self.element, self.shift);
        let (lanes, count) = (1usize << self.lanes, self.count);
        let mut steps = Vec::new();
        let length = if self.block == 0 { count.max(1) } else { 1 << self.block };
        let mut scales = vec![i32::from(self.scale_base)];
        let symbol = |lane: usize, table: &FrequencyTable, symbol: u8| {
            let entry = encode_table(table)[usize::from(symbol)];
            assert!(entry.frequency > 0);
            Step::Symbol { lane, frequency: entry.frequency.into(), cumulative: entry.cumulative.into() }
        };
        if self.block != 0 {
            scales.clear();
            let mut previous = i32::from(self.scale_base);
            for i in 0..count.div_ceil(length) {
                let s = if random.below(4) == 0 { 0 } else { random.below(40) as u8 };
                steps.push(symbol(i % lanes, self.bank.scale.as_ref().unwrap(), s));
                scales.push(i32::MIN);
                if s > 0 {
                    let z = i32::from(s) - 1;
                    previous = clamp16(previous + if z & 1 == 0 { z / 2 } else { -(z + 1) / 2 });
                    *scales.last_mut().unwrap() = previous;
                }
            }
        }
        let pattern = |i: usize| {
            let mut bytes = [0; 8];
            if let Some(own) = self.reference.get(i * width..(i + 1) * width) {
                bytes[..width].copy_from_slice(own);
            }
            u64::from_le_bytes(bytes) >> self.shift
        };
        let term = ExponentTerm::new(self.element, self.shift).filter(|_| self.model != Model::Plain);
        let lambda = |i: usize| {
            let profile = self.profiles.get(i).map_or(0, |&p| i32::from(p));
            clamp16(scales[i / length].max(-40_000) + profile + term.map_or(0, |t| t.of(pattern(i))))
        };
        let zero = |i: usize| scales[i / length] == i32::MIN;
        let elements: Vec<u64> = (0..count)
            .map(|i| match (zero(i), self.model) {
                (true, Model::Plain) => 0,
                (true, _) => pattern(i),
                _ => match random.below(8) {
                    0 => random.next() & ring.mask,
                    1..4 => pattern(i),
                    _ if self.bank.class.elements() == 2 => self.within_window(lambda(i), random),
                    _ => {
                        let z = random.next() >> random.below(64) & ring.mask;
                        if self.model == Model::Plain { z } else { ring.unzigzag(z, pattern(i)) }
                    }
                },
            })
            .collect();
        // The elements with steps of their own, or the first ones of pairs: place, lane.
        let each = self.bank.class.elements();
        let steps_of = (0..count).step_by(each).filter(|&i| !zero(i));
        let mut coded: Vec<(usize, usize)> = steps_of.map(|i| (i, i / each % lanes)).collect();
        if self.model == Model::Mask {
            let map = TableMap::new(&self.bank.mask_thresholds);
            for group in 0..count.div_ceil(8) {
                let members = 8 * group..count.min(8 * group + 8);
                if zero(8 * group) {
                    continue;
                }
                let largest = members.clone().map(lambda).max().unwrap();
                let set = members.filter(|&i| elements[i] != pattern(i)).fold(0u8, |set, i| set | 1 << (i % 8));
                steps.push(symbol(group % lanes, &self.bank.masks[usize::from(map.table(largest))], set));
            }
            coded.retain(|&(i, _)| elements[i] != pattern(i));
            coded.iter_mut().enumerate().for_each(|(j, (_, lane))| *lane = j % lanes);
        }
        let map = TableMap::new(&self.bank.element_thresholds);
        let lengths = LengthTokens::new(width, self.shift);
        let plain = match self.bank.class {
            TokenClass::Plain(form) => PlainTokens::new(self.element, self.shift, form),
            _ => None,
        };
        let pairs = match self.bank.class {
            TokenClass::Pairs(form) => PairTokens::new(self.element, self.shift, form),
            _ => None,
        };
        let mut at = 0;
        while at < coded.len() {
            // A row ends where the lane number falls.
            let row = coded[at..].windows(2).position(|w| w[1].1 <= w[0].1).map_or(coded.len() - at, |p| p + 1);
            let mut raws = Vec::new();
            for &(i, lane) in &coded[at..at + row] {
                let lambda = lambda(i);
                let (token, raw, bits) = if let Some(plain) = plain {
                    let (token, raw) = plain.token(elements[i], lambda);
                    (token, raw, plain.raw_bits(token))
                } else if let Some(pairs) = pairs {
                    let (token, raw) = pairs.token([elements[i], elements[(i + 1).min(count - 1)]], lambda);
                    (token, raw, pairs.raw_bits(token))
                } else {
                    let z = match (self.model, self.element.class()) {
                        (Model::Plain, Class::Signed) if width > 1 => zigzag(elements[i], ring.bits),
                        (Model::Plain, _) => elements[i],
                        _ => ring.zigzag(elements[i], pattern(i)),
                    };
                    let escaped = lengths.refinement == Some(2) && random.below(16) == 0;
                    let token = if escaped { ESC | (z & 1) as u8 } else { lengths.token(z) };
                    (token, lengths.raw(token, z), lengths.raw_bits(token))
                };
                steps.push(symbol(lane, &self.bank.elements[usize::from(map.table(lambda))], token));
                raws.push((lane, raw, bits));
            }
            for pass in 0..4 {
                for &(lane, raw, bits) in &raws {
                    let take = bits.saturating_sub(16 * pass).min(16);
                    if take > 0 {
                        let value = (raw >> (16 * pass)) as u32 & ((1 << take) - 1);
                        steps.push(Step::Raw { lane, bits: take, value });
                    }
                }
            }
            at += row;
        }
        let data = rans(&steps, lanes);
        let content = elements.iter().flat_map(|u| (u << self.shift).to_le_bytes()[..width].to_vec()).collect();
        self.data = data;
        content
    }

    /// A pattern whose exponent is within the window of pairs, where the type has it.
    fn within_window(&self, lambda: i32, random: &mut Random) -> u64 {
        let (TokenClass::Pairs(form), Class::Float { bias, mantissa, exponent }) =
            (self.bank.class, self.element.class())
        else {
            unreachable!("only pairs have such a window");
        };
        let e = (lambda >> 2) + bias - i32::from(form.centre) + random.below(form.window.into()) as i32;
        let e = e.clamp(0, (1 << exponent) - 1) as u64;
        let mantissa = mantissa - u32::from(self.shift);
        let low = random.next() & ((1 << mantissa) - 1);
        random.below(2) << (exponent + mantissa) | e << mantissa | low
    }

    fn job<'a>(&'a self, out: &'a mut [u8]) -> Job<'a> {
        let Self { element, model, shift, block, lanes, scale_base, .. } = *self;
        let (bank, profiles) = (&self.decoders, self.profiles.as_slice());
        let substream = Substream { model, element, shift, block, lanes, scale_base, bank, profiles };
        Job { substream, data: &self.data, reference: &self.reference, out }
    }

    fn out(&self) -> Vec<u8> {
        vec![0xA5; self.count * self.element.width()]
    }

    /// What the scalar code makes of it: the elements, or the error.
    fn expected(&self) -> (Result<(), String>, Vec<u8>) {
        let mut out = self.out();
        let result = self.job(&mut out).decode(Kernel::Scalar).map_err(|e| e.to_string());
        if let Some(content) = &self.content {
            assert_eq!(result, Ok(()), "{}", self.name());
            assert!(out == *content, "the scalar code differs from what was coded: {}", self.name());
        }
        (result, out)
    }

    fn check(&self, what: &str, expected: &(Result<(), String>, Vec<u8>), result: ulpack::Result<()>, out: &[u8]) {
        let result = result.map_err(|e| e.to_string());
        assert_eq!(result, expected.0, "{what}: {}", self.name());
        // After an error the elements are nobody's, unless only the end was wrong.
        let whole = match &expected.0 {
            Ok(()) => true,
            Err(error) => error.contains("left over") || error.contains("initial state"),
        };
        if whole {
            let width = self.element.width();
            let differs = out.chunks(width).zip(expected.1.chunks(width)).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{what}: {}", self.name());
        }
    }

    /// What to call the case.
    pub fn name(&self) -> String {
        let Self { element, model, shift, block, lanes, count, .. } = self;
        let (profiles, good) = (!self.profiles.is_empty(), self.content.is_some());
        format!(
            "{model:?} {element:?} shift {shift} block {block} lanes {lanes} count {count} profiles {profiles} good {good}"
        )
    }

    /// Whether the data is good.
    pub fn is_good(&self) -> bool {
        self.content.is_some()
    }
}

/// Every kernel of this machine.
pub fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|k| k.available())
}

/// Decodes the substream that `bytes` describe with the scalar code and with every kernel, alone and beside itself and another: all must agree.
pub fn scalar_vs_fast(bytes: &[u8]) {
    let case = Case::new(bytes);
    let mut changed = bytes.to_vec();
    changed.resize(changed.len().max(19), 0);
    changed[10] ^= 1;
    changed[6] ^= 77;
    let other = Case::new(&changed);
    let (expected, expected_other) = (case.expected(), other.expected());
    for kernel in kernels() {
        let mut out = case.out();
        let result = case.job(&mut out).decode(kernel);
        case.check(kernel.name(), &expected, result, &out);
        let (mut first, mut second) = (case.out(), other.out());
        let [a, b] = Job::decode_two(case.job(&mut first), other.job(&mut second), kernel);
        case.check(kernel.name(), &expected, a, &first);
        other.check(kernel.name(), &expected_other, b, &second);
    }
}
