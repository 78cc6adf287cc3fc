//! What a window teaches (coding-model §5): its elements piece by piece, and the symbols of a piece.

use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::encode::bank::Statistics;
use crate::encode::choose::{HALF_EQUAL, best_of, equal_eighths, sample};
use crate::encode::chunk::simple;
use crate::encode::coding::Coding;
use crate::encode::estimate::base;
use crate::encode::judge::JUDGED;
use crate::encode::pairs::paired;
use crate::encode::plan::Plan;
use crate::encode::train::{Grouping, Training};
use crate::limits::{MAX_BLOCK, MIN_BLOCK, MIN_MASK_BLOCK, MIN_PAIR_BLOCK};

/// Kinds with fewer elements in a window teach nothing.
const LEARNED: usize = 1 << 12;

impl Plan<'_> {
    /// Pieces of each kind to learn from, one by one: kind, elements, number of the tensor from the window's first.
    #[must_use]
    pub fn lessons(&self, training: &Training) -> Vec<(usize, std::ops::Range<usize>, usize)> {
        if training.grouping != Grouping::Tensor {
            let chunks = (0..self.chunks()).flat_map(|chunk| self.ranges(chunk));
            return chunks.map(|(kind, range)| (kind, range, 0)).collect();
        }
        let member = |&(kind, member): &(u8, u32)| {
            let member = &self.kinds[usize::from(kind)].members[member as usize];
            (usize::from(kind), member.before..member.before + member.span.elements())
        };
        self.order.iter().map(member).enumerate().map(|(number, (kind, range))| (kind, range, number)).collect()
    }

    /// The codings of a kind that are worth learning: how it is coded, and what may come to be of use besides: pairs of floats, the other method against
    /// references.
    #[must_use]
    pub fn learned_codings(&self, kind: usize, training: &Training) -> Vec<Coding> {
        let plan = &self.kinds[kind];
        let Some(coding) =
            plan.coding.filter(|_| plan.elements() >= LEARNED && plan.kind.element != ElementType::Bytes)
        else {
            return Vec::new();
        };
        let mut codings = vec![coding];
        let runs = sample(plan, self.level.sample().min(JUDGED));
        let with = |model| {
            let count = plan.elements() as u64;
            best_of(&[model], coding.element, plan.shift, true, self.level, &runs, count).0
        };
        let other = match coding.model {
            Model::Plain => paired(&coding),
            Model::Residual => (equal_eighths(&runs, coding.element) >= HALF_EQUAL).then(|| with(Model::Mask)),
            Model::Mask => Some(with(Model::Residual)),
        };
        codings.extend(other);
        for coding in &mut codings {
            let least = match coding.class.elements() {
                2 => MIN_PAIR_BLOCK,
                _ if coding.model == Model::Mask => MIN_MASK_BLOCK,
                _ => MIN_BLOCK,
            };
            coding.block = match training.block {
                None => coding.block,
                Some(0) => 0,
                Some(block) => block.clamp(least, MAX_BLOCK),
            };
        }
        codings
    }

    /// The symbols of elements of a kind under a coding.
    #[must_use]
    pub fn lesson(&self, kind: usize, range: std::ops::Range<usize>, coding: &Coding) -> Statistics {
        let plan = &self.kinds[kind];
        let mut statistics = Statistics::new(0, coding.model == Model::Mask);
        let gathered = plan.gather(range);
        let elements = gathered.elements();
        if simple(plan, &elements).is_some() {
            return statistics;
        }
        self.workspaces.with(|workspace| {
            let run = gathered.into_run();
            let units = [coding.units(workspace.kernel, run.elements())];
            let scales = coding.scales(&units[0], coding.count(&run.elements()));
            statistics = Statistics::new(base(coding, std::slice::from_ref(&run), &units), coding.model == Model::Mask);
            coding.statistics(run.elements(), &scales, &mut statistics, workspace);
            statistics.settle();
        });
        statistics
    }
}
