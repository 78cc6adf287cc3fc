//! Counts to frequencies that sum to 4096 and that a bank can write.

use std::sync::LazyLock;

use crate::core::table::{FrequencyTable, TOTAL};
use crate::encode::log2::log2;
use crate::wire::bank::truncate;

/// The table of these counts (not all zero), its frequencies of `precision` bits below the leading one.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn normalise(counts: &[u32; 256], precision: u8) -> FrequencyTable {
    let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let mut table = FrequencyTable([0; 256]);
    if total == 0 {
        return FrequencyTable::certain(0);
    }
    let implied = (0..256).max_by_key(|&s| (counts[s], std::cmp::Reverse(s))).unwrap_or(0);
    let mut sum = 0;
    for s in (0..256).filter(|&s| s != implied && counts[s] > 0) {
        let ideal = u64::from(counts[s]) * u64::from(TOTAL);
        let frequency = ((ideal + total / 2) / total).clamp(1, 4095) as u16;
        table.0[s] = nearest(frequency, precision);
        sum += u32::from(table.0[s]);
    }
    // The implied symbol takes the rest and must be the first of the most frequent.
    loop {
        let rest = TOTAL.saturating_sub(sum) as u16;
        table.0[implied] = rest;
        if rest >= 1 && usize::from(table.most_frequent()) == implied {
            return table;
        }
        let Some(largest) = (0..256).filter(|&s| s != implied && table.0[s] > 1).max_by_key(|&s| table.0[s]) else {
            return table;
        };
        let lower = truncate(table.0[largest] - 1, precision);
        sum -= u32::from(table.0[largest] - lower);
        table.0[largest] = lower;
    }
}

/// The writable frequency nearest to this one.
fn nearest(frequency: u16, precision: u8) -> u16 {
    let low = truncate(frequency, precision);
    let bits = 16 - frequency.leading_zeros();
    let step = 1u16 << bits.saturating_sub(1 + u32::from(precision));
    if frequency - low > step / 2 { (low + step).min(4095) } else { low }
}

/// Cost of a symbol of each frequency, in units of 2^−16 bits.
#[allow(clippy::cast_possible_truncation)]
static COSTS: LazyLock<Vec<u32>> =
    LazyLock::new(|| (0..=u64::from(TOTAL)).map(|f| (12 << 16) - log2(f) as u32).collect());

/// ESC tokens, and what they take.
#[derive(Clone, Debug)]
pub struct Escape {
    /// The first of the two, for even symbols.
    pub first: u8,
    /// Raw bits that each symbol takes more when ESC stands in for it.
    pub more: [u8; 256],
}

/// What coding the counts with the table takes, in units of 2^−16 bits; `None` where a symbol has no frequency, nor has ESC for it.
#[must_use]
pub fn cost(counts: &[u32; 256], table: &FrequencyTable, escape: Option<&Escape>) -> Option<u64> {
    let costs = &**COSTS;
    let mut sum = 0;
    // Most counts are zero, and stand together.
    let (rows, _) = counts.as_chunks::<16>();
    let (frequencies, _) = table.0.as_chunks::<16>();
    for (row, (counts, frequencies)) in rows.iter().zip(frequencies).enumerate().filter(|(_, (c, _))| **c != [0; 16]) {
        for (i, (&count, &frequency)) in counts.iter().zip(frequencies).enumerate().filter(|(_, (c, _))| **c > 0) {
            let (mut frequency, mut more) = (frequency, 0);
            if frequency == 0 {
                let escape = escape?;
                let symbol = 16 * row + i;
                frequency = *table.0.get(usize::from(escape.first) | (symbol & 1)).filter(|&&f| f > 0)?;
                more = u64::from(*escape.more.get(symbol)?) << 16;
            }
            sum += u64::from(count) * (u64::from(*costs.get(usize::from(frequency))?) + more);
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_sums_to_4096_with_the_implied_symbol_on_top() {
        let mut x = 1u64;
        for round in 0..2000u32 {
            let mut counts = [0u32; 256];
            for c in &mut counts {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let n = (x >> 40) as u32;
                *c = if round % 3 == 0 {
                    n >> (x >> 59)
                } else if n.is_multiple_of(2 + round) {
                    n
                } else {
                    0
                };
            }
            if counts.iter().all(|&c| c == 0) {
                continue;
            }
            for precision in 1..=12 {
                let table = normalise(&counts, precision);
                assert_eq!(table.0.iter().map(|&f| u32::from(f)).sum::<u32>(), 4096);
                let implied = usize::from(table.most_frequent());
                for (s, (&count, &frequency)) in counts.iter().zip(&table.0).enumerate() {
                    assert_eq!(count > 0, frequency > 0);
                    assert!(s == implied || truncate(frequency, precision) == frequency);
                }
                assert!(cost(&counts, &table, None).is_some());
            }
        }
    }
}
