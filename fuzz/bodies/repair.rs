//! Makes a well-formed stream of any bytes: the checks that any change would fail are made to pass, so that what is behind them is reached.
//! The library has no way to leave the checks out.

/// CRC32 of ISO-HDLC, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn put_crc(bytes: &mut [u8], from: usize, to: usize) {
    let crc = crc32(&bytes[from..to]);
    put(bytes, to, &crc.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The same bytes with the magic, version and CRCs of the `Stream_Header`, of every record's header and of every body but the content's own,
/// lengths that fit, no CRC of references that are not used, offsets of chunks that follow one another, and an End that agrees.
pub fn repair(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    bytes.resize(bytes.len().max(24), 0);
    put(&mut bytes, 0, &[0x89, b'u', b'l', b'p', b'\r', b'\n', 0, 1]);
    put_crc(&mut bytes, 0, 20);
    let (mut at, mut chunks, mut content, mut index) = (24, 0u64, 0u64, 0u64);
    while at + 12 <= bytes.len() && bytes[at] != 6 {
        let body = at + 12;
        let length = u32_at(&bytes, at + 4).min(bytes.len() - body);
        put(&mut bytes, at + 4, &(length as u32).to_le_bytes());
        put_crc(&mut bytes, at, at + 8);
        let end = body + length;
        match bytes[at] {
            5 => {
                let count = usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]]));
                let header = 20 + 12 * count;
                if header + 4 <= length {
                    put(&mut bytes, body, &content.to_le_bytes());
                    let uses_reference = (0..count).any(|k| matches!(bytes[body + 20 + 12 * k], 2..=4));
                    if !uses_reference {
                        put(&mut bytes, body + 16, &[0; 4]);
                    }
                    content += u32_at(&bytes, body + 8) as u64;
                    put_crc(&mut bytes, body, body + header);
                }
                chunks += 1;
            }
            kind => {
                if kind == 0x81 {
                    index = at as u64;
                }
                if length >= 4 {
                    put_crc(&mut bytes, body, end - 4);
                }
            }
        }
        at = end;
    }
    bytes.resize(at + 56, 0);
    put(&mut bytes, at, &[6, 0, 0, 0, 44, 0, 0, 0]);
    put_crc(&mut bytes, at, at + 8);
    put(&mut bytes, at + 12, &chunks.to_le_bytes());
    put(&mut bytes, at + 20, &content.to_le_bytes());
    put(&mut bytes, at + 32, &(at as u64 + 56).to_le_bytes());
    put(&mut bytes, at + 40, &index.to_le_bytes());
    put_crc(&mut bytes, at + 12, at + 48);
    put(&mut bytes, at + 52, &[0x8A, b'u', b'l', b'p']);
    bytes
}

/// Puts the CRC of the content, or of the reference, into the chunk whose record begins at `record`.
pub fn put_chunk_crc(stream: &[u8], record: u64, reference: bool, crc: u32) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    put(&mut bytes, record as usize + 12 + if reference { 16 } else { 12 }, &crc.to_le_bytes());
    repair(&bytes)
}

/// Puts the CRC of the whole content into the End of a repaired stream.
pub fn put_end_crc(stream: &[u8], crc: u32) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    let end = bytes.len() - 44;
    put(&mut bytes, end + 16, &crc.to_le_bytes());
    put_crc(&mut bytes, end, end + 36);
    bytes
}
