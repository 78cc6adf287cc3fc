//! LEB128 numbers and zigzag of signed ones (spec §1.2).

use crate::error::{Error, Result};
use crate::wire::fields::Fields;

/// Appends a number.
#[allow(clippy::cast_possible_truncation)]
pub fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a number; only its shortest form is valid.
///
/// # Errors
/// The bytes end, the number has 2^64 or more, or a shorter form exists.
pub fn read(fields: &mut Fields<'_>) -> Result<u64> {
    let mut value = 0u64;
    for i in 0..10 {
        let byte = fields.u8()?;
        let part = u64::from(byte & 0x7F);
        if (i == 9 && part > 1) || (i > 0 && byte == 0) {
            return Err(Error::Field { field: "LEB128", value: byte.into() });
        }
        value |= part << (7 * i);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::Field { field: "LEB128 length", value: 11 })
}

/// Zigzag of a signed number.
#[must_use]
#[allow(clippy::cast_sign_loss)]
pub fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

/// The signed number of a zigzag.
#[must_use]
#[allow(clippy::cast_possible_wrap)]
pub fn unzigzag(z: u64) -> i64 {
    ((z >> 1) as i64) ^ -((z & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_long_forms_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            write(&mut bytes, value);
            let mut fields = Fields::new(&bytes, "number");
            assert_eq!(read(&mut fields).unwrap(), value);
            fields.finish().unwrap();
        }
        for bad in
            [&[0x80, 0x00][..], &[0xFF; 11], &[0x80], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]]
        {
            assert!(read(&mut Fields::new(bad, "number")).is_err());
        }
        for v in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(v)), v);
        }
    }
}
