//! Tokens of floats without reference: relative exponents (spec §10.4).

use crate::core::element::{Class, ElementType};
use crate::core::plain::{ESC, PlainForm, ZERO};
use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::compiled::{with_vectors, with_written};
use crate::kernel::encode::{Bins, Input, Piece, Symbols};

/// Plain tokens of one float type, shift and form.
#[derive(Clone, Copy, Debug)]
pub struct Plains {
    pub(super) width: usize,
    pub(super) shift: u32,
    /// Mantissa bits without those dropped.
    pub(super) mantissa: u32,
    pub(super) exponents: u32,
    /// Mantissa bits that stay raw.
    pub(super) low: u32,
    /// What makes a relative exponent of an exponent field where λ is 0.
    pub(super) relative: i32,
    pub(super) form: PlainForm,
}

impl Plains {
    /// The tokens of `element`; `None` where it has none (see [`PlainTokens::new`](crate::core::plain::PlainTokens::new)).
    #[must_use]
    pub fn new(element: ElementType, shift: u8, form: PlainForm) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        let mantissa = mantissa.checked_sub(u32::from(shift))?;
        let low = mantissa.checked_sub(u32::from(form.top))?;
        (element.width() > 1).then_some(Self {
            width: element.width(),
            shift: shift.into(),
            mantissa,
            exponents: (1 << exponent) - 1,
            low,
            relative: i32::from(form.centre) - bias,
            form,
        })
    }

    /// Replaces the symbols by those of the pieces.
    pub fn symbols(&self, kernel: Kernel, map: &TableMap, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
        symbols.clear(self.width, pieces.iter().map(|p| p.length).sum());
        let bins = Bins::new(map);
        if with_written!(kernel, [avx512 Avx512, avx2 Avx2], bool, plains(self, &bins, input, pieces, symbols))
            != Some(true)
        {
            with_vectors!(kernel, widths, widths_avx2, (self, &bins, input, pieces, symbols));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_avx2(p: &Plains, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    widths(p, bins, input, pieces, symbols);
}

#[inline(always)]
fn widths(p: &Plains, bins: &Bins<'_>, input: &Input<'_>, pieces: &[Piece], symbols: &mut Symbols) {
    let Symbols { steps, raws16, raws32, raws64, .. } = symbols;
    symbols.count = match p.width {
        2 => run(p, bins, input, pieces, steps, raws16),
        4 => run(p, bins, input, pieces, steps, raws32),
        _ => run(p, bins, input, pieces, steps, raws64),
    };
}

/// λ of 16 bits.
#[inline(always)]
fn lambda(scale: i32, profile: i32) -> i32 {
    (scale + profile).clamp(i16::MIN.into(), i16::MAX.into())
}

#[inline(always)]
fn run<W: Word>(
    p: &Plains,
    bins: &Bins<'_>,
    input: &Input<'_>,
    pieces: &[Piece],
    steps: &mut [u16],
    raws: &mut [W],
) -> usize {
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, W::BYTES);
        let (Some(steps), Some(raws)) = (steps.get_mut(at..at + piece.length), raws.get_mut(at..at + piece.length))
        else {
            break;
        };
        at += piece.length;
        let elements = steps.iter_mut().zip(raws.iter_mut()).zip(part.next.chunks_exact(W::BYTES).map(W::read));
        if part.profiles.is_empty() {
            let lambda = lambda(piece.scale, 0);
            for ((step, raw), u) in elements {
                (*step, *raw) = element(p, bins, u, lambda);
            }
        } else {
            for (((step, raw), u), &profile) in elements.zip(part.profiles) {
                (*step, *raw) = element(p, bins, u, lambda(piece.scale, profile.into()));
            }
        }
        bins.apply(steps);
    }
    at
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
fn element<W: Word>(p: &Plains, bins: &Bins<'_>, u: W, lambda: i32) -> (u16, W) {
    let u = u >> p.shift;
    let bin = bins.bin(lambda - bins.base) << 8;
    let exponent = (u >> p.mantissa).low() & p.exponents;
    let relative = exponent as i32 + p.relative - (lambda >> 2);
    let sign = u >> (W::BITS - 1 - p.shift);
    let mut token = relative;
    if p.form.top {
        token = (token << 1) | ((u >> p.low).low() & 1) as i32;
    }
    let mut raw = u & !(!W::default() << p.low);
    if p.form.sign {
        token = (token << 1) | sign.low() as i32;
    } else {
        raw = raw | (sign << p.low);
    }
    let token = (token as u16).wrapping_add(2);
    let inside = (relative as u32) < u32::from(p.form.window);
    if u == W::default() {
        (bin | u16::from(ZERO), raw)
    } else if inside {
        (bin | (token & 0xFF), raw)
    } else {
        (bin | u16::from(ESC), u)
    }
}
