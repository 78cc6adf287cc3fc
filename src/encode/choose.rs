//! Decisions by estimated cost: reference or not, model, block, shift.

use std::ops::Range;

use crate::core::bank::TokenClass;
use crate::core::element::{Class, ElementType};
use crate::core::model::Model;
use crate::core::residual::Ring;
use crate::core::word::Word;
use crate::encode::bank::Cover;
use crate::encode::estimate::{Run, base, coding, cost, exact_cost, units, with_statistics};
use crate::encode::kind::{KindPlan, trailing_zeros};
use crate::encode::level::Level;
use crate::encode::magnitude::{Magnitude, Units, blocks};
use crate::encode::narrow::narrow;
use crate::encode::symbols::Coding;
use crate::encode::workspace::Workspace;
use crate::kernel::encode::Clip;
use crate::with_word;

/// From so many eighths of equal elements on sets of what differs are worth a try.
pub const HALF_EQUAL: usize = 4;
/// And from so many on fast levels try nothing else: sets take a fraction of the time.
pub const MOSTLY_EQUAL: usize = 6;
/// Elements of a run in a sample.
const RUN: usize = 1 << 13;

/// Stretches of a kind's elements, about `size` elements in all, spread evenly.
#[must_use]
pub fn sample(kind: &KindPlan<'_>, size: usize) -> Vec<Run> {
    let count = kind.elements();
    let runs = (size / RUN).max(1);
    if count <= size {
        return (0..count).step_by(RUN).map(|i| kind.gather(i..count.min(i + RUN)).into_run()).collect();
    }
    let room = count - RUN;
    (0..runs)
        .map(|k| {
            let start = (room / runs.max(2) * k) & !31;
            kind.gather(start..start + RUN).into_run()
        })
        .collect()
}

/// Elements of an excerpt.
const EXCERPT: usize = 1 << 10;

/// Four short stretches of elements `range` of a kind, or all of them where they are few.
#[must_use]
pub fn excerpts(kind: &KindPlan<'_>, range: Range<usize>) -> Vec<Run> {
    if range.len() <= 4 * EXCERPT {
        return vec![kind.gather(range).into_run()];
    }
    let at = |k: usize| range.start + (((range.len() - EXCERPT) / 3 * k) & !31);
    (0..4).map(|k| kind.gather(at(k)..at(k) + EXCERPT).into_run()).collect()
}

/// Number of elements in the runs.
#[must_use]
pub fn sampled(runs: &[Run], element: ElementType) -> usize {
    runs.iter().map(|r| r.next.len() / element.width()).sum()
}

/// The largest shift that the type allows for elements with so many zero bits at the bottom.
#[must_use]
pub fn shift(element: ElementType, zeros: u8) -> u8 {
    #[allow(clippy::cast_possible_truncation)]
    match element.class() {
        _ if element.width() == 1 => 0,
        Class::Float { mantissa, .. } => zeros.min(mantissa as u8),
        _ => zeros.min(8 * element.width() as u8 - 1),
    }
}

/// The cheapest coding for elements like these, its λ base and its estimated cost for `of` elements in units of 2^−16 bits.
#[must_use]
pub fn best(
    element: ElementType,
    shift: u8,
    reference: bool,
    level: Level,
    runs: &[Run],
    of: u64,
) -> (Coding, i16, u64) {
    let equal = if reference { equal_eighths(runs, element) } else { 0 };
    let models: &[Model] = match (reference, level) {
        (false, _) => &[Model::Plain],
        (true, Level::Fast) if equal >= MOSTLY_EQUAL => &[Model::Mask],
        (true, _) if equal >= HALF_EQUAL => &[Model::Residual, Model::Mask],
        (true, _) => &[Model::Residual],
    };
    best_of(models, element, shift, reference, level, runs, of)
}

/// [`best`] with one of these models, all of which use the reference or none.
#[must_use]
pub fn best_of(
    models: &[Model],
    element: ElementType,
    shift: u8,
    reference: bool,
    level: Level,
    runs: &[Run],
    of: u64,
) -> (Coding, i16, u64) {
    let sampled = sampled(runs, element);
    let mut workspace = Workspace::default();
    let mut best: Option<(Coding, i16, u64)> = None;
    // Opaque bytes have no magnitude that would tell anything.
    let lengths: &[u8] = if element == ElementType::Bytes && !reference { &[0] } else { level.blocks() };
    // Distances, and how scales are made of them, are the same for all that use the reference.
    let mut fitted = coding(models.first().copied().unwrap_or(Model::Plain), element, shift, runs);
    fit_scales(&mut fitted, runs, &workspace);
    fitted.block = lengths.iter().copied().filter(|&b| b > 0).min().unwrap_or(0);
    let units = units(&fitted, runs, &workspace);
    for &model in models {
        let mut first = Coding { model, ..fitted };
        for &block in lengths.iter().filter(|&&b| model != Model::Mask || b == 0 || b >= 8) {
            first.block = block;
            let base = base(&first, runs, &units);
            let cost = with_statistics(&first, runs, &units, base, &mut workspace, |s| match level {
                Level::Small => exact_cost(&first, s, sampled, of, Cover::Counted),
                _ => cost(&first, s, sampled, of),
            });
            if best.as_ref().is_none_or(|b| cost < b.2) {
                best = Some((first, base, cost));
            }
        }
    }
    best.unwrap_or((fitted, 0, u64::MAX))
}

/// The coding with no more exponents than are worth tokens, as a sample has it; `units`: those of the runs.
#[must_use]
pub fn narrowed(coding: Coding, base: i16, runs: &[Run], units: &[Units], workspace: &mut Workspace) -> Coding {
    if !matches!(coding.class, TokenClass::Plain(_) | TokenClass::Pairs(_)) {
        return coding;
    }
    let mut totals = [0u64; 256];
    with_statistics(&coding, runs, units, base, workspace, |statistics| {
        for (_, counts) in statistics.elements.bins() {
            totals.iter_mut().zip(counts).for_each(|(total, &count)| *total += u64::from(count));
        }
    });
    Coding { class: narrow(coding.class, &totals).0, ..coding }
}

/// The coding for a bank of which samples are counted: with no more plain tokens than are worth one. `None` where such a bank costs too much more.
#[must_use]
pub fn for_samples(coding: Coding, base: i16, runs: &[Run], level: Level, of: u64) -> Option<Coding> {
    /// The part of the cost that it may be.
    const WORTH_COUNTING: u64 = 1000;
    // Where residuals have ESC there is nothing to weigh.
    if coding.escape().is_some() {
        return Some(coding);
    }
    let mut workspace = Workspace::default();
    let (units, sampled) = (units(&coding, runs, &workspace), sampled(runs, coding.element));
    let narrow = narrowed(coding, base, runs, &units, &mut workspace);
    if level == Level::Fast {
        return Some(narrow);
    }
    let mut cost = |coding: &Coding, cover| {
        with_statistics(coding, runs, &units, base, &mut workspace, |s| exact_cost(coding, s, sampled, of, cover))
    };
    let counted = cost(&coding, Cover::Counted);
    (cost(&narrow, Cover::All) <= counted.saturating_add(counted / WORTH_COUNTING)).then_some(narrow)
}

/// Sets how scales are made of distances.
pub fn fit_scales(coding: &mut Coding, runs: &[Run], workspace: &Workspace) {
    coding.clip = clip(coding, runs, workspace);
    // Where most distances are hidden, scales of blocks tremble by a quarter octave for no reason.
    coding.hold = i32::from(coding.clip.is_some());
}

/// Where distances from coarse references should count less: at references whose ulp is above the mean distance, if most are.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn clip(coding: &Coding, runs: &[Run], workspace: &Workspace) -> Option<Clip> {
    let Class::Float { bias, mantissa, exponent } = coding.element.class() else {
        return None;
    };
    if coding.model == Model::Plain || coding.element.width() > 2 {
        return None;
    }
    let sum = units(coding, runs, workspace).iter().flat_map(|u| blocks(u, 0)).reduce(Magnitude::plus)?;
    let scale = sum.scale(sampled(runs, coding.element))?;
    let finest = scale.div_euclid(4) + (mantissa as i32 - i32::from(coding.shift));
    let field = (1 << exponent) - 1;
    let (mut coarse, mut count) = (0, 0);
    with_word!(coding.element.width(), W => {
        for run in runs {
            let fields = run.reference.chunks_exact(W::BYTES).map(|r| (W::load(r, 0).wide() >> mantissa) as i32 & field);
            count += run.next.len() / W::BYTES;
            coarse += fields.filter(|&e| e - bias > finest).count();
        }
    });
    (2 * coarse > count).then(|| Clip { exponent: (finest + 127).clamp(1, 254) as u8 })
}

/// How many of the elements equal their references, in eighths, rounded down.
#[must_use]
pub fn equal_eighths(runs: &[Run], element: ElementType) -> usize {
    let (mut count, mut equal) = (0, 0);
    with_word!(element.width(), W => {
        for run in runs {
            let pairs = run.next.chunks_exact(W::BYTES).zip(run.reference.chunks_exact(W::BYTES));
            count += run.next.len() / W::BYTES;
            equal += pairs.filter(|(a, b)| W::load(a, 0) == W::load(b, 0)).count();
        }
    });
    8 * equal / count.max(1)
}

/// Whether references obviously help, from some hundred elements: their residuals are shorter than mantissas alone. False says nothing.
#[must_use]
pub fn obvious(element: ElementType, next: &[u8], reference: &[u8]) -> bool {
    let Class::Float { mantissa, .. } = element.class() else {
        return false;
    };
    let ring = Ring::new(element, 0);
    let (mut bits, mut repeats) = (0u64, 0);
    let count = next.len() / element.width();
    with_word!(element.width(), W => {
        let mut before = 0;
        for i in 0..count {
            let u = W::load(next, i).wide();
            bits += u64::from(64 - ring.zigzag(u, W::load(reference, i).wide()).leading_zeros());
            repeats += usize::from(u == before);
            before = u;
        }
    });
    // Coded values that repeat, or have zeros at the bottom, may be shorter than their mantissas. Residuals take two to three bits besides their length.
    let zeros = u64::from(shift(element, trailing_zeros(next, element)));
    repeats * 8 < count && bits + 3 * (count as u64) < (u64::from(mantissa + 1) - zeros) * count as u64
}

/// Estimated cost of the runs, against their references if `reference`, in units of 2^−16 bits.
#[must_use]
pub fn estimate(element: ElementType, reference: bool, runs: &[Run]) -> u64 {
    let zeros = runs.iter().map(|r| trailing_zeros(&r.next, element)).min().unwrap_or(0);
    let of = sampled(runs, element) as u64;
    best(element, shift(element, zeros), reference, Level::Fast, runs, of).2
}
