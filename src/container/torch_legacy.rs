//! torch files of before the zip format: five pickles (magic number, protocol, system, the object, keys of storages), then each storage in the order of the
//! keys, its number of items before it (torch/serialization.py, `_legacy_save`).
//!
//! The keys are addresses: the order of the storages changes from run to run, only names tell them apart.

use super::parser::{Parser, Place, Step, u64_at};
use super::pickle::{Pickle, PickleStep};
use super::pickle_values::Value;
use super::span::TypedSpan;
use super::torch::{StorageSpans, Storages};

/// The pickled magic number, without the opcode of the protocol and its frame.
const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e";

/// Whether `input` begins with the pickled magic number; an error has the number of bytes needed to tell.
pub(super) fn begins(input: &[u8], left: u64) -> Result<bool, usize> {
    let [0x80, 2..=5, rest @ ..] = input else {
        return if matches!(input, [] | [0x80]) && left >= 2 { Err(2) } else { Ok(false) };
    };
    let frame = match rest {
        [0x95, ..] => 9,
        _ => 0,
    };
    let end = 2 + frame + MAGIC.len();
    match input.get(2 + frame..end) {
        Some(number) => Ok(number == MAGIC),
        None if left >= end as u64 => Err(end),
        None => Ok(false),
    }
}

/// The parser.
pub(super) struct TorchLegacy {
    place: Place,
    state: State,
    storages: Option<Storages>,
    big_endian: bool,
    /// Keys of the storages to come, the next one last.
    keys: Vec<String>,
}

enum State {
    /// A pickle, by its number.
    Pickle(u8, Box<Pickle>),
    /// At the number of items of a storage.
    Count,
    Storage(StorageSpans),
}

/// Numbers of the pickles that matter.
const SYSTEM: u8 = 2;
const OBJECT: u8 = 3;
const KEYS: u8 = 4;

impl TorchLegacy {
    pub(super) fn new(place: Place) -> Self {
        let pickle = Pickle::new(place.held, false);
        Self { place, state: State::Pickle(0, Box::new(pickle)), storages: None, big_endian: false, keys: Vec::new() }
    }

    /// Takes what a finished pickle says.
    fn finish(&mut self, number: u8, pickle: Pickle) {
        let values = &pickle.values;
        match number {
            SYSTEM => {
                let mut edges = values.edges().iter();
                self.big_endian =
                    edges.any(|edge| values.str(edge.key) == Some("little_endian") && edge.value == Value::Int(0));
            }
            OBJECT => {
                self.storages = Some(Storages::new(pickle));
            }
            KEYS => {
                let edges = values.edges().iter();
                let keys = edges.filter_map(|edge| values.str(edge.value));
                self.keys = keys.map(String::from).collect();
                self.keys.reverse();
            }
            _ => {}
        }
        self.state = if number == KEYS {
            State::Count
        } else {
            let next = number + 1;
            let keep_edges = next == SYSTEM || next == KEYS;
            State::Pickle(next, Box::new(Pickle::new(self.place.held, keep_edges)))
        };
    }

    fn count(&mut self, input: &[u8]) -> Step {
        let (Some(key), Some(storages)) = (self.keys.last(), &self.storages) else {
            return Step::End;
        };
        let Some(count) = u64_at(input, 0) else {
            return Step::Need(8);
        };
        let size = storages.item_size(key);
        let Some(length) = size.and_then(|size| count.checked_mul(size)) else {
            return Step::Surprise;
        };
        if self.big_endian || length > i64::MAX as u64 {
            return Step::Surprise;
        }
        self.state = State::Storage(storages.spans(key, key, length));
        self.keys.pop();
        Step::Span(TypedSpan::bytes(8, true))
    }
}

impl Parser for TorchLegacy {
    fn step(&mut self, input: &[u8], _left: u64) -> Step {
        loop {
            match &mut self.state {
                State::Pickle(number, pickle) => {
                    let number = *number;
                    return match pickle.step(input) {
                        PickleStep::Opcodes(n) => Step::Span(TypedSpan::bytes(n, true)),
                        PickleStep::Payload(n) => Step::Span(TypedSpan::bytes(n, false)),
                        PickleStep::Need(n) => Step::Need(n),
                        PickleStep::Surprise => Step::Surprise,
                        PickleStep::Done(n) => {
                            let empty = Box::new(Pickle::new(0, false));
                            let pickle = std::mem::replace(pickle, empty);
                            self.finish(number, *pickle);
                            Step::Span(TypedSpan::bytes(n, true))
                        }
                    };
                }
                State::Count => return self.count(input),
                State::Storage(spans) => {
                    let storages = self.storages.as_ref();
                    match storages.and_then(|storages| spans.next(storages, &self.place)) {
                        Some(span) => return Step::Span(span),
                        None => self.state = State::Count,
                    }
                }
            }
        }
    }
}
