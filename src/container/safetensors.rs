//! safetensors: `n u64 | n bytes of JSON | tensors, back to back` (safetensors/src/tensor.rs).
//!
//! Headers need not be padded, tensors need not be aligned or in the order of the header, and files with trailing bytes, shared or overlapping tensors
//! exist although the reference refuses them.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::parser::{Parser, Place, Step, u64_at};
use super::placed::{Item, Next, Placed};
use super::span::{Tensor, TypedSpan, columns_of, elements_of};
use crate::core::element::ElementType;

/// The parser.
pub(super) struct Safetensors {
    place: Place,
    state: State,
}

enum State {
    Header,
    Body(Box<Header>, Placed<Entry>),
}

/// What a header says, without an allocation per tensor: there may be a million.
#[derive(Default)]
struct Header {
    names: String,
    shapes: Vec<u64>,
}

/// One tensor: where its name and shape end in the header's pools, and its type.
#[derive(Clone, Copy)]
struct Entry {
    name: (u32, u32),
    shape: (u32, u32),
    dtype: Dtype,
}

/// What a `dtype` string means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dtype {
    Element(ElementType),
    /// Pairs of elements.
    Complex(ElementType),
    /// Elements of less than a byte, packed, so many bits each.
    Packed(u8),
    Unknown,
}

impl Dtype {
    fn of(name: &str) -> Self {
        use ElementType as E;
        Self::Element(match name {
            "BOOL" | "U8" | "F8_E8M0" => E::U8,
            "I8" => E::I8,
            "F8_E5M2" | "F8_E5M2FNUZ" => E::F8E5M2,
            "F8_E4M3" | "F8_E4M3FNUZ" => E::F8E4M3,
            "I16" => E::I16,
            "U16" => E::U16,
            "F16" => E::F16,
            "BF16" => E::Bf16,
            "I32" => E::I32,
            "U32" => E::U32,
            "F32" => E::F32,
            "F64" => E::F64,
            "I64" => E::I64,
            "U64" => E::U64,
            "C64" => return Self::Complex(E::F32),
            "C128" => return Self::Complex(E::F64),
            "F4" => return Self::Packed(4),
            "F6_E2M3" | "F6_E3M2" => return Self::Packed(6),
            _ => return Self::Unknown,
        })
    }
}

impl Safetensors {
    pub(super) fn new(place: Place) -> Self {
        Self { place, state: State::Header }
    }
}

impl Parser for Safetensors {
    fn step(&mut self, input: &[u8], left: u64) -> Step {
        match &mut self.state {
            State::Header => {
                let Some(n) = u64_at(input, 0) else {
                    return Step::Need(8);
                };
                let Some(end) = usize::try_from(n).ok().and_then(|n| n.checked_add(8)) else {
                    return Step::Surprise;
                };
                let Some(json) = input.get(8..end) else {
                    // There is no use in holding a header whose end cannot come.
                    return if end as u64 <= left { Step::Need(end) } else { Step::Surprise };
                };
                let Some((header, placed)) = Header::parse(json) else {
                    return Step::Surprise;
                };
                self.state = State::Body(Box::new(header), placed);
                Step::Span(TypedSpan::bytes(end as u64, true))
            }
            State::Body(header, placed) => match placed.next() {
                None => Step::End,
                Some(Next::Between(span)) => Step::Span(span),
                Some(Next::Item(item)) => Step::Span(header.span(&item, &self.place)),
            },
        }
    }
}

impl Header {
    fn parse(json: &[u8]) -> Option<(Self, Placed<Entry>)> {
        let mut header = Self::default();
        let mut items = Vec::new();
        let mut json = serde_json::Deserializer::from_slice(json);
        let visitor = HeaderVisitor { header: &mut header, items: &mut items };
        json.deserialize_map(visitor).ok()?;
        json.end().ok()?;
        Some((header, Placed::new(items)))
    }

    fn span(&self, item: &Item<Entry>, place: &Place) -> TypedSpan {
        let Entry { name, shape, dtype } = item.what;
        let range = |(start, end): (u32, u32)| start as usize..end as usize;
        let name = self.names.get(range(name)).unwrap_or_default();
        let shape = self.shapes.get(range(shape)).unwrap_or_default();
        let length = item.end - item.begin;
        // A shape that contradicts the length says nothing of the rows.
        let fits = |bits: u64| elements_of(shape).and_then(|n| n.checked_mul(bits)) == length.checked_mul(8);
        let (element, known, columns) = match dtype {
            Dtype::Element(element) if fits(8 * element.width() as u64) => (element, true, columns_of(shape, 1)),
            Dtype::Complex(element) if fits(16 * element.width() as u64) => (element, true, columns_of(shape, 2)),
            Dtype::Packed(bits) if fits(bits.into()) => {
                let bits = u64::from(columns_of(shape, 1)) * u64::from(bits);
                let columns = if bits % 8 == 0 { bits / 8 } else { 0 };
                (ElementType::Bytes, true, u32::try_from(columns).unwrap_or(0))
            }
            Dtype::Element(element) | Dtype::Complex(element) if length.is_multiple_of(element.width() as u64) => {
                (element, true, 0)
            }
            Dtype::Packed(_) => (ElementType::Bytes, true, 0),
            _ => (ElementType::Bytes, false, 0),
        };
        let tensor = Tensor { path: place.path.clone(), name: name.into(), shape: shape.into(), length: Some(length) };
        TypedSpan { known, ..TypedSpan::tensor(tensor, length, element, columns) }
    }
}

/// Reads the header's map: one entry per tensor, and `__metadata__`.
struct HeaderVisitor<'a> {
    header: &'a mut Header,
    items: &'a mut Vec<Item<Entry>>,
}

impl<'de> Visitor<'de> for HeaderVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a safetensors header")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { header, items } = self;
        let pool = |at: usize| u32::try_from(at).map_err(A::Error::custom);
        loop {
            let name = header.names.len();
            if map.next_key_seed(Append(&mut header.names))?.is_none() {
                return Ok(());
            }
            if header.names.get(name..) == Some("__metadata__") {
                header.names.truncate(name);
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let shape = header.shapes.len();
            let (dtype, begin, end) = map.next_value_seed(TensorSeed(&mut header.shapes))?;
            let what = Entry {
                name: (pool(name)?, pool(header.names.len())?),
                shape: (pool(shape)?, pool(header.shapes.len())?),
                dtype,
            };
            if begin < end {
                items.push(Item { begin, end, what });
            }
        }
    }
}

/// Appends a string to a pool.
struct Append<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

/// Reads `{"dtype": …, "shape": […], "data_offsets": [begin, end]}`; the shape goes to a pool.
struct TensorSeed<'a>(&'a mut Vec<u64>);

impl<'de> DeserializeSeed<'de> for TensorSeed<'_> {
    type Value = (Dtype, u64, u64);

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TensorSeed<'_> {
    type Value = (Dtype, u64, u64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor's entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let shape = self.0.len();
        let (mut dtype, mut offsets) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "dtype" => dtype = Some(Dtype::of(&map.next_value::<String>()?)),
                "shape" => {
                    self.0.truncate(shape);
                    map.next_value_seed(Extend(self.0))?;
                }
                "data_offsets" => offsets = Some(map.next_value::<(u64, u64)>()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let (begin, end) = offsets.ok_or_else(|| A::Error::missing_field("data_offsets"))?;
        let dtype = dtype.ok_or_else(|| A::Error::missing_field("dtype"))?;
        Ok((dtype, begin, end))
    }
}

/// Appends a list of numbers to a pool.
struct Extend<'a>(&'a mut Vec<u64>);

impl<'de> DeserializeSeed<'de> for Extend<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Extend<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shape")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(dimension) = seq.next_element()? {
            self.0.push(dimension);
        }
        Ok(())
    }
}
