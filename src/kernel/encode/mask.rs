//! Sets of changed elements, and the tokens of those that changed (spec §10.5).

use crate::core::thresholds::TableMap;
use crate::core::word::Word;
use crate::kernel::Kernel;
use crate::kernel::encode::compiled::{with_vectors, with_written};
use crate::kernel::encode::lengths::{token, z};
use crate::kernel::encode::{Bins, Input, LengthKind, Lengths, Piece, Symbols};

/// Elements of a group.
const GROUP: usize = 8;

impl Lengths {
    /// Replaces the symbols by those of the changed elements of the pieces, and `sets` by the steps of the groups; pieces begin at multiples of 8.
    pub fn masks(
        &self,
        kernel: Kernel,
        maps: (&TableMap, &TableMap),
        input: &Input<'_>,
        pieces: &[Piece],
        sets: &mut Vec<u16>,
        symbols: &mut Symbols,
    ) {
        let elements: usize = pieces.iter().map(|p| p.length).sum();
        symbols.clear(self.width, elements);
        sets.clear();
        sets.reserve(elements / GROUP + pieces.len());
        let bins = (Bins::new(maps.0), Bins::new(maps.1));
        if with_written!(kernel, [avx512 Avx512, avx2 Avx2], bool, masks(self, &bins, input, pieces, sets, symbols))
            != Some(true)
        {
            with_vectors!(kernel, widths, widths_avx2, (self, &bins, input, pieces, sets, symbols));
        }
        if with_written!(kernel, [avx2 Avx512, avx2 Avx2], bool, tokens(&bins.1, symbols)) != Some(true) {
            with_vectors!(kernel, tokens, tokens_avx2, (&bins.1, symbols));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_avx2(
    p: &Lengths,
    bins: &(Bins<'_>, Bins<'_>),
    input: &Input<'_>,
    pieces: &[Piece],
    sets: &mut Vec<u16>,
    symbols: &mut Symbols,
) {
    widths(p, bins, input, pieces, sets, symbols);
}

#[inline(always)]
fn widths(
    p: &Lengths,
    bins: &(Bins<'_>, Bins<'_>),
    input: &Input<'_>,
    pieces: &[Piece],
    sets: &mut Vec<u16>,
    symbols: &mut Symbols,
) {
    let Symbols { steps, raws16, raws32, raws64, .. } = symbols;
    let mut bytes = Vec::new();
    if p.width == 1 {
        bytes.resize(steps.len(), 0u8);
    }
    symbols.count = match p.width {
        1 => run(p, bins, input, pieces, sets, steps, &mut bytes),
        2 => run(p, bins, input, pieces, sets, steps, raws16),
        4 => run(p, bins, input, pieces, sets, steps, raws32),
        _ => run(p, bins, input, pieces, sets, steps, raws64),
    };
    if p.width == 1 {
        // Bytes have no raw words; their tokens are put in place here.
        for (step, &z) in steps.iter_mut().zip(&bytes).take(symbols.count) {
            *step |= u16::from(z);
        }
    }
}

/// Sets; and for each changed element its bin as a step of symbol 0, and z as its raw word.
#[inline(always)]
fn run<W: Word>(
    p: &Lengths,
    bins: &(Bins<'_>, Bins<'_>),
    input: &Input<'_>,
    pieces: &[Piece],
    sets: &mut Vec<u16>,
    steps: &mut [u16],
    zs: &mut [W],
) -> usize {
    let keep = !W::default() >> p.shift << p.shift;
    let mut at = 0;
    for piece in pieces {
        let part = input.piece(piece, W::BYTES);
        let offsets = (bins.0.offset(piece.scale, p.constant), bins.1.offset(piece.scale, p.constant));
        let mut profiles = part.profiles.chunks(GROUP);
        let groups = part.next.chunks(GROUP * W::BYTES).zip(part.reference.chunks(GROUP * W::BYTES));
        for (next, reference) in groups {
            let profiles = profiles.next().unwrap_or(&[]);
            let mut set = 0u16;
            let mut largest = i32::MIN;
            let pairs = next.chunks_exact(W::BYTES).map(W::read).zip(reference.chunks_exact(W::BYTES).map(W::read));
            for (i, (next, reference)) in pairs.enumerate() {
                #[allow(clippy::cast_possible_wrap)]
                let exponent = ((reference >> p.mantissa).low() & p.exponents).max(1) as i32;
                let rest = profiles.get(i).map_or(0, |&p| i32::from(p)) - 4 * exponent;
                largest = largest.max(rest);
                // What does not differ is overwritten by the next one.
                if let (Some(step), Some(slot)) = (steps.get_mut(at), zs.get_mut(at)) {
                    *step = bins.1.bin(offsets.1 + rest) << 8;
                    *slot = match p.kind {
                        LengthKind::Float => z::<W, 0>(next, reference, keep, p.shift),
                        _ => z::<W, 1>(next, reference, keep, p.shift),
                    };
                }
                let differs = (next ^ reference) & keep != W::default();
                set |= u16::from(differs) << i;
                at += usize::from(differs);
            }
            let bin = bins.0.bin(offsets.0.saturating_add(largest));
            sets.push(u16::from(bins.0.map[usize::from(bin & 0xFF)]) << 8 | set);
        }
    }
    at
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn tokens_avx2(bins: &Bins<'_>, symbols: &mut Symbols) {
    tokens(bins, symbols);
}

/// Makes steps of bins, and raw bits of z.
#[inline(always)]
fn tokens(bins: &Bins<'_>, symbols: &mut Symbols) {
    let Symbols { steps, raws16, raws32, raws64, width, count } = symbols;
    let steps = steps.get_mut(..*count).unwrap_or(&mut []);
    match width {
        1 => {}
        2 => finish(steps, raws16),
        4 => finish(steps, raws32),
        _ => finish(steps, raws64),
    }
    bins.apply(steps);
}

#[inline(always)]
fn finish<W: Word>(steps: &mut [u16], raws: &mut [W]) {
    for (step, raw) in steps.iter_mut().zip(raws) {
        *step |= token(*raw);
        *raw = *raw >> 1;
    }
}
