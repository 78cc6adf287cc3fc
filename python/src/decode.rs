//! Decompression, forward.

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ulpack::DecoderOptions;

use crate::buffer::{Bytes, BytesMut};
use crate::error::raised;
use crate::file::PyReader;
use crate::output::{Output, Unfilled, joined};
use crate::reference::references;
use crate::signals::Signals;

/// Options of decoding.
pub(crate) fn options(threads: usize, memory: Option<u64>) -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = threads;
    options.memory = memory;
    options
}

/// Most bytes set aside for each byte of input because its last records say that there will be so many; more are when they come.
const BELIEVED: u64 = 1 << 10;

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
    let told = ulpack::content_length(coded.bytes()).unwrap_or(0);
    let told = told.min((coded.bytes().len() as u64).saturating_mul(BELIEVED));
    let mut object = Unfilled::new(py, usize::try_from(told).unwrap_or(0))?;
    let mut out = Output::new(object.memory(), threads);
    py.detach(|| {
        let mut decoder = ulpack::Decoder::new(coded.bytes(), options(threads, memory), references);
        fill(&mut decoder, &mut out)
    })?;
    if out.is_whole() { Ok(object.filled()) } else { joined(py, &out.parts()) }
}

/// Reads to the end.
fn fill<R: Read>(decoder: &mut ulpack::Decoder<R>, out: &mut Output<'_>) -> PyResult<()> {
    let mut signals = Signals::new();
    loop {
        let count = decoder.read(out.next()).map_err(|error| raised(error.into()))?;
        if count == 0 {
            return Ok(());
        }
        out.advance(count);
        signals.check()?;
    }
}

/// Reads until `out` is full or the content ends; returns how many bytes. After an error there are zeros behind what has been verified.
fn read<R: Read>(decoder: &mut ulpack::Decoder<R>, out: &mut [u8]) -> PyResult<usize> {
    let mut signals = Signals::new();
    let mut at = 0;
    while let Some(rest) = out.get_mut(at..).filter(|rest| !rest.is_empty()) {
        let done = decoder.read(rest).map_err(|error| raised(error.into()));
        match done.and_then(|count| signals.check().map(|()| count)) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) => {
                rest.fill(0);
                return Err(error);
            }
        }
    }
    Ok(at)
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
    out.apart_from(refs.iter().chain([data]))?;
    py.detach(|| -> PyResult<()> {
        let mut decoder = ulpack::Decoder::new(coded.bytes(), options(threads, memory), references);
        let out = out.bytes_mut();
        let length = out.len();
        let count = read(&mut decoder, out)?;
        let more = decoder.read(&mut [0]).map_err(|error| raised(error.into()))?;
        let content = match (count < length, more) {
            (false, 0) => return Ok(()),
            (true, _) => count.to_string(),
            (false, _) => String::from("more"),
        };
        Err(PyValueError::new_err(format!("the buffer has {length} bytes, the content {content}")))
    })
}

/// Decompresses a file object, forward.
#[pyclass(frozen, module = "ulpack._native")]
pub(crate) struct Decoder {
    decoder: Mutex<ulpack::Decoder<PyReader>>,
    threads: usize,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(file: Py<PyAny>, refs: Vec<Bound<'_, PyAny>>, threads: usize, memory: Option<u64>) -> PyResult<Self> {
        let references = references(&refs)?;
        let decoder = ulpack::Decoder::new(PyReader::new(file), options(threads, memory), references);
        Ok(Self { decoder: Mutex::new(decoder), threads })
    }

    /// Fills a buffer, as far as the content goes; returns how many bytes.
    fn readinto(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut out = BytesMut::of(out)?;
        py.detach(|| {
            let mut decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
            read(&mut decoder, out.bytes_mut())
        })
    }

    /// All that is left.
    fn readall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Output::new(&mut [], self.threads);
        py.detach(|| {
            let mut decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
            fill(&mut decoder, &mut out)
        })?;
        joined(py, &out.parts())
    }
}
