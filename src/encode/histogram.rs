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
/// Counts shorter than this are not worth more copies.
const SHORT: usize = 256;

/// Counts of up to 256 symbols in 256 bins of λ.
#[derive(Clone, Debug)]
pub struct Histogram {
    base: i16,
    /// The counts, and after the first long count the other copies.
    counts: Vec<u32>,
    /// Bins that may hold anything.
    used: std::ops::Range<usize>,
}

impl Histogram {
    /// No counts; bin 0 takes λ ≤ `base`, bin 255 λ ≥ `base` + 255.
    #[must_use]
    pub fn new(base: i16) -> Self {
        // An empty range whose ends give way to the first bin counted.
        let used = std::ops::Range { start: BINS, end: 0 };
        Self { base, counts: Vec::new(), used }
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
        let wanted = if steps.len() < SHORT { SYMBOLS } else { COPIES * STRIDE };
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
        if let (true, Some(b), Some(c), Some(d)) = (steps.len() >= SHORT, b, c, d) {
            let (quads, few) = steps.as_chunks::<4>();
            for quad in quads {
                a[usize::from(quad[0])] += 1;
                b[usize::from(quad[1])] += 1;
                c[usize::from(quad[2])] += 1;
                d[usize::from(quad[3])] += 1;
            }
            rest = few;
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
        let bins = other.used.start << 8..other.used.end << 8;
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
    #[must_use]
    pub fn settled(&self) -> Self {
        let mut sum = Self::new(self.base);
        sum.add(self);
        sum
    }

    /// Number of symbols counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }

    /// λ of bin 0.
    #[must_use]
    pub fn base(&self) -> i16 {
        self.base
    }

    /// Bins that hold anything, and their counts of 256 symbols. Only of a [`settled`](Self::settled) histogram.
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
        for part in steps.chunks(SHORT - 1).chain(steps.chunks(4 * SHORT + 1)) {
            histogram.count(part);
        }
        let settled = histogram.settled();
        let mut expected = [0u32; SYMBOLS];
        for &s in &steps {
            expected[usize::from(s)] += 2;
        }
        let mut seen = 0;
        for (bin, counts) in settled.bins() {
            assert_eq!(counts[..], expected[bin << 8..(bin + 1) << 8]);
            seen += counts.iter().sum::<u32>();
        }
        assert_eq!(seen as usize, 2 * steps.len());
    }
}
