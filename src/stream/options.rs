//! What callers choose, and what they are told at the end.

use std::sync::Arc;

use crate::core::element::ElementType;
pub use crate::encode::level::Level;
use crate::kernel::Kernel;
use crate::wire::bank_file::BankFile;

/// How the encoder learns the types of the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Typing {
    /// From the container's header, else from the bytes.
    #[default]
    Auto,
    /// All elements are of this type.
    Fixed(ElementType),
}

/// Options of an [`Encoder`](crate::Encoder). The bytes it makes depend on the content, the references and all of these but `threads`, `overlap` and `memory`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EncoderOptions {
    /// Element types.
    pub typing: Typing,
    /// Speed or size.
    pub level: Level,
    /// Worker threads; 0 means one per core, at most 8.
    pub threads: usize,
    /// Code on a thread of its own even where only one is to work: the caller's reads and writes meanwhile, and one more window is in memory.
    pub overlap: bool,
    /// Row length, in elements, of all of the content, where the caller knows it.
    pub columns: Option<u32>,
    /// Most content bytes of a chunk, 64…4,194,304 (the default). A chunk is what a decoder holds, checks and releases at a time, and what
    /// a damaged byte costs; shorter ones cost size.
    pub chunk_length: Option<u32>,
    /// Keys and values of the Metadata record.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// Whether to write the SHA-256 of the content.
    pub sha256: bool,
    /// Most memory to use, in bytes: lowers the number of threads, never changes the output.
    pub memory: Option<u64>,
    /// Banks made beforehand: content is coded with those that suit it, without counting its symbols first.
    pub bank: Option<Arc<BankFile>>,
    /// Leave the tables of the banks in [`bank`](Self::bank) out of the stream: decoders need the file.
    pub external_bank: bool,
    /// Make no banks besides, even where those given are clearly wrong for the content.
    pub frozen_only: bool,
}

/// Options of a [`Decoder`](crate::Decoder).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DecoderOptions {
    /// Worker threads; 0 means one per core, at most 8.
    pub threads: usize,
    /// Most memory to use, in bytes: streams that need more are refused.
    pub memory: Option<u64>,
    /// Check the SHA-256 of the content, where the stream has one. Every chunk's CRC is checked in any case.
    pub sha256: bool,
    /// Skip damaged chunks: zeros take their place, each is counted in [`Summary::damaged`].
    pub salvage: bool,
    /// Bank files at hand, for streams that leave their banks out.
    pub banks: Vec<Arc<BankFile>>,
    /// Instruction set; the one in use ([`Kernel::active`]) where none is given. What is decoded never depends on it.
    pub kernel: Option<Kernel>,
}

/// What an encoder or decoder has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Bytes of content.
    pub content_bytes: u64,
    /// Bytes of stream.
    pub coded_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// CRC32 of the content.
    pub content_crc: u32,
    /// Whether the content is equal to the reference, byte for byte.
    pub identical: bool,
    /// Bytes that the content lacks, at least, of what its container announced (encoder only): a download that broke off, say.
    pub missing: u64,
    /// How frozen banks have done (encoder only, where there was one to use).
    pub frozen: Option<FrozenSummary>,
    /// Damaged chunks that were skipped (salvage only): number, content offset, bytes, why.
    pub damaged: Vec<Damage>,
}

/// How banks made beforehand have done. Costs are estimates from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrozenSummary {
    /// Bytes of content coded with them.
    pub content_bytes: u64,
    /// Bytes of content for which a bank was made, because they were clearly wrong for it.
    pub refused_bytes: u64,
    /// Bytes that the former take with them.
    pub frozen_cost: u64,
    /// Bytes that the same would take with banks made for it, their tables included.
    pub inline_cost: u64,
}

/// A chunk that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Number of the chunk.
    pub chunk: u64,
    /// Offset in the content.
    pub offset: u64,
    /// Bytes replaced by zeros.
    pub length: u64,
    /// What was wrong.
    pub reason: String,
}
