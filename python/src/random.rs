//! Random access, application in place, and what a stream tells of itself.

use std::fs::{File, OpenOptions};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use ulpack::{Applied, ReadAt};

use crate::buffer::{Bytes, BytesMut};
use crate::decode::options;
use crate::error::raised;
use crate::reference::references;

/// A file by its path, or the bytes of an object.
fn source(object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn ReadAt>> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        let path: PathBuf = object.extract()?;
        return Ok(Arc::new(File::open(path)?));
    }
    Ok(Arc::new(Bytes::of(object)?))
}

/// Random access to the content of streams.
#[pyclass(frozen, module = "ulpack._native")]
pub(crate) struct Reader(Arc<ulpack::Reader>);

impl Reader {
    /// The content, as a reference for others.
    pub(crate) fn shared(&self) -> Arc<dyn ReadAt> {
        Arc::clone(&self.0) as Arc<dyn ReadAt>
    }
}

/// Name, element type, shape, first byte, the byte behind the last.
type Tensor = (String, &'static str, Vec<u64>, u64, u64);

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyAny>, refs: Vec<Bound<'_, PyAny>>, threads: usize) -> PyResult<Self> {
        let (source, references) = (source(data)?, references(&refs)?);
        let reader = py.detach(|| ulpack::Reader::open(source, options(threads, None), references)).map_err(raised)?;
        Ok(Self(Arc::new(reader)))
    }

    /// Bytes of content.
    fn __len__(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    /// Fills a buffer with the content from `offset` on.
    fn readinto(&self, py: Python<'_>, out: &Bound<'_, PyAny>, offset: u64) -> PyResult<()> {
        let mut out = BytesMut::of(out)?;
        py.detach(|| {
            let out = out.bytes_mut();
            let end = offset.checked_add(out.len() as u64).ok_or_else(|| PyValueError::new_err("out of range"))?;
            self.0.copy(offset..end, &mut Cursor::new(out)).map_err(raised)
        })
    }

    /// Name, element type, shape, first and last byte of each tensor.
    fn tensors(&self, py: Python<'_>) -> PyResult<Vec<Tensor>> {
        let tensors = py.detach(|| self.0.tensors()).map_err(raised)?;
        Ok(tensors.into_iter().map(|t| (t.name, t.element.name(), t.shape, t.range.start, t.range.end)).collect())
    }
}

fn counts<'py>(py: Python<'py>, applied: &Applied) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    counts.set_item("chunks", applied.chunks)?;
    counts.set_item("written", applied.written)?;
    counts.set_item("bytes_written", applied.bytes_written)?;
    Ok(counts)
}

/// Turns a buffer from the reference of a stream into its content.
#[pyfunction]
pub(crate) fn apply_in_place<'py>(
    py: Python<'py>,
    content: &Bound<'py, PyAny>,
    delta: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut content, coded) = (BytesMut::of(content)?, Bytes::of(delta)?);
    content.apart_from([delta])?;
    let applied = py
        .detach(|| ulpack::apply_in_place(content.bytes_mut(), coded.bytes(), options(threads, None)))
        .map_err(raised)?;
    counts(py, &applied)
}

/// Turns a file from the reference of a stream into its content, with a journal beside it.
#[pyfunction]
pub(crate) fn apply_to_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    journal: PathBuf,
    delta: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let delta = source(delta)?;
    let file = OpenOptions::new().read(true).write(true).open(&path)?;
    let applied =
        py.detach(|| ulpack::apply_to_file(&file, &journal, delta, options(threads, None))).map_err(raised)?;
    counts(py, &applied)
}

/// Length, CRC32 and metadata of the content of a stream, and what it tells of its references, without decoding.
#[pyfunction]
pub(crate) fn describe<'py>(py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let source = source(data)?;
    let reader = py.detach(|| ulpack::Reader::open(source, options(1, None), Vec::new())).map_err(raised)?;
    let streams = reader.streams();
    streams
        .into_iter()
        .map(|stream| {
            let told = PyDict::new(py);
            told.set_item("content_bytes", stream.content.end - stream.content.start)?;
            told.set_item("coded_bytes", stream.coded.end - stream.coded.start)?;
            told.set_item("content_crc", stream.content_crc)?;
            told.set_item("chunks", stream.chunks)?;
            told.set_item("in_place", stream.in_place)?;
            let whole = stream.references.iter().map(|r| r.whole.map(|whole| (whole.length, whole.crc)));
            told.set_item("references", whole.collect::<Vec<_>>())?;
            told.set_item("metadata", stream.metadata)?;
            Ok(told)
        })
        .collect()
}

/// CRC32 of a buffer, at memory speed.
#[pyfunction]
pub(crate) fn crc32(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<u32> {
    let data = Bytes::of(data)?;
    Ok(py.detach(|| crc32fast::hash(data.bytes())))
}
