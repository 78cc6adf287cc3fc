//! What a coding would cost, from a sample.

use crate::core::bank::TokenClass;
use crate::core::element::{Class, ElementType};
use crate::core::model::Model;
use crate::core::plain::PlainForm;
use crate::encode::bank::{Cover, Statistics, bits, build};
use crate::encode::histogram::{BINS, Histogram};
use crate::encode::log2::entropy;
use crate::encode::magnitude::Units;
use crate::encode::symbols::{Coding, Elements};
use crate::encode::workspace::Workspace;
use crate::limits::MAX_TABLES;

/// λ bins that an estimate takes together: cheaper and less fooled by small samples than single ones.
const COARSE: usize = 2;

/// What describing the count of one symbol takes, in units of 2^−16 bits.
const SYMBOL: u64 = 4 << 16;

/// A stretch of consecutive elements.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The elements.
    pub next: Vec<u8>,
    /// Their references, converted; empty without.
    pub reference: Vec<u8>,
    /// Their profile values, or empty.
    pub profiles: Vec<i8>,
}

impl Run {
    /// The run as elements.
    #[must_use]
    pub fn elements(&self) -> Elements<'_> {
        Elements { next: &self.next, reference: &self.reference, profiles: &self.profiles }
    }
}

/// The plain form that suits a sample: signs are modelled where they are skewed.
#[must_use]
pub fn plain_class(element: ElementType, shift: u8, runs: &[Run]) -> TokenClass {
    let Class::Float { mantissa, .. } = element.class() else {
        return TokenClass::of_lengths(element);
    };
    let width = element.width();
    if width == 1 {
        return TokenClass::Byte;
    }
    let signs = runs.iter().flat_map(|r| r.next.chunks_exact(width)).filter_map(<[u8]>::last);
    let (count, negative) = signs.fold((0u64, 0u64), |(n, k), byte| (n + 1, k + u64::from(byte >> 7)));
    let sign = count > 0 && negative.abs_diff(count - negative) * 8 > count;
    let top = mantissa > u32::from(shift);
    let window = (254 >> (u8::from(sign) + u8::from(top))).min(127);
    // A block's largest values stand up to 2^15 above its mean; far below it there is room to ESC.
    TokenClass::Plain(PlainForm { sign, top, centre: window - 17, window })
}

/// A coding of this model, blocks to be chosen.
#[must_use]
pub fn coding(model: Model, element: ElementType, shift: u8, runs: &[Run]) -> Coding {
    let class = match model {
        Model::Plain => plain_class(element, shift, runs),
        Model::Residual | Model::Mask => TokenClass::of_lengths(element),
    };
    Coding { model, element, shift, block: 0, class, hold: 0, clip: None }
}

/// Magnitudes of the units of each run: the same for all block lengths.
#[must_use]
pub fn units(coding: &Coding, runs: &[Run], workspace: &Workspace) -> Vec<Units> {
    runs.iter().map(|run| coding.units(workspace.kernel, run.elements())).collect()
}

/// Calls `f` with the statistics of the runs under a coding, settled, λ from `base` on.
pub fn with_statistics<T>(
    coding: &Coding,
    runs: &[Run],
    units: &[Units],
    base: i16,
    workspace: &mut Workspace,
    f: impl FnOnce(&Statistics) -> T,
) -> T {
    let mut statistics = std::mem::replace(&mut workspace.statistics, Statistics::new(0, false));
    statistics.reset(base, coding.model == Model::Mask);
    for (run, units) in runs.iter().zip(units) {
        let elements = run.elements();
        let scales = coding.scales(units, coding.count(&elements));
        coding.statistics(elements, &scales, &mut statistics, workspace);
    }
    statistics.settle();
    let result = f(&statistics);
    workspace.statistics = statistics;
    result
}

/// Estimated cost of the runs under a coding with λ bins of its own, for `of` elements, in units of 2^−16 bits.
#[must_use]
pub fn estimate(coding: &Coding, runs: &[Run], of: u64, workspace: &mut Workspace) -> u64 {
    let units = units(coding, runs, workspace);
    let sampled = runs.iter().map(|r| r.next.len() / coding.element.width()).sum();
    let base = base(coding, runs, &units);
    with_statistics(coding, runs, &units, base, workspace, |statistics| cost(coding, statistics, sampled, of))
}

/// Cost of coding `of` elements like those sampled, in units of 2^−16 bits.
#[must_use]
pub fn cost(coding: &Coding, statistics: &Statistics, sampled: usize, of: u64) -> u64 {
    let (code, model) = code_and_model(coding, statistics);
    scaled(code, sampled, of).saturating_add(model)
}

/// What `of` elements cost where those sampled cost `code`.
#[must_use]
pub fn scaled(code: u64, sampled: usize, of: u64) -> u64 {
    u64::try_from(u128::from(code) * u128::from(of) / (sampled.max(1) as u128)).unwrap_or(u64::MAX)
}

/// The same with a bank made for the statistics that covers so much, its tables included: dearer to find out, and nearer to what it will be.
#[must_use]
pub fn exact_cost(coding: &Coding, statistics: &Statistics, sampled: usize, of: u64, cover: Cover) -> u64 {
    let (bank, _) = build(statistics, coding, MAX_TABLES, cover);
    let code = statistics.cost(&bank, coding).unwrap_or(u64::MAX >> 1) + statistics.raw(coding);
    scaled(code, sampled, of).saturating_add(bits(&bank))
}

fn code_and_model(coding: &Coding, statistics: &Statistics) -> (u64, u64) {
    let mut code = 0;
    let mut model = 0;
    let mut group = |counts: &[u32]| {
        code += entropy(counts);
        model += counts.iter().filter(|&&c| c > 0).count() as u64 * SYMBOL;
    };
    group(&statistics.scales);
    for histogram in statistics.masks.iter().chain([&statistics.elements]) {
        coarse(histogram, &mut group);
    }
    (code + statistics.raw(coding), model)
}

fn coarse(histogram: &Histogram, f: &mut impl FnMut(&[u32])) {
    let mut sum = [0u32; 256];
    let mut last = None;
    for (bin, counts) in histogram.bins() {
        if last.is_some_and(|last| last != bin / COARSE) {
            f(&sum);
            sum = [0; 256];
        }
        last = Some(bin / COARSE);
        for (a, b) in sum.iter_mut().zip(counts) {
            *a += b;
        }
    }
    f(&sum);
}

/// λ of bin 0 such that as many of the sample's λ as possible have a bin of their own.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
pub fn base(coding: &Coding, runs: &[Run], units: &[Units]) -> i16 {
    let mut lambdas: Vec<i16> = Vec::new();
    for (run, units) in runs.iter().zip(units) {
        let elements = run.elements();
        let scales = coding.scales(units, coding.count(&elements));
        coding.lambdas(elements, &scales, &mut lambdas);
    }
    lambdas.sort_unstable();
    let mut best = (0, 0, 0);
    let mut end = 0;
    for (start, &low) in lambdas.iter().enumerate() {
        while lambdas.get(end).is_some_and(|&l| i32::from(l) < i32::from(low) + BINS as i32) {
            end += 1;
        }
        if end - start > best.0 {
            best = (end - start, low, lambdas.get(end - 1).copied().unwrap_or(low));
        }
    }
    // What room the window has is left on both sides.
    let (_, low, high) = best;
    let room = (BINS as i32 - 1 - (i32::from(high) - i32::from(low))).max(0);
    (i32::from(low) - room / 2).max(i16::MIN.into()) as i16
}
