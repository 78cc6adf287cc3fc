//! The input: a file or standard input, read forward, counted.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::failure::{Failure, place};
use super::identity::Identity;
use super::options::Source;
use super::platform::{self, Readiness};
use super::progress::Progress;

/// An open file with what the command must know of it.
pub(super) struct Opened {
    /// Name in messages.
    pub(super) subject: String,
    pub(super) file: File,
    pub(super) metadata: Metadata,
}

impl Opened {
    /// Opens `source`; a directory is refused here, as reading it would fail late and obscurely.
    pub(super) fn open(source: &Source) -> Result<Self, Failure> {
        let subject = source.subject();
        let open = || match source {
            Source::Stdin { .. } => platform::standard(&io::stdin()),
            Source::File(path) => File::open(path),
        };
        let file = open().map_err(|error| Failure::io(&subject, &error))?;
        let metadata = file.metadata().map_err(|error| Failure::io(&subject, &error))?;
        if metadata.is_dir() {
            return Err(Failure::about(&subject, "is a directory; a file is needed"));
        }
        platform::widen(&file);
        Ok(Self { subject, file, metadata })
    }

    /// Where the next read takes place, in a regular file; standard input may have been read by others.
    pub(super) fn position(&mut self) -> Option<u64> {
        if !platform::reads_by_position(&self.metadata) {
            return None;
        }
        self.file.stream_position().ok()
    }
}

/// The input of the command.
pub(super) struct Input {
    subject: String,
    source: Forward,
    progress: Arc<Progress>,
    pub(super) identity: Option<Identity>,
    /// Whether it is a regular file, which gives what it has at once.
    pub(super) regular: bool,
}

impl Input {
    /// Opens the input and tells `progress` its size, if it has one.
    pub(super) fn open(source: &Source, progress: &Arc<Progress>) -> Result<Self, Failure> {
        let mut opened = Opened::open(source)?;
        if let Some(position) = opened.position() {
            progress.set_total(opened.metadata.len().saturating_sub(position));
        }
        Ok(Self {
            identity: platform::identity(&opened.metadata),
            regular: platform::reads_by_position(&opened.metadata),
            subject: opened.subject.clone(),
            source: Forward::new(opened),
            progress: Arc::clone(progress),
        })
    }

    /// Name in messages.
    pub(super) fn subject(&self) -> &str {
        &self.subject
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.progress.add_read(count);
        Ok(count)
    }
}

/// A file read forward, whose errors know its name.
pub(super) struct Forward {
    subject: String,
    file: File,
}

impl Forward {
    /// Reads `opened` from where it is.
    pub(super) fn new(opened: Opened) -> Self {
        Self { subject: opened.subject, file: opened.file }
    }
}

impl Read for Forward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    platform::wait(&self.file, Readiness::Read).map_err(|error| place(&self.subject, error))?;
                }
                Err(error) => return Err(place(&self.subject, error)),
                count => return count,
            }
        }
    }
}

/// What `path` is, if it exists.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match path.metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
