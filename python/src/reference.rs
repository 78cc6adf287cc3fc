//! What Python gives as a reference: a path, an object with the buffer protocol, a `Reader`, a file that is read forward.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;
use ulpack::Reference;

use crate::buffer::Bytes;
use crate::file::PyReader;
use crate::random::Reader;

/// The references of a list, in its order.
pub(crate) fn references(objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<Reference>> {
    objects.iter().map(reference).collect()
}

fn reference(object: &Bound<'_, PyAny>) -> PyResult<Reference> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        let path: PathBuf = object.extract()?;
        return Ok(Reference::File(File::open(path)?));
    }
    if let Ok(reader) = object.cast::<Reader>() {
        return Ok(Reference::Random(reader.get().shared()));
    }
    if object.hasattr("read")? {
        return Ok(Reference::Pipe(Box::new(PyReader::new(object.clone().unbind()))));
    }
    Ok(Reference::Random(Arc::new(Bytes::of(object)?)))
}
