//! Bytes of Python objects, read and written where they are.

use std::io;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use ulpack::ReadAt;

/// The bytes of an object, read where they are. The object cannot be resized while this lives; bytes that another thread changes meanwhile make what is
/// read meaningless, as with any C extension that releases the lock.
pub(crate) struct Bytes(PyBuffer<u8>);

impl Bytes {
    /// The bytes of `object`, which must be contiguous.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the buffer is not contiguous"));
        }
        Ok(Self(buffer))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let length = self.0.len_bytes();
        if length == 0 {
            return &[];
        }
        // SAFETY: the buffer protocol keeps `len_bytes` bytes from `buf_ptr` alive and in place for the life of the PyBuffer, which `self` owns, with or
        // without the interpreter's lock; it is contiguous, as `of` has checked. Callers are told not to change them; if they do, the kernels read one
        // value or the other, and never use what they have read as a place without checking it.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), length) }
    }
}

impl ReadAt for Bytes {
    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.bytes().fill_at(buffer, offset)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }
}

/// The bytes of an object, to be written where they are.
pub(crate) struct BytesMut(PyBuffer<u8>);

impl BytesMut {
    /// The bytes of `object`, which must be contiguous and writable.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the buffer is not contiguous"));
        }
        if buffer.readonly() {
            return Err(PyValueError::new_err("the buffer is read-only"));
        }
        Ok(Self(buffer))
    }

    /// Checks that what is written shares no bytes with what is read, as far as `objects` have the buffer protocol.
    pub(crate) fn apart_from<'py>(&self, objects: impl IntoIterator<Item = &'py Bound<'py, PyAny>>) -> PyResult<()> {
        let place = |buffer: &PyBuffer<u8>| {
            let start = buffer.buf_ptr() as usize;
            start..start + buffer.len_bytes()
        };
        let own = place(&self.0);
        for other in objects.into_iter().filter_map(|object| PyBuffer::get(object).ok()) {
            let other = place(&other);
            if own.start.max(other.start) < own.end.min(other.end) {
                return Err(PyValueError::new_err(
                    "what is written shares memory with what is read; use apply_in_place to turn a reference into the content",
                ));
            }
        }
        Ok(())
    }

    /// The bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.0.len_bytes();
        if length == 0 {
            return &mut [];
        }
        // SAFETY: as in `Bytes::bytes`; the exporter has said that they may be written, and `&mut self` and `apart_from` make this the only slice of ours.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), length) }
    }
}
