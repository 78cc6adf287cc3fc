//! Column profiles: how much each column of a matrix moves, or which position of a record a byte has (spec §6.4, coding-model §1).

use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::core::word::Word;
use crate::encode::distance::{Float, weigh};
use crate::encode::estimate::{Run, estimate};
use crate::encode::log2::entropy;
use crate::encode::magnitude::Magnitude;
use crate::encode::symbols::Coding;
use crate::encode::workspace::Workspace;
use crate::limits::MAX_PROFILE_COLUMNS;
use crate::wire::profile::Profile;
use crate::with_word;

/// Rows looked at.
const ROWS: usize = 256;
/// Fewer rows tell nothing of their columns.
const FEWEST_ROWS: usize = 12;
/// Elements of the sample that decides whether a profile pays.
const SAMPLE: usize = 1 << 14;
/// Longest record whose bytes get profiles.
const LONGEST_RECORD: usize = 4096;

/// The profile of a matrix with rows of `columns` elements, if it has one worth its bits. `rows` gives rows `start` … `end − 1` as a run.
#[must_use]
pub fn profile(coding: &Coding, columns: usize, count: usize, rows: impl Fn(usize, usize) -> Run) -> Option<Vec<i8>> {
    let all = count / columns.max(1);
    if !(2..=MAX_PROFILE_COLUMNS).contains(&columns) || all < FEWEST_ROWS {
        return None;
    }
    let mut sampled = Vec::new();
    // Rows in stretches of eight, evenly spread.
    let step = (all / ROWS).max(1) * 8;
    for start in (0..all).step_by(step) {
        sampled.push(rows(start, all.min(start + 8)));
    }
    let values = match Float::new(coding.element, coding.shift) {
        Some(float) if coding.element.width() > 1 => with_word!(coding.element.width(), W => {
            column_scales::<W>(coding, float, columns, &sampled)
        }),
        _ if coding.element == ElementType::Bytes && columns <= LONGEST_RECORD => positions(columns, &sampled),
        _ => return None,
    };
    if values.iter().all(|&v| v == 0) {
        return None;
    }
    pays(coding, columns, count, &values, sampled).then_some(values)
}

/// 4 · log2 of each column's mean magnitude, rows brought to one scale, less the mean of all.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn column_scales<W: Word>(coding: &Coding, float: Float, columns: usize, runs: &[Run]) -> Vec<i8> {
    let value = |run: &Run, i: usize| {
        let next = W::load(&run.next, i).wide() >> coding.shift;
        if coding.model == Model::Plain {
            float.significand(next)
        } else {
            float.distance(next, W::load(&run.reference, i).wide() >> coding.shift)
        }
    };
    let mut sums = vec![Magnitude::default(); columns];
    for run in runs {
        for row in 0..run.next.len() / W::BYTES / columns {
            let values = || (0..columns).map(|c| value(run, row * columns + c));
            let total = values().fold(Magnitude::default(), |sum, v| sum.plus(Magnitude::of(true, std::iter::once(v))));
            let Some(scale) = total.scale(columns) else { continue };
            for (sum, (magnitude, exponent)) in sums.iter_mut().zip(values()) {
                let weighed = weigh(magnitude, exponent, scale);
                *sum = sum.plus(Magnitude::of(true, std::iter::once(weighed)));
            }
        }
    }
    let scales: Vec<Option<i32>> = sums.iter().map(|s| s.scale(1)).collect();
    let known: Vec<i64> = scales.iter().flatten().map(|&s| i64::from(s)).collect();
    let mean = (known.iter().sum::<i64>() / (known.len().max(1) as i64)) as i32;
    let lowest = known.iter().min().map_or(0, |&low| low as i32);
    scales.into_iter().map(|s| (s.unwrap_or(lowest) - mean).clamp(-127, 127) as i8).collect()
}

/// Positions of a record in the order of their bytes' entropy, so that those alike are neighbours in λ and share tables.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn positions(columns: usize, runs: &[Run]) -> Vec<i8> {
    let mut keys: Vec<(u64, usize)> = (0..columns)
        .map(|column| {
            let mut counts = [0u32; 256];
            for byte in runs.iter().flat_map(|r| r.next.iter().skip(column).step_by(columns)) {
                counts[usize::from(*byte)] += 1;
            }
            // Entropy first, then where the mass is.
            let centre: u64 = (0u64..).zip(&counts).map(|(v, &c)| v * u64::from(c)).sum();
            ((entropy(&counts) >> 16) << 24 | (centre & 0xFF_FFFF), column)
        })
        .collect();
    keys.sort_unstable();
    let mut values = vec![0i8; columns];
    for (rank, &(_, column)) in keys.iter().enumerate() {
        values[column] = (rank * 255 / columns.max(2)) as i32 as u8 as i8 ^ i8::MIN;
    }
    values
}

/// Whether a profile saves more than it takes, from the sample.
fn pays(coding: &Coding, columns: usize, count: usize, values: &[i8], mut runs: Vec<Run>) -> bool {
    let width = coding.element.width();
    let keep = (SAMPLE / (8 * columns).max(1)).clamp(1, runs.len());
    let step = runs.len() / keep;
    runs = runs.into_iter().step_by(step.max(1)).collect();
    let mut coding = *coding;
    coding.block = if coding.element == ElementType::Bytes { 0 } else { 8 };
    // The tables are there in any case: only the symbols count.
    let mut workspace = Workspace::default();
    let mut estimate = |runs: &[Run]| estimate(&coding, runs, count as u64, &mut workspace);
    let without = estimate(&runs);
    for run in &mut runs {
        run.profiles = values.iter().copied().cycle().take(run.next.len() / width).collect();
    }
    let with = estimate(&runs);
    let mut body = Vec::new();
    Profile { values: values.to_vec() }.write(&mut body);
    let bits = (body.len() as u64 + 16) * 8;
    with + (bits << 16) < without
}
