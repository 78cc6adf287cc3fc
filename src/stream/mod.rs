//! Whole streams: reading, writing, references, threads.

mod decoder;
mod encoder;
mod options;
mod reference;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use options::{DecoderOptions, EncoderOptions, Level, Summary, Typing};
pub use reference::Reference;
