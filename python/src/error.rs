//! Errors of the crate as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use ulpack::{Error, ErrorClass};

create_exception!(ulpack, UlpError, PyException, "A stream is damaged, or something is wrong with what goes with it.");
create_exception!(
    ulpack,
    ReferenceMismatch,
    UlpError,
    "The reference is missing, or not the one the stream was made with. No byte decoded with it has been given out."
);
create_exception!(ulpack, Truncated, UlpError, "The input ends inside a stream.");
create_exception!(
    ulpack,
    Unsupported,
    UlpError,
    "The stream needs a later version, a bank that is not at hand, or more memory than is allowed."
);

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("UlpError", py.get_type::<UlpError>())?;
    module.add("ReferenceMismatch", py.get_type::<ReferenceMismatch>())?;
    module.add("Truncated", py.get_type::<Truncated>())?;
    module.add("Unsupported", py.get_type::<Unsupported>())
}

/// The exception for an error. Those of files are `OSError`, or what the Python object raised that stands for the file.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error.rule() {
        Error::Truncated => return Truncated::new_err(text),
        Error::ReferenceMismatch { .. }
        | Error::ReferenceLength { .. }
        | Error::ReferenceShort { .. }
        | Error::ReferenceAbsent { .. }
        | Error::ReferenceMissing { .. } => return ReferenceMismatch::new_err(text),
        _ => {}
    }
    match error.class() {
        ErrorClass::Unsupported | ErrorClass::OverLimit => Unsupported::new_err(text),
        ErrorClass::Usage => PyValueError::new_err(text),
        ErrorClass::Io => match error {
            Error::Io(error) => error.into(),
            _ => UlpError::new_err(text),
        },
        ErrorClass::Invalid => UlpError::new_err(text),
    }
}
