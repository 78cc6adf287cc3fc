//! The file that `-o FILE` is until it is complete: beside FILE, private, gone after an error or a fatal signal.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

use super::platform;

/// The temporary file there is now. Whoever makes, renames or removes it holds the lock, so that a signal finds it or does not.
static PENDING: Mutex<Option<PathBuf>> = Mutex::new(None);

fn pending() -> MutexGuard<'static, Option<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary file, if there is one, and keeps any other from appearing while the guard lives: for the moment before
/// the death of the process.
pub(super) fn discard() -> impl Drop {
    let mut guard = pending();
    if let Some(path) = guard.take() {
        let _ = std::fs::remove_file(path);
    }
    guard
}

/// A temporary file that becomes `path` when it is kept.
pub(super) struct Temporary {
    // `None` only while it is dropped or kept.
    file: Option<NamedTempFile>,
    path: PathBuf,
}

impl Temporary {
    /// Makes `path.ulp-XXXX`, readable by its owner only.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut prefix = OsString::from(name);
        prefix.push(".ulp-");
        let mut guard = pending();
        let file = create_in(directory(path), &prefix).or_else(|error| match error.kind() {
            // FILE's own name may fit where the longer one does not.
            io::ErrorKind::InvalidFilename => create_in(directory(path), &OsString::from(".ulp-")),
            _ => Err(error),
        })?;
        *guard = Some(file.path().to_owned());
        Ok(Self { file: Some(file), path: path.to_owned() })
    }

    /// The file, to write to.
    pub(super) fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file.as_file_mut()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Gives it its name and the permissions of a new file. Unless `overwrite`, a file that has got that name since is left alone.
    pub(super) fn keep(mut self, overwrite: bool) -> io::Result<()> {
        let file = self.file()?;
        file.sync_all()?;
        if let Some(permissions) = platform::new_file_permissions() {
            file.set_permissions(permissions)?;
        }
        self.rename(overwrite)?;
        platform::sync_directory(directory(&self.path));
        Ok(())
    }

    fn rename(&mut self, overwrite: bool) -> io::Result<()> {
        let mut guard = pending();
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let kept = if overwrite { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
        // A file that is not kept is removed with the error.
        let kept = kept.map(drop).map_err(|error| error.error);
        *guard = None;
        kept
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let mut guard = pending();
            drop(file);
            *guard = None;
        }
    }
}

fn create_in(directory: &Path, prefix: &OsString) -> io::Result<NamedTempFile> {
    Builder::new().prefix(prefix).rand_bytes(4).tempfile_in(directory)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
