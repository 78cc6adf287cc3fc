//! Exit codes: the only place that turns what happened into a number.

use std::process::ExitCode;

use ulpack::ErrorClass;

/// How the command ends. A panic, our bug, ends it with 101.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// All is well.
    Done = 0,
    /// Usage or environment: a missing file, a full disk.
    Usage = 1,
    /// The input is invalid or truncated, or the reference does not match.
    Invalid = 2,
    /// The input needs a later version, a missing bank, or more than a limit allows.
    Unsupported = 3,
    /// The reader of the output has closed it: what a shell reports for a death by SIGPIPE.
    ClosedPipe = 141,
}

impl From<ErrorClass> for Exit {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Invalid => Self::Invalid,
            ErrorClass::Unsupported | ErrorClass::OverLimit => Self::Unsupported,
            ErrorClass::Io | ErrorClass::Usage => Self::Usage,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
