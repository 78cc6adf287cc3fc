//! What the fuzz targets do, as plain functions that panic when a property does not hold: `fuzz_targets` runs them under libFuzzer,
//! `tests/fuzz_bodies.rs` on stable Rust.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "a panic is the report")]

mod bank_file;
mod containers;
mod decode;
mod encode;
mod headers;
mod input;
mod repair;

pub use bank_file::bank_file;
pub use containers::containers;
pub use decode::{decode_any, decode_no_crc, prefix_release, scalar_vs_fast, split_reads, threads_equal};
pub use encode::{round_trip, round_trip_tensor};
pub use headers::headers;

/// A target: its name and what it does with an input.
pub type Body = (&'static str, fn(&[u8]));

/// Targets that take a stream; vectors of the conformance corpus are seeds.
pub const OF_STREAMS: [Body; 5] = [
    ("decode_any", decode_any),
    ("decode_no_crc", decode_no_crc),
    ("scalar_vs_fast", scalar_vs_fast),
    ("split_reads", split_reads),
    ("headers", headers),
];

/// Targets that take a bank file; those of the conformance corpus are seeds.
pub const OF_BANKS: [Body; 1] = [("bank_file", bank_file)];

/// Targets that take choices.
pub const OF_CHOICES: [Body; 5] = [
    ("threads_equal", threads_equal),
    ("prefix_release", prefix_release),
    ("round_trip", round_trip),
    ("round_trip_tensor", round_trip_tensor),
    ("containers", containers),
];
