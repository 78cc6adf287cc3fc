//! Headers of zip files (APPNOTE.TXT): what a forward reader needs of them.

use std::ops::Range;

use super::parser::{u16_at, u32_at, u64_at};

/// First bytes of a local header.
pub(super) const LOCAL: &[u8] = b"PK\x03\x04";
/// First bytes of a data descriptor.
pub(super) const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// A local header.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// Name of the record.
    pub(super) name: String,
    /// Whether the contents are as they are: neither compressed nor encrypted.
    pub(super) stored: bool,
    /// Bytes of the contents in the file; `None` where only the descriptor behind them tells.
    pub(super) size: Option<u64>,
    /// Whether a descriptor follows the contents.
    pub(super) descriptor: bool,
    /// Whether the descriptor has numbers of 64 bits, as far as the header can tell.
    pub(super) wide: bool,
}

impl Local {
    /// The header at the start of `input` and its length; the number of bytes needed if there are too few.
    pub(super) fn parse(input: &[u8]) -> Result<(Self, usize), usize> {
        let field = |at| u16_at(input, at).ok_or(30usize);
        let (flags, method) = (field(6)?, field(8)?);
        let (name, extra) = (usize::from(field(26)?), usize::from(field(28)?));
        let sizes = (u32_at(input, 18).ok_or(30usize)?, u32_at(input, 22).ok_or(30usize)?);
        let end = 30 + name + extra;
        let name = input.get(30..30 + name).ok_or(end)?;
        let extra = input.get(end - extra..end).ok_or(end)?;
        let zip64 = extra_field(extra, 1);
        let size = match (sizes, zip64) {
            // The extra field has the original size before this one, if that does not fit either.
            ((u32::MAX, u32::MAX), Some(field)) => u64_at(field, 8),
            ((u32::MAX, _), Some(field)) => u64_at(field, 0),
            ((size, _), _) => Some(size.into()),
        };
        let descriptor = flags & 8 != 0;
        let local = Self {
            name: String::from_utf8_lossy(name).into_owned(),
            stored: method == 0 && flags & 1 == 0,
            size: if descriptor { size.filter(|size| *size != 0) } else { size },
            descriptor,
            wide: zip64.is_some(),
        };
        Ok((local, end))
    }

    /// The length of the descriptor at the start of `input`, behind `size` bytes of contents; 0 if it is none, an error where more bytes are needed.
    ///
    /// Another header must follow it, so that contents are hardly ever mistaken for one.
    pub(super) fn descriptor(&self, input: &[u8], size: u64, left: u64) -> Result<usize, usize> {
        let bytes = |range: Range<usize>| match input.get(range.clone()) {
            Some(bytes) => Ok(bytes),
            None if range.end as u64 <= left => Err(range.end),
            None => Ok(&[][..]),
        };
        if !DESCRIPTOR.starts_with(input) && !input.starts_with(DESCRIPTOR)
            || bytes(0..12)?.get(8..) != Some(&(size as u32).to_le_bytes())
        {
            return Ok(0);
        }
        let (narrow, wide) = ((size as u32).to_le_bytes(), size.to_le_bytes());
        let forms = if self.wide { [24, 16] } else { [16, 24] };
        for form in forms {
            let number: &[u8] = if form == 16 { &narrow } else { &wide };
            let numbers = bytes(8..form)?;
            let (compressed, original) = numbers.split_at(numbers.len() / 2);
            let fits = form == 24 || size <= u32::MAX.into();
            if fits
                && compressed == number
                && (!self.stored || original == number)
                && [LOCAL, b"PK\x01\x02"].contains(&bytes(form..form + 4)?)
            {
                return Ok(form);
            }
        }
        Ok(0)
    }
}

/// The contents of the extra field of that id.
fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    loop {
        let (found, length) = (u16_at(extra, 0)?, u16_at(extra, 2)?);
        let end = 4 + usize::from(length);
        let field = extra.get(4..end)?;
        if found == id {
            return Some(field);
        }
        extra = extra.get(end..)?;
    }
}

/// The length of a structure of the directory at the end, and whether it is the last one.
///
/// An error has the number of bytes needed; 0 where this is no such structure.
pub(super) fn directory(input: &[u8]) -> Result<(u64, bool), usize> {
    let Some(signature) = u32_at(input, 0) else {
        return Err(4);
    };
    let field = |at: usize, need: usize| u16_at(input, at).map(u64::from).ok_or(need);
    match signature.to_le_bytes() {
        // A file's entry.
        [b'P', b'K', 1, 2] => {
            let variable = field(28, 46)? + field(30, 46)? + field(32, 46)?;
            Ok((46 + variable, false))
        }
        // The end with numbers of 64 bits, and its locator.
        [b'P', b'K', 6, 6] => match u64_at(input, 4) {
            None => Err(12),
            Some(length) if length <= 1 << 20 => Ok((12 + length, false)),
            Some(_) => Err(0),
        },
        [b'P', b'K', 6, 7] => Ok((20, false)),
        // The end, with a comment.
        [b'P', b'K', 5, 6] => Ok((22 + field(20, 22)?, true)),
        _ => Err(0),
    }
}
