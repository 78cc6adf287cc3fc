//! From elements to symbols: magnitudes, statistics, and the substream's data (spec §10, §11).

use crate::core::bank::{Bank, TokenClass};
use crate::core::element::{Class, ElementType};
use crate::core::lambda::{ExponentTerm, clamp16};
use crate::core::model::Model;
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, zigzag};
use crate::core::table::{EncodeEntry, FrequencyTable, encode_table};
use crate::core::thresholds::TableMap;
use crate::core::token::LengthTokens;
use crate::core::word::Word;
use crate::encode::bank::Statistics;
use crate::encode::magnitude::{Magnitude, UNIT, blocks};
use crate::encode::rans::{Lanes, Step, step};
use crate::encode::scales::Scales;
use crate::with_word;

/// How the elements of a kind are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    /// RESIDUAL, MASK or PLAIN.
    pub model: Model,
    /// Element type.
    pub element: ElementType,
    /// Low bits dropped: zero in every element.
    pub shift: u8,
    /// log2 of the block length, 0 for the whole substream.
    pub block: u8,
    /// Meaning of the element symbols; fits model and element type.
    pub class: TokenClass,
    /// Changes of scale, in quarter octaves, that are not worth a symbol.
    pub hold: i32,
}

/// Some elements, contiguous.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    /// The elements' bytes.
    pub next: &'a [u8],
    /// As many bytes of reference, converted; empty where the model uses none.
    pub reference: &'a [u8],
    /// Profile value of each element, or empty for zeros.
    pub profiles: &'a [i8],
}

/// A bank made ready for encoding.
#[derive(Clone, Debug)]
pub struct EncodeBank {
    scale: Vec<EncodeEntry>,
    mask_map: TableMap,
    masks: Vec<EncodeEntry>,
    element_map: TableMap,
    elements: Vec<EncodeEntry>,
}

impl EncodeBank {
    /// Builds the encoders of a bank.
    #[must_use]
    pub fn new(bank: &Bank) -> Self {
        let entries = |tables: &[FrequencyTable]| tables.iter().flat_map(encode_table).collect();
        Self {
            scale: entries(bank.scale.as_slice()),
            mask_map: TableMap::new(&bank.mask_thresholds),
            masks: entries(&bank.masks),
            element_map: TableMap::new(&bank.element_thresholds),
            elements: entries(&bank.elements),
        }
    }
}

/// 2^(k/4) with 14 fraction bits.
const QUARTER: [u64; 4] = [16_384, 19_484, 23_170, 27_554];

/// `magnitude` · 2^(`exponent` − profile/4).
#[inline(always)]
pub(crate) fn weigh(mut magnitude: u64, mut exponent: i32, profile: i32) -> (u64, i32) {
    if profile == 0 {
        return (magnitude, exponent);
    }
    if magnitude >> 48 != 0 {
        magnitude >>= 16;
        exponent += 16;
    }
    let q = -profile;
    #[allow(clippy::cast_sign_loss)]
    let factor = QUARTER[(q & 3) as usize];
    (magnitude * factor, exponent + (q >> 2) - 14)
}

/// What the models see of one element before the scale is known.
trait Source {
    /// Whether the element has a symbol of its own, its magnitude in units of 2^exponent.
    fn magnitude(&self, i: usize) -> (bool, u64, i32);
    /// Part of λ besides scale and profile.
    fn term(&self, i: usize) -> i32;
    /// Token and raw bits under λ.
    fn token(&self, i: usize, lambda: i32) -> (u8, u64);
    /// Number of raw bits after a token.
    fn raw_bits(&self, token: u8) -> u32;
}

/// Residuals, and integers without reference (residuals against zero, in effect).
struct Lengths<'a, W> {
    elements: Elements<'a>,
    ring: Ring,
    shift: u8,
    term: Option<ExponentTerm>,
    tokens: LengthTokens,
    plain: Option<Class>,
    float: Option<Float>,
    word: std::marker::PhantomData<W>,
}

impl<'a, W: Word> Lengths<'a, W> {
    fn new(coding: &Coding, elements: Elements<'a>) -> Self {
        let plain = (coding.model == Model::Plain).then(|| coding.element.class());
        Self {
            elements,
            ring: Ring::new(coding.element, coding.shift),
            shift: coding.shift,
            term: ExponentTerm::new(coding.element, coding.shift).filter(|_| plain.is_none()),
            tokens: LengthTokens::for_width(W::BYTES),
            plain,
            float: Float::new(coding.element, coding.shift),
            word: std::marker::PhantomData,
        }
    }

    #[inline(always)]
    fn next(&self, i: usize) -> u64 {
        W::load(self.elements.next, i).wide() >> self.shift
    }

    #[inline(always)]
    fn reference(&self, i: usize) -> u64 {
        W::load(self.elements.reference, i).wide() >> self.shift
    }

    #[inline(always)]
    fn z(&self, i: usize) -> u64 {
        match self.plain {
            None => self.ring.zigzag(self.next(i), self.reference(i)),
            Some(Class::Signed) if W::BYTES > 1 => zigzag(self.next(i), self.ring.bits),
            Some(_) => self.next(i),
        }
    }
}

impl<W: Word> Source for Lengths<'_, W> {
    #[inline(always)]
    fn magnitude(&self, i: usize) -> (bool, u64, i32) {
        let z = self.z(i);
        match (self.plain, self.float) {
            (None, Some(float)) => {
                let (magnitude, exponent) = float.distance(self.next(i), self.reference(i));
                (z != 0, magnitude, exponent)
            }
            (Some(_), Some(float)) => {
                // An 8-bit float coded as a byte: its value still makes the scale.
                let (magnitude, exponent) = float.significand(z);
                (z != 0, magnitude, exponent)
            }
            (None, None) => (z != 0, z.div_ceil(2), 0),
            (Some(Class::Signed), _) => (z != 0, z.div_ceil(2), 0),
            _ => (z != 0, z, 0),
        }
    }

    #[inline(always)]
    fn term(&self, i: usize) -> i32 {
        match self.term {
            Some(term) => term.of(self.reference(i)),
            None => 0,
        }
    }

    #[inline(always)]
    fn token(&self, i: usize, _: i32) -> (u8, u64) {
        let z = self.z(i);
        let token = self.tokens.token(z);
        (token, self.tokens.raw(token, z))
    }

    fn raw_bits(&self, token: u8) -> u32 {
        self.tokens.raw_bits(token)
    }
}

/// Values of float patterns of w' bits.
#[derive(Clone, Copy)]
pub(crate) struct Float {
    mantissa: u32,
    exponent: u32,
    bias: i32,
}

/// Bits below the larger significand that a distance keeps.
const GUARD: u32 = 8;

impl Float {
    pub(crate) fn new(element: ElementType, shift: u8) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        Some(Self { mantissa: mantissa.saturating_sub(u32::from(shift)), exponent, bias })
    }

    /// Significand and exponent of a pattern; zero for infinities and NaN, which would drown all else.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub(crate) fn significand(self, u: u64) -> (u64, i32) {
        let mask = (1u64 << self.exponent) - 1;
        let e = (u >> self.mantissa) & mask;
        if e == mask {
            return (0, 0);
        }
        let low = u & ((1 << self.mantissa) - 1);
        let lead = if e > 0 { 1 << self.mantissa } else { 0 };
        (low | lead, e.max(1) as i32 - self.bias - self.mantissa as i32)
    }

    /// |next − reference| as a significand and an exponent, to [`GUARD`] bits below the larger one's last.
    ///
    /// Not the residual in ulps: that counts an octave that is crossed as much as the octave of the reference.
    #[inline(always)]
    pub(crate) fn distance(self, next: u64, reference: u64) -> (u64, i32) {
        let (a, ea) = self.significand(next);
        let (b, eb) = self.significand(reference);
        let e = ea.max(eb);
        let aligned = |significand: u64, exponent: i32| (significand << GUARD) >> (e - exponent).min(63);
        let (a, b) = (aligned(a, ea), aligned(b, eb));
        let negative = (next ^ reference) >> (self.mantissa + self.exponent) & 1 == 1;
        #[allow(clippy::cast_possible_wrap)]
        (if negative { a + b } else { a.abs_diff(b) }, e - GUARD as i32)
    }
}

/// Floats without reference.
struct Floats<'a, W> {
    next: &'a [u8],
    shift: u8,
    float: Float,
    tokens: PlainTokens,
    word: std::marker::PhantomData<W>,
}

impl<W: Word> Source for Floats<'_, W> {
    #[inline(always)]
    fn magnitude(&self, i: usize) -> (bool, u64, i32) {
        let u = W::load(self.next, i).wide() >> self.shift;
        let (magnitude, exponent) = self.float.significand(u);
        (u != 0, magnitude, exponent)
    }

    #[inline(always)]
    fn term(&self, _: usize) -> i32 {
        0
    }

    #[inline(always)]
    fn token(&self, i: usize, lambda: i32) -> (u8, u64) {
        self.tokens.token(W::load(self.next, i).wide() >> self.shift, lambda)
    }

    fn raw_bits(&self, token: u8) -> u32 {
        self.tokens.raw_bits(token)
    }
}

/// Runs `$body` with `$source` as the [`Source`] of the coding.
macro_rules! with_source {
    ($coding:expr, $elements:expr, $source:ident => $body:expr) => {
        with_word!($coding.element.width(), W => {
            let coding: &Coding = $coding;
            let elements: Elements<'_> = $elements;
            match (coding.class, coding.element.class()) {
                (TokenClass::Plain(form), Class::Float { .. }) => {
                    match (PlainTokens::new(coding.element, coding.shift, form), Float::new(coding.element, coding.shift)) {
                        (Some(tokens), Some(float)) => {
                            let $source = Floats::<W> {
                                next: elements.next,
                                shift: coding.shift,
                                float,
                                tokens,
                                word: std::marker::PhantomData,
                            };
                            $body
                        }
                        _ => Default::default(),
                    }
                }
                _ => {
                    let $source = Lengths::<W>::new(coding, elements);
                    $body
                }
            }
        })
    };
}

impl Coding {
    /// Number of elements.
    #[must_use]
    pub fn count(&self, elements: &Elements<'_>) -> usize {
        elements.next.len() / self.element.width()
    }

    /// Magnitudes of each 32 elements.
    #[must_use]
    pub fn units(&self, elements: Elements<'_>) -> Vec<Magnitude> {
        with_source!(self, elements, source => units(&source, elements.profiles, self.count(&elements)))
    }

    /// The scales of the blocks, from the magnitudes of the units.
    #[must_use]
    pub fn scales(&self, units: &[Magnitude], count: usize) -> Scales {
        let length = if self.block == 0 { count.max(1) } else { 1 << self.block };
        Scales::new(&blocks(units, self.block), length, count, self.block == 0, self.hold)
    }

    /// Appends λ of each sixteenth element outside ZERO blocks.
    #[allow(clippy::cast_possible_truncation)]
    pub fn lambdas(&self, elements: Elements<'_>, scales: &Scales, out: &mut Vec<i16>) {
        let count = self.count(&elements);
        let length = self.block_length(count);
        with_source!(self, elements, source => {
            for (block, scale) in scales.blocks.iter().enumerate() {
                let Some(scale) = *scale else { continue };
                for i in (block * length..count.min((block + 1) * length)).step_by(16) {
                    let profile = elements.profiles.get(i).map_or(0, |&p| i32::from(p));
                    out.push(clamp16(scale + profile + source.term(i)) as i16);
                }
            }
        });
    }

    /// Adds all symbols to the statistics.
    pub fn statistics(&self, elements: Elements<'_>, scales: &Scales, statistics: &mut Statistics) {
        for &symbol in &scales.symbols {
            statistics.scales[usize::from(symbol)] += 1;
        }
        let count = self.count(&elements);
        let length = self.block_length(count);
        with_source!(self, elements, source => {
            match &mut statistics.masks {
                Some(masks) => visit_groups(&source, elements.profiles, scales, length, count, |lambda, set, changed| {
                    masks.count(lambda, set);
                    for &(i, lambda) in changed {
                        let (token, _) = source.token(i as usize, lambda);
                        statistics.elements.count(lambda, token);
                    }
                }),
                None => visit(&source, elements.profiles, scales, length, count, |_, lambda, token, _| {
                    statistics.elements.count(lambda, token);
                }),
            }
        });
    }

    /// Appends the data of a substream: lane states and words.
    pub fn encode(&self, elements: Elements<'_>, scales: &Scales, bank: &EncodeBank, lanes: u8, out: &mut Vec<u8>) {
        let count = self.count(&elements);
        let length = self.block_length(count);
        let mut sets: Vec<Step> = Vec::new();
        let mut steps: Vec<Step> = Vec::with_capacity(count);
        let mut raws: Vec<u64> = Vec::with_capacity(count);
        let mut bits = [0u8; 256];
        with_source!(self, elements, source => {
            #[allow(clippy::cast_possible_truncation)]
            for (token, bits) in (0..=255u8).zip(&mut bits) {
                *bits = source.raw_bits(token).min(64) as u8;
            }
            if self.model == Model::Mask {
                visit_groups(&source, elements.profiles, scales, length, count, |lambda, set, changed| {
                    sets.push(step(bank.mask_map.table(lambda), set));
                    for &(i, lambda) in changed {
                        let (token, raw) = source.token(i as usize, lambda);
                        steps.push(step(bank.element_map.table(lambda), token));
                        raws.push(raw);
                    }
                });
            } else {
                visit(&source, elements.profiles, scales, length, count, |_, lambda, token, raw| {
                    steps.push(step(bank.element_map.table(lambda), token));
                    raws.push(raw);
                });
            }
        });
        let none = [0u8; 256];
        let scale_steps: Vec<Step> = scales.symbols.iter().map(|&s| step(0, s)).collect();
        let mut coder = Lanes::new(lanes, count / 2);
        coder.phase(&steps, &bank.elements, &bits, |i| raws.get(i).copied().unwrap_or(0));
        coder.phase(&sets, &bank.masks, &none, |_| 0);
        coder.phase(&scale_steps, &bank.scale, &none, |_| 0);
        coder.finish(out);
    }

    fn block_length(&self, count: usize) -> usize {
        if self.block == 0 { count.max(1) } else { 1 << self.block }
    }
}

fn units(source: &impl Source, profiles: &[i8], count: usize) -> Vec<Magnitude> {
    let mut result = Vec::with_capacity(count.div_ceil(UNIT));
    let mut at = 0;
    while at < count {
        let end = count.min(at + UNIT);
        let mut values = [(0u64, 0i32); UNIT];
        let mut nonzero = false;
        for (i, value) in (at..end).zip(&mut values) {
            let (own, magnitude, exponent) = source.magnitude(i);
            nonzero |= own;
            *value = weigh(magnitude, exponent, profiles.get(i).map_or(0, |&p| p.into()));
        }
        result.push(Magnitude::of(nonzero, values[..end - at].iter().copied()));
        at = end;
    }
    result
}

/// Calls `f(index, λ, token, raw bits)` for each element outside ZERO blocks, in order.
#[inline(always)]
fn visit(
    source: &impl Source,
    profiles: &[i8],
    scales: &Scales,
    length: usize,
    count: usize,
    mut f: impl FnMut(usize, i32, u8, u64),
) {
    for (block, scale) in scales.blocks.iter().enumerate() {
        let Some(scale) = *scale else { continue };
        let start = block * length;
        for i in start..count.min(start + length) {
            let profile = profiles.get(i).map_or(0, |&p| i32::from(p));
            let lambda = clamp16(scale + profile + source.term(i));
            let (token, raw) = source.token(i, lambda);
            f(i, lambda, token, raw);
        }
    }
}

/// Calls `f(largest λ, set, changed elements and their λ)` for each group outside ZERO blocks, in order.
#[inline(always)]
fn visit_groups(
    source: &impl Source,
    profiles: &[i8],
    scales: &Scales,
    length: usize,
    count: usize,
    mut f: impl FnMut(i32, u8, &[(u32, i32)]),
) {
    for (block, scale) in scales.blocks.iter().enumerate() {
        let Some(scale) = *scale else { continue };
        let start = block * length;
        let end = count.min(start + length);
        for first in (start..end).step_by(8) {
            let mut changed = [(0u32, 0i32); 8];
            let mut number = 0;
            let mut set = 0u8;
            let mut largest = i32::from(i16::MIN);
            for i in first..end.min(first + 8) {
                let profile = profiles.get(i).map_or(0, |&p| i32::from(p));
                let lambda = clamp16(scale + profile + source.term(i));
                largest = largest.max(lambda);
                if source.magnitude(i).0 {
                    set |= 1 << (i - first);
                    #[allow(clippy::cast_possible_truncation)]
                    {
                        changed[number] = (i as u32, lambda);
                    }
                    number += 1;
                }
            }
            f(largest, set, &changed[..number]);
        }
    }
}
