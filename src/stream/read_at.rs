//! Bytes that can be read at any position: what random access to streams and references is built on.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes that can be read at any position, by several threads at a time: a file, memory, an object in a store, or the content of a
/// [`Reader`](crate::Reader).
pub trait ReadAt: Send + Sync {
    /// Number of bytes there are.
    ///
    /// # Errors
    /// Those of the source.
    fn size(&self) -> io::Result<u64>;

    /// Fills as much of `buffer` as there are bytes from `offset` on; returns how many.
    ///
    /// # Errors
    /// Those of the source.
    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// All the bytes, where they are in memory for as long as this lives: they are then used where they are, instead of being read. The same each time.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match read_file_at(self, rest, offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

impl ReadAt for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |o| o.min(self.len()));
        let rest = self.get(start..).unwrap_or(&[]);
        let count = buffer.len().min(rest.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        self.as_slice().size()
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().fill_at(buffer, offset)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn size(&self) -> io::Result<u64> {
        self.as_ref().size()
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_ref().fill_at(buffer, offset)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        self.as_ref().in_memory()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).fill_at(buffer, offset)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        (**self).in_memory()
    }
}

/// Reads such bytes as a file is read.
pub(crate) struct Cursor<S> {
    source: S,
    at: u64,
}

impl<S: ReadAt> Cursor<S> {
    /// From the start.
    pub(crate) fn new(source: S) -> Self {
        Self { source, at: 0 }
    }

    /// Goes on from `offset`.
    pub(crate) fn go_to(&mut self, offset: u64) {
        self.at = offset;
    }
}

impl<S: ReadAt> Read for Cursor<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.fill_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<S: ReadAt> Seek for Cursor<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.source.size()?.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
