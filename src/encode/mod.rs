//! What an encoder decides: scales, tables, methods, chunks. A decoder needs none of it.

pub mod bank;
pub mod choose;
pub mod chunk;
pub mod cluster;
pub mod coding;
pub mod distance;
pub mod encode_bank;
pub mod estimate;
pub mod frozen;
pub mod histogram;
pub mod kind;
pub mod level;
pub mod log2;
pub mod magnitude;
pub mod normalise;
pub mod plan;
pub mod profile;
pub mod scales;
pub mod span;
pub mod symbols;
pub mod train;
pub mod typing;
pub mod workspace;
