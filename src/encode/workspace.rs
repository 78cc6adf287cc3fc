//! Buffers of a thread that encodes, kept from one piece of work to the next.

use std::sync::{Mutex, PoisonError};

use crate::encode::bank::Statistics;
use crate::kernel::Kernel;
use crate::kernel::encode::{Piece, Symbols};

/// Buffers to work in; what they hold means nothing between calls.
#[derive(Debug)]
pub struct Workspace {
    /// Instruction set to use.
    pub kernel: Kernel,
    /// Stretches of elements under one scale.
    pub pieces: Vec<Piece>,
    /// Symbols of elements.
    pub symbols: Symbols,
    /// Steps of mask groups or of scales.
    pub sets: Vec<u16>,
    /// Words of the lanes.
    pub words: Vec<u8>,
    /// Counts of a sample.
    pub statistics: Statistics,
}

impl Workspace {
    /// Empty buffers for work with this instruction set. The bytes that come out do not depend on it.
    #[must_use]
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            pieces: Vec::new(),
            symbols: Symbols::default(),
            sets: Vec::new(),
            words: Vec::new(),
            statistics: Statistics::new(0, false),
        }
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new(Kernel::active())
    }
}

/// Workspaces and record buffers not in use.
#[derive(Debug, Default)]
pub struct Workspaces {
    free: Mutex<Vec<Workspace>>,
    records: Mutex<Vec<Vec<u8>>>,
}

impl Workspaces {
    /// Calls `f` with a workspace of its own.
    pub fn with<T>(&self, f: impl FnOnce(&mut Workspace) -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = free.unwrap_or_default();
        let result = f(&mut workspace);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        result
    }

    /// An empty buffer for a record.
    #[must_use]
    pub fn record(&self) -> Vec<u8> {
        let mut record = self.records.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        record.clear();
        record
    }

    /// Takes back the buffer of a record that has been written.
    pub fn give_back(&self, record: Vec<u8>) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
