//! References: files read by position, pipes read in order, bytes in memory.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// A reference: bytes that encoder and decoder both have (spec §5).
#[non_exhaustive]
pub enum Reference {
    /// A seekable file, read by position.
    File(File),
    /// A pipe, read in order.
    Pipe(Box<dyn Read + Send>),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
}
