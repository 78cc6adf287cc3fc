//! References: files read by position, pipes read in order, bytes in memory (spec §5).

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::stream::read_at::ReadAt;
use crate::wire::records::ReferenceIdentity;

/// A reference: bytes that encoder and decoder both have.
#[non_exhaustive]
pub enum Reference {
    /// A seekable file, read by position.
    File(File),
    /// A pipe, read in order.
    Pipe(Box<dyn Read + Send>),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// Anything else with random access: the content of a [`Reader`](crate::Reader), an object in a store, a file mapped into memory. Bytes that are
    /// [in memory](ReadAt::in_memory) are used where they are.
    Random(Arc<dyn ReadAt>),
}

/// Bytes of a pipe that are kept behind the newest ones, so that small steps back work.
const HISTORY: usize = 4 << 20;
/// Bytes of a pipe that are looked at before the content begins.
const PEEK: u64 = 1 << 20;
/// Pieces of a sampled identity.
const SAMPLES: u64 = 16;
/// Bytes of a piece.
const SAMPLE: u64 = 4096;
/// References shorter than this are sampled whole.
const SAMPLED_WHOLE: u64 = 65_536;

/// Bytes that can be read at any position.
#[derive(Clone)]
pub(crate) struct RandomAccess {
    source: Arc<dyn ReadAt>,
    length: u64,
}

impl RandomAccess {
    /// Bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// The bytes of a range, where they are in memory.
    pub(crate) fn in_memory(&self, range: &Range<u64>) -> Option<&[u8]> {
        let bytes = self.source.in_memory()?;
        bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
    }

    /// Fills as much of `buffer` as there are bytes from `offset` on; returns how many.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.source.fill_at(buffer, offset)?)
    }

    /// The sampled identity.
    pub(crate) fn sampled(&self) -> Result<ReferenceIdentity> {
        let length = self.len();
        let mut crc = crc32fast::Hasher::new();
        let mut piece = vec![0; SAMPLED_WHOLE as usize];
        if length < SAMPLED_WHOLE {
            let count = self.read_at(&mut piece, 0)?;
            crc.update(&piece[..count]);
        } else {
            for k in 0..SAMPLES {
                let offset = u128::from(k) * u128::from(length - SAMPLE) / u128::from(SAMPLES - 1);
                #[allow(clippy::cast_possible_truncation)]
                let count = self.read_at(&mut piece[..SAMPLE as usize], offset as u64)?;
                crc.update(&piece[..count]);
            }
        }
        Ok(ReferenceIdentity { length, crc: crc.finalize() })
    }
}

impl ReadAt for RandomAccess {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len())
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.read_at(buffer, offset)?)
    }
}

/// A pipe with the bytes that may still be needed.
pub(crate) struct Pipe {
    inner: Box<dyn Read + Send>,
    /// Offset of the first byte of `held`.
    start: u64,
    held: Vec<u8>,
    crc: crc32fast::Hasher,
    ended: bool,
}

impl Pipe {
    /// Reads on until `end` is held or the pipe has ended.
    fn fill(&mut self, end: u64) -> Result<()> {
        while !self.ended && self.start + (self.held.len() as u64) < end {
            let want = (end - self.start - self.held.len() as u64).max(1 << 16);
            let before = self.held.len();
            let got = (&mut self.inner).take(want).read_to_end(&mut self.held)?;
            self.crc.update(&self.held[before..]);
            self.ended = (got as u64) < want;
        }
        Ok(())
    }

    /// The bytes from `offset` on, at most `length`, as many as there are.
    fn read(&mut self, index: usize, offset: u64, length: usize) -> Result<&[u8]> {
        if offset < self.start {
            return Err(Error::ReferencePassed { index, needed: offset, oldest: self.start });
        }
        // What lies before is dropped, but for some history; a gap is read through without being held.
        loop {
            let held = self.held.len() as u64;
            let keep = HISTORY as u64;
            let drop = (offset - self.start).saturating_sub(keep).min(held);
            if drop as usize > HISTORY || drop == held {
                self.held.drain(..drop as usize);
                self.start += drop;
            }
            if self.ended || self.start + self.held.len() as u64 + keep >= offset {
                break;
            }
            self.fill(self.start + self.held.len() as u64 + keep)?;
        }
        self.fill(offset + length as u64)?;
        let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX).min(self.held.len());
        let count = length.min(self.held.len() - at);
        Ok(&self.held[at..at + count])
    }

    /// Reads to the end of the pipe and tells what it was.
    fn whole(&mut self) -> Result<ReferenceIdentity> {
        while !self.ended {
            let end = self.start + self.held.len() as u64;
            self.held.clear();
            self.start = end;
            self.fill(end + (1 << 20))?;
        }
        Ok(ReferenceIdentity { length: self.start + self.held.len() as u64, crc: self.crc.clone().finalize() })
    }
}

/// CRC32 of the first bytes of a reference, as far as they have been read in order.
#[derive(Default)]
pub(crate) struct Progress {
    crc: crc32fast::Hasher,
    length: u64,
}

/// Bytes of a reference that nobody needed, which are read for their CRC32 in passing.
const GAP: u64 = 64 << 20;

impl Progress {
    /// Reads on to `end`, or to the end of all.
    fn read_to(&mut self, random: &RandomAccess, end: u64) -> Result<()> {
        let mut buffer = Vec::new();
        while self.length < end {
            buffer.resize(1 << 20, 0);
            let most = usize::try_from(end - self.length).map_or(buffer.len(), |left| left.min(buffer.len()));
            let count = random.read_at(buffer.get_mut(..most).unwrap_or(&mut []), self.length)?;
            if count == 0 {
                break;
            }
            self.take(buffer.get(..count).unwrap_or(&[]), self.length);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], offset: u64) {
        let known = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        if let Some(new) = bytes.get(known..).filter(|_| offset <= self.length) {
            self.crc.update(new);
            self.length += new.len() as u64;
        }
    }
}

/// `length` bytes from place `at` on, for which a buffer grows where it has to. What is there stays: to clear it would cost as much as to read.
pub(crate) fn room(buffer: &mut Vec<u8>, at: usize, length: usize) -> &mut [u8] {
    let end = at.saturating_add(length);
    if buffer.len() < end {
        if at == 0 {
            // Memory that is zero from the start need not be cleared.
            *buffer = vec![0; end];
        } else {
            buffer.resize(end, 0);
        }
    }
    buffer.get_mut(at..end).unwrap_or(&mut [])
}

/// An opened reference.
pub(crate) enum Source {
    Random(RandomAccess, Progress),
    Pipe(Pipe),
}

impl Source {
    /// Opens a reference. A `File` that is no regular file is a pipe.
    pub(crate) fn open(reference: Reference) -> Result<Self> {
        let source: Arc<dyn ReadAt> = match reference {
            Reference::File(file) if file.metadata()?.is_file() => Arc::new(file),
            Reference::File(file) => return Ok(Self::pipe(Box::new(file))),
            Reference::Pipe(inner) => return Ok(Self::pipe(inner)),
            Reference::Bytes(bytes) => Arc::new(bytes),
            Reference::Random(source) => source,
        };
        let length = source.size()?;
        Ok(Self::Random(RandomAccess { source, length }, Progress::default()))
    }

    fn pipe(inner: Box<dyn Read + Send>) -> Self {
        Self::Pipe(Pipe { inner, start: 0, held: Vec::new(), crc: crc32fast::Hasher::new(), ended: false })
    }

    /// Random access, where there is.
    pub(crate) fn random(&self) -> Option<&RandomAccess> {
        match self {
            Self::Random(random, _) => Some(random),
            Self::Pipe(_) => None,
        }
    }

    /// The first bytes of a pipe, which stay at hand; nothing of other references.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        match self {
            Self::Random(..) => Ok(&[]),
            Self::Pipe(pipe) => {
                pipe.fill(pipe.start + PEEK)?;
                Ok(&pipe.held)
            }
        }
    }

    /// Whether bytes from `offset` on can still be read.
    pub(crate) fn reachable(&self, offset: u64) -> bool {
        match self {
            Self::Random(..) => true,
            Self::Pipe(pipe) => offset >= pipe.start,
        }
    }

    /// Puts bytes from `offset` on, at most `length`, at place `at` of `out`, which may be longer and grows where it has to; returns how many there were.
    pub(crate) fn read(
        &mut self,
        index: usize,
        offset: u64,
        length: usize,
        out: &mut Vec<u8>,
        at: usize,
    ) -> Result<usize> {
        match self {
            Self::Random(random, _) => {
                let left = usize::try_from(random.len().saturating_sub(offset)).unwrap_or(usize::MAX);
                random.read_at(room(out, at, length.min(left)), offset)
            }
            Self::Pipe(pipe) => {
                let bytes = pipe.read(index, offset, length)?;
                room(out, at, bytes.len()).copy_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    /// Replaces `out` by the bytes from `offset` on, at most `length`.
    pub(crate) fn sample(&mut self, index: usize, offset: u64, length: usize, out: &mut Vec<u8>) -> Result<()> {
        let count = self.read(index, offset, length, out, 0)?;
        out.truncate(count);
        Ok(())
    }

    /// At most `length` bytes from `offset` on of a reference that is in memory: what holds it, and the range.
    pub(crate) fn shared(&self, offset: u64, length: usize) -> Option<(Arc<dyn ReadAt>, Range<usize>)> {
        let source = &self.random()?.source;
        let all = source.in_memory()?.len();
        let start = usize::try_from(offset).map_or(all, |o| o.min(all));
        Some((Arc::clone(source), start..all.min(start.saturating_add(length))))
    }

    /// Takes note of the CRC32 of bytes that somebody has read, so that the whole need not be read again. Small gaps before them are.
    pub(crate) fn known(&mut self, offset: u64, length: u64, crc: u32) -> Result<()> {
        if let Self::Random(random, progress) = self {
            if offset.saturating_sub(progress.length) <= GAP {
                progress.read_to(random, offset)?;
            }
            if offset == progress.length {
                progress.crc.combine(&crc32fast::Hasher::new_with_initial_len(crc, length));
                progress.length += length;
            }
        }
        Ok(())
    }

    /// Length and CRC32 of all of it.
    pub(crate) fn whole(&mut self) -> Result<ReferenceIdentity> {
        match self {
            Self::Pipe(pipe) => pipe.whole(),
            Self::Random(random, progress) => {
                progress.read_to(random, u64::MAX)?;
                Ok(ReferenceIdentity { length: progress.length, crc: progress.crc.clone().finalize() })
            }
        }
    }
}
