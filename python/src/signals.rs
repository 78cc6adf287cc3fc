//! Control-C during long work.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often the interpreter is asked: often enough for a person.
const EVERY: Duration = Duration::from_millis(50);

/// Looks at signals now and then.
pub(crate) struct Signals(Instant);

impl Signals {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Raises what a signal handler raises, if it is time to look. Called without the interpreter's lock.
    pub(crate) fn check(&mut self) -> PyResult<()> {
        if self.0.elapsed() < EVERY {
            return Ok(());
        }
        self.0 = Instant::now();
        Python::attach(|py| py.check_signals())
    }
}
