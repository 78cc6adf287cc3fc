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
    Applied, Chain, ChainDecoder, Decoder, DecoderOptions, Encoder, EncoderOptions, FrozenSummary, Grouping, Level,
    Link, Listing, Names, ReadAt, Reader, Reference, ReferenceInfo, Row, Setup, StreamInfo, Summary, TENSOR_KEY,
    TensorInfo, TensorView, Trainer, Training, Typing, apply_in_place, apply_to_file, compress, content_length,
    decode_into, decompress, encode_into, inspect, inspect_with,
};
pub use wire::bank_file::BankFile;
