//! Python's files as readers and writers: `read`, `readinto` or `write` of the object are called with the interpreter's lock.

use std::io::{self, Read, Write};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Bytes;

/// Bytes asked of a file at a time.
const PORTION: usize = 1 << 18;

/// A file to read from, buffered.
pub(crate) struct PyReader {
    file: Py<PyAny>,
    held: Option<Py<PyAny>>,
    taken: usize,
}

impl PyReader {
    pub(crate) fn new(file: Py<PyAny>) -> Self {
        Self { file, held: None, taken: 0 }
    }
}

impl Read for PyReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        Python::attach(|py| -> PyResult<usize> {
            py.check_signals()?;
            if self.held.is_none() {
                let size = PORTION.max(out.len());
                self.held = Some(self.file.call_method1(py, intern!(py, "read"), (size,))?);
                self.taken = 0;
            }
            let Some(held) = &self.held else { return Ok(0) };
            if held.is_none(py) {
                return Err(PyTypeError::new_err("the file is non-blocking and has no bytes at hand"));
            }
            let buffer = Bytes::of(held.bind(py))?;
            let bytes = buffer.bytes();
            let rest = bytes.get(self.taken..).unwrap_or(&[]);
            let count = rest.len().min(out.len());
            if let (Some(to), Some(from)) = (out.get_mut(..count), rest.get(..count)) {
                to.copy_from_slice(from);
            }
            self.taken += count;
            if self.taken >= bytes.len() {
                self.held = None;
            }
            Ok(count)
        })
        .map_err(io::Error::from)
    }
}

/// A file to write to.
pub(crate) struct PyWriter(Py<PyAny>);

impl PyWriter {
    pub(crate) fn new(file: Py<PyAny>) -> Self {
        Self(file)
    }
}

impl Write for PyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| -> PyResult<usize> {
            py.check_signals()?;
            let piece = PyBytes::new(py, bytes);
            let written = self.0.call_method1(py, intern!(py, "write"), (piece,))?;
            // Files that are no files, such as sockets made into some, may return nothing: then all has been taken.
            if written.is_none(py) { Ok(bytes.len()) } else { written.extract(py) }
        })
        .map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| -> PyResult<()> {
            if self.0.bind(py).hasattr(intern!(py, "flush"))? {
                self.0.call_method0(py, intern!(py, "flush"))?;
            }
            Ok(())
        })
        .map_err(io::Error::from)
    }
}
