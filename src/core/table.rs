//! Frequency tables: 12-bit probabilities of up to 256 symbols (spec §9).

/// Bits of a probability.
pub const FREQUENCY_BITS: u32 = 12;
/// Sum of the frequencies of a table.
pub const TOTAL: u32 = 1 << FREQUENCY_BITS;

/// A frequency, 0…4096, for each symbol; they sum to 4096.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrequencyTable(pub [u16; 256]);

impl FrequencyTable {
    /// A table in which `symbol` is certain.
    #[must_use]
    pub fn certain(symbol: u8) -> Self {
        let mut frequencies = [0; 256];
        frequencies[usize::from(symbol)] = 4096;
        Self(frequencies)
    }

    /// The most frequent symbol, the lowest of them.
    #[must_use]
    pub fn most_frequent(&self) -> u8 {
        let mut best = 0;
        for s in 1..=255u8 {
            if self.0[usize::from(s)] > self.0[usize::from(best)] {
                best = s;
            }
        }
        best
    }

    /// The highest symbol with a frequency.
    #[must_use]
    pub fn last(&self) -> u8 {
        (0..=255u8).rev().find(|&s| self.0[usize::from(s)] > 0).unwrap_or(0)
    }
}

/// One entry per slot of 12 bits, packed for one load per decoded symbol: bits 0…7 symbol, 8…19 slot − cumulative frequency, 20…31 frequency − 1.
pub type DecodeEntry = u32;

/// Writes the 4096 entries of a table's decoder; `slots` has 4096 entries.
#[allow(clippy::cast_possible_truncation)]
pub fn fill_decode_table(table: &FrequencyTable, slots: &mut [DecodeEntry]) {
    let mut at = 0usize;
    for (symbol, &frequency) in table.0.iter().enumerate() {
        let frequency = usize::from(frequency);
        let Some(run) = slots.get_mut(at..at + frequency) else {
            return;
        };
        for (offset, entry) in run.iter_mut().enumerate() {
            *entry = symbol as u32 | ((offset as u32) << 8) | ((frequency as u32).wrapping_sub(1) << 20);
        }
        at += frequency;
    }
}

/// A symbol's frequency and cumulative frequency, for the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeEntry {
    /// Frequency, 1…4096; 0 where the symbol cannot be coded.
    pub frequency: u16,
    /// Sum of the frequencies of all lower symbols.
    pub cumulative: u16,
}

/// The encoder's entries of a table, by symbol.
#[must_use]
pub fn encode_table(table: &FrequencyTable) -> [EncodeEntry; 256] {
    let mut entries = [EncodeEntry::default(); 256];
    let mut cumulative = 0;
    for (entry, &frequency) in entries.iter_mut().zip(&table.0) {
        *entry = EncodeEntry { frequency, cumulative };
        cumulative += frequency;
    }
    entries
}
