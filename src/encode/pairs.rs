//! Two plain floats as one symbol: half the symbols, so fast levels take them where the size allows.

use crate::core::bank::TokenClass;
use crate::core::model::Model;
use crate::core::pairs::{MAX_WINDOW, PairForm};
use crate::encode::bank::{Cover, Statistics};
use crate::encode::choose::{narrowed, sample, sampled};
use crate::encode::coding::Coding;
use crate::encode::estimate::{Run, base, coding, exact_cost, units, with_statistics};
use crate::encode::kind::KindPlan;
use crate::encode::level::Level;
use crate::encode::plan::sampling;
use crate::encode::slots::Slots;
use crate::encode::workspace::Workspace;
use crate::limits::MIN_PAIR_BLOCK;

/// A part of the cost that pairs may take more than single elements.
pub const WORTH_SPEED: u64 = 100;
/// Kinds with fewer elements take no time, and the tables of pairs are larger.
const LEAST: usize = 1 << 16;
/// log2 of the block length: one scale for a whole substream suits a sample better than the substream.
const BLOCK: u8 = 8;
/// Room for all exponents that a block of weights has: some eight times the mean magnitude, and 2^−11 of it.
const WIDEST: PairForm = PairForm { centre: 11, window: MAX_WINDOW };

/// The coding by pairs that stands beside one of single elements, its window as wide as there are; `None` for what has no pairs.
#[must_use]
pub fn paired(coding: &Coding) -> Option<Coding> {
    let block = if coding.block == 0 { 0 } else { coding.block.max(MIN_PAIR_BLOCK) };
    let floats = coding.element.is_float() && matches!(coding.element.width(), 2 | 4);
    (coding.model == Model::Plain && floats).then_some(Coding { block, class: TokenClass::Pairs(WIDEST), ..*coding })
}

/// Makes a kind one of pairs with a bank of its own, where that costs hardly more than `cost`, and tells what it costs, in units of 2^−16 bits.
pub(super) fn use_pairs(kind: &mut KindPlan<'_>, level: Level, cost: u64, slots: &Slots) -> Option<u64> {
    let count = kind.elements();
    // Whoever has given a file means its banks, or a built-in one in their place.
    let free = !slots.frozen.only && (slots.frozen.file.is_none() || kind.frozen.is_empty());
    let coded = kind.coding.is_some() && kind.kind.reference.is_none();
    // What is to be learned is what single elements are like, and pairs beside them.
    if slots.learned.is_some() || !slots.frozen.pairs || !free || !coded || count < LEAST {
        return None;
    }
    let runs = sample(kind, level.sample());
    let (coding, base, pairs) = judge(&coding(Model::Plain, kind.kind.element, kind.shift, &runs), &runs, count)?;
    if pairs > cost.saturating_add(cost / WORTH_SPEED) {
        return None;
    }
    kind.coding = Some(coding);
    kind.base = base;
    kind.sampling = sampling(level, count, &coding, pairs);
    kind.frozen.clear();
    Some(pairs)
}

/// The coding by pairs that stands beside `single`, its λ base and its cost for `of` elements.
fn judge(single: &Coding, runs: &[Run], of: usize) -> Option<(Coding, i16, u64)> {
    let mut workspace = Workspace::default();
    let wide = paired(&Coding { block: BLOCK, ..*single })?;
    let units = units(&wide, runs, &workspace);
    let base = base(&wide, runs, &units);
    let coding = narrowed(wide, base, runs, &units, &mut workspace);
    // As fast levels make banks: of a sample.
    let price = |s: &Statistics| exact_cost(&coding, s, sampled(runs, coding.element), of as u64, Cover::All);
    Some((coding, base, with_statistics(&coding, runs, &units, base, &mut workspace, price)))
}
