//! Counts of symbols under each λ.

use crate::core::thresholds::TableMap;

/// Number of λ bins.
pub const BINS: usize = 256;

/// Symbols in all bins.
const SYMBOLS: usize = BINS * 256;
/// Copies that a long count is spread over: equal symbols that follow one another must not wait for each other's store.
const COPIES: usize = 4;
/// Distance of the copies: a few cache lines more than their size, or the same symbols of all would fight for the same places in the cache.
const STRIDE: usize = SYMBOLS + 64;
/// Steps fewer than this are not worth more copies.
const SHORT: usize = 256;
/// Nor are so many in all: copies are memory to clear and to add up.
const FEW: usize = 1 << 15;

/// An empty range whose ends give way to the first bin counted.
const NO_BINS: std::ops::Range<usize> = std::ops::Range { start: BINS, end: 0 };

/// Where the counts of bins are in a copy.
fn bins_of(used: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    if used.is_empty() { 0..0 } else { used.start << 8..used.end << 8 }
}

/// Counts of up to 256 symbols in 256 bins of λ.
#[derive(Clone, Debug)]
pub struct Histogram {
    base: i16,
    /// The counts, and after long ones the other copies.
    counts: Vec<u32>,
    /// Symbols counted while there was one copy.
    counted: usize,
    /// Bins that may hold anything, in any copy.
    used: std::ops::Range<usize>,
}

impl Histogram {
    /// No counts; bin 0 takes λ ≤ `base`, bin 255 λ ≥ `base` + 255.
    #[must_use]
    pub fn new(base: i16) -> Self {
        Self { base, counts: Vec::new(), counted: 0, used: NO_BINS }
    }

    /// Forgets all counts, and starts anew with this base in the same memory.
    pub fn reset(&mut self, base: i16) {
        let bins = bins_of(&self.used);
        for copy in self.counts.chunks_mut(STRIDE) {
            copy.get_mut(bins.clone()).unwrap_or(&mut []).fill(0);
        }
        (self.base, self.counted, self.used) = (base, 0, NO_BINS);
    }

    /// Counts by λ; what is outside of the bins counts in the first or last.
    #[allow(clippy::cast_sign_loss)]
    pub fn of<'a>(base: i16, bins: impl Iterator<Item = (i16, &'a [u32; 256])>) -> Self {
        let mut histogram = Self::new(base);
        for (lambda, counts) in bins {
            if histogram.counts.is_empty() {
                histogram.counts = vec![0; SYMBOLS];
            }
            let bin = (i32::from(lambda) - i32::from(base)).clamp(0, 255) as usize;
            histogram.used = histogram.used.start.min(bin)..histogram.used.end.max(bin + 1);
            for (sum, count) in histogram.counts.iter_mut().skip(bin << 8).zip(counts) {
                *sum = sum.saturating_add(*count);
            }
        }
        histogram
    }

    /// The map that makes steps of λ with which to count.
    #[must_use]
    pub fn map(&self) -> TableMap {
        TableMap::identity(self.base)
    }

    /// Counts the symbols of steps.
    pub fn count(&mut self, steps: &[u16]) {
        let (low, high) = steps.iter().fold((u16::MAX, 0), |(low, high), &s| (low.min(s), high.max(s)));
        if low > high {
            return;
        }
        self.used.start = self.used.start.min(usize::from(low >> 8));
        self.used.end = self.used.end.max(usize::from(high >> 8) + 1);
        let spread = steps.len() >= SHORT && (self.counted >= FEW || self.counts.len() > SYMBOLS);
        let wanted = if spread { COPIES * STRIDE } else { SYMBOLS };
        if self.counts.len() < wanted {
            // Fresh zero pages: bins that stay empty are never touched.
            let mut counts = vec![0; wanted];
            counts[..self.counts.len()].copy_from_slice(&self.counts);
            self.counts = counts;
        }
        let mut copies = self.counts.chunks_mut(STRIDE).filter_map(|copy| copy.first_chunk_mut::<SYMBOLS>());
        let (Some(a), b, c, d) = (copies.next(), copies.next(), copies.next(), copies.next()) else {
            return;
        };
        let mut rest = steps;
        if let (true, Some(b), Some(c), Some(d)) = (spread, b, c, d) {
            let (quads, few) = steps.as_chunks::<4>();
            for quad in quads {
                a[usize::from(quad[0])] += 1;
                b[usize::from(quad[1])] += 1;
                c[usize::from(quad[2])] += 1;
                d[usize::from(quad[3])] += 1;
            }
            rest = few;
        } else {
            self.counted += steps.len();
        }
        for &step in rest {
            a[usize::from(step)] += 1;
        }
    }

    /// Adds all counts of another histogram with the same base.
    pub fn add(&mut self, other: &Self) {
        if other.used.is_empty() {
            return;
        }
        if self.counts.len() < SYMBOLS {
            self.counts = vec![0; SYMBOLS];
        }
        let bins = bins_of(&other.used);
        for copy in other.counts.chunks(STRIDE) {
            if let (Some(sum), Some(copy)) = (self.counts.get_mut(bins.clone()), copy.get(bins.clone())) {
                for (a, b) in sum.iter_mut().zip(copy) {
                    *a += b;
                }
            }
        }
        self.used = self.used.start.min(other.used.start)..self.used.end.max(other.used.end);
    }

    /// Adds up the copies.
    pub fn settle(&mut self) {
        let bins = bins_of(&self.used);
        let mut copies = self.counts.chunks_mut(STRIDE);
        let Some(sum) = copies.next().and_then(|first| first.get_mut(bins.clone())) else { return };
        for copy in copies {
            for (a, b) in sum.iter_mut().zip(copy.get_mut(bins.clone()).unwrap_or(&mut [])) {
                *a += std::mem::take(b);
            }
        }
    }

    /// Multiplies all counts, settled.
    pub fn multiply(&mut self, factor: u32) {
        for count in self.counts.get_mut(bins_of(&self.used)).unwrap_or(&mut []) {
            *count = count.saturating_mul(factor);
        }
    }

    /// Whether nothing has been counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// λ of bin 0.
    #[must_use]
    pub fn base(&self) -> i16 {
        self.base
    }

    /// Bins that hold anything, and their counts of 256 symbols. Only of a histogram that has been [settled](Self::settle).
    pub fn bins(&self) -> impl Iterator<Item = (usize, &[u32; 256])> {
        let (bins, _) = self.counts.as_chunks::<256>();
        let used = bins.iter().enumerate().take(self.used.end).skip(self.used.start);
        used.filter(|(_, counts)| counts.iter().any(|&c| c > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_counts_add_up() {
        let steps: Vec<u16> = (0..5000u32).map(|i| (i * i % 1021) as u16 + 512).collect();
        let mut histogram = Histogram::new(0);
        // The second time in memory that has been used, from the start in copies.
        for _ in 0..2 {
            histogram.reset(0);
            assert!(histogram.is_empty());
            for _ in 0..8 {
                steps.chunks(SHORT - 1).chain(steps.chunks(4 * SHORT + 1)).for_each(|part| histogram.count(part));
            }
            assert!(histogram.counts.len() > SYMBOLS);
            histogram.settle();
            let mut expected = [0u32; SYMBOLS];
            for &s in &steps {
                expected[usize::from(s)] += 16;
            }
            let mut seen = 0;
            for (bin, counts) in histogram.bins() {
                assert_eq!(counts[..], expected[bin << 8..(bin + 1) << 8]);
                seen += counts.iter().sum::<u32>();
            }
            assert_eq!(seen as usize, 16 * steps.len());
        }
    }
}
