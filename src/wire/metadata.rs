//! Metadata (spec §6.5): keys and values for people, which no decoder needs.

use crate::error::{Error, Result};
use crate::wire::fields::Fields;

/// A key and its value.
pub type Pair = (String, Vec<u8>);

/// Parses a body (without CRC) of `count` pairs.
///
/// # Errors
/// Pairs that do not fill the body, keys that are empty or not UTF-8.
pub fn parse(body: &[u8], count: u16) -> Result<Vec<Pair>> {
    let mut fields = Fields::new(body, "Metadata");
    let mut pairs: Vec<Pair> = Vec::new();
    for _ in 0..count {
        let length = fields.u16()?;
        let key = std::str::from_utf8(fields.bytes(length.into())?)
            .map_err(|_| Error::Field { field: "metadata key (UTF-8)", value: length.into() })?;
        if key.is_empty() {
            return Err(Error::Field { field: "metadata key length", value: 0 });
        }
        let length = fields.u32()?;
        let value = fields.bytes(usize::try_from(length).unwrap_or(usize::MAX))?;
        pairs.push((key.to_owned(), value.to_vec()));
    }
    fields.finish()?;
    Ok(pairs)
}

/// Appends the body, without CRC.
///
/// # Errors
/// A key that is empty or above 65,535 bytes, a value of 4 GiB or more.
pub fn write(pairs: &[Pair], out: &mut Vec<u8>) -> Result<()> {
    for (key, value) in pairs {
        let key_length = u16::try_from(key.len()).ok().filter(|&n| n > 0);
        let (Some(key_length), Ok(value_length)) = (key_length, u32::try_from(value.len())) else {
            return Err(Error::Usage(format!("metadata: the key {key:?} or its value is empty or too long")));
        };
        out.extend_from_slice(&key_length.to_le_bytes());
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(&value_length.to_le_bytes());
        out.extend_from_slice(value);
    }
    Ok(())
}
