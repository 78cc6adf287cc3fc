//! What the pickle of a torch file says: its storages, and the tensors that view them.

use std::collections::btree_map::{self, BTreeMap};
use std::collections::{HashMap, hash_map::Entry};
use std::iter::Peekable;

use super::parser::Place;
use super::pickle::Pickle;
use super::pickle_values::{Kind, Value, Values};
use super::span::{Tensor, TypedSpan, columns_of, elements_of};
use crate::core::element::ElementType;

/// The storages of a file, by key.
pub(super) struct Storages {
    values: Values,
    storages: Vec<Storage>,
    keys: HashMap<Box<str>, usize>,
    /// Storage and node of each tensor, in the order of storages and then of use.
    tensors: Vec<(usize, u32)>,
    big_endian: bool,
}

/// A storage: a block of memory that tensors view.
#[derive(Clone, Copy, Debug)]
struct Storage {
    dtype: Dtype,
    /// Items.
    count: u64,
}

/// The type of a storage's or tensor's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dtype {
    element: ElementType,
    /// Elements of an item: 2 for complex numbers.
    elements: u64,
    known: bool,
}

impl Dtype {
    /// Of a storage's class, as `torch FloatStorage`.
    fn of_class(name: &str) -> Self {
        let class = name.rsplit([' ', '.']).next().unwrap_or_default();
        Self::of(class.strip_suffix("Storage").unwrap_or_default())
    }

    /// Of a dtype's name, as `torch float8_e4m3fn`.
    fn of_dtype(name: &str) -> Self {
        Self::of(name.strip_prefix("torch ").unwrap_or_default())
    }

    fn of(name: &str) -> Self {
        use ElementType as E;
        let (element, elements) = match name {
            "Double" | "float64" => (E::F64, 1),
            "Float" | "float32" => (E::F32, 1),
            "Half" | "float16" => (E::F16, 1),
            "BFloat16" | "bfloat16" => (E::Bf16, 1),
            "Long" | "int64" => (E::I64, 1),
            "Int" | "int32" | "QInt32" | "qint32" => (E::I32, 1),
            "Short" | "int16" => (E::I16, 1),
            "Char" | "int8" | "QInt8" | "qint8" => (E::I8, 1),
            "Byte" | "uint8" | "Bool" | "bool" | "QUInt8" | "quint8" => (E::U8, 1),
            "uint16" => (E::U16, 1),
            "uint32" => (E::U32, 1),
            "uint64" => (E::U64, 1),
            "float8_e4m3fn" | "float8_e4m3fnuz" => (E::F8E4M3, 1),
            "float8_e5m2" | "float8_e5m2fnuz" => (E::F8E5M2, 1),
            "float8_e8m0fnu" => (E::U8, 1),
            "ComplexDouble" | "complex128" => (E::F64, 2),
            "ComplexFloat" | "complex64" => (E::F32, 2),
            "ComplexHalf" | "complex32" => (E::F16, 2),
            // Packed numbers of four and two bits.
            "QUInt4x2" | "quint4x2" | "QUInt2x4" | "quint2x4" | "float4_e2m1fn_x2" => (E::Bytes, 1),
            _ => {
                return Self { element: E::Bytes, elements: 1, known: false };
            }
        };
        Self { element, elements, known: true }
    }

    /// Bytes of an item.
    fn size(self) -> u64 {
        self.element.width() as u64 * self.elements
    }

    /// A span of such items; numbers with the high byte first are bytes that repeat.
    fn type_span(self, span: &mut TypedSpan, big_endian: bool) {
        span.known = self.known;
        span.element = self.element;
        if !span.length.is_multiple_of(self.size()) {
            span.forget();
        } else if big_endian && self.element.width() > 1 {
            span.element = ElementType::Bytes;
            span.columns = self.element.width() as u32;
        }
    }
}

/// A tensor's part of its storage.
struct View {
    begin: u64,
    end: u64,
    /// Dimensions in the order of memory.
    shape: Vec<u64>,
    dtype: Dtype,
}

impl Storages {
    /// Those that the values of a finished pickle speak of.
    pub(super) fn new(pickle: Pickle) -> Self {
        let values = pickle.values;
        let mut storages = Vec::new();
        let mut keys: HashMap<Box<str>, usize> = HashMap::new();
        let mut of_node = HashMap::new();
        let mut tensors = Vec::new();
        for (index, node) in (0u32..).zip(values.nodes()) {
            match (node.kind, values.arguments(node)) {
                (Kind::Persistent, [kind, class, key, _, Value::Int(count), ..])
                    if values.str(*kind) == Some("storage") =>
                {
                    let (Some(class), Ok(count)) = (values.global(*class), u64::try_from(*count)) else {
                        continue;
                    };
                    let key = match key {
                        Value::Int(n) => n.to_string(),
                        key => values.str(*key).unwrap_or_default().to_string(),
                    };
                    let dtype = Dtype::of_class(class);
                    let storage = match keys.entry(key.into()) {
                        Entry::Occupied(entry) => *entry.get(),
                        Entry::Vacant(entry) => {
                            storages.push(Storage { dtype, count });
                            *entry.insert(storages.len() - 1)
                        }
                    };
                    of_node.insert(index, storage);
                }
                (Kind::Object(_), [Value::Node(storage), Value::Int(_), Value::Node(_), ..]) => {
                    if let Some(storage) = of_node.get(storage) {
                        tensors.push((*storage, index));
                    }
                }
                _ => {}
            }
        }
        tensors.sort_by_key(|(storage, _)| *storage);
        Self { values, storages, keys, tensors, big_endian: false }
    }

    /// Numbers have their high byte first.
    pub(super) fn set_big_endian(&mut self) {
        self.big_endian = true;
    }

    /// Length in bytes of the storage of that key.
    pub(super) fn length(&self, key: &str) -> Option<u64> {
        let storage = self.storages.get(*self.keys.get(key)?)?;
        storage.count.checked_mul(storage.dtype.size())
    }

    /// Bytes of an item of the storage of that key.
    pub(super) fn item_size(&self, key: &str) -> Option<u64> {
        let storage = self.storages.get(*self.keys.get(key)?)?;
        Some(storage.dtype.size())
    }

    /// The spans of the storage of that key, `length` bytes of it; `record` names it where no tensor does.
    pub(super) fn spans(&self, key: &str, record: &str, length: u64) -> StorageSpans {
        let storage = self.keys.get(key).copied().unwrap_or(usize::MAX);
        let start = self.tensors.partition_point(|(s, _)| *s < storage);
        let tensors = self.tensors.get(start..).unwrap_or_default();
        let mut tensors = tensors.iter().take_while(|(s, _)| *s == storage).peekable();
        let first = tensors.peek().map(|(_, node)| *node);
        let mut claims = BTreeMap::new();
        // The first tensor that uses some bytes gives them their name.
        for (_, node) in tensors {
            let Some(view) = self.view(*node, storage) else {
                continue;
            };
            let before = claims.range(..view.end).next_back();
            let free = before.is_none_or(|(_, (end, _))| *end <= view.begin);
            if free && view.begin < view.end && view.end <= length {
                claims.insert(view.begin, (view.end, *node));
            }
        }
        let whole = claims.is_empty().then(|| match first {
            Some(node) => self.values.path(node).into(),
            None => record.into(),
        });
        StorageSpans { storage, length, at: 0, whole, claims: claims.into_iter().peekable() }
    }

    /// What a tensor sees of its storage, if it sees it without gaps.
    fn view(&self, node: u32, storage: usize) -> Option<View> {
        let arguments = self.values.arguments(self.values.nodes().get(node as usize)?);
        let &[_, Value::Int(offset), shape, strides, ..] = arguments else {
            return None;
        };
        let dtype = arguments
            .get(6)
            .and_then(|dtype| self.values.global(*dtype))
            .filter(|name| name.starts_with("torch "))
            .map(Dtype::of_dtype)
            .filter(|dtype| dtype.known)
            .or_else(|| Some(self.storages.get(storage)?.dtype))?;
        let shape = self.values.numbers(shape)?;
        let strides = self.values.numbers(strides)?;
        if shape.len() != strides.len() {
            return None;
        }
        let mut dimensions: Vec<_> = shape.into_iter().zip(strides).collect();
        // Dimensions of one item have any stride; those that are not packed make gaps.
        dimensions.sort_by_key(|(size, stride)| (std::cmp::Reverse(*stride), *size == 1));
        let mut expected = 1u64;
        for (size, stride) in dimensions.iter().rev().filter(|(size, _)| *size != 1) {
            if *stride != expected {
                return None;
            }
            expected = expected.checked_mul(*size)?;
        }
        let shape: Vec<u64> = dimensions.into_iter().map(|(size, _)| size).collect();
        let begin = u64::try_from(offset).ok()?.checked_mul(dtype.size())?;
        let length = elements_of(&shape)?.checked_mul(dtype.size())?;
        Some(View { begin, end: begin.checked_add(length)?, shape, dtype })
    }
}

/// The spans of one storage, in order.
pub(super) struct StorageSpans {
    storage: usize,
    length: u64,
    at: u64,
    /// The name of all of it, where no tensor claims a part.
    whole: Option<Box<str>>,
    claims: Peekable<btree_map::IntoIter<u64, (u64, u32)>>,
}

impl StorageSpans {
    /// The next span; `None` at the end of the storage.
    pub(super) fn next(&mut self, storages: &Storages, place: &Place) -> Option<TypedSpan> {
        let rest = self.length.checked_sub(self.at).filter(|rest| *rest > 0)?;
        let storage_dtype = storages.storages.get(self.storage)?.dtype;
        let mut tensor =
            Tensor { path: place.path.clone(), name: self.whole.take().unwrap_or_default(), ..Tensor::default() };
        if !tensor.name.is_empty() {
            tensor.length = Some(rest);
            let mut span =
                TypedSpan::tensor(tensor, rest, storage_dtype.element, columns_of(&[], storage_dtype.elements));
            storage_dtype.type_span(&mut span, storages.big_endian);
            self.at = self.length;
            return Some(span);
        }
        let claim = self.claims.next_if(|(begin, _)| *begin == self.at);
        let Some((_, (end, node))) = claim else {
            let next = self.claims.peek().map_or(self.length, |(begin, _)| *begin);
            let mut span = TypedSpan::bytes(next.saturating_sub(self.at), true);
            storage_dtype.type_span(&mut span, storages.big_endian);
            self.at = next;
            return Some(span);
        };
        let view = storages.view(node, self.storage)?;
        let length = end - self.at;
        tensor.name = storages.values.path(node).into();
        tensor.length = Some(length);
        let columns = columns_of(&view.shape, view.dtype.elements);
        tensor.shape = view.shape.into();
        let mut span = TypedSpan::tensor(tensor, length, view.dtype.element, columns);
        view.dtype.type_span(&mut span, storages.big_endian);
        self.at = end;
        Some(span)
    }
}
