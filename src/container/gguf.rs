//! GGUF versions 2 and 3: keys and values, tensor infos, then the tensors, aligned (ggml/docs/gguf.md).

use super::parser::{Parser, Place, Step, u32_at, u64_at};
use super::placed::{Item, Next, Placed};
use super::span::{Tensor, TypedSpan, columns_of, elements_of};
use super::walk::{Advance, Walk};
use crate::core::element::ElementType;

/// The first bytes.
pub(super) const MAGIC: &[u8] = b"GGUF";
/// Longest key and longest name of a tensor.
const MAX_NAME: u64 = 1 << 16;
/// Most dimensions.
const MAX_DIMENSIONS: u32 = 8;
/// Deepest nesting of arrays.
const MAX_ARRAYS: usize = 8;
/// Alignment where the file does not name one.
const ALIGNMENT: u64 = 32;
/// Type number of a value that is a 32-bit unsigned number.
const VALUE_U32: u32 = 4;
/// Type number of a string.
const VALUE_STRING: u32 = 8;
/// Type number of an array.
const VALUE_ARRAY: u32 = 9;

/// The parser.
pub(super) struct Gguf {
    place: Place,
    walk: Walk,
    state: State,
    /// Bytes before the parser.
    at: u64,
    tensors: u64,
    pairs: u64,
    alignment: u64,
    infos: Vec<Info>,
    /// Memory that the infos take.
    held: usize,
}

enum State {
    Header,
    Key,
    /// Values still to come: their type and how many, outermost first.
    Value(Vec<(u32, u64)>),
    /// The value of `general.alignment`.
    Alignment,
    Info,
    Body(Placed<usize>),
}

struct Info {
    name: String,
    shape: Vec<u64>,
    kind: u32,
    offset: u64,
}

impl Gguf {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            walk: Walk::default(),
            state: State::Header,
            at: 0,
            tensors: 0,
            pairs: 0,
            alignment: ALIGNMENT,
            infos: Vec::new(),
            held: 0,
        }
    }

    /// Reads the next thing of the header at the start of `input`.
    fn advance(&mut self, input: &[u8]) -> Advance {
        match &mut self.state {
            State::Header => self.header(input),
            State::Key => self.key(input),
            State::Value(values) => {
                let advance = value(input, values);
                if values.is_empty() {
                    self.state = State::Key;
                }
                advance
            }
            State::Alignment => match u32_at(input, 0) {
                None => Advance::Need(4),
                Some(n) if n.is_power_of_two() => {
                    self.alignment = n.into();
                    self.state = State::Key;
                    Advance::Took(4)
                }
                Some(_) => Advance::Surprise,
            },
            State::Info => self.info(input),
            State::Body(_) => Advance::Done(0),
        }
    }

    fn header(&mut self, input: &[u8]) -> Advance {
        let (Some(version), Some(tensors), Some(pairs)) = (u32_at(input, 4), u64_at(input, 8), u64_at(input, 16))
        else {
            return Advance::Need(24);
        };
        // Version 1 has lengths of 32 bits; a big-endian file shows another version.
        if !matches!(version, 2 | 3) {
            return Advance::Surprise;
        }
        (self.tensors, self.pairs) = (tensors, pairs);
        self.state = State::Key;
        Advance::Took(24)
    }

    fn key(&mut self, input: &[u8]) -> Advance {
        if self.pairs == 0 {
            self.state = State::Info;
            return self.info(input);
        }
        let (key, end) = match string(input) {
            Ok(found) => found,
            Err(advance) => return advance,
        };
        let Some(kind) = u32_at(input, end) else {
            return Advance::Need(end + 4);
        };
        self.pairs -= 1;
        self.state = if key == b"general.alignment" && kind == VALUE_U32 {
            State::Alignment
        } else {
            State::Value(vec![(kind, 1)])
        };
        Advance::Took(end as u64 + 4)
    }

    fn info(&mut self, input: &[u8]) -> Advance {
        if self.tensors == 0 {
            return self.place_tensors();
        }
        let (name, end) = match string(input) {
            Ok(found) => found,
            Err(advance) => return advance,
        };
        let dimensions = match u32_at(input, end) {
            None => return Advance::Need(end + 4),
            Some(n) if n > MAX_DIMENSIONS => return Advance::Surprise,
            Some(n) => n as usize,
        };
        let tail = end + 4 + 8 * dimensions;
        let (Some(kind), Some(offset)) = (u32_at(input, tail), u64_at(input, tail + 4)) else {
            return Advance::Need(tail + 12);
        };
        let shape = (0..dimensions).rev();
        let info = Info {
            name: String::from_utf8_lossy(name).into_owned(),
            shape: shape.filter_map(|i| u64_at(input, end + 4 + 8 * i)).collect(),
            kind,
            offset,
        };
        self.held += size_of::<Info>() + info.name.len() + 8 * dimensions;
        if self.held > self.place.held {
            return Advance::Surprise;
        }
        self.infos.push(info);
        self.tensors -= 1;
        Advance::Took(tail as u64 + 12)
    }

    /// Behind the last info: the tensors begin at the next multiple of the alignment.
    fn place_tensors(&mut self) -> Advance {
        let items = self.infos.iter().enumerate();
        let items = items.filter_map(|(what, info)| {
            let begin = info.offset;
            let (_, length, _) = info.kind()?;
            Some(Item { begin, end: begin.checked_add(length)?, what })
        });
        self.state = State::Body(Placed::new(items.filter(|i| i.begin < i.end).collect()));
        if self.infos.is_empty() {
            return Advance::Done(0);
        }
        match self.at.checked_next_multiple_of(self.alignment) {
            Some(start) => Advance::Done(start - self.at),
            None => Advance::Surprise,
        }
    }
}

impl Gguf {
    /// The next tensor.
    fn body(&mut self) -> Step {
        let State::Body(placed) = &mut self.state else {
            return Step::Surprise;
        };
        match placed.next() {
            None => Step::End,
            Some(Next::Between(span)) => Step::Span(span),
            Some(Next::Item(item)) => match self.infos.get(item.what) {
                Some(info) => Step::Span(info.span(item.end - item.begin, &self.place)),
                None => Step::Surprise,
            },
        }
    }
}

impl Parser for Gguf {
    fn step(&mut self, input: &[u8], _left: u64) -> Step {
        if matches!(self.state, State::Body(_)) {
            return self.body();
        }
        let mut walk = std::mem::take(&mut self.walk);
        let advance = walk.step(input, self.place.held, |rest| {
            let advance = self.advance(rest);
            if let Advance::Took(n) = advance {
                self.at = self.at.saturating_add(n);
            }
            advance
        });
        self.walk = walk;
        match advance {
            // Every byte of the header was told of before.
            Advance::Done(0) => self.body(),
            Advance::Took(n) | Advance::Done(n) => Step::Span(TypedSpan::bytes(n, true)),
            Advance::Need(n) => Step::Need(n),
            Advance::Surprise => Step::Surprise,
        }
    }
}

/// A string and the end of it.
fn string(input: &[u8]) -> Result<(&[u8], usize), Advance> {
    let length = u64_at(input, 0).ok_or(Advance::Need(8))?;
    if length > MAX_NAME {
        return Err(Advance::Surprise);
    }
    let end = 8 + length as usize;
    let text = input.get(8..end).ok_or(Advance::Need(end))?;
    Ok((text, end))
}

/// Passes over the next value, or over all values of the innermost array if they have a fixed size.
fn value(input: &[u8], values: &mut Vec<(u32, u64)>) -> Advance {
    let depth = values.len();
    let Some((kind, count)) = values.last_mut() else {
        return Advance::Took(0);
    };
    let size = match *kind {
        0 | 1 | 7 => 1u64,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        VALUE_STRING | VALUE_ARRAY => 0,
        _ => return Advance::Surprise,
    };
    if *count == 0 || size > 0 {
        let passed = count.checked_mul(size);
        values.pop();
        return passed.map_or(Advance::Surprise, Advance::Took);
    }
    if *kind == VALUE_STRING {
        let Some(length) = u64_at(input, 0) else {
            return Advance::Need(8);
        };
        *count -= 1;
        return length.checked_add(8).map_or(Advance::Surprise, Advance::Took);
    }
    let (Some(inner), Some(length)) = (u32_at(input, 0), u64_at(input, 4)) else {
        return Advance::Need(12);
    };
    *count -= 1;
    if depth >= MAX_ARRAYS {
        return Advance::Surprise;
    }
    values.push((inner, length));
    Advance::Took(12)
}

impl Info {
    /// Element type, length in bytes, row length (for quantised types: bytes of a block).
    fn kind(&self) -> Option<(ElementType, u64, u32)> {
        use ElementType as E;
        let element = match self.kind {
            0 => E::F32,
            1 => E::F16,
            24 => E::I8,
            25 => E::I16,
            26 => E::I32,
            27 => E::I64,
            28 => E::F64,
            30 => E::Bf16,
            _ => E::Bytes,
        };
        let (elements, bytes) = match self.kind {
            // Elements and bytes of a block of the quantised types (ggml-quants.h).
            2 | 20 | 31..=33 => (32, 18),
            3 => (32, 20),
            6 => (32, 22),
            7 => (32, 24),
            8 => (32, 34),
            10 => (256, 84),
            11 | 21 => (256, 110),
            12 => (256, 144),
            13 => (256, 176),
            14 => (256, 210),
            15 => (256, 292),
            16 | 35 => (256, 66),
            17 => (256, 74),
            18 => (256, 98),
            19 => (256, 50),
            22 => (256, 82),
            23 => (256, 136),
            29 => (256, 56),
            34 => (256, 54),
            39 => (32, 17),
            40 => (64, 36),
            41 => (128, 18),
            _ if element != E::Bytes => (1, element.width() as u64),
            _ => return None,
        };
        let n = elements_of(&self.shape)?;
        if n % elements != 0 {
            return None;
        }
        let columns = if element == E::Bytes { bytes as u32 } else { columns_of(&self.shape, 1) };
        Some((element, (n / elements).checked_mul(bytes)?, columns))
    }

    fn span(&self, length: u64, place: &Place) -> TypedSpan {
        let (element, _, columns) = self.kind().unwrap_or((ElementType::Bytes, 0, 0));
        let tensor = Tensor {
            path: place.path.clone(),
            name: self.name.as_str().into(),
            shape: self.shape.as_slice().into(),
            length: Some(length),
        };
        TypedSpan::tensor(tensor, length, element, columns)
    }
}
