//! What an encoder remembers from window to window: slots of banks and profiles, frozen banks and how they have done.

use crate::core::bank::Bank;
use crate::encode::frozen::{Frozen, Report};
use crate::encode::train::Learned;
use crate::limits::MAX_PROFILE_COLUMNS;
use crate::wire;
use crate::wire::record_header::{RecordType, write_record};
use crate::wire::records::EXTERNAL;

/// Kinds of a window that may have a bank; others are raw.
pub const BANK_SLOTS: u8 = 16;
/// Profile slots of the streams this encoder writes.
pub const PROFILE_SLOTS: u16 = 256;

/// A bank as the decoder will know it, by slot, from window to window; and what else is remembered.
#[derive(Debug, Default)]
pub struct Slots {
    pub(super) banks: Vec<Bank>,
    next: usize,
    /// Banks made beforehand.
    pub frozen: Frozen,
    /// How those have done.
    pub report: Report,
    /// Where statistics go instead of a stream.
    pub learned: Option<Lessons>,
    /// Profile slot to be filled next, and the columns of those filled.
    next_profile: u16,
    /// Profiles of this window: one must not take the slot of another.
    pub(super) window_profiles: u16,
    columns: Vec<usize>,
}

/// What has been learned from a content.
#[derive(Debug)]
pub struct Lessons {
    /// Statistics.
    pub learned: Learned,
    /// Spans of the windows before.
    pub spans: usize,
}

impl Slots {
    /// Puts a bank into a slot that is not `used` in this window, and appends its Bind record: with its tables, or by the digest and number of an
    /// external bank. `None` where all slots are used.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn bind(
        &mut self,
        bank: &Bank,
        external: Option<([u8; 32], u16)>,
        used: &[usize],
        binds: &mut Vec<u8>,
    ) -> Option<usize> {
        let places = usize::from(BANK_SLOTS);
        let free = (0..places).map(|i| (self.next + i) % places).find(|i| !used.contains(i))?;
        // Slots are filled one after the other: one that is free and new is the next.
        let free = free.min(self.banks.len());
        match self.banks.get_mut(free) {
            Some(old) => *old = bank.clone(),
            None => self.banks.push(bank.clone()),
        }
        self.next = (free + 1) % places;
        let mut body = Vec::new();
        let flags = match external {
            Some((sha256, number)) => {
                body.extend_from_slice(&sha256);
                body.extend_from_slice(&number.to_le_bytes());
                EXTERNAL
            }
            None => {
                wire::bank::write(bank, &mut body);
                0
            }
        };
        write_record(binds, RecordType::Bind, flags, free as u16, &body);
        Some(free)
    }

    /// Empty slots, and banks to use besides those made.
    #[must_use]
    pub fn new(frozen: Frozen) -> Self {
        Self { frozen, ..Self::default() }
    }

    /// A slot for a profile of so many columns, if the limit on all of them allows one.
    pub(super) fn profile(&mut self, columns: usize) -> Option<u16> {
        self.columns.resize(PROFILE_SLOTS.into(), 0);
        let slot = usize::from(self.next_profile);
        let others: usize = self.columns.iter().sum::<usize>() - self.columns[slot];
        if others + columns > MAX_PROFILE_COLUMNS || self.window_profiles == PROFILE_SLOTS {
            return None;
        }
        self.columns[slot] = columns;
        self.window_profiles += 1;
        let taken = self.next_profile;
        self.next_profile = (taken + 1) % PROFILE_SLOTS;
        Some(taken)
    }
}
