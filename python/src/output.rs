//! Results in `bytes` objects, filled where they are.
//!
//! Memory is touched once, in large pages where the system has them: page faults cost more than decoding otherwise.

use std::mem::MaybeUninit;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes made ready at a time, for each thread: what a decoder gives together.
const ROOM: usize = 8 << 20;
/// The same behind the length that was expected, at first.
const LITTLE: usize = 4 << 10;

/// A `bytes` object that nobody else knows of yet.
pub(crate) struct Unfilled<'py>(Bound<'py, PyBytes>);

impl<'py> Unfilled<'py> {
    /// An object of so many bytes. MemoryError where there is no memory for it.
    pub(crate) fn new(py: Python<'py>, length: usize) -> PyResult<Self> {
        let size = isize::try_from(length).map_err(|_| PyMemoryError::new_err(format!("{length} bytes")))?;
        // SAFETY: a null pointer asks for an object whose bytes are left as they are. The result is a reference of its own, or null with an exception.
        let object =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size)) };
        Ok(Self(object?.cast_into()?))
    }

    /// Its bytes.
    pub(crate) fn memory(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the object has as many bytes from there on while it lives, which is longer than the slice, which borrows `self`. None of them is read
        // or written by anybody else, since the object is new and `self` has its only reference; that of no bytes, which is shared, has none.
        let memory = unsafe {
            let start = ffi::PyBytes_AsString(self.0.as_ptr());
            let length = ffi::PyBytes_Size(self.0.as_ptr());
            std::slice::from_raw_parts_mut(start.cast(), usize::try_from(length).unwrap_or(0))
        };
        in_large_pages(memory);
        memory
    }

    /// The object, all bytes of which have been written.
    pub(crate) fn filled(self) -> Bound<'py, PyBytes> {
        self.0
    }
}

/// A `bytes` object of parts, one after another.
pub(crate) fn joined<'py>(py: Python<'py>, parts: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
    let mut object = Unfilled::new(py, parts.iter().map(|part| part.len()).sum())?;
    let mut rest = object.memory();
    for part in parts {
        let (own, after) = rest.split_at_mut(part.len());
        for (to, &from) in own.iter_mut().zip(*part) {
            to.write(from);
        }
        rest = after;
    }
    Ok(object.filled())
}

/// Room for as many bytes as `content` may be coded into; nothing of it is touched yet.
pub(crate) fn reserved(content: usize) -> Vec<u8> {
    let mut room = Vec::new();
    if room.try_reserve_exact(content).is_ok() {
        in_large_pages(room.spare_capacity_mut());
    }
    room
}

/// Bytes that come in order: into memory of the length that is expected, and behind it if there are more.
pub(crate) struct Output<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    /// Bytes of `memory` that have a value.
    ready: usize,
    filled: usize,
    more: Vec<u8>,
    room: usize,
}

impl<'a> Output<'a> {
    /// Bytes that are made by so many threads.
    pub(crate) fn new(memory: &'a mut [MaybeUninit<u8>], threads: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        Self { memory, ready: 0, filled: 0, more: Vec::new(), room: ROOM * threads.min(8) }
    }

    /// Where the next bytes belong: one at least.
    pub(crate) fn next(&mut self) -> &mut [u8] {
        let behind = self.filled.checked_sub(self.memory.len());
        let Some(behind) = behind else {
            let end = self.memory.len().min(self.filled + self.room);
            // Just before it is decoded into: it is still in a cache then.
            self.memory.get_mut(self.ready..end).unwrap_or_default().fill(MaybeUninit::new(0));
            self.ready = self.ready.max(end);
            // SAFETY: the first `ready` bytes have been written.
            let ready = unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.ready) };
            return ready.get_mut(self.filled..).unwrap_or_default();
        };
        if behind == self.more.len() {
            self.more.resize(behind + behind.clamp(LITTLE, self.room), 0);
        }
        self.more.get_mut(behind..).unwrap_or_default()
    }

    /// Says how many of the next bytes are there.
    pub(crate) fn advance(&mut self, count: usize) {
        self.filled += count;
    }

    /// Whether what has come is what was expected.
    pub(crate) fn is_whole(&self) -> bool {
        self.filled == self.memory.len()
    }

    /// What has come, in two parts.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        // SAFETY: the first `ready` bytes have been written.
        let ready = unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.ready) };
        let behind = self.filled.saturating_sub(self.memory.len());
        [ready.get(..self.filled).unwrap_or(ready), self.more.get(..behind).unwrap_or_default()]
    }
}

/// Asks for large pages, in which memory is touched for the first time at a third of the cost.
fn in_large_pages(memory: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    {
        /// The size of large pages, or a multiple of it.
        const PAGE: usize = 2 << 20;
        let start = memory.as_mut_ptr().align_offset(PAGE);
        let inside = memory.get_mut(start..).unwrap_or_default();
        let length = inside.len() / PAGE * PAGE;
        if length > 0 {
            // SAFETY: the pages lie inside of `memory`, and the advice changes none of their bytes. Where it is not taken, pages stay small.
            let _ =
                unsafe { rustix::mm::madvise(inside.as_mut_ptr().cast(), length, rustix::mm::Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
