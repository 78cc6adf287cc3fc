//! What is counted of a tensor, in one pass: everything else is made of these counts.

use std::collections::BTreeMap;

use super::code_length::{adaptive, entropy};
use crate::core::convert::Conversion;
use crate::core::element::{Class, ElementType};
use crate::core::lambda::ExponentTerm;
use crate::core::word::Word;
use crate::with_word;

/// Elements of a block that has a scale of its own.
pub(super) const BLOCK: usize = 256;
/// Lengths of residuals: 0 to 64 bits.
const LENGTHS: usize = 65;
/// Contexts of refinement bits: nothing yet, a zero, a one.
const PREFIXES: usize = 3;
/// What stands for the scale of a block that equals its reference.
const ZERO: i32 = i32::MIN;
/// λ are told apart up to so many quarter bits on both sides of 0.
const FARTHEST: i32 = 1023;
/// Contexts of λ: that of ZERO blocks, then −`FARTHEST` … `FARTHEST`.
const LAMBDAS: usize = 2 * FARTHEST as usize + 2;

/// Counts of the elements of one type.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    element: ElementType,
    /// Elements.
    pub(super) elements: u64,
    /// By exponent field of the element.
    pub(super) exponents: Vec<u64>,
    /// Elements with their sign bit set.
    pub(super) negative: u64,
    /// Elements with their top mantissa bit set, by exponent field.
    pub(super) top: Vec<u64>,
    /// Against references, where there are any.
    pub(super) residual: Option<ResidualCounts>,
}

/// Counts of elements against their references.
#[derive(Clone, Debug)]
pub(super) struct ResidualCounts {
    /// Elements that differ.
    pub(super) changed: u64,
    /// By exponent field of the reference and length of the residual.
    pub(super) lengths: Vec<[u64; LENGTHS]>,
    /// Negative residuals by length.
    negative: [u64; LENGTHS],
    /// Zeros and ones among the first two bits below the leading one, by exponent field, length and prefix.
    refinements: Vec<[[u64; 2]; LENGTHS * PREFIXES]>,
    /// How often each bit is set in next XOR reference, from the lowest.
    pub(super) xor_bits: [u64; 64],
    /// How often each bit is set in the magnitude of the residual.
    pub(super) residual_bits: [u64; 64],
    /// Bytes of next XOR reference, by plane, of elements that differ.
    xor_bytes: Vec<[u64; 256]>,
    /// Lengths by λ.
    lambdas: Vec<[u64; LENGTHS]>,
    /// Differences of the scales of blocks from the last scale; `ZERO` for blocks without.
    scales: BTreeMap<i32, u64>,
    /// The last scale.
    scale: i32,
}

impl Counts {
    /// No counts yet.
    pub(super) fn new(element: ElementType, reference: bool) -> Self {
        let exponents = match element.class() {
            Class::Float { exponent, .. } => 1 << exponent,
            _ => 1,
        };
        let residual = reference.then(|| ResidualCounts {
            changed: 0,
            lengths: vec![[0; LENGTHS]; exponents],
            negative: [0; LENGTHS],
            refinements: vec![[[0; 2]; LENGTHS * PREFIXES]; exponents],
            xor_bits: [0; 64],
            residual_bits: [0; 64],
            xor_bytes: vec![[0; 256]; element.width()],
            lambdas: vec![[0; LENGTHS]; LAMBDAS],
            scales: BTreeMap::new(),
            scale: 0,
        });
        Self { element, elements: 0, exponents: vec![0; exponents], negative: 0, top: vec![0; exponents], residual }
    }

    /// Type of the elements.
    pub(super) fn element(&self) -> ElementType {
        self.element
    }

    /// Counts elements beside as many references; none for counts without. Whole blocks, but for the last call.
    pub(super) fn count(&mut self, next: &[u8], reference: &[u8]) {
        let format = Format::new(self.element);
        with_word!(self.element.width(), W => {
            for block in next.chunks(BLOCK * W::BYTES) {
                self.plain::<W>(format, block);
            }
            if let Some(residual) = &mut self.residual {
                let blocks = next.chunks(BLOCK * W::BYTES).zip(reference.chunks(BLOCK * W::BYTES));
                for (next, reference) in blocks {
                    residual.block::<W>(format, next, reference);
                }
            }
        });
    }

    fn plain<W: Word>(&mut self, format: Format, block: &[u8]) {
        for i in 0..block.len() / W::BYTES {
            let u = W::load(block, i).wide();
            self.elements += 1;
            let e = format.exponent(u);
            add(&mut self.exponents, e, 1);
            add(&mut self.top, e, format.top_mantissa(u));
            self.negative += u >> (format.bits - 1);
        }
    }

    /// Adds other counts of the same type; against references only if both are.
    pub(super) fn add(&mut self, other: &Self) {
        self.elements += other.elements;
        self.negative += other.negative;
        sum(&mut self.exponents, &other.exponents);
        sum(&mut self.top, &other.top);
        if let (Some(a), Some(b)) = (&mut self.residual, &other.residual) {
            a.add(b);
        }
    }

    /// Bits of an adaptive code for the exponents, the rest raw.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn exponents_bits(&self) -> f64 {
        let format = Format::new(self.element);
        let rest = f64::from(format.bits - format.exponent_bits);
        adaptive(self.exponents.iter().copied(), alphabet(&self.exponents)) + rest * self.elements as f64
    }
}

impl ResidualCounts {
    fn block<W: Word>(&mut self, format: Format, next: &[u8], reference: &[u8]) {
        let count = next.len().min(reference.len()) / W::BYTES;
        let scale = self.scale::<W>(format, next, reference, count);
        for i in 0..count {
            let (a, b) = (W::load(next, i).wide(), W::load(reference, i).wide());
            let d = format.ord(a).wrapping_sub(format.ord(b)) << (64 - format.bits);
            let d = (d as i64) >> (64 - format.bits);
            let magnitude = d.unsigned_abs();
            let length = (64 - magnitude.leading_zeros()) as usize;
            let e = format.exponent(b);
            if let Some(lengths) = self.lengths.get_mut(e) {
                add(lengths, length, 1);
            }
            let context = scale.map_or(0, |scale| format.context(scale, b));
            if let Some(lengths) = self.lambdas.get_mut(context) {
                add(lengths, length, 1);
            }
            if magnitude == 0 {
                continue;
            }
            self.changed += 1;
            add(&mut self.negative, length, u64::from(d < 0));
            self.refine(e, length, magnitude);
            let xor = a ^ b;
            bits(&mut self.xor_bits, xor);
            bits(&mut self.residual_bits, magnitude);
            for (plane, byte) in self.xor_bytes.iter_mut().zip(xor.to_le_bytes()) {
                add(plane, byte.into(), 1);
            }
        }
    }

    /// The scale of a block: 4 · log2 of the mean difference, rounded; of integers, of the mean residual.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn scale<W: Word>(&mut self, format: Format, next: &[u8], reference: &[u8], count: usize) -> Option<i32> {
        let (mut sum, mut differ) = (0.0f64, false);
        for i in 0..count {
            let (a, b) = (W::load(next, i).wide(), W::load(reference, i).wide());
            differ |= a != b;
            let distance = format.distance(a, b);
            // Infinities and NaN would drown all else.
            sum += if distance.is_finite() { distance } else { 0.0 };
        }
        if !differ {
            *self.scales.entry(ZERO).or_default() += 1;
            return None;
        }
        let scale = if sum > 0.0 { (4.0 * (sum / count as f64).log2()).round() as i32 } else { self.scale };
        *self.scales.entry(scale - self.scale).or_default() += 1;
        self.scale = scale;
        Some(scale)
    }

    fn refine(&mut self, e: usize, length: usize, magnitude: u64) {
        let Some(contexts) = self.refinements.get_mut(e) else { return };
        let mut prefix = 0;
        for below in 2..4 {
            if length < below {
                break;
            }
            let bit = usize::from((magnitude >> (length - below)) & 1 == 1);
            if let Some(counts) = contexts.get_mut(length * PREFIXES + prefix) {
                add(counts, bit, 1);
            }
            prefix = 1 + bit;
        }
    }

    fn add(&mut self, other: &Self) {
        self.changed += other.changed;
        for (a, b) in self.lengths.iter_mut().zip(&other.lengths) {
            sum(a, b);
        }
        sum(&mut self.negative, &other.negative);
        for (a, b) in self.refinements.iter_mut().flatten().zip(other.refinements.iter().flatten()) {
            sum(a, b);
        }
        sum(&mut self.xor_bits, &other.xor_bits);
        sum(&mut self.residual_bits, &other.residual_bits);
        for (a, b) in self.xor_bytes.iter_mut().zip(&other.xor_bytes) {
            sum(a, b);
        }
        for (a, b) in self.lambdas.iter_mut().zip(&other.lambdas) {
            sum(a, b);
        }
        for (difference, count) in &other.scales {
            *self.scales.entry(*difference).or_default() += count;
        }
    }

    /// Residuals by length, whatever the exponent.
    pub(super) fn all_lengths(&self) -> [u64; LENGTHS] {
        let mut all = [0; LENGTHS];
        for lengths in &self.lengths {
            sum(&mut all, lengths);
        }
        all
    }

    /// Entropy of the lengths given a context, in bits per element.
    fn conditional<'a>(contexts: impl Iterator<Item = &'a [u64; LENGTHS]>) -> f64 {
        let (mut total, mut bits) = (0u64, 0.0);
        for lengths in contexts {
            let count: u64 = lengths.iter().sum();
            total += count;
            #[allow(clippy::cast_precision_loss)]
            {
                bits += entropy(lengths.iter().copied()) * count as f64;
            }
        }
        #[allow(clippy::cast_precision_loss)]
        {
            bits / total.max(1) as f64
        }
    }

    /// Entropy of the lengths given the reference's exponent, in bits per element.
    pub(super) fn given_exponent(&self) -> f64 {
        Self::conditional(self.lengths.iter())
    }

    /// Entropy of the lengths given λ, in bits per element.
    pub(super) fn given_lambda(&self) -> f64 {
        Self::conditional(self.lambdas.iter())
    }

    /// Bits that the scales of all blocks take.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn scale_bits(&self) -> f64 {
        entropy(self.scales.values().copied()) * self.scales.values().sum::<u64>() as f64
    }

    /// Bits below the leading one and the two refinement bits.
    pub(super) fn tail_bits(&self) -> u64 {
        (0u64..).zip(self.all_lengths()).map(|(length, count)| length.saturating_sub(3) * count).sum()
    }

    /// Bits of byte planes of next XOR reference at their entropy.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn xor_bound_bits(&self) -> f64 {
        let elements: u64 = self.all_lengths().iter().sum();
        let equal = elements - self.changed;
        let plane = |plane: &[u64; 256]| {
            let zeros = plane[0] + equal;
            entropy(plane.iter().skip(1).copied().chain([zeros])) * elements as f64
        };
        self.xor_bytes.iter().map(plane).sum()
    }

    /// Bits of the model of FM-Delta: length and sign in one symbol, the bits below the leading one raw.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn fm_delta_bits(&self) -> f64 {
        let lengths = self.all_lengths();
        let symbols: Vec<u64> = lengths.iter().zip(self.negative).flat_map(|(&all, n)| [all - n, n]).collect();
        let raw: u64 = (0u64..).zip(lengths).map(|(length, count)| length.saturating_sub(1) * count).sum();
        adaptive(symbols.iter().copied(), alphabet(&symbols)) + raw as f64
    }

    /// Bits of the model without exponents.
    pub(super) fn no_exponent_bits(&self) -> f64 {
        let mut refinements = [[0; 2]; LENGTHS * PREFIXES];
        for contexts in &self.refinements {
            for (a, b) in refinements.iter_mut().zip(contexts) {
                sum(a, b);
            }
        }
        let lengths = self.all_lengths();
        let modelled = adaptive(lengths, alphabet(&lengths)) + refinement_bits(&refinements);
        modelled + self.raw_bits()
    }

    /// Bits of the model of the `ULPack` paper.
    pub(super) fn ulpack_bits(&self) -> f64 {
        let symbols = alphabet(&self.all_lengths());
        let lengths: f64 = self.lengths.iter().map(|lengths| adaptive(lengths.iter().copied(), symbols)).sum();
        let refinements: f64 = self.refinements.iter().map(|contexts| refinement_bits(contexts)).sum();
        lengths + refinements + self.raw_bits()
    }

    /// Signs and tails.
    #[allow(clippy::cast_precision_loss)]
    fn raw_bits(&self) -> f64 {
        (self.changed + self.tail_bits()) as f64
    }
}

fn refinement_bits(contexts: &[[u64; 2]]) -> f64 {
    contexts.iter().map(|counts| adaptive(counts.iter().copied(), 2)).sum()
}

/// Symbols up to the largest that occurs.
fn alphabet(counts: &[u64]) -> usize {
    counts.iter().rposition(|&c| c > 0).map_or(1, |last| last + 1)
}

fn add(counts: &mut [u64], at: usize, count: u64) {
    if let Some(slot) = counts.get_mut(at) {
        *slot += count;
    }
}

fn sum(a: &mut [u64], b: &[u64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
}

fn bits(counts: &mut [u64; 64], word: u64) {
    let mut rest = word;
    while rest != 0 {
        add(counts, rest.trailing_zeros() as usize, 1);
        rest &= rest - 1;
    }
}

/// Fields of a type's patterns.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    exponent_bits: u32,
    mantissa: u32,
    float: bool,
    term: Option<ExponentTerm>,
    element: ElementType,
    /// To binary64.
    wide: Option<Conversion>,
}

impl Format {
    #[allow(clippy::cast_possible_truncation)]
    fn new(element: ElementType) -> Self {
        let bits = 8 * element.width() as u32;
        let (mantissa, exponent_bits) = match element.class() {
            Class::Float { mantissa, exponent, .. } => (mantissa, exponent),
            _ => (0, 0),
        };
        let term = ExponentTerm::new(element, 0);
        let wide = Conversion::new(element, ElementType::F64);
        Self { bits, exponent_bits, mantissa, float: element.is_float(), term, element, wide }
    }

    /// Exponent field; 0 for integers.
    #[inline(always)]
    fn exponent(self, u: u64) -> usize {
        ((u >> self.mantissa) & ((1 << self.exponent_bits) - 1)) as usize
    }

    #[inline(always)]
    fn top_mantissa(self, u: u64) -> u64 {
        if self.mantissa == 0 { 0 } else { (u >> (self.mantissa - 1)) & 1 }
    }

    /// Place in value order.
    #[inline(always)]
    fn ord(self, u: u64) -> u64 {
        let top = 1 << (self.bits - 1);
        let mask = u64::MAX >> (64 - self.bits);
        match self.float {
            true if u & top == 0 => u | top,
            true => !u & mask,
            false => u,
        }
    }

    /// The context of an element's λ, from its block's scale and its reference (spec §10.1).
    #[inline(always)]
    #[allow(clippy::cast_sign_loss)]
    fn context(self, scale: i32, reference: u64) -> usize {
        let lambda = scale.saturating_add(self.term.map_or(0, |term| term.of(reference)));
        (lambda.clamp(-FARTHEST, FARTHEST) + FARTHEST + 1) as usize
    }

    /// |next − reference| in real units; of integers in the ring.
    #[inline(always)]
    fn distance(self, next: u64, reference: u64) -> f64 {
        if self.float {
            return (self.value(next) - self.value(reference)).abs();
        }
        let d = next.wrapping_sub(reference) << (64 - self.bits);
        #[allow(clippy::cast_precision_loss)]
        {
            ((d as i64) >> (64 - self.bits)).unsigned_abs() as f64
        }
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn value(self, u: u64) -> f64 {
        match (self.element, self.wide) {
            (ElementType::Bf16, _) => f32::from_bits((u as u32) << 16).into(),
            (ElementType::F32, _) => f32::from_bits(u as u32).into(),
            (_, Some(wide)) => f64::from_bits(wide.apply(u)),
            _ => f64::from_bits(u),
        }
    }
}
