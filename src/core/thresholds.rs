//! Which table serves which λ (spec §9, thresholds).

use crate::error::{Error, Result};

/// λ thresholds of a group of tables.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Thresholds {
    /// T_0.
    pub base: i16,
    /// T_i − T_(i−1), each 1…255, at most 255 in sum; one fewer than there are tables.
    pub steps: Vec<u8>,
}

impl Thresholds {
    /// Checks the rules on steps.
    ///
    /// # Errors
    /// ULP-BNK-01: a step of zero, or a sum above 255.
    pub fn check(&self) -> Result<()> {
        let sum: u64 = self.steps.iter().map(|&s| u64::from(s)).sum();
        if self.steps.contains(&0) {
            return Err(Error::Field { field: "threshold step", value: 0 });
        }
        if sum > 255 {
            return Err(Error::Field { field: "sum of threshold steps", value: sum });
        }
        Ok(())
    }

    /// The table of each λ − base in 0…255.
    #[must_use]
    pub fn map(&self) -> [u8; 256] {
        let mut map = [0; 256];
        let mut at = 0usize;
        for (table, &step) in (1u8..).zip(&self.steps) {
            at += usize::from(step);
            if let Some(rest) = map.get_mut(at..) {
                rest.fill(table);
            }
        }
        map
    }
}

/// A map from λ to tables, ready for use.
#[derive(Clone, Debug)]
pub struct TableMap {
    base: i32,
    map: [u8; 256],
}

impl TableMap {
    /// The map of these thresholds.
    #[must_use]
    pub fn new(thresholds: &Thresholds) -> Self {
        Self { base: i32::from(thresholds.base), map: thresholds.map() }
    }

    /// A map in which each λ from `base` to `base` + 255 has a number of its own, with which to count.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn identity(base: i16) -> Self {
        Self { base: base.into(), map: std::array::from_fn(|i| i as u8) }
    }

    /// The table that serves λ.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_sign_loss)]
    pub fn table(&self, lambda: i32) -> u8 {
        self.map[(lambda - self.base).clamp(0, 255) as usize]
    }

    /// T_0.
    #[must_use]
    pub fn base(&self) -> i32 {
        self.base
    }

    /// The table of each λ − base in 0…255.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 256] {
        &self.map
    }
}
