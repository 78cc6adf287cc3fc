//! Whole streams: reading, writing, references, threads.

mod advice;
mod buffers;
mod decoder;
mod encoder;
mod indexer;
mod inspect;
mod options;
mod pool;
mod reference;
mod state;
mod train;
mod window;

pub use crate::encode::train::{Grouping, Setup, Training};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use inspect::{Listing, inspect, inspect_with_banks};
pub use options::{Damage, DecoderOptions, EncoderOptions, FrozenSummary, Level, Summary, Typing};
pub use reference::Reference;
pub use train::Trainer;
