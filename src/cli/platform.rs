//! What depends on the operating system: the only file that asks which one it is.

#[cfg(not(unix))]
pub(super) use other::{
    bytes_of, identity, new_file_permissions, reads_by_position, standard, sync_directory, wait, widen,
};
#[cfg(unix)]
pub(super) use unix::{
    bytes_of, identity, new_file_permissions, reads_by_position, standard, sync_directory, wait, widen,
};

/// What a non-blocking descriptor is to become ready for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Readiness {
    Read,
    Write,
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::Mode;
    use rustix::process::umask;

    use super::Readiness;
    use crate::cli::identity::Identity;

    /// A standard stream as a file, without the standard library's buffers.
    pub(in crate::cli) fn standard(stream: &impl AsFd) -> io::Result<File> {
        Ok(File::from(stream.as_fd().try_clone_to_owned()?))
    }

    /// What tells that two names mean the same bytes. Pipes and terminals have none: both ends may look alike.
    pub(in crate::cli) fn identity(metadata: &Metadata) -> Option<Identity> {
        let kind = metadata.file_type();
        if kind.is_file() {
            Some(Identity::File(metadata.dev(), metadata.ino()))
        } else if kind.is_block_device() {
            Some(Identity::Device(metadata.rdev()))
        } else {
            None
        }
    }

    /// Whether the file can be read at any position and knows its length.
    pub(in crate::cli) fn reads_by_position(metadata: &Metadata) -> bool {
        metadata.is_file()
    }

    /// Waits until a descriptor that somebody else made non-blocking is ready.
    pub(in crate::cli) fn wait(file: &File, readiness: Readiness) -> io::Result<()> {
        let flags = match readiness {
            Readiness::Read => PollFlags::IN,
            Readiness::Write => PollFlags::OUT,
        };
        match poll(&mut [PollFd::new(file, flags)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a pipe hold a megabyte, where the system allows it: fewer, larger reads and writes. Anything else stays as it is.
    pub(in crate::cli) fn widen(file: &File) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            // A limit set by the administrator leaves the pipe as it was.
            let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = file;
    }

    /// The permissions of a file that is newly made the usual way.
    pub(in crate::cli) fn new_file_permissions() -> Option<Permissions> {
        // There is no other portable way to read the mask than to set it.
        let mask = umask(Mode::from_raw_mode(0o077));
        umask(mask);
        Some(Permissions::from_mode(0o666 & !mask.as_raw_mode()))
    }

    /// The bytes of an argument.
    pub(in crate::cli) fn bytes_of(text: &OsStr) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    /// Makes the name of a new file as durable as its content, where the file system can.
    pub(in crate::cli) fn sync_directory(directory: &Path) {
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::ffi::OsStr;
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::windows::io::AsHandle;
    use std::path::Path;

    use super::Readiness;
    use crate::cli::identity::Identity;

    pub(in crate::cli) fn standard(stream: &impl AsHandle) -> io::Result<File> {
        Ok(File::from(stream.as_handle().try_clone_to_owned()?))
    }

    pub(in crate::cli) fn identity(_: &Metadata) -> Option<Identity> {
        None
    }

    pub(in crate::cli) fn reads_by_position(metadata: &Metadata) -> bool {
        metadata.is_file()
    }

    pub(in crate::cli) fn wait(_: &File, _: Readiness) -> io::Result<()> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        Ok(())
    }

    pub(in crate::cli) fn new_file_permissions() -> Option<Permissions> {
        None
    }

    pub(in crate::cli) fn bytes_of(text: &OsStr) -> Vec<u8> {
        text.to_string_lossy().into_owned().into_bytes()
    }

    pub(in crate::cli) fn widen(_: &File) {}

    pub(in crate::cli) fn sync_directory(_: &Path) {}
}
