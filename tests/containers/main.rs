//! Layouts: what the parsers say of files as they are, of damaged ones, and of random bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archive;
mod common;
mod directory;
mod gguf;
mod hostile;
mod npy;
mod npz;
mod safetensors;
mod tar;
mod torch;
