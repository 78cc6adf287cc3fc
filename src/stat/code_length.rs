//! Entropies and adaptive code lengths of counts. Both depend on how often each symbol came, not on the order.

/// What each symbol's count is raised by before anything has been seen.
const PRIOR: f64 = 0.05;

/// Bits that an adaptive code takes for these counts: symbol s of `alphabet` has probability (c + 0.05) / (t + 0.05 · alphabet), c and t growing.
pub(super) fn adaptive(counts: impl IntoIterator<Item = u64>, alphabet: usize) -> f64 {
    let mut total = 0;
    let mut parts = 0.0;
    for count in counts {
        total += count;
        parts += rising(PRIOR, count);
    }
    #[allow(clippy::cast_precision_loss)]
    let all = rising(PRIOR * alphabet as f64, total);
    all - parts
}

/// Entropy of the counts in bits per symbol counted.
#[allow(clippy::cast_precision_loss)]
pub(super) fn entropy(counts: impl IntoIterator<Item = u64>) -> f64 {
    let (mut total, mut sum) = (0, 0.0);
    for count in counts.into_iter().filter(|&c| c > 0) {
        total += count;
        sum += count as f64 * (count as f64).log2();
    }
    if total == 0 { 0.0 } else { ((total as f64).log2() - sum / total as f64).max(0.0) }
}

/// log2 of x · (x + 1) · … · (x + n − 1).
#[allow(clippy::cast_precision_loss)]
fn rising(x: f64, n: u64) -> f64 {
    /// From here on Stirling's series is exact to some ten digits.
    const LARGE: u64 = 16;
    let direct: f64 = (0..n.min(LARGE)).map(|i| (x + i as f64).log2()).sum();
    if n <= LARGE {
        return direct;
    }
    let ln_gamma = |x: f64| (x - 0.5) * x.ln() - x + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3));
    direct + (ln_gamma(x + n as f64) - ln_gamma(x + LARGE as f64)) * std::f64::consts::LOG2_E
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adaptive_code_is_what_its_steps_take() {
        let symbols: Vec<usize> = (0..5000usize).map(|i| (i * i % 31) % 7).collect();
        let mut counts = [0u64; 9];
        let mut bits = 0.0;
        for (t, &s) in symbols.iter().enumerate() {
            bits -= ((counts[s] as f64 + PRIOR) / (t as f64 + PRIOR * 9.0)).log2();
            counts[s] += 1;
        }
        assert!((adaptive(counts, 9) - bits).abs() < 1e-6 * bits);
        assert!(adaptive([0, 0], 2).abs() < 1e-12);
        assert!(adaptive(counts, 9) > 5000.0 * entropy(counts));
    }

    #[test]
    fn entropies_of_known_counts() {
        assert!((entropy([1, 1, 2]) - 1.5).abs() < 1e-12);
        assert!(entropy([7, 0]).abs() < 1e-12);
        assert!(entropy([]).abs() < 1e-12);
    }
}
