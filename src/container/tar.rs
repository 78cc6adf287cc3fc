//! tar: members one after the other, each recognised by itself (POSIX ustar and pax; GNU long names and sparse headers).

use super::parser::{Parser, Place, Step, bytes_at};
use super::recognise::Any;
use super::span::TypedSpan;

/// Unit of a tar file in bytes.
pub(super) const BLOCK: usize = 512;
/// Longest extended header that is read; longer ones are passed over.
const MAX_EXTENDED: u64 = 1 << 20;

/// The parser.
pub(super) struct Tar {
    place: Place,
    state: State,
    /// What extended headers say of the next member.
    name: Option<String>,
    size: Option<u64>,
}

enum State {
    Header,
    /// Further headers of a sparse member of this name and size.
    Sparse(String, u64),
    /// A member, bytes of it still to come, and padding behind it.
    Member(Box<Any>, u64, u64),
    Padding(u64),
    /// Behind the last member: blocks of zeros.
    Zeros,
}

impl Tar {
    pub(super) fn new(place: Place) -> Self {
        Self { place, state: State::Header, name: None, size: None }
    }

    fn header(&mut self, input: &[u8]) -> Step {
        let Some(block) = input.get(..BLOCK) else {
            return Step::Need(BLOCK);
        };
        if is_zero(block) {
            self.state = State::Zeros;
            return Step::Span(TypedSpan::bytes(BLOCK as u64, true));
        }
        if !is_header(block) {
            return Step::Surprise;
        }
        let Some(stored) = block.get(124..136).and_then(number) else {
            return Step::Surprise;
        };
        let kind = block.get(156).copied().unwrap_or(0);
        if matches!(kind, b'x' | b'L') && stored <= MAX_EXTENDED {
            let end = BLOCK + stored as usize;
            let Some(data) = input.get(BLOCK..end) else {
                return Step::Need(end);
            };
            if kind == b'x' {
                self.extended(data);
            } else {
                self.name = Some(text(data));
            }
            let length = (end as u64).next_multiple_of(BLOCK as u64);
            return Step::Span(TypedSpan::bytes(length, true));
        }
        let extended = matches!(kind, b'x' | b'L' | b'K' | b'g');
        let (name, size) = if extended { (None, None) } else { (self.name.take(), self.size.take()) };
        let name = name.unwrap_or_else(|| header_name(block));
        let size = match kind {
            // Links, devices and directories have no contents, whatever their size says.
            b'1'..=b'6' => 0,
            _ => size.unwrap_or(stored),
        };
        if extended && size > self.place.held as u64 {
            return Step::Surprise;
        }
        self.state = if extended {
            State::Padding(size.saturating_add(size.wrapping_neg() % BLOCK as u64))
        } else if kind == b'S' && block.get(482).is_some_and(|more| *more != 0) {
            State::Sparse(name, size)
        } else {
            self.member(&name, size)
        };
        Step::Span(TypedSpan::bytes(BLOCK as u64, true))
    }

    fn member(&self, name: &str, size: u64) -> State {
        let padding = size.wrapping_neg() % BLOCK as u64;
        let member = Any::new(self.place.member(name));
        State::Member(Box::new(member), size, padding)
    }

    /// Records `length key=value\n` of a pax header.
    fn extended(&mut self, mut data: &[u8]) {
        while let Some((record, rest)) = pax_record(data) {
            data = rest;
            let Some(equals) = memchr::memchr(b'=', record) else {
                continue;
            };
            let (key, value) = record.split_at(equals);
            let value = value.get(1..).unwrap_or_default();
            match key {
                b"path" | b"GNU.sparse.name" => {
                    self.name = Some(String::from_utf8_lossy(value).into());
                }
                b"size" => self.size = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()),
                _ => {}
            }
        }
    }
}

impl Parser for Tar {
    fn step(&mut self, input: &[u8], left: u64) -> Step {
        loop {
            match &mut self.state {
                State::Header => return self.header(input),
                State::Sparse(name, size) => {
                    let Some(block) = input.get(..BLOCK) else {
                        return Step::Need(BLOCK);
                    };
                    if block.get(504).is_none_or(|more| *more == 0) {
                        let (name, size) = (std::mem::take(name), *size);
                        self.state = self.member(&name, size);
                    }
                    return Step::Span(TypedSpan::bytes(BLOCK as u64, true));
                }
                State::Member(_, 0, padding) => self.state = State::Padding(*padding),
                State::Member(member, size, _) => {
                    let n = usize::try_from(*size).unwrap_or(usize::MAX).min(input.len());
                    let step = member.step(input.get(..n).unwrap_or_default(), left.min(*size));
                    return match step {
                        Step::Span(mut span) => {
                            span.split_off(*size);
                            *size -= span.length;
                            Step::Span(span)
                        }
                        step => step,
                    };
                }
                State::Padding(n) => {
                    let n = *n;
                    self.state = State::Header;
                    if n > 0 {
                        return Step::Span(TypedSpan::bytes(n, true));
                    }
                }
                State::Zeros => {
                    return match input.get(..BLOCK) {
                        None => Step::Need(BLOCK),
                        Some(block) if is_zero(block) => {
                            let blocks = input.chunks_exact(BLOCK);
                            let zeros = blocks.take_while(|block| is_zero(block)).count();
                            Step::Span(TypedSpan::bytes((zeros * BLOCK) as u64, true))
                        }
                        // Another archive, or whatever was appended.
                        Some(_) => Step::End,
                    };
                }
            }
        }
    }
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

/// Whether a block is the header of a member: its magic and checksum are right.
pub(super) fn is_header(block: &[u8]) -> bool {
    let Some(stored) = block.get(148..156).and_then(number) else {
        return false;
    };
    let sum = |value: fn(u8) -> i64| -> i64 {
        let bytes = block.iter().enumerate();
        bytes.map(|(i, byte)| value(if (148..156).contains(&i) { b' ' } else { *byte })).sum()
    };
    // Some old programs summed signed bytes.
    let sums = [sum(i64::from), sum(|byte| i64::from(byte.cast_signed()))];
    bytes_at(block, 257) == Some(*b"ustar") && i64::try_from(stored).is_ok_and(|stored| sums.contains(&stored))
}

/// A field of octal digits, or of bytes if its first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    match field.first()? {
        first if first & 0x80 != 0 => {
            let rest = field.get(1..)?;
            let start = u64::from(first & 0x7f);
            rest.iter().try_fold(start, |n, byte| n.checked_mul(256)?.checked_add(u64::from(*byte)))
        }
        _ => {
            let text = std::str::from_utf8(field).ok()?;
            let digits = text.trim_matches([' ', '\0']);
            if digits.is_empty() {
                return Some(0);
            }
            u64::from_str_radix(digits, 8).ok()
        }
    }
}

/// Text up to the first zero byte.
fn text(field: &[u8]) -> String {
    let end = memchr::memchr(0, field).unwrap_or(field.len());
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

/// The name in a header, with its prefix.
fn header_name(block: &[u8]) -> String {
    let name = text(block.get(..100).unwrap_or_default());
    let prefix = if bytes_at(block, 257) == Some(*b"ustar\0") {
        text(block.get(345..500).unwrap_or_default())
    } else {
        // GNU's own format has other fields there.
        String::new()
    };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// The first record of a pax header, without its length and newline, and the rest.
fn pax_record(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr::memchr(b' ', data.get(..data.len().min(20))?)?;
    let length = std::str::from_utf8(data.get(..space)?).ok()?;
    let length = length.parse::<usize>().ok()?;
    let record = data.get(space + 1..length.checked_sub(1)?)?;
    Some((record, data.get(length..)?))
}
