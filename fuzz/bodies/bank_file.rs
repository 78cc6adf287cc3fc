//! Bank files given to encoders and decoders.

use std::io::Write;
use std::sync::Arc;

use ulpack::wire::fields::push_crc;
use ulpack::{
    BankFile, Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Error, ErrorClass, Reference, Typing,
};

/// Any bytes as a bank file, as they are and with lengths and checksums that agree: what is parsed is written the same, and elements that are coded
/// with it come back.
pub fn bank_file(data: &[u8]) {
    for file in [BankFile::parse(data), BankFile::parse(&agreed(data))] {
        match file {
            Ok(file) => check(&Arc::new(file)),
            Err(error) => {
                let class = error.class();
                assert!(matches!(class, ErrorClass::Invalid | ErrorClass::Unsupported), "{class:?}: {error}");
            }
        }
    }
}

/// The same entries in a file whose header and checksums fit.
fn agreed(data: &[u8]) -> Vec<u8> {
    let entries = data.get(20..data.len().saturating_sub(4)).unwrap_or(&[]);
    let mut file = b"\x89ulb\r\n\0\x01".to_vec();
    file.extend_from_slice(data.get(8..12).unwrap_or(&[1, 0, 0, 0]));
    file.extend_from_slice(&(entries.len() as u32 + 24).to_le_bytes());
    push_crc(&mut file, 0);
    file.extend_from_slice(entries);
    push_crc(&mut file, 20);
    file
}

fn check(file: &Arc<BankFile>) {
    let again = BankFile::new(file.banks().to_vec()).unwrap();
    assert_eq!((again.bytes(), again.sha256()), (file.bytes(), file.sha256()), "a bank file written again");
    let element = file.banks().first().map_or(ElementType::Bf16, |bank| bank.element);
    // Small changes to values of a few magnitudes, and some that are none.
    let reference: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let content: Vec<u8> = reference.iter().enumerate().map(|(i, b)| b ^ u8::from(i % 5 == 0)).collect();
    let reference: Arc<[u8]> = reference.into();
    for (against, external, only) in [(false, true, true), (true, false, true), (true, true, false)] {
        let references = || if against { vec![Reference::Bytes(Arc::clone(&reference))] } else { Vec::new() };
        let mut options = EncoderOptions::default();
        options.typing = Typing::Fixed(element);
        options.threads = 1;
        options.bank = Some(Arc::clone(file));
        (options.external_bank, options.frozen_only) = (external, only);
        let mut encoder = Encoder::new(Vec::new(), options, references()).unwrap();
        encoder.write_all(&content).unwrap();
        let (stream, _) = encoder.finish().unwrap();
        let mut options = DecoderOptions::default();
        options.threads = 1;
        options.banks = vec![Arc::clone(file)];
        let mut back = Vec::new();
        let mut decoder = Decoder::new(&stream[..], options, references());
        while let Some(bytes) = decoder.next_chunk().unwrap() {
            back.extend_from_slice(bytes);
        }
        assert!(back == content, "the content came back changed");
        if external {
            let mut decoder = Decoder::new(&stream[..], DecoderOptions::default(), references());
            match decoder.next_chunk() {
                Ok(_) => {}
                Err(error) => assert!(matches!(error.rule(), Error::BankMissing(_)), "{error}"),
            }
        }
    }
}
