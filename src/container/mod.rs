//! The layout layer: what the bytes of a file are, told by the file's own headers as they flow past.
//!
//! It only advises the encoder: where a header is damaged, unknown or absurd, the rest of that container is bytes of unknown type, and nothing is ever
//! refused. The decoder knows nothing of it.
//!
//! [`LayoutReader`] turns a stream into [`TypedSpan`]s as it flows; [`Layout`] holds those of a whole file, and [`directory`] finds the files of a
//! reference. Each container has one file with its parser; `recognise` picks it by the first bytes.
//!
//! Memory: at most [`MAX_HELD`] bytes of a header wait for the rest of it, and what has been learnt from it takes about as much again.

mod dcp;
pub mod directory;
mod gguf;
mod layout;
mod literal;
mod npy;
mod parser;
mod pickle;
mod pickle_argument;
mod pickle_values;
mod placed;
mod reader;
mod recognise;
mod safetensors;
mod span;
mod tar;
mod torch;
mod torch_legacy;
mod walk;
mod zip;
mod zip_header;

pub use layout::Layout;
pub use reader::LayoutReader;
pub use span::{Tensor, TypedSpan};

/// Most bytes of one header that are held, and most bytes of memory for what a pickle or a list of tensors says; beyond it the container is bytes.
///
/// A safetensors header of 132 MB with 1.29 million tensors exists (safetensors#668).
pub const MAX_HELD: usize = 256 << 20;

/// Most files of one directory that are looked at.
pub const MAX_FILES: usize = 65_536;

/// Most containers inside each other; deeper ones are bytes.
pub const MAX_DEPTH: u8 = 4;

/// Longest gap between tensors that is taken for padding; longer ones may hold anything.
pub const MAX_PADDING: u64 = 4096;
