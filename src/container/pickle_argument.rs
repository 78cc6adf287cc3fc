//! Arguments of the opcodes of pickles (Python's pickletools).

use super::walk::Advance;

/// Longest string that is looked at; longer ones are passed over.
const MAX_TEXT: u64 = 4096;
/// Longest line of an opcode with a text argument that is looked at, and longest line at all.
const MAX_LINE: usize = 1 << 16;

/// The argument of an opcode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument<'a> {
    /// None, or one that is not looked at.
    None,
    /// A whole number.
    Int(i64),
    /// A string.
    Text(&'a [u8]),
    /// Module and name of a class or function.
    Lines(&'a [u8], &'a [u8]),
    /// So many bytes that are not looked at; they follow.
    Payload(u64),
}

/// The argument at the start of `input`, and its length without what is not looked at.
pub(super) fn argument(code: u8, input: &[u8]) -> Result<(Argument<'_>, u64), Advance> {
    let fixed = |n: usize| input.get(..n).ok_or(Advance::Need(1 + n));
    let number = |n: usize| -> Result<u64, Advance> {
        let bytes = fixed(n)?.iter().rev();
        Ok(bytes.fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let counted = |n: usize| {
        let length = number(n)?;
        if length > MAX_TEXT {
            return Ok((Argument::Payload(length), n as u64));
        }
        let end = n + length as usize;
        let text = input.get(n..end).ok_or(Advance::Need(1 + end))?;
        Ok((Argument::Text(text), end as u64))
    };
    let int = |n: usize| {
        let value = i64::try_from(number(n)?).unwrap_or(i64::MAX);
        Ok((Argument::Int(value), n as u64))
    };
    match code {
        b'K' | b'q' | b'h' | 0x80 | 0x82 => int(1),
        b'M' | 0x83 => int(2),
        b'J' => {
            let value = number(4)? as u32;
            Ok((Argument::Int(value.cast_signed().into()), 4))
        }
        b'r' | b'j' | 0x84 => int(4),
        b'G' | 0x95 => int(8),
        0x8a | 0x8b => match counted(if code == 0x8a { 1 } else { 4 })? {
            (Argument::Text(digits), length) => Ok((long(digits), length)),
            other => Ok(other),
        },
        b'U' | b'C' | 0x8c => counted(1),
        b'T' | b'X' | b'B' => counted(4),
        0x8d | 0x8e | 0x96 => counted(8),
        b'I' | b'L' | b'p' | b'g' => {
            let (line, length) = line(input)?;
            let text = std::str::from_utf8(line).unwrap_or_default();
            let number = text.trim_end_matches('L').parse().ok();
            Ok((number.map_or(Argument::None, Argument::Int), length as u64))
        }
        b'S' | b'V' | b'F' | b'P' => {
            let (line, length) = line(input)?;
            let quoted = match line {
                [b'\'', text @ .., b'\''] | [b'"', text @ .., b'"'] if code == b'S' => text,
                text => text,
            };
            let short = quoted.len() as u64 <= MAX_TEXT;
            let text = if short { Argument::Text(quoted) } else { Argument::None };
            Ok((text, length as u64))
        }
        b'c' | b'i' => {
            let (module, first) = line(input)?;
            let rest = input.get(first..).unwrap_or_default();
            let (name, second) = line(rest).map_err(|advance| match advance {
                Advance::Need(n) => Advance::Need(n + first),
                other => other,
            })?;
            Ok((Argument::Lines(module, name), (first + second) as u64))
        }
        _ => Ok((Argument::None, 0)),
    }
}

/// The line at the start of `input`, and its length with the newline.
fn line(input: &[u8]) -> Result<(&[u8], usize), Advance> {
    let most = input.get(..input.len().min(MAX_LINE)).unwrap_or_default();
    match memchr::memchr(b'\n', most) {
        Some(end) => Ok((most.get(..end).unwrap_or_default(), end + 1)),
        None if most.len() == MAX_LINE => Err(Advance::Surprise),
        // Doubled, so that a long line that comes byte by byte is not searched for every byte.
        None => Err(Advance::Need(1 + most.len().max(16) * 2)),
    }
}

/// A whole number in two's complement, if it fits.
fn long(digits: &[u8]) -> Argument<'static> {
    if digits.len() > 8 {
        return Argument::None;
    }
    let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
    let mut bytes = [if negative { 0xff } else { 0 }; 8];
    for (byte, digit) in bytes.iter_mut().zip(digits) {
        *byte = *digit;
    }
    Argument::Int(i64::from_le_bytes(bytes))
}
