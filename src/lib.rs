//! `ulpack`: lossless streaming compression of checkpoints.
//!
//! The format is described in `spec/format.md`; the modules follow it, lower layers first:
//! [`core`] turns numbers into bits, `wire` holds the structures of the stream, `decode` and `encode` put chunks together, `stream` reads and writes
//! whole streams, `container` advises the encoder about file layouts, [`stat`] measures checkpoints as the papers do.

pub mod container;
pub mod core;
pub mod decode;
pub mod encode;
pub mod error;
pub mod kernel;
pub mod limits;
pub mod matching;
pub mod stat;
pub mod stream;
pub mod wire;

pub use crate::core::element::ElementType;
pub use error::{Error, ErrorClass, Result};
pub use stream::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, FrozenSummary, Grouping, Level, Listing, Reference, Setup,
    Summary, Trainer, Training, Typing, inspect, inspect_with_banks,
};
pub use wire::bank_file::BankFile;
