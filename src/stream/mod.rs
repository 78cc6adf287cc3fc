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
mod window;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use inspect::{Listing, inspect};
pub use options::{Damage, DecoderOptions, EncoderOptions, Level, Summary, Typing};
pub use reference::Reference;
