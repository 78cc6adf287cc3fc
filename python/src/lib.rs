//! The part of the Python package `ulpack` that is Rust: a thin layer over the crate's public face. What is Python-like about the package is in `ulpack/*.py`.
//!
//! Bytes come as objects with the buffer protocol and are read where they are; the interpreter's lock is released while they are coded, and signals are
//! looked at between pieces.

mod buffer;
mod decode;
mod encode;
mod error;
mod file;
mod output;
mod random;
mod reference;
mod signals;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::decode::{Decoder, decode_into, decompress};
    #[pymodule_export]
    use super::encode::{Encoder, compress};
    #[pymodule_export]
    use super::random::{Reader, apply_in_place, apply_to_file, crc32, describe};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::add(module)
    }
}
