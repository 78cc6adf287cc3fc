//! The output: standard output, a special file, or a regular file that appears when it is complete.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exit::Exit;
use super::failure::{Failure, place};
use super::identity::Identity;
use super::input::look;
use super::messages::shown;
use super::options::Target;
use super::platform::{self, Readiness};
use super::progress::Progress;
use super::temporary::Temporary;

/// Where the output will go: looked at, not touched. Damaged input must not cost the user an old file.
pub(super) struct Destination {
    subject: String,
    kind: Kind,
}

enum Kind {
    Stdout(File),
    /// A device or a named pipe: there is nothing to replace.
    Special(PathBuf),
    Regular {
        path: PathBuf,
        overwrite: bool,
    },
    Nowhere,
}

impl Destination {
    /// For a test of the input.
    pub(super) fn nowhere() -> Self {
        Self { subject: String::new(), kind: Kind::Nowhere }
    }

    /// Looks at `target`, and refuses one that is among the `sources` or that exists against the user's will.
    pub(super) fn find(target: &Target, sources: &[Identity]) -> Result<Self, Failure> {
        let (path, overwrite) = match target {
            Target::Stdout { .. } => return Self::stdout(sources),
            Target::File { path, overwrite } => (path, *overwrite),
        };
        let subject = shown(path.as_os_str());
        let fail = |error: io::Error| Failure::io(&subject, &error);
        let kind = match look(path).map_err(fail)? {
            None if path.is_symlink() => {
                return Err(Failure::about(&subject, "is a symbolic link to nothing"));
            }
            None => Kind::Regular { path: path.clone(), overwrite },
            Some(metadata) if metadata.is_dir() => {
                return Err(Failure::about(&subject, "is a directory; -o takes a file's name"));
            }
            Some(metadata) => {
                refuse_same(&subject, platform::identity(&metadata), sources)?;
                if !metadata.is_file() {
                    Kind::Special(path.clone())
                } else if overwrite {
                    // Through a link its target is replaced, as by '>'.
                    let path = path.canonicalize().map_err(fail)?;
                    Kind::Regular { path, overwrite }
                } else {
                    return Err(exists(&subject));
                }
            }
        };
        Ok(Self { subject, kind })
    }

    fn stdout(sources: &[Identity]) -> Result<Self, Failure> {
        let subject = String::from("stdout");
        let fail = |error: io::Error| Failure::io("stdout", &error);
        let file = platform::standard(&io::stdout()).map_err(fail)?;
        platform::widen(&file);
        let metadata = file.metadata().map_err(fail)?;
        refuse_same(&subject, platform::identity(&metadata), sources)?;
        Ok(Self { subject, kind: Kind::Stdout(file) })
    }

    /// Opens it for writing.
    pub(super) fn open(self, progress: &Arc<Progress>) -> Result<Output, Failure> {
        let fail = |error: io::Error| Failure::io(&self.subject, &error);
        let sink = match self.kind {
            Kind::Stdout(file) => Sink::Direct(file),
            Kind::Special(path) => Sink::Direct(open_special(&path).map_err(fail)?),
            Kind::Regular { path, overwrite } => {
                Sink::Temporary { file: Temporary::create(&path).map_err(fail)?, overwrite }
            }
            Kind::Nowhere => Sink::Nowhere,
        };
        Ok(Output { subject: self.subject, sink, progress: Arc::clone(progress), written: 0 })
    }
}

fn open_special(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn refuse_same(subject: &str, output: Option<Identity>, sources: &[Identity]) -> Result<(), Failure> {
    match output {
        Some(output) if sources.contains(&output) => {
            Err(Failure::about(subject, "is both input and output; write to another file"))
        }
        _ => Ok(()),
    }
}

fn exists(subject: &str) -> Failure {
    Failure::about(subject, "exists; -f replaces it")
}

enum Sink {
    Direct(File),
    Temporary { file: Temporary, overwrite: bool },
    Nowhere,
}

/// The open output.
pub(super) struct Output {
    subject: String,
    sink: Sink,
    progress: Arc<Progress>,
    written: u64,
}

impl Output {
    /// Writes a piece of content. In a regular file all zeros become a hole.
    pub(super) fn write_content(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Sink::Temporary { file, .. } = &mut self.sink else {
            return self.write_all(bytes);
        };
        if !all_zero(bytes) {
            return self.write_all(bytes);
        }
        let length = bytes.len();
        let skip = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        file.file().and_then(|file| file.seek(SeekFrom::Current(skip))).map_err(|error| place(&self.subject, error))?;
        self.count(length);
        Ok(())
    }

    /// Finishes the output: only now does a named file appear.
    pub(super) fn close(self) -> Result<(), Failure> {
        let Sink::Temporary { mut file, overwrite } = self.sink else {
            // Writes to the others are not buffered.
            return Ok(());
        };
        let written = self.written;
        // A hole at the end has no length yet.
        let kept = file.file().and_then(|file| file.set_len(written));
        kept.and_then(|()| file.keep(overwrite)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.subject),
            _ => Failure::io(&self.subject, &error),
        })
    }

    /// What to add to a message about damaged input: how much of the content has left already, or what became of the file.
    pub(super) fn remains(&self) -> Option<String> {
        match self.sink {
            Sink::Direct(_) if self.written > 0 => {
                Some(format!("{} good bytes were written", super::amounts::exact(self.written)))
            }
            Sink::Temporary { .. } => Some(format!("{} was not written", self.subject)),
            _ => None,
        }
    }

    fn count(&mut self, length: usize) {
        self.written += length as u64;
        self.progress.add_written(length);
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.sink {
            Sink::Direct(file) => write_ready(file, bytes),
            Sink::Temporary { file, .. } => file.file().and_then(|file| file.write(bytes)),
            Sink::Nowhere => Ok(bytes.len()),
        };
        let count = written.map_err(|error| place(&self.subject, error))?;
        self.count(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to a file that somebody else may have made non-blocking.
fn write_ready(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                platform::wait(file, Readiness::Write)?;
            }
            count => return count,
        }
    }
}

/// Whether there is nothing but zeros, looking at whole pages so that it costs little.
fn all_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|page| page.iter().fold(0, |any, byte| any | byte) == 0)
}

/// Prints `text` on standard output: all that the command says there.
pub(super) fn print(text: &[u8]) -> Result<Exit, Failure> {
    platform::standard(&io::stdout())
        .and_then(|mut file| file.write_all(text))
        .map_err(|error| Failure::io("stdout", &error))?;
    Ok(Exit::Done)
}
