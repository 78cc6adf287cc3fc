//! npy: `\x93NUMPY | version | header length | a Python literal | the array` (numpy/lib/format.py).

use super::literal::{self, Literal};
use super::parser::{Parser, Place, Step, u16_at, u32_at};
use super::span::{Tensor, TypedSpan, columns_of, elements_of};
use crate::core::element::ElementType;

/// The first bytes.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header; those of records with thousands of fields fit.
const MAX_HEADER: usize = 1 << 20;

/// The parser.
pub(super) struct Npy {
    place: Place,
    name: String,
    state: State,
}

enum State {
    Header,
    Array(TypedSpan),
    End,
}

impl Npy {
    /// An array of that name.
    pub(super) fn new(place: Place, name: &str) -> Self {
        Self { place, name: name.into(), state: State::Header }
    }
}

impl Parser for Npy {
    fn step(&mut self, input: &[u8], _left: u64) -> Step {
        match std::mem::replace(&mut self.state, State::End) {
            State::Header => match self.header(input) {
                Ok((length, array)) => {
                    if array.length > 0 {
                        self.state = State::Array(array);
                    }
                    Step::Span(TypedSpan::bytes(length as u64, true))
                }
                Err(step) => {
                    self.state = State::Header;
                    step
                }
            },
            State::Array(array) => Step::Span(array),
            State::End => Step::End,
        }
    }
}

impl Npy {
    /// The length of the header and the array behind it.
    fn header(&self, input: &[u8]) -> Result<(usize, TypedSpan), Step> {
        if !input.starts_with(MAGIC.get(..input.len().min(MAGIC.len())).unwrap_or_default()) {
            return Err(Step::Surprise);
        }
        let (at, length) = match input.get(MAGIC.len()) {
            None => return Err(Step::Need(12)),
            Some(1) => (10, u16_at(input, 8).map(usize::from)),
            Some(2 | 3) => (12, u32_at(input, 8).map(|n| n as usize)),
            Some(_) => return Err(Step::Surprise),
        };
        let end = at + length.ok_or(Step::Need(at))?;
        if end > MAX_HEADER {
            return Err(Step::Surprise);
        }
        let text = input.get(at..end).ok_or(Step::Need(end))?;
        let array =
            std::str::from_utf8(text).ok().and_then(|text| self.array(&literal::parse(text)?)).ok_or(Step::Surprise)?;
        Ok((end, array))
    }

    fn array(&self, header: &Literal) -> Option<TypedSpan> {
        let descr = header.get("descr")?;
        let fortran = *header.get("fortran_order")? == Literal::Word("True".into());
        let shape = header.get("shape")?.list()?.iter().map(Literal::number);
        let mut shape = shape.collect::<Option<Vec<u64>>>()?;
        if fortran {
            shape.reverse();
        }
        let item = Item::of(descr, 0)?;
        let length = elements_of(&shape)?.checked_mul(item.size)?;
        let columns = match item.element {
            // Records, and numbers that are no elements, repeat byte by byte.
            ElementType::Bytes => u32::try_from(item.size).unwrap_or(0),
            element => columns_of(&shape, item.size / element.width() as u64),
        };
        let tensor = Tensor {
            path: self.place.path.clone(),
            name: self.name.as_str().into(),
            shape: shape.into(),
            length: Some(length),
        };
        Some(TypedSpan { known: item.known, ..TypedSpan::tensor(tensor, length, item.element, columns) })
    }
}

/// What one item of an array is.
struct Item {
    element: ElementType,
    /// In bytes; a multiple of the element's width, several for complex numbers and strings.
    size: u64,
    known: bool,
}

impl Item {
    fn of(descr: &Literal, depth: usize) -> Option<Self> {
        match descr {
            Literal::Text(text) => Self::of_text(text),
            Literal::List(fields) if depth < 4 => Self::record(fields, depth),
            _ => None,
        }
    }

    /// A record: `[(name, descr), (name, descr, shape), …]`.
    fn record(fields: &[Literal], depth: usize) -> Option<Self> {
        let mut size = 0u64;
        for field in fields {
            let (descr, shape) = match field.list()? {
                [_, descr] => (descr, None),
                [_, descr, shape] => (descr, Some(shape)),
                _ => return None,
            };
            let times = match shape {
                None => 1,
                Some(Literal::Number(n)) => *n,
                Some(shape) => {
                    let shape = shape.list()?.iter().map(Literal::number);
                    elements_of(&shape.collect::<Option<Vec<_>>>()?)?
                }
            };
            let field = Self::of(descr, depth + 1)?;
            size = size.checked_add(field.size.checked_mul(times)?)?;
        }
        Some(Self::bytes(size, true))
    }

    fn bytes(size: u64, known: bool) -> Self {
        Self { element: ElementType::Bytes, size, known }
    }

    /// A type string: byte order, kind, size, as `<f4`; or the name of a type of `ml_dtypes`.
    fn of_text(text: &str) -> Option<Self> {
        use ElementType as E;
        let named = match text {
            "bfloat16" => Some(E::Bf16),
            "float8_e4m3fn" => Some(E::F8E4M3),
            "float8_e5m2" => Some(E::F8E5M2),
            _ => None,
        };
        if let Some(element) = named {
            let size = element.width() as u64;
            return Some(Self { element, size, known: true });
        }
        let (order, kind) = match text.strip_prefix(['<', '>', '|', '=']) {
            Some(kind) => (text.chars().next()?, kind),
            None => ('|', text),
        };
        // Times carry their unit: `M8[ns]`.
        let kind = kind.split('[').next()?;
        let size = kind.get(1..)?.parse::<u64>().ok()?;
        let (element, size) = match (kind.chars().next()?, size) {
            ('b', 1) | ('u', 1) => (E::U8, 1),
            ('i', 1) => (E::I8, 1),
            ('u', 2) => (E::U16, 2),
            ('i', 2) => (E::I16, 2),
            ('u', 4) => (E::U32, 4),
            ('i', 4) => (E::I32, 4),
            ('u', 8) => (E::U64, 8),
            ('i' | 'm' | 'M', 8) => (E::I64, 8),
            ('f', 2) => (E::F16, 2),
            ('f', 4) => (E::F32, 4),
            ('f', 8) => (E::F64, 8),
            ('c', 8) => (E::F32, 8),
            ('c', 16) => (E::F64, 16),
            ('U', n) => (E::U32, n.checked_mul(4)?),
            // numpy has no bfloat16 of its own; `ml_dtypes` writes this.
            ('V', 2) => (E::Bf16, 2),
            ('V', 1) => return Some(Self::bytes(1, false)),
            ('S' | 'a' | 'V', n) => (E::Bytes, n),
            ('f', 10 | 12 | 16) | ('c', 20 | 24 | 32) => (E::Bytes, size),
            _ => return None,
        };
        if order == '>' && element.width() > 1 {
            return Some(Self::bytes(size, true));
        }
        Some(Self { element, size, known: true })
    }
}
