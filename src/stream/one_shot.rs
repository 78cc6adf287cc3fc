//! Whole contents in memory, and single tensors in the caller's buffers.

use std::io::Read;
use std::sync::Arc;

use crate::core::element::ElementType;
use crate::error::{Error, Result};
use crate::stream::decoder::Decoder;
use crate::stream::encoder::Encoder;
use crate::stream::map;
use crate::stream::options::{DecoderOptions, EncoderOptions, Typing};
use crate::stream::reference::Reference;

/// Key of the metadata under which [`encode_into`] stores a tensor's name.
pub const TENSOR_KEY: &str = "tensor";

/// Compresses `content` against `references` into one stream.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{DecoderOptions, EncoderOptions, Reference};
/// let prev = vec![7u8; 100_000];
/// let mut next = prev.clone();
/// next[5] = 8;
/// let reference = || vec![Reference::Bytes(prev.clone().into())];
/// let coded = ulpack::compress(&next, EncoderOptions::default(), reference())?;
/// assert!(coded.len() < 1000);
/// assert_eq!(ulpack::decompress(&coded, DecoderOptions::default(), reference())?, next);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Reading a reference failed, or the options contradict each other.
pub fn compress(content: &[u8], options: EncoderOptions, references: Vec<Reference>) -> Result<Vec<u8>> {
    Ok(Encoder::new(Vec::new(), options, references)?.finish_with(content)?.0)
}

/// Decompresses the streams in `coded`; `references` in the order of the encoder. See [`compress`].
///
/// # Errors
/// Any violated rule. No part of the content is returned then; a [`Decoder`] gives what comes before.
pub fn decompress(coded: &[u8], options: DecoderOptions, references: Vec<Reference>) -> Result<Vec<u8>> {
    let mut decoder = Decoder::new(coded, options, references);
    let mut content = Vec::new();
    while let Some(chunk) = decoder.next_chunk()? {
        content.extend_from_slice(chunk);
    }
    Ok(content)
}

/// Bytes of content of the streams in `coded`, as their End records say it. Nothing is decoded or verified: an advice of how much memory to set aside.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// let coded = ulpack::compress(&[7; 1000], ulpack::EncoderOptions::default(), Vec::new())?;
/// assert_eq!(ulpack::content_length(&[&coded[..], &coded[..]].concat())?, 2000);
/// # Ok(()) }
/// ```
///
/// # Errors
/// `coded` does not begin with a stream, or does not end with one.
pub fn content_length(coded: &[u8]) -> Result<u64> {
    let told = map::streams(&coded)?.iter().try_fold(0u64, |sum, stream| sum.checked_add(stream.end.content_length));
    told.ok_or(Error::Extent("content"))
}

/// A tensor in the caller's memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    /// Its name, any text that is not empty.
    pub name: &'a str,
    /// Type of its elements.
    pub element: ElementType,
    /// Dimensions, the last one contiguous; empty for a scalar or where they are not known.
    pub shape: &'a [u64],
    /// Its elements, little-endian: a whole number of them.
    pub bytes: &'a [u8],
}

/// Appends one tensor to `out`, as a stream of its own with the name in its metadata, coded against the same tensor of an earlier step where `reference`
/// has it (elements of the same type, any number). Returns the bytes appended.
///
/// Nothing outside the arguments is looked at or changed. With `options.threads` 1 no thread is started.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{DecoderOptions, ElementType, EncoderOptions, TensorView};
/// let bytes = |step: u32| (0..4096u32).flat_map(|i| (0.5 + (i + step) as f32 * 1e-6).to_le_bytes()).collect::<Vec<u8>>();
/// let (prev, next) = (bytes(0), bytes(1));
/// let mut options = EncoderOptions::default();
/// options.threads = 1;
/// let tensor = TensorView { name: "layer.0.weight", element: ElementType::F32, shape: &[64, 64], bytes: &next };
/// let mut coded = Vec::new();
/// let length = ulpack::encode_into(&tensor, Some(&prev), &options, &mut coded)?;
/// assert_eq!(length, coded.len());
/// let mut back = vec![0; next.len()];
/// let name = ulpack::decode_into(&coded, Some(&prev), &DecoderOptions::default(), &mut back)?;
/// assert_eq!((name.as_deref(), back), (Some("layer.0.weight"), next));
/// # Ok(()) }
/// ```
///
/// # Errors
/// The bytes are no whole elements, the name is empty, or the options contradict each other.
pub fn encode_into(
    tensor: &TensorView<'_>,
    reference: Option<&[u8]>,
    options: &EncoderOptions,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let width = tensor.element.width();
    if !tensor.bytes.len().is_multiple_of(width) {
        let (name, length) = (tensor.name, tensor.bytes.len());
        return Err(Error::Usage(format!("tensor {name}: {length} bytes are no whole elements of {width} bytes")));
    }
    let mut options = options.clone();
    options.typing = Typing::Fixed(tensor.element);
    if let (Some(last), true) = (tensor.shape.last(), tensor.shape.len() > 1) {
        options.columns = u32::try_from(*last).ok().filter(|&n| n > 0);
    }
    options.metadata.push((String::from(TENSOR_KEY), tensor.name.as_bytes().to_vec()));
    let before = out.len();
    let references = reference.map(|bytes| Reference::Bytes(Arc::from(bytes))).into_iter().collect();
    Encoder::new(&mut *out, options, references)?.finish_with(tensor.bytes)?;
    Ok(out.len() - before)
}

/// Decodes the tensor in `coded` into `out`, which must have its length; returns the name it was given. See [`encode_into`].
///
/// # Errors
/// Any violated rule, or `out` has another length: what `out` holds then is not the tensor.
pub fn decode_into(
    coded: &[u8],
    reference: Option<&[u8]>,
    options: &DecoderOptions,
    out: &mut [u8],
) -> Result<Option<String>> {
    let references = reference.map(|bytes| Reference::Bytes(Arc::from(bytes))).into_iter().collect();
    let mut decoder = Decoder::new(coded, options.clone(), references);
    let length = out.len();
    let other = |needed: &str| Error::Usage(format!("the buffer has {length} bytes, the tensor {needed}"));
    let mut rest = out;
    let mut name = None;
    while !rest.is_empty() {
        // Straight into the caller's memory where chunks fit.
        let count = decoder.read(rest)?;
        if count == 0 {
            return Err(other("fewer"));
        }
        rest = rest.get_mut(count..).unwrap_or_default();
        if name.is_none() {
            let found = decoder.metadata().iter().find(|(key, _)| key == TENSOR_KEY);
            name = found.and_then(|(_, value)| String::from_utf8(value.clone()).ok());
        }
    }
    if decoder.read(&mut [0])? > 0 { Err(other("has more")) } else { Ok(name) }
}
