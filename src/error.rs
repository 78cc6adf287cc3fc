//! What can go wrong: one enum, a variant per violated rule; its class picks the exit code.

use std::fmt;
use std::io;

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error (spec §14), which decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The stream breaks a rule, is truncated, or the reference does not match.
    Invalid,
    /// A later version, an unknown number, or a bank that is not at hand.
    Unsupported,
    /// More than Baseline or the user's limit.
    OverLimit,
    /// Reading or writing failed.
    Io,
    /// The caller asked for something that cannot be.
    Usage,
}

/// A violated rule, with the offending values.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// ULP-HDR-01: the magic is missing.
    NotUlp,
    /// ULP-HDR-02.
    UnsupportedVersion {
        /// Version byte.
        version: u8,
        /// Draft byte.
        draft: u8,
    },
    /// ULP-STR-02: the input ends inside a stream.
    Truncated,
    /// ULP-STR-01: bytes after the End record that are neither zeros nor a stream.
    TrailingBytes,
    /// A CRC of a header or of a record's body does not match.
    HeaderCrc {
        /// What the CRC covers.
        what: &'static str,
        /// CRC in the stream.
        expected: u32,
        /// CRC of the bytes.
        actual: u32,
    },
    /// A reserved bit or byte is not zero.
    Reserved(&'static str),
    /// A field is out of its range.
    Field {
        /// The field, as named in the spec.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A number that this version of the format does not know.
    Unknown {
        /// What the number names.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// ULP-ELT-01.
    UnknownElementType(u8),
    /// A rule about the order or place of records.
    Order(&'static str),
    /// A structure does not use up its bytes exactly, or ends early.
    Extent(&'static str),
    /// A value in a record contradicts the stream.
    Contradiction {
        /// The field.
        field: &'static str,
        /// Its value in the record.
        expected: u64,
        /// What the stream shows.
        actual: u64,
    },
    /// ULP-CHK-06: the decoded bytes do not match the content CRC.
    ContentCrc {
        /// CRC in the stream.
        expected: u32,
        /// CRC of the decoded bytes.
        actual: u32,
    },
    /// ULP-REF-01, ULP-CHK-07: the reference is not the one the stream was made with.
    ReferenceMismatch {
        /// Index of the reference; `None` where a chunk uses several.
        index: Option<usize>,
        /// CRC in the stream.
        expected: u32,
        /// CRC of the reference's bytes.
        actual: u32,
    },
    /// ULP-REF-01: the reference has another length.
    ReferenceLength {
        /// Index of the reference.
        index: usize,
        /// Length in the stream.
        expected: u64,
        /// Length of the file.
        actual: u64,
    },
    /// ULP-REF-02: the reference ends before a range that is needed.
    ReferenceShort {
        /// Index of the reference.
        index: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        actual: u64,
    },
    /// ULP-REF-01: none of the references given is this one.
    ReferenceAbsent {
        /// Index of the reference.
        index: usize,
        /// Its length.
        length: u64,
        /// Its sampled CRC.
        crc: u32,
    },
    /// The stream needs more references than were given.
    ReferenceMissing {
        /// References of the stream.
        needed: usize,
        /// References given.
        given: usize,
    },
    /// A piped reference cannot go back to bytes that have been dropped.
    ReferencePassed {
        /// Index of the reference.
        index: usize,
        /// Offset needed.
        needed: u64,
        /// Offset of the oldest byte still at hand.
        oldest: u64,
    },
    /// A stream of a chain was not made against the content before it.
    ChainBroken {
        /// Number of the stream, from 1.
        step: usize,
        /// Length of its reference, 0 where it does not tell.
        expected: u64,
        /// Length of the content before it.
        actual: u64,
    },
    /// ULP-BND-02.
    BankMissing([u8; 32]),
    /// ULP-BKF-01: the magic of a bank file is missing.
    NotBankFile,
    /// A rule of the entropy coder (ULP-ENT).
    Entropy(&'static str),
    /// The Digest record does not match the content.
    Digest,
    /// More memory than allowed.
    OverLimit {
        /// What is too large.
        what: &'static str,
        /// Its size.
        needed: u64,
        /// The size allowed.
        allowed: u64,
    },
    /// Something the caller asked for that cannot be.
    Usage(String),
    /// Reading or writing failed.
    Io(io::Error),
    /// An error inside a record or chunk, with its place.
    At {
        /// Number of the chunk, from 0, where the record is a chunk.
        chunk: Option<u64>,
        /// Offset in the input of the record's first byte.
        offset: u64,
        /// What went wrong.
        source: Box<Error>,
    },
}

impl Error {
    /// The class, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotUlp
            | Self::NotBankFile
            | Self::Truncated
            | Self::TrailingBytes
            | Self::HeaderCrc { .. }
            | Self::Field { .. }
            | Self::Order(_)
            | Self::Extent(_)
            | Self::Contradiction { .. }
            | Self::ContentCrc { .. }
            | Self::ReferenceMismatch { .. }
            | Self::ReferenceLength { .. }
            | Self::ReferenceShort { .. }
            | Self::ChainBroken { .. }
            | Self::Digest
            | Self::Entropy(_) => ErrorClass::Invalid,
            Self::UnsupportedVersion { .. }
            | Self::Reserved(_)
            | Self::Unknown { .. }
            | Self::UnknownElementType(_)
            | Self::BankMissing(_) => ErrorClass::Unsupported,
            Self::OverLimit { .. } => ErrorClass::OverLimit,
            Self::Io(_) => ErrorClass::Io,
            Self::Usage(_)
            | Self::ReferenceMissing { .. }
            | Self::ReferenceAbsent { .. }
            | Self::ReferencePassed { .. } => ErrorClass::Usage,
            Self::At { source, .. } => source.class(),
        }
    }

    /// The rule itself, without its place.
    #[must_use]
    pub fn rule(&self) -> &Self {
        match self {
            Self::At { source, .. } => source.rule(),
            other => other,
        }
    }

    /// This error with a place, unless it has one.
    #[must_use]
    pub fn at(self, chunk: Option<u64>, offset: u64) -> Self {
        match self {
            Self::At { .. } | Self::Io(_) => self,
            source => Self::At { chunk, offset, source: Box::new(source) },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUlp => write!(f, "not a ulp stream"),
            Self::UnsupportedVersion { version, draft } => write!(
                f,
                "format version {version}, draft {draft}, is not supported; this program reads version {}, draft {}",
                crate::limits::VERSION,
                crate::limits::DRAFT
            ),
            Self::Truncated => write!(f, "truncated: the input ends before the End record"),
            Self::TrailingBytes => write!(f, "trailing bytes after the last stream"),
            Self::HeaderCrc { what, expected, actual } => {
                write!(f, "{what}: damaged: expected CRC {expected:08x}, found {actual:08x}")
            }
            Self::Reserved(what) => write!(f, "{what}: reserved bits are set; a later version made this"),
            Self::Field { field, value } => write!(f, "{field}: value {value} is out of range"),
            Self::Unknown { what, value } => write!(f, "{what} {value} is not known; a later version made this"),
            Self::UnknownElementType(id) => write!(f, "element type {id} is not known; a later version made this"),
            Self::Order(what) => write!(f, "record out of order: {what}"),
            Self::Extent(what) => write!(f, "{what}: length does not fit the contents"),
            Self::Contradiction { field, expected, actual } => {
                write!(f, "{field}: the record says {expected}, the stream has {actual}")
            }
            Self::ContentCrc { expected, actual } => {
                write!(f, "damaged: content CRC mismatch: expected {expected:08x}, found {actual:08x}")
            }
            Self::ReferenceMismatch { index, expected, actual } => {
                write!(f, "reference")?;
                if let Some(index) = index {
                    write!(f, " {index}")?;
                }
                write!(
                    f,
                    " does not match: expected CRC {expected:08x}, found {actual:08x}; use the file the stream was made against"
                )
            }
            Self::ReferenceLength { index, expected, actual } => write!(
                f,
                "reference {index} does not match: expected {expected} bytes, found {actual}; use the file the stream was made against"
            ),
            Self::ReferenceShort { index, needed, actual } => write!(
                f,
                "reference {index} does not match: {needed} bytes needed, found {actual}; use the file the stream was made against"
            ),
            Self::ReferenceAbsent { index, length, crc } => write!(
                f,
                "reference {index} ({length} bytes, sampled CRC {crc:08x}) is not among those given; name it with --ref"
            ),
            Self::ReferenceMissing { needed, given } => {
                write!(f, "the stream was made against {needed} reference(s), {given} given; name them with --ref")
            }
            Self::ReferencePassed { index, needed, oldest } => write!(
                f,
                "reference {index} is a pipe and byte {needed} has passed (oldest at hand: {oldest}); give it as a file"
            ),
            Self::ChainBroken { step, expected, actual } => write!(
                f,
                "step {step} does not follow from the one before: its reference has {expected} bytes, that content {actual}, or they differ; name the steps in their order"
            ),
            Self::BankMissing(sha256) => {
                write!(f, "needs the bank file with SHA-256 ")?;
                for byte in sha256 {
                    write!(f, "{byte:02x}")?;
                }
                write!(f, "; give it with --bank")
            }
            Self::NotBankFile => write!(f, "not a ulp bank file"),
            Self::Entropy(what) => write!(f, "damaged: {what}"),
            Self::Digest => write!(f, "content does not match its SHA-256"),
            Self::OverLimit { what, needed, allowed } => write!(f, "{what}: needs {needed}, {allowed} allowed"),
            Self::Usage(message) => f.write_str(message),
            Self::Io(error) => write!(f, "{error}"),
            Self::At { chunk: Some(chunk), offset, source } => write!(f, "chunk {chunk} (byte {offset}): {source}"),
            Self::At { chunk: None, offset, source } => write!(f, "byte {offset}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::At { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        // Errors of this crate travel through `Read` and `Write` as the inner error of an `io::Error`.
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::Io(error),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            own => Self::new(io::ErrorKind::InvalidData, own),
        }
    }
}
