//! Bytes of Python objects, read and written where they are.
//!
//! The only unsafe code of the package.

use std::io;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use ulpack::ReadAt;

/// The bytes of an object, read where they are. The object cannot be resized while this lives; changing the bytes meanwhile from another thread makes
/// what is read meaningless, as with any C extension that releases the lock.
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
        // SAFETY: the buffer protocol keeps `len_bytes` bytes from `buf_ptr` alive and in place for the life of the PyBuffer, which `self` owns; it is
        // contiguous, as `of` has checked.
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

    /// The bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.0.len_bytes();
        if length == 0 {
            return &mut [];
        }
        // SAFETY: as in `Bytes::bytes`; the exporter has said that they may be written, and `&mut self` makes this the only slice of ours.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), length) }
    }
}
