//! Counts of symbols under each λ.

/// Counts of up to 256 symbols in 256 bins of λ.
#[derive(Clone, Debug)]
pub struct Histogram {
    base: i32,
    counts: Vec<u32>,
}

/// Number of λ bins.
pub const BINS: usize = 256;

impl Histogram {
    /// No counts; bin 0 takes λ ≤ `base`, bin 255 λ ≥ `base` + 255.
    #[must_use]
    pub fn new(base: i16) -> Self {
        Self { base: base.into(), counts: vec![0; BINS * 256] }
    }

    /// Counts one symbol.
    #[inline(always)]
    #[allow(clippy::cast_sign_loss)]
    pub fn count(&mut self, lambda: i32, symbol: u8) {
        let bin = (lambda - self.base).clamp(0, 255) as usize;
        self.counts[(bin << 8) | usize::from(symbol)] += 1;
    }

    /// Adds all counts of another histogram with the same base.
    pub fn add(&mut self, other: &Self) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
    }

    /// λ of bin 0.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn base(&self) -> i16 {
        self.base as i16
    }

    /// The counts of each bin, 256 symbols each.
    pub fn bins(&self) -> impl Iterator<Item = &[u32; 256]> {
        self.counts.chunks_exact(256).filter_map(|bin| bin.first_chunk())
    }

    /// Number of symbols counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }
}
