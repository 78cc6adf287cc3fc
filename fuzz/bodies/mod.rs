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
