//! Reading ahead: a thread fills buffers while the caller works on those before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Bytes of a buffer.
const PIECE: usize = 1 << 20;
/// Buffers that wait at most.
const DEPTH: usize = 8;

/// A reader whose bytes are read by another thread.
pub(super) struct Ahead {
    pieces: Receiver<io::Result<Piece>>,
    empty: Sender<Vec<u8>>,
    current: Piece,
    used: usize,
}

/// A buffer, of which the first bytes count.
#[derive(Default)]
struct Piece {
    buffer: Vec<u8>,
    count: usize,
}

impl Ahead {
    /// Reads `source` to its end or first error. The thread ends with the process where nobody takes what it reads.
    pub(super) fn new(mut source: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = sync_channel(DEPTH);
        let (empty, emptied) = channel::<Vec<u8>>();
        thread::spawn(move || {
            loop {
                let buffer = emptied.try_recv().unwrap_or_else(|_| vec![0; PIECE]);
                let piece = fill(&mut source, buffer);
                let last = !matches!(&piece, Ok(piece) if piece.count > 0);
                if sender.send(piece).is_err() || last {
                    return;
                }
            }
        });
        Self { pieces, empty, current: Piece::default(), used: 0 }
    }

    /// The bytes at hand, read from the thread if there are none; none at the end. They stay until they are [used](Self::consume).
    fn bytes(&mut self) -> io::Result<&[u8]> {
        if self.used == self.current.count {
            // The end stays the end: the thread has gone.
            let next = self.pieces.recv().unwrap_or_else(|_| Ok(Piece::default()))?;
            let spent = std::mem::replace(&mut self.current, next);
            if !spent.buffer.is_empty() {
                // The thread may have ended, and then needs no buffer.
                let _ = self.empty.send(spent.buffer);
            }
            self.used = 0;
        }
        Ok(self.current.buffer.get(self.used..self.current.count).unwrap_or_default())
    }

    /// Marks bytes as used.
    fn consume(&mut self, count: usize) {
        self.used = self.current.count.min(self.used + count);
    }
}

/// What one read gives.
fn fill(source: &mut impl Read, mut buffer: Vec<u8>) -> io::Result<Piece> {
    loop {
        match source.read(&mut buffer) {
            Ok(count) => return Ok(Piece { buffer, count }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes()?;
        let count = bytes.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}
