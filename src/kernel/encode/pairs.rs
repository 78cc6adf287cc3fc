//! Tokens of pairs of floats without reference (spec §10.4, class 4).

use crate::core::element::{Class, ElementType};
use crate::core::lambda::clamp16;
use crate::core::pairs::{ESC, PairForm};
use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::compiled::{with_vectors, with_written};
use crate::kernel::encode::{Input, Piece, Symbols};

/// Pair tokens of one float type, shift and form.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    pub(super) width: usize,
    pub(super) shift: u32,
    /// Mantissa bits without those dropped.
    pub(super) mantissa: u32,
    pub(super) exponents: u32,
    /// What makes a relative exponent of an exponent field where λ is 0.
    pub(super) relative: i32,
    pub(super) window: u32,
}

impl Pairs {
    /// The tokens of `element`; `None` where it has none (see [`PairTokens::new`](crate::core::pairs::PairTokens::new)).
    #[must_use]
    pub fn new(element: ElementType, shift: u8, form: PairForm) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        let mantissa = mantissa.checked_sub(u32::from(shift))?;
        matches!(element.width(), 2 | 4).then_some(Self {
            width: element.width(),
            shift: shift.into(),
            mantissa,
            exponents: (1 << exponent) - 1,
            relative: i32::from(form.centre) - bias,
            window: form.window.into(),
        })
    }

    /// Replaces the symbols by those of the pieces, whose elements have no profiles. Lengths of pieces but the last are multiples of 64.
    pub fn symbols(&self, kernel: Kernel, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
        symbols.clear(2 * self.width, pieces.iter().map(|p| p.length.div_ceil(2)).sum());
        if with_written!(kernel, [avx512 Avx512], (), pairs(self, map, input, pieces, symbols)).is_none() {
            with_vectors!(kernel, widths, widths_avx2, (self, map, input, pieces, symbols));
        }
    }

    /// What makes a relative exponent of an exponent field under a scale, and the high byte of its steps.
    #[inline(always)]
    pub(super) fn under(&self, map: &TableMap, scale: i32) -> (i32, u16) {
        let lambda = clamp16(scale);
        (self.relative - (lambda >> 2), u16::from(map.table(lambda)) << 8)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_avx2(p: &Pairs, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    widths(p, map, input, pieces, symbols);
}

#[inline(always)]
fn widths(p: &Pairs, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    let Symbols { steps, raws32, raws64, .. } = symbols;
    symbols.count = match p.width {
        2 => run::<u16, u32>(p, map, input, pieces, steps, raws32),
        _ => run::<u32, u64>(p, map, input, pieces, steps, raws64),
    };
}

/// Elements of type `W`, raw bits in words `R` of twice the width.
#[inline(always)]
fn run<W: Word, R: Word>(
    p: &Pairs,
    map: &TableMap,
    input: &Input<'_>,
    pieces: &[Piece],
    steps: &mut [u16],
    raws: &mut [R],
) -> usize {
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, W::BYTES).next;
        let count = piece.length.div_ceil(2);
        let (Some(steps), Some(raws)) = (steps.get_mut(at..at + count), raws.get_mut(at..at + count)) else {
            break;
        };
        at += count;
        let (offset, high) = p.under(map, piece.scale);
        for ((step, raw), bytes) in steps.iter_mut().zip(raws.iter_mut()).zip(part.chunks(2 * W::BYTES)) {
            let (first, second) = bytes.split_at(W::BYTES.min(bytes.len()));
            // A last element alone goes with itself.
            let pair = [first, if second.is_empty() { first } else { second }];
            (*step, *raw) = token(p, offset, pair.map(W::read));
            *step |= high;
        }
    }
    at
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn token<W: Word, R: Word>(p: &Pairs, offset: i32, pair: [W; 2]) -> (u16, R) {
    let bits = W::BITS - p.shift;
    let pair = pair.map(|u| u >> p.shift);
    let relative = pair.map(|u| ((u >> p.mantissa).low() & p.exponents).wrapping_add_signed(offset));
    let rest = pair.map(|u| (u & !(!W::default() << p.mantissa)) | ((u >> (bits - 1)) << p.mantissa));
    let join = |[a, b]: [W; 2], place: u32| R::narrow(a.wide()) | (R::narrow(b.wide()) << place);
    if relative[0] < p.window && relative[1] < p.window {
        ((1 + relative[0] * p.window + relative[1]) as u16, join(rest, p.mantissa + 1))
    } else {
        (ESC.into(), join(pair, bits))
    }
}
