//! Decompression, forward.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ulpack::DecoderOptions;

use crate::buffer::{Bytes, BytesMut};
use crate::error::raised;
use crate::file::PyReader;
use crate::reference::references;
use crate::signals::Signals;

/// Options of decoding.
pub(crate) fn options(threads: usize, memory: Option<u64>) -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = threads;
    options.memory = memory;
    options
}

/// Decompresses all streams in a buffer into `bytes`.
#[pyfunction]
pub(crate) fn decompress<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    refs: Vec<Bound<'py, PyAny>>,
    threads: usize,
    memory: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (coded, references) = (Bytes::of(data)?, references(&refs)?);
    let content = py.detach(|| -> PyResult<Vec<u8>> {
        let mut signals = Signals::new();
        let mut decoder = ulpack::Decoder::new(coded.bytes(), options(threads, memory), references);
        let mut content = Vec::new();
        while let Some(chunk) = decoder.next_chunk().map_err(raised)? {
            content.extend_from_slice(chunk);
            signals.check()?;
        }
        Ok(content)
    })?;
    Ok(PyBytes::new(py, &content))
}

/// Decompresses all streams in a buffer into another, which must have the length of the content.
#[pyfunction]
pub(crate) fn decode_into(
    py: Python<'_>,
    out: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    refs: Vec<Bound<'_, PyAny>>,
    threads: usize,
    memory: Option<u64>,
) -> PyResult<()> {
    let (mut out, coded, references) = (BytesMut::of(out)?, Bytes::of(data)?, references(&refs)?);
    py.detach(|| -> PyResult<()> {
        let mut signals = Signals::new();
        let mut decoder = ulpack::Decoder::new(coded.bytes(), options(threads, memory), references);
        let rest = out.bytes_mut();
        let length = rest.len();
        let mut at = 0;
        while let Some(chunk) = decoder.next_chunk().map_err(raised)? {
            let place = rest.get_mut(at..at + chunk.len());
            let place = place
                .ok_or_else(|| PyValueError::new_err(format!("the buffer has {length} bytes, the content more")))?;
            place.copy_from_slice(chunk);
            at += chunk.len();
            signals.check()?;
        }
        if at < length {
            return Err(PyValueError::new_err(format!("the buffer has {length} bytes, the content {at}")));
        }
        Ok(())
    })
}

/// Decompresses a file object, forward.
#[pyclass(frozen, module = "ulpack._native")]
pub(crate) struct Decoder(Mutex<Inner>);

struct Inner {
    decoder: ulpack::Decoder<PyReader>,
    /// Decoded bytes not yet taken.
    held: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl Inner {
    /// The next bytes: at least one, or none at the end.
    fn some(&mut self) -> PyResult<&[u8]> {
        while self.taken >= self.held.len() && !self.ended {
            self.taken = 0;
            self.held.clear();
            match self.decoder.next_chunk().map_err(raised)? {
                Some(chunk) => self.held.extend_from_slice(chunk),
                None => self.ended = true,
            }
        }
        Ok(self.held.get(self.taken..).unwrap_or(&[]))
    }

    fn fill(&mut self, out: &mut [u8]) -> PyResult<usize> {
        let rest = self.some()?;
        let count = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        Ok(count)
    }
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(file: Py<PyAny>, refs: Vec<Bound<'_, PyAny>>, threads: usize, memory: Option<u64>) -> PyResult<Self> {
        let references = references(&refs)?;
        let decoder = ulpack::Decoder::new(PyReader::new(file), options(threads, memory), references);
        Ok(Self(Mutex::new(Inner { decoder, held: Vec::new(), taken: 0, ended: false })))
    }

    /// Fills a buffer, as far as the content goes; returns how many bytes.
    fn readinto(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut out = BytesMut::of(out)?;
        py.detach(|| {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut signals = Signals::new();
            let out = out.bytes_mut();
            let mut at = 0;
            while let Some(rest) = out.get_mut(at..).filter(|rest| !rest.is_empty()) {
                let count = inner.fill(rest)?;
                if count == 0 {
                    break;
                }
                at += count;
                signals.check()?;
            }
            Ok(at)
        })
    }

    /// All that is left.
    fn readall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let all = py.detach(|| -> PyResult<Vec<u8>> {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut signals = Signals::new();
            let mut all = Vec::new();
            loop {
                let rest = inner.some()?;
                if rest.is_empty() {
                    return Ok(all);
                }
                all.extend_from_slice(rest);
                let count = rest.len();
                inner.taken += count;
                signals.check()?;
            }
        })?;
        Ok(PyBytes::new(py, &all))
    }
}
