//! Memory used again: a chunk's buffers are as large as the next one's, and fresh memory is slow.

use std::sync::Mutex;

/// Most buffers at rest: those of a batch of chunks. What is given beyond that goes back to the system.
const MOST: usize = 16;

/// Buffers of one purpose, of about one size, at rest.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    idle: Mutex<Vec<Vec<u8>>>,
}

impl Buffers {
    /// A buffer with any content, empty if there is none at rest.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default()
    }

    /// Puts a buffer to rest.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        if let Ok(mut idle) = self.idle.lock()
            && buffer.capacity() > 0
            && idle.len() < MOST
        {
            idle.push(buffer);
        }
    }
}
