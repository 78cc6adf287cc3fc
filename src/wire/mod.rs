//! The structures of the stream: each with `parse` and `write`, no algorithms.

pub mod bank;
pub mod bank_file;
pub mod bits;
pub mod built_in;
pub mod chunk_header;
pub mod end;
pub mod fields;
pub mod index;
pub mod layout;
pub mod leb128;
pub mod metadata;
pub mod profile;
pub mod record_header;
pub mod records;
pub mod stream_header;
