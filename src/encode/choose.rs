//! Decisions by estimated cost: reference or not, model, block, shift.

use crate::core::element::{Class, ElementType};
use crate::core::model::Model;
use crate::encode::estimate::{Run, base, coding, cost, statistics};
use crate::encode::kind::{KindPlan, trailing_zeros};
use crate::encode::level::Level;
use crate::encode::symbols::Coding;

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
    let sampled = sampled(runs, element);
    let models: &[Model] = if reference { &[Model::Residual, Model::Mask] } else { &[Model::Plain] };
    let mut best: Option<(Coding, i16, u64)> = None;
    for &model in models {
        if model == Model::Mask && !mostly_equal(runs, element) {
            continue;
        }
        let mut first = coding(model, element, shift, runs);
        // Opaque bytes have no magnitude that would tell anything.
        let blocks: &[u8] = if element == ElementType::Bytes && !reference { &[0] } else { level.blocks() };
        for &block in blocks.iter().filter(|&&b| model != Model::Mask || b == 0 || b >= 8) {
            first.block = block;
            let base = base(&first, runs);
            let cost = cost(&first, &statistics(&first, runs, base), sampled, of);
            if best.as_ref().is_none_or(|b| cost < b.2) {
                best = Some((first, base, cost));
            }
        }
    }
    best.unwrap_or((coding(Model::Plain, element, shift, runs), 0, u64::MAX))
}

/// Whether more than half of the elements equal their references.
fn mostly_equal(runs: &[Run], element: ElementType) -> bool {
    let width = element.width();
    let pairs = runs.iter().flat_map(|r| r.next.chunks_exact(width).zip(r.reference.chunks_exact(width)));
    let (count, equal) = pairs.fold((0usize, 0usize), |(n, k), (a, b)| (n + 1, k + usize::from(a == b)));
    2 * equal > count
}

/// Estimated cost of the runs, against their references if `reference`, in units of 2^−16 bits.
#[must_use]
pub fn estimate(element: ElementType, reference: bool, runs: &[Run]) -> u64 {
    let zeros = runs.iter().map(|r| trailing_zeros(&r.next, element)).min().unwrap_or(0);
    let of = sampled(runs, element) as u64;
    best(element, shift(element, zeros), reference, Level::Fast, runs, of).2
}
