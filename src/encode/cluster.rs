//! Which λ share a table: neighbours are merged as long as that saves bits (coding-model §5).

use crate::core::thresholds::Thresholds;
use crate::encode::histogram::Histogram;
use crate::encode::log2::{divergence, entropy};

/// Bits that one symbol of a table takes in a bank, about, in units of 2^−16.
const SYMBOL_COST: u64 = 6 << 16;
/// Bits that a table takes besides, about.
const TABLE_COST: u64 = 24 << 16;

/// Counts of one table to be, and what they cost.
struct Cluster {
    first: usize,
    counts: [u32; 256],
    cost: u64,
}

impl Cluster {
    fn new(first: usize, counts: [u32; 256]) -> Self {
        let symbols = counts.iter().filter(|&&c| c > 0).count() as u64;
        let cost = entropy(&counts) + symbols * SYMBOL_COST + TABLE_COST;
        Self { first, counts, cost }
    }

    fn merged(&self, next: &Self) -> Self {
        let mut counts = self.counts;
        for (a, b) in counts.iter_mut().zip(&next.counts) {
            *a = a.saturating_add(*b);
        }
        Self::new(self.first, counts)
    }
}

/// Thresholds and the counts of each table, at most `limit` (≥ 1); none where nothing was counted.
#[must_use]
pub fn cluster(histogram: &Histogram, limit: usize) -> (Thresholds, Vec<[u32; 256]>) {
    // Boxes, so that taking one out moves little.
    let mut clusters: Vec<Box<Cluster>> =
        histogram.bins().map(|(i, counts)| Box::new(Cluster::new(i, *counts))).collect();
    let mut merges: Vec<Box<Cluster>> = clusters.windows(2).map(|pair| Box::new(pair[0].merged(&pair[1]))).collect();
    loop {
        let gain = |i: usize| {
            let apart = clusters[i].cost + clusters[i + 1].cost;
            i128::from(apart) - i128::from(merges[i].cost)
        };
        let Some(best) = (0..merges.len()).max_by_key(|&i| (gain(i), std::cmp::Reverse(i))) else {
            break;
        };
        if gain(best) < 0 && clusters.len() <= limit {
            break;
        }
        clusters[best] = merges.remove(best);
        clusters.remove(best + 1);
        if best > 0 {
            *merges[best - 1] = clusters[best - 1].merged(&clusters[best]);
        }
        if best < merges.len() {
            *merges[best] = clusters[best].merged(&clusters[best + 1]);
        }
    }
    finish(histogram, &clusters)
}

/// Thresholds and the counts of each table, at most `limit` (≥ 1): a λ joins the one below as long as the divergence is at most `most`, in units
/// of 2^−20 bits. Where that leaves too many, `most` grows.
#[must_use]
pub fn cluster_alike(histogram: &Histogram, limit: usize, most: u64) -> (Thresholds, Vec<[u32; 256]>) {
    let mut most = most;
    loop {
        let mut clusters: Vec<Box<Cluster>> = Vec::new();
        for (i, counts) in histogram.bins() {
            let bin = Cluster::new(i, *counts);
            match clusters.last_mut() {
                Some(last) if divergence(&last.counts, counts) <= most => **last = last.merged(&bin),
                _ => clusters.push(Box::new(bin)),
            }
        }
        if clusters.len() <= limit {
            return finish(histogram, &clusters);
        }
        most = most + most / 4 + 16;
    }
}

fn finish(histogram: &Histogram, clusters: &[Box<Cluster>]) -> (Thresholds, Vec<[u32; 256]>) {
    #[allow(clippy::cast_possible_truncation)]
    let steps = match clusters.first() {
        // T_1 counts from T_0, which is the histogram's base; later ones from the one before.
        Some(_) => clusters
            .windows(2)
            .enumerate()
            .map(|(i, pair)| (pair[1].first - if i == 0 { 0 } else { pair[0].first }) as u8)
            .collect(),
        None => Vec::new(),
    };
    let base = if clusters.is_empty() { 0 } else { histogram.base() };
    (Thresholds { base, steps }, clusters.iter().map(|c| c.counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_bins_stay_apart_and_like_ones_join() {
        let mut histogram = Histogram::new(-10);
        for i in 0..10_000u32 {
            let step = |bin: u32, symbol: u32| (bin << 8 | symbol) as u16;
            histogram.count(&[step(i % 7, i % 3), step(60 + i % 5, 100 + i % 16)]);
        }
        histogram.settle();
        let (thresholds, counts) = cluster(&histogram, 32);
        assert_eq!(counts.len(), 2);
        assert_eq!(thresholds.steps, [60]);
        let map = thresholds.map();
        assert_eq!((map[0], map[59], map[60], map[255]), (0, 0, 1, 1));
        assert_eq!(cluster(&histogram, 1).1.len(), 1);
    }
}
