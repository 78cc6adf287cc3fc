//! Why the command gives up: whose fault, what, and the exit code.

use std::fmt;
use std::io;

use ulpack::Error;

use super::amounts;
use super::exit::Exit;

/// An end of the command that is not a good one.
#[derive(Debug)]
pub(super) struct Failure {
    /// The file or option at fault, as messages name it.
    subject: Option<String>,
    text: String,
    exit: Exit,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { subject: None, text: text.into(), exit: Exit::Usage }
    }

    /// `subject` cannot be used.
    pub(super) fn about(subject: &str, text: impl Into<String>) -> Self {
        Self { subject: Some(subject.to_owned()), text: text.into(), exit: Exit::Usage }
    }

    /// What `subject` holds is not what it must be.
    pub(super) fn invalid(subject: &str, text: impl Into<String>) -> Self {
        Self { subject: Some(subject.to_owned()), text: text.into(), exit: Exit::Invalid }
    }

    /// The arguments do not parse. All of it is ours to word but the parser's hints.
    pub(super) fn syntax(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        Self::usage(text.trim_end())
    }

    /// Reading or writing `subject` failed.
    pub(super) fn io(subject: &str, error: &io::Error) -> Self {
        if let Some(placed) = Placed::of(error) {
            return Self::io(&placed.subject, &placed.source);
        }
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::ClosedPipe,
            _ => Exit::Usage,
        };
        Self { subject: Some(subject.to_owned()), text: error.to_string(), exit }
    }

    /// The library gave up on `subject`.
    pub(super) fn library(subject: &str, error: &Error) -> Self {
        let rule = error.rule();
        let text = match rule {
            Error::Io(error) => return Self::io(subject, error),
            Error::Usage(text) => return Self::usage(text.as_str()),
            // It has no place: the input is something else altogether.
            Error::NotUlp => rule.to_string(),
            Error::OverLimit { what: "memory", needed, allowed } => format!(
                "needs {} of memory, --memory allows {} bytes",
                amounts::memory(*needed),
                amounts::exact(*allowed)
            ),
            _ => error.to_string(),
        };
        Self { subject: Some(subject.to_owned()), text, exit: rule.class().into() }
    }

    /// This failure with one more remark.
    pub(super) fn with(mut self, remark: &str) -> Self {
        self.text.push_str("; ");
        self.text.push_str(remark);
        self
    }

    /// The exit code.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// What to tell the user; nothing when the reader of the output went away, as that is no failure to them.
    pub(super) fn message(&self) -> Option<String> {
        match (self.exit, &self.subject) {
            (Exit::ClosedPipe, _) => None,
            (_, Some(subject)) => Some(format!("{subject}: {}", self.text)),
            (_, None) => Some(self.text.clone()),
        }
    }
}

/// An I/O error that knows which file it is about, through the layers of the library, which does not.
#[derive(Debug)]
struct Placed {
    subject: String,
    source: io::Error,
}

impl Placed {
    fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.source)
    }
}

impl std::error::Error for Placed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// `error`, marked as one of `subject`.
pub(super) fn place(subject: &str, source: io::Error) -> io::Error {
    io::Error::new(source.kind(), Placed { subject: subject.to_owned(), source })
}
