//! The `.metadata` of a checkpoint of `torch.distributed.checkpoint`: which tensor, or which part of it, is where in which file.
//!
//! It is a pickle of `Metadata(storage_data = {MetadataIndex(fqn, offset): _StorageInfo(relative_path, offset, length)}, …)`; the files themselves have no
//! names.

use std::collections::HashMap;

use super::pickle::{Pickle, PickleStep};
use super::pickle_values::{Edge, Value, Values};

/// A part of a file, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The file, relative to the directory of the `.metadata`.
    pub(super) file: String,
    /// First byte.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) length: u64,
    /// Name of the tensor; with the place of the part, as in `layer.weight[0,128]`, if there are several.
    pub(super) name: String,
}

/// The parts that a `.metadata` speaks of; none where it is not one.
pub(super) fn parts(bytes: &[u8], held: usize) -> Vec<Part> {
    let mut pickle = Pickle::new(held, true);
    let mut rest = bytes;
    loop {
        let n = match pickle.step(rest) {
            PickleStep::Opcodes(n) | PickleStep::Payload(n) => n,
            PickleStep::Done(_) => break,
            PickleStep::Need(_) | PickleStep::Surprise => return Vec::new(),
        };
        rest = usize::try_from(n).ok().and_then(|n| rest.get(n..)).unwrap_or_default();
    }
    Graph::new(&pickle.values).parts(pickle.root)
}

/// What dictionaries and objects hold, for look-up.
struct Graph<'a> {
    values: &'a Values,
    /// By parent.
    edges: Vec<Edge>,
}

impl<'a> Graph<'a> {
    fn new(values: &'a Values) -> Self {
        let mut edges = values.edges().to_vec();
        edges.sort_by_key(|edge| edge.parent);
        Self { values, edges }
    }

    fn members(&self, value: Value) -> &[Edge] {
        let Value::Node(node) = value else { return &[] };
        let start = self.edges.partition_point(|edge| edge.parent < node);
        let end = self.edges.partition_point(|edge| edge.parent <= node);
        self.edges.get(start..end).unwrap_or_default()
    }

    /// A field of an object: its state is a dictionary, or a tuple that ends with one.
    fn field(&self, object: Value, name: &str) -> Option<Value> {
        let state = self.members(object).iter().rev().find(|edge| edge.key == Value::None)?.value;
        let state = match self.values.tuple(state) {
            Some(items) => *items.last()?,
            None => state,
        };
        let mut fields = self.members(state).iter();
        let found = fields.find(|edge| self.values.str(edge.key) == Some(name))?;
        Some(found.value)
    }

    fn number(&self, object: Value, name: &str) -> Option<u64> {
        match self.field(object, name)? {
            Value::Int(n) => u64::try_from(n).ok(),
            _ => None,
        }
    }

    fn parts(&self, root: Value) -> Vec<Part> {
        let Some(storage) = self.field(root, "storage_data") else {
            return Vec::new();
        };
        let entries = self.members(storage);
        let name = |index| self.values.str(self.field(index, "fqn")?);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for fqn in entries.iter().filter_map(|entry| name(entry.key)) {
            *counts.entry(fqn).or_default() += 1;
        }
        let parts = entries.iter().filter_map(|entry| {
            let fqn = name(entry.key)?;
            let place = self.field(entry.key, "offset").and_then(|offset| self.values.numbers(offset));
            let name = match place {
                Some(place) if counts.get(fqn).is_some_and(|n| *n > 1) => {
                    let place: Vec<String> = place.iter().map(u64::to_string).collect();
                    format!("{fqn}[{}]", place.join(","))
                }
                _ => fqn.to_string(),
            };
            Some(Part {
                file: self.values.str(self.field(entry.value, "relative_path")?)?.into(),
                offset: self.number(entry.value, "offset")?,
                length: self.number(entry.value, "length")?,
                name,
            })
        });
        parts.collect()
    }
}
