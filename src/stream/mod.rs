//! Whole streams: reading, writing, references, threads.

mod advice;
mod apply;
mod buffers;
mod chain;
mod decoder;
mod encoder;
mod indexer;
mod inspect;
mod map;
mod one_shot;
mod open_stream;
mod options;
mod pool;
mod read_at;
mod reader;
mod records;
mod reference;
mod references;
mod state;
mod table;
mod train;
mod window;

pub use crate::encode::train::{Grouping, Setup, Training};
pub use apply::{Applied, apply_in_place, apply_to_file};
pub use chain::{Chain, ChainDecoder, Link};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use inspect::{Listing, inspect, inspect_with};
pub use one_shot::{TENSOR_KEY, TensorView, compress, content_length, decode_into, decompress, encode_into};
pub use options::{Damage, DecoderOptions, EncoderOptions, FrozenSummary, Level, Summary, Typing};
pub use read_at::ReadAt;
pub use reader::{Reader, ReferenceInfo, StreamInfo, TensorInfo};
pub use reference::Reference;
pub use table::{Names, Row};
pub use train::Trainer;
