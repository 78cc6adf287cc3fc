//! Encoders given anything: the content comes back, and hardly grows.

use std::io::Write;

use arbitrary::{Result, Unstructured};
use ulpack::{Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Typing};

use super::input;

fn check(content: &[u8], reference: Option<&[u8]>, options: EncoderOptions) {
    let short = options.chunk_length.is_some() || !options.metadata.is_empty();
    let mut encoder = Encoder::new(Vec::new(), options, input::references(reference)).unwrap();
    encoder.write_all(content).unwrap();
    let (stream, summary) = encoder.finish().unwrap();
    assert_eq!((summary.content_bytes, summary.coded_bytes), (content.len() as u64, stream.len() as u64));
    assert!(
        short || stream.len() <= content.len() + content.len() / 1000 + 1024,
        "{} became {}",
        content.len(),
        stream.len()
    );
    let mut options = DecoderOptions::default();
    options.threads = 1;
    options.sha256 = true;
    let mut decoder = Decoder::new(&stream[..], options, input::references(reference));
    let mut back = Vec::new();
    while let Some(bytes) = decoder.next_chunk().unwrap() {
        back.extend_from_slice(bytes);
    }
    assert!(back == content, "another content");
    assert_eq!(decoder.summary().content_crc, summary.content_crc);
}

/// Any bytes, any options, any reference.
pub fn round_trip(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let _ = (|| -> Result<()> {
        let options = input::options(&mut u)?;
        let content: Vec<u8> = u.arbitrary()?;
        let content = content.repeat(u.int_in_range(1..=30)?);
        let reference = input::reference(&mut u, &content)?;
        check(&content, reference.as_deref(), options);
        Ok(())
    })();
}

/// Elements of each type, special values among them, against references like them.
pub fn round_trip_tensor(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let _ = (|| -> Result<()> {
        let mut options = input::options(&mut u)?;
        let element = *u.choose(&ElementType::ALL)?;
        options.typing = Typing::Fixed(element);
        let with_reference = u.ratio(2, 3)?;
        let (content, reference) = input::tensor(&mut u, element)?;
        check(&content, with_reference.then_some(reference.as_slice()), options);
        Ok(())
    })();
}
