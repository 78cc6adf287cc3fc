//! Every maximum of the format (spec §13), in one place.

/// Version byte of the streams this crate writes and reads.
pub const VERSION: u8 = 0;
/// Draft number, which changes with every change of the bytes while the version is 0.
pub const DRAFT: u8 = 1;

/// Feature set of streams beyond the limits of Baseline.
pub const EXTENDED: u8 = 1;
/// Feature set of streams that may have banks of pairs as well.
pub const WITH_PAIRS: u8 = 2;

/// Largest `max_chunk_length` of any stream.
pub const MAX_CHUNK_LENGTH: u32 = 1 << 26;
/// Largest `max_chunk_length` of a Baseline stream.
pub const BASELINE_CHUNK_LENGTH: u32 = 1 << 22;
/// Most references of any stream.
pub const MAX_REFERENCES: usize = 255;
/// Most references of a Baseline stream.
pub const BASELINE_REFERENCES: usize = 16;
/// Most bank slots of any stream.
pub const MAX_BANK_SLOTS: usize = 128;
/// Most bank slots of a Baseline stream.
pub const BASELINE_BANK_SLOTS: usize = 64;
/// Bank ids from here on name built-in banks.
pub const BUILT_IN_BANKS: u8 = 128;
/// Most banks in a bank file.
pub const MAX_FILE_BANKS: usize = 1024;
/// Largest bank file.
pub const MAX_BANK_FILE: u64 = 1 << 22;
/// Most profile slots.
pub const MAX_PROFILE_SLOTS: usize = 4096;
/// Most columns of all profiles in slots together.
pub const MAX_PROFILE_COLUMNS: usize = 1 << 20;
/// Most kinds in one Layout.
pub const MAX_KINDS: usize = 64;
/// Most spans in one Layout.
pub const MAX_SPANS: usize = 65_536;
/// Largest body of a Layout record.
pub const MAX_LAYOUT_BODY: u32 = 1 << 21;
/// Largest body of a Profile record.
pub const MAX_PROFILE_BODY: u32 = 1 << 23;
/// Largest body of a Bind record.
pub const MAX_BIND_BODY: u32 = 1 << 16;
/// Largest sum of the bodies of Metadata records.
pub const MAX_METADATA_BODY: u32 = 1 << 20;
/// Largest body of an Index record.
pub const MAX_INDEX_BODY: u32 = 1 << 20;
/// Most mask and element tables of a bank together.
pub const MAX_TABLES: usize = 32;
/// Offsets stay below this.
pub const MAX_OFFSET: u64 = 1 << 63;
/// Smallest `block` exponent (blocks hold whole rows of 32 lanes).
pub const MIN_BLOCK: u8 = 5;
/// Smallest `block` exponent of the MASK method.
pub const MIN_MASK_BLOCK: u8 = 8;
/// Smallest `block` exponent with pairs (blocks hold whole rows of 32 lanes).
pub const MIN_PAIR_BLOCK: u8 = 6;
/// Largest `block` exponent.
pub const MAX_BLOCK: u8 = 20;
/// Largest log2 of the number of lanes.
pub const MAX_LANES: u8 = 5;
