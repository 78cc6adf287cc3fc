//! zip, read forwards: archives of torch (eager, TorchScript, each part of a DCP file), npz, and others (torch `caffe2/serialize/inline_container.cc`;
//! numpy `savez`).
//!
//! Sizes of records are known from the local header, from the contents themselves (a pickle, an array, a storage that the pickle speaks of), or only from
//! the descriptor behind them. Checksums are not looked at: torch can leave them out.

use std::collections::VecDeque;
use std::sync::Arc;

use memchr::memmem;

use super::npy::Npy;
use super::parser::{Parser, Place, Step, need};
use super::pickle::{Pickle, PickleStep};
use super::recognise::Any;
use super::span::{Tensor, TypedSpan};
use super::torch::{StorageSpans, Storages};
use super::zip_header::{DESCRIPTOR, LOCAL, Local, directory};

/// The parser.
pub(super) struct Zip {
    place: Place,
    state: State,
    /// Whether this is an archive of torch: it has a `data.pkl`, or numbered records in `data/`.
    torch: bool,
    storages: Option<Storages>,
    /// Keys and lengths of storages that came before the pickle.
    early: Vec<(String, u64)>,
    late: VecDeque<TypedSpan>,
}

enum State {
    Header,
    Record(Box<Record>),
    End,
}

/// A record on its way.
struct Record {
    local: Local,
    contents: Contents,
    /// Bytes of the contents before the parser.
    at: u64,
    /// Key of the storage it holds, if the pickle is still to come.
    early: Option<String>,
}

/// What a record holds.
enum Contents {
    Pickle(Box<Pickle>),
    Storage(StorageSpans),
    Npy(Box<Npy>),
    Member(Box<Any>),
    /// Bytes to the end of the record, of a tensor or of none; `known` where they are certainly no elements.
    Bytes {
        tensor: Option<Arc<Tensor>>,
        known: bool,
    },
    /// They are over.
    End,
}

/// What a step inside the contents brought.
enum Inner {
    Step(Step),
    /// The contents are over.
    End,
    /// They are not what they seemed to be.
    Surprise,
}

impl Parser for Zip {
    fn step(&mut self, input: &[u8], left: u64) -> Step {
        loop {
            if let Some(late) = self.late.pop_front() {
                return Step::Late(late);
            }
            let step = match std::mem::replace(&mut self.state, State::End) {
                State::Header => Some(self.header(input)),
                State::Record(record) => self.record(record, input, left),
                State::End => Some(Step::End),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl Zip {
    pub(super) fn new(place: Place) -> Self {
        Self { place, state: State::Header, torch: false, storages: None, early: Vec::new(), late: VecDeque::new() }
    }

    fn header(&mut self, input: &[u8]) -> Step {
        let more = |n| {
            if n == 0 { Step::Surprise } else { Step::Need(n) }
        };
        if !input.starts_with(LOCAL) {
            return match directory(input) {
                Ok((length, last)) => {
                    if !last {
                        self.state = State::Header;
                    }
                    Step::Span(TypedSpan::bytes(length, true))
                }
                Err(n) => {
                    self.state = State::Header;
                    more(n)
                }
            };
        }
        let parsed = Local::parse(input).and_then(|(local, end)| {
            // The byte order comes before the storages, where the writer is new enough.
            if self.torch && local.name.ends_with("/byteorder") {
                let value = input.get(end..end + 3).ok_or(end + 3)?;
                if let (b"big", Some(storages)) = (value, &mut self.storages) {
                    storages.set_big_endian();
                }
            }
            Ok((local, end))
        });
        match parsed {
            Ok((local, end)) => {
                let (contents, early) = self.contents(&local);
                self.state = State::Record(Box::new(Record { local, contents, at: 0, early }));
                Step::Span(TypedSpan::bytes(end as u64, true))
            }
            Err(n) => {
                self.state = State::Header;
                more(n)
            }
        }
    }

    /// What a record holds, going by its name; and its key, if it is a storage that the pickle has not spoken of.
    fn contents(&mut self, local: &Local) -> (Contents, Option<String>) {
        let name = local.name.as_str();
        let of = |contents| (contents, None);
        let bytes = |known| of(Contents::Bytes { tensor: None, known });
        if !local.stored {
            return bytes(true);
        }
        if name == "data.pkl" || name.ends_with("/data.pkl") {
            self.torch = true;
            let pickle = Pickle::new(self.place.held, false);
            return of(Contents::Pickle(Box::new(pickle)));
        }
        if let Some((folder, key)) = storage_key(name, self.torch) {
            self.torch = true;
            let record = format!("{folder}/{key}");
            if let Some(storages) = self.storages.as_ref().filter(|_| folder == "data")
                && let Some(length) = local.size.or_else(|| storages.length(key))
                && storages.length(key).is_some()
            {
                return of(Contents::Storage(storages.spans(key, &record, length)));
            }
            let tensor =
                Tensor { path: self.place.path.clone(), name: record.into(), shape: [].into(), length: local.size };
            let contents = Contents::Bytes { tensor: Some(Arc::new(tensor)), known: false };
            return (contents, (folder == "data").then(|| key.to_string()));
        }
        if self.torch {
            return bytes(true);
        }
        if let Some(array) = name.strip_suffix(".npy") {
            let npy = Npy::new(self.place.clone(), array);
            return of(Contents::Npy(Box::new(npy)));
        }
        if local.size.is_some() {
            let member = Any::new(self.place.member(name));
            return of(Contents::Member(Box::new(member)));
        }
        bytes(false)
    }

    /// Goes on inside a record; `None` where something else has to be done first.
    fn record(&mut self, mut record: Box<Record>, input: &[u8], left: u64) -> Option<Step> {
        let rest = record.local.size.map(|size| size.saturating_sub(record.at));
        if rest == Some(0) || (rest.is_none() && matches!(record.contents, Contents::End)) {
            return self.end_record(record, input, left);
        }
        let left = left.min(rest.unwrap_or(u64::MAX));
        let n = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        let input = input.get(..n).unwrap_or_default();
        let inner = match &mut record.contents {
            Contents::Pickle(pickle) => match pickle.step(input) {
                PickleStep::Opcodes(n) => Inner::Step(Step::Span(TypedSpan::bytes(n, true))),
                PickleStep::Payload(n) => Inner::Step(Step::Span(TypedSpan::bytes(n, false))),
                PickleStep::Need(n) => Inner::Step(Step::Need(n)),
                PickleStep::Surprise => Inner::Surprise,
                PickleStep::Done(n) => {
                    self.pickle_done(&mut record);
                    Inner::Step(Step::Span(TypedSpan::bytes(n, true)))
                }
            },
            Contents::Storage(spans) => {
                let storages = self.storages.as_ref();
                match storages.and_then(|storages| spans.next(storages, &self.place)) {
                    Some(span) => Inner::Step(Step::Span(span)),
                    None => Inner::End,
                }
            }
            Contents::Npy(npy) => match npy.step(input, left) {
                Step::End => Inner::End,
                Step::Surprise => Inner::Surprise,
                step => Inner::Step(step),
            },
            Contents::Member(member) => Inner::Step(member.step(input, left)),
            Contents::Bytes { tensor, known } => {
                let length = match rest {
                    Some(rest) => Ok(rest),
                    None => scan(&record.local, input, record.at, left),
                };
                match length {
                    Ok(0) => Inner::End,
                    Ok(n) => Inner::Step(Step::Span(TypedSpan {
                        tensor: tensor.clone(),
                        within: if tensor.is_some() { record.at } else { 0 },
                        ..TypedSpan::bytes(n, *known)
                    })),
                    Err(n) => Inner::Step(Step::Need(n)),
                }
            }
            Contents::End => Inner::Surprise,
        };
        let step = match inner {
            Inner::Step(Step::Need(n)) => need(n, input, left),
            Inner::Step(Step::Span(mut span)) => {
                span.split_off(rest.unwrap_or(u64::MAX));
                record.at = record.at.saturating_add(span.length);
                Some(Step::Span(span))
            }
            Inner::Step(step) => Some(step),
            Inner::End => {
                record.contents = Contents::End;
                self.state = State::Record(record);
                return None;
            }
            Inner::Surprise => None,
        };
        if step.is_none() {
            if matches!(record.contents, Contents::Bytes { .. }) {
                // The descriptor that was looked for is nowhere.
                return Some(Step::Surprise);
            }
            record.contents = Contents::Bytes { tensor: None, known: false };
        }
        self.state = State::Record(record);
        step
    }

    /// Behind the contents of a record.
    fn end_record(&mut self, mut record: Box<Record>, input: &[u8], left: u64) -> Option<Step> {
        let descriptor = if record.local.descriptor { record.local.descriptor(input, record.at, left) } else { Ok(0) };
        match descriptor {
            Ok(0) if record.local.descriptor => {
                if record.local.size.is_some() {
                    return Some(Step::Surprise);
                }
                // More than its contents need: the descriptor must come later.
                record.contents = Contents::Bytes { tensor: None, known: false };
                self.state = State::Record(record);
                None
            }
            Ok(length) => {
                if let Some(key) = record.early.take() {
                    self.early.push((key, record.at));
                }
                self.state = State::Header;
                (length > 0).then(|| Step::Span(TypedSpan::bytes(length as u64, true)))
            }
            Err(n) => {
                self.state = State::Record(record);
                Some(Step::Need(n))
            }
        }
    }

    /// The pickle is read: the storages are known, also those that came before it.
    fn pickle_done(&mut self, record: &mut Record) {
        let Contents::Pickle(pickle) = std::mem::replace(&mut record.contents, Contents::End) else {
            return;
        };
        let storages = Storages::new(*pickle);
        for (key, length) in std::mem::take(&mut self.early) {
            let name = format!("data/{key}");
            let Some(mut span) = storages.spans(&key, &name, length).next(&storages, &self.place) else {
                continue;
            };
            let mut tensor =
                Tensor { path: self.place.path.clone(), name: name.into(), shape: [].into(), length: Some(length) };
            if span.length == length {
                tensor.shape = span.tensor.map_or_else(Box::default, |tensor| tensor.shape.clone());
            } else {
                span.columns = 0;
            }
            span.length = length;
            span.tensor = Some(Arc::new(tensor));
            if span.known {
                self.late.push_back(span);
            }
        }
        self.storages = Some(storages);
    }
}

/// The folder and key of a record that holds a storage: `archive/data/0`, `archive/constants/0`.
fn storage_key(name: &str, torch: bool) -> Option<(&'static str, &str)> {
    ["data", "constants"].into_iter().find_map(|folder| {
        let (before, key) = name.rsplit_once('/')?;
        let matches = before == folder || before.strip_suffix(folder).is_some_and(|rest| rest.ends_with('/'));
        let number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        (matches && (number || (torch && folder == "data"))).then_some((folder, key))
    })
}

/// Bytes of contents at the start of `input` up to the descriptor, as far as it can be told, `at` bytes of them being before; 0 at the descriptor.
/// An error has the number of bytes needed.
fn scan(local: &Local, input: &[u8], at: u64, left: u64) -> Result<u64, usize> {
    let mut from = 0;
    while let Some(found) = memmem::find(input.get(from..).unwrap_or_default(), DESCRIPTOR) {
        let found = from + found;
        let rest = input.get(found..).unwrap_or_default();
        let size = at.saturating_add(found as u64);
        match local.descriptor(rest, size, left - found as u64) {
            Ok(0) => from = found + 1,
            Err(n) if found == 0 => return Err(n),
            Ok(_) | Err(_) => return Ok(found as u64),
        }
    }
    // The last bytes may begin a descriptor, unless nothing follows them.
    let keep = if left == input.len() as u64 { 0 } else { DESCRIPTOR.len() - 1 };
    match input.len().saturating_sub(keep) {
        0 => Err(DESCRIPTOR.len()),
        n => Ok(n as u64),
    }
}
