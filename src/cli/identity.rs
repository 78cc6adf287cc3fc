//! Which files are the same: an output must not be one of the inputs, whatever names they go by.

/// What two names for the same bytes have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// A regular file: device and inode.
    File(u64, u64),
    /// A block device, by its number.
    Device(u64),
}
