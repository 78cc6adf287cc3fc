//! Tokens of residuals and of integers without reference (spec §10.1, §10.3, §10.4).

use crate::core::element::{Class, ElementType};
use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::compiled::{with_avx512, with_vectors};
use crate::kernel::encode::{Bins, Input, Piece, Symbols};

/// Where z comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthKind {
    /// Residuals of floats.
    Float,
    /// Residuals of integers.
    Integer,
    /// The elements themselves: unsigned integers, and any of 8 bits.
    Unsigned,
    /// The elements' zigzag.
    Signed,
}

/// Length tokens of one element type and shift.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    pub(super) kind: LengthKind,
    pub(super) width: usize,
    pub(super) shift: u32,
    /// Bits below the exponent in unshifted patterns.
    pub(super) mantissa: u32,
    /// Ones as many as the exponent has bits; 0 where λ has no exponent term.
    pub(super) exponents: u32,
    /// Part of λ besides scale and profile, with an exponent field of 0; at most 2^12.
    pub(super) constant: i32,
}

impl Lengths {
    /// Tokens of elements, against references or not; `shift` is one that the type allows.
    #[must_use]
    #[allow(clippy::cast_possible_wrap)]
    pub fn new(element: ElementType, shift: u8, reference: bool) -> Self {
        let width = element.width();
        let shift = u32::from(shift).min(8 * width as u32 - 1);
        let class = element.class();
        let kind = match class {
            Class::Float { .. } if reference => LengthKind::Float,
            _ if reference => LengthKind::Integer,
            Class::Signed if width > 1 => LengthKind::Signed,
            _ => LengthKind::Unsigned,
        };
        match class {
            Class::Float { bias, mantissa, exponent } if reference => Self {
                kind,
                width,
                shift,
                mantissa,
                exponents: (1 << exponent) - 1,
                constant: 4 * (bias + mantissa as i32 - shift as i32),
            },
            // The exponent term of a field taken as 1, taken back.
            _ => Self { kind, width, shift, mantissa: 0, exponents: 0, constant: 4 },
        }
    }

    /// Replaces the symbols by those of the pieces.
    pub fn symbols(&self, kernel: Kernel, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
        symbols.clear(self.width, pieces.iter().map(|p| p.length).sum());
        let bins = Bins::new(map);
        if with_avx512!(kernel, bool, lengths(self, &bins, input, pieces, symbols)) != Some(true) {
            with_vectors!(kernel, widths, widths_avx2, (self, &bins, input, pieces, symbols));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_avx2(p: &Lengths, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    widths(p, bins, input, pieces, symbols);
}

#[inline(always)]
fn widths(p: &Lengths, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    let Symbols { steps, raws16, raws32, raws64, .. } = symbols;
    let mut none = [0u8; 0];
    symbols.count = match p.width {
        1 => kinds(p, bins, input, pieces, steps, &mut none),
        2 => kinds(p, bins, input, pieces, steps, raws16),
        4 => kinds(p, bins, input, pieces, steps, raws32),
        _ => kinds(p, bins, input, pieces, steps, raws64),
    };
}

#[inline(always)]
fn kinds<W: Word>(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    steps: &mut [u16],
    raws: &mut [W],
) -> usize {
    match p.kind {
        LengthKind::Float => run::<W, 0>(p, bins, input, pieces, steps, raws),
        LengthKind::Integer => run::<W, 1>(p, bins, input, pieces, steps, raws),
        LengthKind::Unsigned => run::<W, 2>(p, bins, input, pieces, steps, raws),
        LengthKind::Signed => run::<W, 3>(p, bins, input, pieces, steps, raws),
    }
}

/// z of an element whose `shift` low bits are dropped, by [`LengthKind`].
///
/// Patterns stay at the top of the word, which makes a ring of it.
#[inline(always)]
pub(super) fn z<W: Word, const KIND: u8>(next: W, reference: W, keep: W, shift: u32) -> W {
    let (next, reference) = (next & keep, reference & keep);
    let o = match KIND {
        0 => {
            let order = |u: W| (u ^ (u.asr(W::BITS - 1) | W::TOP)) & keep;
            let d = order(next).minus(order(reference));
            let sign = reference.asr(W::BITS - 1);
            (d ^ sign).minus(sign)
        }
        1 => next.minus(reference),
        2 => return next >> shift,
        _ => next,
    };
    (o.asr(shift) << 1) ^ o.asr(W::BITS - 1)
}

/// Token of z.
#[inline(always)]
#[allow(clippy::cast_possible_wrap, clippy::cast_precision_loss)]
pub(super) fn token<W: Word>(z: W) -> u16 {
    let token = match W::BYTES {
        1 => z.low(),
        8 if z < W::of(16) => z.low(),
        8 => {
            let n = z.log2();
            16 + 4 * (n - 4) + 2 * ((z >> (n - 1)).low() & 1) + (z.low() & 1)
        }
        _ => {
            let z = z.low();
            // The exponent of a float and its two top mantissa bits are what is wanted; 16 bits convert exactly.
            let large = z >> 16 != 0;
            let bits = (if large { z >> 12 } else { z } as i32 as f32).to_bits();
            let token = ((bits >> 20) & !1 | (z & 1)).wrapping_sub(if large { 1032 - 96 } else { 1032 });
            if z < 16 { z } else { token }
        }
    };
    #[allow(clippy::cast_possible_truncation)]
    {
        token as u16
    }
}

#[inline(always)]
fn run<W: Word, const KIND: u8>(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    steps: &mut [u16],
    raws: &mut [W],
) -> usize {
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, W::BYTES);
        let offset = bins.offset(piece.scale, p.constant);
        let Some(steps) = steps.get_mut(at..at + piece.length) else { break };
        let raws = raws.get_mut(at..at + piece.length).unwrap_or(&mut []);
        at += piece.length;
        let keep = !W::default() >> p.shift << p.shift;
        let exponent = |reference: W| -> i32 {
            #[allow(clippy::cast_possible_wrap)]
            if KIND == 0 { 4 * (((reference >> p.mantissa).low() & p.exponents).max(1) as i32) } else { 4 }
        };
        // Three plain loops: each is one that compilers make vectors of.
        let next = part.next.chunks_exact(W::BYTES);
        if KIND < 2 {
            for ((step, next), reference) in
                steps.iter_mut().zip(next.clone()).zip(part.reference.chunks_exact(W::BYTES))
            {
                let z = z::<W, KIND>(W::read(next), W::read(reference), keep, p.shift);
                *step = bins.bin(offset - exponent(W::read(reference))) << 8 | token(z);
            }
            for ((raw, next), reference) in raws.iter_mut().zip(next).zip(part.reference.chunks_exact(W::BYTES)) {
                *raw = z::<W, KIND>(W::read(next), W::read(reference), keep, p.shift) >> 1;
            }
        } else {
            let bin = bins.bin(offset - 4) << 8;
            for (step, next) in steps.iter_mut().zip(next.clone()) {
                *step = bin | token(z::<W, KIND>(W::read(next), W::default(), keep, p.shift));
            }
            for (raw, next) in raws.iter_mut().zip(next) {
                *raw = z::<W, KIND>(W::read(next), W::default(), keep, p.shift) >> 1;
            }
        }
        if !part.profiles.is_empty() {
            let reference = part.reference.chunks_exact(W::BYTES).map(W::read).chain(std::iter::repeat(W::default()));
            for ((step, &profile), reference) in steps.iter_mut().zip(part.profiles).zip(reference) {
                *step = bins.bin(offset + i32::from(profile) - exponent(reference)) << 8 | (*step & 0xFF);
            }
        }
        bins.apply(steps);
    }
    at
}
