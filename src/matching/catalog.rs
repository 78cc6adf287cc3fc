//! The tensors of all references, and the search for one's counterpart.

use std::collections::HashMap;

use crate::container::{Tensor, TypedSpan};
use crate::core::element::ElementType;

/// A place in a reference where the numbers of a span may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index of the reference.
    pub reference: u8,
    /// Element type there.
    pub element: ElementType,
    /// Offset of the counterpart of the span's first byte.
    pub offset: u64,
    /// Bytes of the tensor from there on.
    pub available: u64,
}

/// A tensor of a reference.
#[derive(Clone, Debug)]
struct Entry {
    reference: u8,
    element: ElementType,
    offset: u64,
    length: u64,
    columns: u32,
}

/// What tensors of one shape have in common.
type ShapeKey = (ElementType, Box<[u64]>, u64);

/// The tensors of all references.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    by_name: HashMap<Box<str>, Vec<u32>>,
    by_shape: HashMap<ShapeKey, Vec<u32>>,
}

fn shape_key(span: &TypedSpan, tensor: &Tensor) -> ShapeKey {
    (span.element, tensor.shape.clone(), tensor.length.unwrap_or(span.length))
}

impl Catalog {
    /// Adds the tensors of reference `index`, in its order. A name that is taken keeps its first tensor of that reference.
    pub fn add<'s>(&mut self, index: u8, tensors: impl Iterator<Item = &'s TypedSpan>) {
        for span in tensors.filter(|s| s.known && s.within == 0 && s.length > 0) {
            let Some(tensor) = &span.tensor else { continue };
            let Ok(number) = u32::try_from(self.entries.len()) else { return };
            self.entries.push(Entry {
                reference: index,
                element: span.element,
                offset: span.offset,
                length: span.length,
                columns: span.columns,
            });
            if !tensor.name.is_empty() {
                let full = tensor.to_string().into_boxed_str();
                if full != tensor.name {
                    self.by_name.entry(full).or_default().push(number);
                }
                self.by_name.entry(tensor.name.clone()).or_default().push(number);
            }
            self.by_shape.entry(shape_key(span, tensor)).or_default().push(number);
        }
    }

    /// Whether there is no tensor at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Most candidates proposed for one tensor.
const MOST: usize = 4;

/// Looks up the tensors of a content, in its order.
#[derive(Debug, Default)]
pub struct Matcher {
    catalog: Catalog,
    /// How many tensors of a shape, and of a name, have come before.
    seen: HashMap<ShapeKey, usize>,
    seen_names: HashMap<Box<str>, usize>,
}

impl Matcher {
    /// A matcher against these tensors.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog, ..Self::default() }
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Where the tensor that begins with `span` may stand in the references, the likeliest first.
    pub fn candidates(&mut self, span: &TypedSpan) -> Vec<Candidate> {
        let Some(tensor) = &span.tensor else { return Vec::new() };
        let key = shape_key(span, tensor);
        let ordinal = next_ordinal(&mut self.seen, &key);
        let mut found: Vec<u32> = Vec::new();
        let full = tensor.to_string();
        for name in [full.as_str(), &tensor.name] {
            if name.is_empty() {
                continue;
            }
            let Some(numbers) = self.catalog.by_name.get(name) else { continue };
            let repeat = next_ordinal(&mut self.seen_names, &Box::from(name));
            // Of several with the same name: the one of the same order first.
            let first = numbers.get(repeat % numbers.len().max(1)).copied();
            found.extend(first);
            found.extend(numbers.iter().copied().filter(|n| Some(*n) != first).take(MOST));
            break;
        }
        found.retain(|&n| self.entry(n).is_some_and(|e| usable(span, tensor, e)));
        if found.is_empty() {
            let numbers = self.catalog.by_shape.get(&key);
            found.extend(numbers.and_then(|n| n.get(ordinal)));
        }
        found.dedup();
        found.truncate(MOST);
        let candidate = |n: &u32| {
            self.entry(*n).map(|e| Candidate {
                reference: e.reference,
                element: e.element,
                offset: e.offset,
                available: e.length,
            })
        };
        found.iter().filter_map(candidate).collect()
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.catalog.entries.get(number as usize)
    }
}

fn next_ordinal<K: std::hash::Hash + Eq + Clone>(seen: &mut HashMap<K, usize>, key: &K) -> usize {
    let count = seen.entry(key.clone()).or_default();
    *count += 1;
    *count - 1
}

/// Whether elements correspond: same type or two floats, and rows of the same length (a tensor may have more or fewer rows).
fn usable(span: &TypedSpan, tensor: &Tensor, entry: &Entry) -> bool {
    let types = span.element == entry.element || (span.element.is_float() && entry.element.is_float());
    let width = |e: ElementType| e.width() as u64;
    let length = tensor.length.unwrap_or(span.length);
    let same_count = length / width(span.element) == entry.length / width(entry.element);
    types && (same_count || (span.columns == entry.columns && span.columns > 0))
}
