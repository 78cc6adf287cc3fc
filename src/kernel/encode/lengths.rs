//! Tokens of residuals and of integers without reference (spec §10.1, §10.3, §10.4).

use crate::core::element::{Class, ElementType};
use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::compiled::{with_vectors, with_written};
use crate::kernel::encode::{Bins, Input, Piece, Symbols};

/// Elements that are worked on at a time.
const ROW: usize = 32;

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
        if with_written!(kernel, [avx512 Avx512, avx2 Avx2], bool, lengths(self, &bins, input, pieces, symbols))
            != Some(true)
        {
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

/// Rows of 32 at a time, of which compilers make vectors.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn run<W: Word, const KIND: u8>(
    p: &Lengths,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    steps: &mut [u16],
    raws: &mut [W],
) -> usize {
    let keep = !W::default() >> p.shift << p.shift;
    let exponents = p.exponents as u16;
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, W::BYTES);
        // Scale, profile and exponent together stay within 16 bits (`Bins::offset`).
        let offset = bins.offset(piece.scale, p.constant) as i16;
        let Some(steps) = steps.get_mut(at..at + piece.length) else { break };
        let raws = raws.get_mut(at..at + piece.length).unwrap_or(&mut []);
        at += piece.length;
        let mut references = part.reference.chunks(ROW * W::BYTES);
        let mut profiles = part.profiles.chunks(ROW);
        let mut raws = raws.chunks_mut(ROW);
        for (steps, next) in steps.chunks_mut(ROW).zip(part.next.chunks(ROW * W::BYTES)) {
            let next = row::<W>(next);
            let reference = row::<W>(references.next().unwrap_or(&[]));
            let mut bin = [offset; ROW];
            for (bin, &reference) in bin.iter_mut().zip(&reference) {
                let exponent = if KIND == 0 { (reference >> p.mantissa).low() as u16 & exponents } else { 0 };
                *bin -= 4 * exponent.max(1) as i16;
            }
            for (bin, &profile) in bin.iter_mut().zip(profiles.next().unwrap_or(&[])) {
                *bin += i16::from(profile);
            }
            let mut z = next;
            for (z, &reference) in z.iter_mut().zip(&reference) {
                *z = self::z::<W, KIND>(*z, reference, keep, p.shift);
            }
            let mut high = [0u8; ROW];
            for (high, bin) in high.iter_mut().zip(bin) {
                *high = bin.clamp(0, bins.high as i16) as u8;
            }
            if !bins.identity {
                for high in &mut high {
                    *high = bins.map[usize::from(*high)];
                }
            }
            let mut made = [0; ROW];
            for ((step, high), z) in made.iter_mut().zip(high).zip(&mut z) {
                *step = u16::from(high) << 8 | token(*z);
                *z = *z >> 1;
            }
            copy(&made, steps);
            if let Some(raws) = raws.next() {
                copy(&z, raws);
            }
        }
    }
    at
}

/// Elements of a row, and zeros behind them.
#[inline(always)]
fn row<W: Word>(bytes: &[u8]) -> [W; ROW] {
    let mut row = [W::default(); ROW];
    for (element, bytes) in row.iter_mut().zip(bytes.chunks_exact(W::BYTES)) {
        *element = W::read(bytes);
    }
    row
}

/// As much of a row as there is room for.
#[inline(always)]
fn copy<T: Copy>(row: &[T; ROW], to: &mut [T]) {
    if let Ok(to) = <&mut [T; ROW]>::try_from(&mut *to) {
        *to = *row;
    } else {
        to.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
    }
}
