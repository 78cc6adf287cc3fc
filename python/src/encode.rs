//! Compression.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ulpack::{ElementType, EncoderOptions, Level, Typing};

use crate::buffer::Bytes;
use crate::error::raised;
use crate::file::PyWriter;
use crate::output::{joined, reserved};
use crate::reference::references;
use crate::signals::Signals;

/// Bytes given to the encoder at the end, without a look at signals.
const LAST: usize = 32 << 20;

/// What can be said about compression, as the crate takes it.
#[derive(FromPyObject)]
pub(crate) struct Options {
    #[pyo3(item)]
    dtype: String,
    #[pyo3(item)]
    level: u8,
    #[pyo3(item)]
    threads: usize,
    #[pyo3(item)]
    columns: Option<u32>,
    #[pyo3(item)]
    metadata: Vec<(String, Vec<u8>)>,
    #[pyo3(item)]
    sha256: bool,
}

impl Options {
    fn options(self) -> PyResult<EncoderOptions> {
        let mut options = EncoderOptions::default();
        options.typing = match self.dtype.as_str() {
            "auto" => Typing::Auto,
            name => Typing::Fixed(ElementType::from_name(name).ok_or_else(|| {
                let known = ElementType::ALL.map(ElementType::name).join(", ");
                PyValueError::new_err(format!("dtype {name:?}: known are auto, {known}"))
            })?),
        };
        options.level = match self.level {
            1..=3 => Level::Fast,
            4..=6 => Level::Default,
            7..=9 => Level::Small,
            n => return Err(PyValueError::new_err(format!("level {n}: it is 1 to 9"))),
        };
        options.threads = self.threads;
        options.columns = self.columns;
        options.metadata = self.metadata;
        options.sha256 = self.sha256;
        Ok(options)
    }
}

/// Compresses a buffer into `bytes`.
#[pyfunction]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    refs: Vec<Bound<'py, PyAny>>,
    options: Options,
) -> PyResult<Bound<'py, PyBytes>> {
    let (content, references, options) = (Bytes::of(data)?, references(&refs)?, options.options()?);
    let coded = py.detach(|| -> PyResult<Vec<u8>> {
        let room = reserved(content.bytes().len());
        let mut encoder = ulpack::Encoder::new(room, options, references).map_err(raised)?;
        let rest = feed(&mut encoder, content.bytes(), LAST)?;
        Ok(encoder.finish_with(rest).map_err(raised)?.0)
    })?;
    joined(py, &[&coded])
}

/// Gives bytes to an encoder, which takes some of them at a time, until no more than `last` are left; returns those.
fn feed<'a, W: Write>(encoder: &mut ulpack::Encoder<W>, mut bytes: &'a [u8], last: usize) -> PyResult<&'a [u8]> {
    let mut signals = Signals::new();
    while bytes.len() > last {
        let count = encoder.write(bytes).map_err(|error| raised(error.into()))?;
        bytes = bytes.get(count..).unwrap_or_default();
        signals.check()?;
    }
    Ok(bytes)
}

/// Compresses what is written to it into a file object.
#[pyclass(frozen, module = "ulpack._native")]
pub(crate) struct Encoder(Mutex<Option<ulpack::Encoder<PyWriter>>>);

impl Encoder {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Option<ulpack::Encoder<PyWriter>>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Encoder {
    #[new]
    fn new(py: Python<'_>, file: Py<PyAny>, refs: Vec<Bound<'_, PyAny>>, options: Options) -> PyResult<Self> {
        let (references, options) = (references(&refs)?, options.options()?);
        let encoder = py.detach(|| ulpack::Encoder::new(PyWriter::new(file), options, references)).map_err(raised)?;
        Ok(Self(Mutex::new(Some(encoder))))
    }

    /// Takes the next bytes of the content; returns how many.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let content = Bytes::of(data)?;
        self.with(py, |encoder| {
            let encoder = encoder.as_mut().ok_or_else(|| PyValueError::new_err("the stream is finished"))?;
            feed(encoder, content.bytes(), 0)?;
            Ok(content.bytes().len())
        })
    }

    /// Writes what is left, and the end of the stream. Returns counts as a dictionary.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = self.with(py, |encoder| {
            let encoder = encoder.take().ok_or_else(|| PyValueError::new_err("the stream is finished"))?;
            Ok(encoder.finish().map_err(raised)?.1)
        })?;
        let counts = PyDict::new(py);
        counts.set_item("content_bytes", summary.content_bytes)?;
        counts.set_item("coded_bytes", summary.coded_bytes)?;
        counts.set_item("content_crc", summary.content_crc)?;
        counts.set_item("identical", summary.identical)?;
        Ok(counts)
    }

    /// Gives up: nothing more is written.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |encoder| {
            drop(encoder.take());
            Ok(())
        })
    }
}
