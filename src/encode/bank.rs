//! Banks from histograms.

use crate::core::bank::Bank;
use crate::core::model::Model;
use crate::core::table::FrequencyTable;
use crate::core::thresholds::Thresholds;
use crate::encode::cluster::cluster;
use crate::encode::coding::Coding;
use crate::encode::histogram::Histogram;
use crate::encode::normalise::{cost, normalise};
use crate::limits::MAX_TABLES;
use crate::wire;

/// What a bank is built from.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Counts of scale symbols.
    pub scales: [u32; 256],
    /// Counts of mask symbols under the λ of groups.
    pub masks: Option<Histogram>,
    /// Counts of element symbols under λ.
    pub elements: Histogram,
}

impl Statistics {
    /// No counts, for λ from `base` on.
    #[must_use]
    pub fn new(base: i16, masks: bool) -> Self {
        Self { scales: [0; 256], masks: masks.then(|| Histogram::new(base)), elements: Histogram::new(base) }
    }

    /// Adds other counts with the same base.
    pub fn add(&mut self, other: &Self) {
        for (a, b) in self.scales.iter_mut().zip(&other.scales) {
            *a += b;
        }
        if let (Some(a), Some(b)) = (&mut self.masks, &other.masks) {
            a.add(b);
        }
        self.elements.add(&other.elements);
    }

    /// Whether nothing has been counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
            && self.scales.iter().all(|&c| c == 0)
            && self.masks.as_ref().is_none_or(Histogram::is_empty)
    }

    /// Forgets all counts, and starts anew in the same memory.
    pub fn reset(&mut self, base: i16, masks: bool) {
        self.scales = [0; 256];
        self.elements.reset(base);
        match (&mut self.masks, masks) {
            (Some(histogram), true) => histogram.reset(base),
            (old, _) => *old = masks.then(|| Histogram::new(base)),
        }
    }

    /// Multiplies all counts, settled.
    pub fn multiply(&mut self, factor: u32) {
        self.scales = self.scales.map(|count| count.saturating_mul(factor));
        self.elements.multiply(factor);
        if let Some(masks) = &mut self.masks {
            masks.multiply(factor);
        }
    }

    /// Adds up the copies of its counts.
    pub fn settle(&mut self) {
        self.elements.settle();
        if let Some(masks) = &mut self.masks {
            masks.settle();
        }
    }

    /// The raw bits after the element symbols, in units of 2^−16 bits. Only of counts that have been [settled](Self::settle).
    #[must_use]
    pub fn raw(&self, coding: &Coding) -> u64 {
        let bits = coding.raw_bits();
        let raw =
            |counts: &[u32; 256]| counts.iter().zip(&bits).map(|(&c, &b)| u64::from(c) * u64::from(b)).sum::<u64>();
        self.elements.bins().map(|(_, counts)| raw(counts)).sum::<u64>() << 16
    }

    /// What coding the counts with `bank` takes, in units of 2^−16 bits, but for [raw](Self::raw) bits after tokens of their own; `None` where it cannot code
    /// them.
    #[must_use]
    pub fn cost(&self, bank: &Bank, coding: &Coding) -> Option<u64> {
        let escape = coding.escape_cost();
        let group = |histogram: &Histogram, thresholds: &Thresholds, tables: &[FrequencyTable], escape| {
            let map = thresholds.map();
            let offset = i32::from(histogram.base()) - i32::from(thresholds.base);
            let mut sum = 0u64;
            for (i, counts) in histogram.bins() {
                #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                let table = map[(i as i32 + offset).clamp(0, 255) as usize];
                sum += cost(counts, tables.get(usize::from(table))?, escape)?;
            }
            Some(sum)
        };
        let scales = match &bank.scale {
            Some(table) => cost(&self.scales, table, None)?,
            None if self.scales.iter().any(|&c| c > 0) => return None,
            None => 0,
        };
        let masks = match &self.masks {
            Some(masks) => group(masks, &bank.mask_thresholds, &bank.masks, None)?,
            None => 0,
        };
        Some(scales + masks + group(&self.elements, &bank.element_thresholds, &bank.elements, escape.as_ref())?)
    }
}

/// What a bank can code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// What was counted: that is all there will be.
    Counted,
    /// Whatever may come: the counts are those of a sample.
    All,
}

impl Cover {
    /// Gives a count to what must have a frequency: ESC where there is one, else all of `symbols`.
    fn fill(self, counts: &mut [u32; 256], symbols: usize, escape: Option<u8>) {
        if self == Self::Counted {
            return;
        }
        let needed = match escape {
            Some(first) => usize::from(first)..usize::from(first) + 2,
            None => 0..symbols,
        };
        for count in counts.get_mut(needed).unwrap_or(&mut []) {
            *count = (*count).max(1);
        }
    }
}

/// Whether a bank of the right class can code whatever elements there may be.
#[must_use]
pub fn covers(bank: &Bank, coding: &Coding) -> bool {
    /// Scale symbols that an encoder writes: 0 … this − 1.
    const SCALE_SYMBOLS: usize = 254;
    let complete = |tables: &[FrequencyTable], symbols: std::ops::Range<usize>| {
        tables
            .iter()
            .all(|table| table.0.get(symbols.clone()).is_some_and(|f| f.iter().all(|&frequency| frequency > 0)))
    };
    let escape = coding.escape().map(usize::from).is_some_and(|first| complete(&bank.elements, first..first + 2));
    (escape || complete(&bank.elements, 0..coding.symbols()))
        && (coding.block == 0 || complete(bank.scale.as_slice(), 0..SCALE_SYMBOLS))
        && (coding.model != Model::Mask || complete(&bank.masks, 0..256))
}

/// The bank for these counts, settled, and its cost with its own bits, in units of 2^−16 bits; at most `limit` tables.
#[must_use]
pub fn build(statistics: &Statistics, coding: &Coding, limit: usize, cover: Cover) -> (Bank, u64) {
    let limit = limit.clamp(2, MAX_TABLES);
    let masks = statistics.masks.as_ref().map(|masks| cluster(masks, limit / 2));
    let elements = cluster(&statistics.elements, limit - masks.as_ref().map_or(0, |m| m.1.len()));
    let scaled = cover != Cover::Counted && coding.block != 0;
    build_with(&statistics.scales, scaled, masks, elements, coding, cover)
}

/// Thresholds and the counts of each table.
pub type Clusters = (Thresholds, Vec<[u32; 256]>);

/// [`build`] with tables for these counts; `scaled`: with a scale table even where no scale was counted.
#[must_use]
pub fn build_with(
    scales: &[u32; 256],
    scaled: bool,
    masks: Option<Clusters>,
    elements: Clusters,
    coding: &Coding,
    cover: Cover,
) -> (Bank, u64) {
    let class = coding.class;
    let with_masks = masks.is_some();
    let (mask_thresholds, mut mask_counts) = masks.unwrap_or_default();
    let (element_thresholds, mut element_counts) = elements;
    // A bank has an element table always (ULP-SUB-06), even where every block is ZERO.
    if element_counts.is_empty() {
        element_counts.push([0; 256]);
    }
    if with_masks && mask_counts.is_empty() {
        mask_counts.push([0; 256]);
    }
    let mut scale_counts = *scales;
    let scaled = scaled || scales.iter().any(|&c| c > 0);
    element_counts.iter_mut().for_each(|counts| cover.fill(counts, coding.symbols(), coding.escape()));
    mask_counts.iter_mut().for_each(|counts| cover.fill(counts, 256, None));
    if scaled {
        cover.fill(&mut scale_counts, 256, None);
    }
    let with_precision = |precision| {
        let tables = |counts: &[[u32; 256]]| counts.iter().map(|c| normalise(c, precision)).collect();
        let bank = Bank {
            class,
            precision,
            scale: scaled.then(|| normalise(&scale_counts, precision)),
            mask_thresholds: mask_thresholds.clone(),
            masks: tables(&mask_counts),
            element_thresholds: element_thresholds.clone(),
            elements: tables(&element_counts),
        };
        let mut sum = bits(&bank);
        sum += bank.scale.as_ref().and_then(|t| cost(&scale_counts, t, None)).unwrap_or(0);
        for (tables, counts) in [(&bank.masks, &mask_counts), (&bank.elements, &element_counts)] {
            sum += tables.iter().zip(counts).filter_map(|(t, c)| cost(c, t, None)).sum::<u64>();
        }
        (bank, sum)
    };
    let mut best = with_precision(4);
    for precision in [3, 5, 6, 2] {
        let other = with_precision(precision);
        if other.1 < best.1 {
            best = other;
        }
    }
    best
}

/// Bits of a bank in a stream, in units of 2^−16.
#[must_use]
pub fn bits(bank: &Bank) -> u64 {
    let mut body = Vec::new();
    wire::bank::write(bank, &mut body);
    (body.len() as u64 * 8) << 16
}
