//! Frequencies of symbols, packed for the encoder.

use crate::core::table::{FrequencyTable, TOTAL};

/// Bits of an entry where the frequency begins (13 bits).
pub(super) const FREQUENCY: u32 = 32;
/// Bits of an entry where the number of raw bits begins (7 bits).
pub(super) const RAW_BITS: u32 = 45;
/// Bits of an entry where the cumulative frequency begins (12 bits).
pub(super) const CUMULATIVE: u32 = 52;

/// Encoder entries of some tables, 256 each: bits 0…31 floor(2^32 / frequency), or 2^32 − 1 for a frequency of 1; then, from bit 32 on, the frequency
/// (13 bits), the number of raw bits after the symbol (7 bits), the sum of the frequencies of lower symbols (12 bits).
#[derive(Clone, Debug)]
pub struct StepTable {
    /// 256 · 2^k of them, k ≤ 8.
    entries: Vec<u64>,
}

impl StepTable {
    /// The entries of tables (at most 256) whose symbol s is followed by `raw_bits[s]` raw bits.
    ///
    /// `escape`: the first of the two ESC tokens, which stand in for symbols below them that have no frequency: the low bit says which of the two.
    #[must_use]
    pub fn new(tables: &[FrequencyTable], raw_bits: &[u8; 256], escape: Option<u8>) -> Self {
        let tables = tables.get(..tables.len().min(256)).unwrap_or(&[]);
        let length = tables.len().next_power_of_two() * 256;
        let mut entries = Vec::with_capacity(length);
        for table in tables {
            let mut cumulative = 0u64;
            let first = entries.len();
            for (&frequency, &bits) in table.0.iter().zip(raw_bits) {
                // A symbol without a frequency cannot be coded; an entry there is all the same.
                let f = u64::from(frequency).clamp(1, TOTAL.into());
                let reciprocal = ((1u64 << 32) / f).min(u32::MAX.into());
                entries.push(
                    reciprocal
                        | (f << FREQUENCY)
                        | (u64::from(bits & 0x7F) << RAW_BITS)
                        | ((cumulative & 0xFFF) << CUMULATIVE),
                );
                cumulative += u64::from(frequency);
            }
            let (symbols, others) = entries.split_at_mut((first + usize::from(escape.unwrap_or(0))).min(length));
            if let (Some(symbols), &[even, odd, ..]) = (symbols.get_mut(first..), &*others) {
                for ((symbol, entry), &frequency) in symbols.iter_mut().enumerate().zip(&table.0) {
                    if frequency == 0 {
                        *entry = if symbol & 1 == 0 { even } else { odd };
                    }
                }
            }
        }
        entries.resize(length, u64::from(u32::MAX) | (1 << FREQUENCY));
        Self { entries }
    }

    /// The entries: 256 · 2^k of them. For vectors, which look up several at a time.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// The entry of a step.
    #[inline(always)]
    pub(super) fn entry(&self, step: u16) -> u64 {
        let mask = self.entries.len().wrapping_sub(1);
        self.entries.get(usize::from(step) & mask).copied().unwrap_or(0)
    }
}
