//! Decoding of chunks: what a reader of the format needs and nothing of how an encoder decides.

pub mod bank_files;
pub mod chunk;
pub mod parts;
mod rows;
pub mod slots;
pub mod substream;
