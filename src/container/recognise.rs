//! Recognises a container by its first bytes, runs its parser, and takes the rest for bytes of unknown type if the parser is surprised.

use super::MAX_DEPTH;
use super::gguf::{self, Gguf};
use super::npy::{self, Npy};
use super::parser::{Parser, Place, Step, need, u64_at};
use super::safetensors::Safetensors;
use super::span::TypedSpan;
use super::tar::{self, Tar};
use super::torch_legacy::{self, TorchLegacy};
use super::zip::Zip;
use super::zip_header::LOCAL;

/// First bytes of formats whose contents are compressed already.
const PACKED: [&[u8]; 4] = [b"\x89ulp\r\n", b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\xfd7zXZ\0"];

/// Any container, or none; several may follow each other.
pub(super) struct Any {
    place: Place,
    state: State,
    /// Whether the present parser has said anything of any byte.
    moved: bool,
}

enum State {
    Unknown,
    Running(Box<dyn Parser>),
    Bytes { known: bool },
}

enum Verdict {
    Is(Box<dyn Parser>),
    Packed,
    Nothing,
    Need(usize),
}

impl Any {
    /// Whatever is at this place.
    pub(super) fn new(place: Place) -> Self {
        let state = if place.depth < MAX_DEPTH { State::Unknown } else { State::Bytes { known: false } };
        Self { place, state, moved: true }
    }
}

impl Parser for Any {
    fn step(&mut self, input: &[u8], left: u64) -> Step {
        // No parser sees more at once than could be held, lest its answer depend on how much is at hand by chance.
        let held = self.place.held.max(1);
        let input = input.get(..held).unwrap_or(input);
        let most = left.min(held as u64);
        loop {
            match &mut self.state {
                State::Bytes { known } => return Step::Span(TypedSpan::bytes(left, *known)),
                State::Unknown => match recognise(input, left, &self.place) {
                    Verdict::Need(n) if n as u64 <= most => return Step::Need(n),
                    Verdict::Is(parser) if self.moved => {
                        self.state = State::Running(parser);
                        self.moved = false;
                    }
                    Verdict::Packed => self.state = State::Bytes { known: true },
                    _ => self.state = State::Bytes { known: false },
                },
                State::Running(parser) => match parser.step(input, left) {
                    Step::Need(n) => match need(n, input, most) {
                        Some(step) => return step,
                        None => self.state = State::Bytes { known: false },
                    },
                    Step::Surprise => self.state = State::Bytes { known: false },
                    Step::End => self.state = State::Unknown,
                    Step::Span(span) => {
                        self.moved = true;
                        return Step::Span(span);
                    }
                    late @ Step::Late(_) => return late,
                },
            }
        }
    }
}

/// What begins with `input`. The tests are in the order of their certainty; each asks for more bytes only while the ones at hand agree with it.
fn recognise(input: &[u8], left: u64, place: &Place) -> Verdict {
    // Whether `input` begins with `magic`, or may with more bytes.
    let begins = |magic: &[u8]| {
        let n = input.len().min(magic.len());
        (magic.len() as u64 <= left && input.get(..n) == magic.get(..n)).then_some(magic.len())
    };
    let found = |n: usize, parser: fn(&Place) -> Box<dyn Parser>| {
        if n <= input.len() { Verdict::Is(parser(place)) } else { Verdict::Need(n) }
    };
    if let Some(n) = PACKED.into_iter().find_map(begins) {
        return if n <= input.len() { Verdict::Packed } else { Verdict::Need(n) };
    }
    // A header length below the cap leaves few files that could be anything else.
    match (u64_at(input, 0), input.get(8)) {
        (Some(n), Some(b'{')) if (2..=place.held as u64).contains(&n) && n <= left - 8 => {
            return Verdict::Is(Box::new(Safetensors::new(place.clone())));
        }
        (_, None) if left > 8 => return Verdict::Need(9),
        _ => {}
    }
    if let Some(n) = begins(LOCAL) {
        return found(n, |place| Box::new(Zip::new(place.clone())));
    }
    match torch_legacy::begins(input, left) {
        Ok(true) => return Verdict::Is(Box::new(TorchLegacy::new(place.clone()))),
        Ok(false) => {}
        Err(n) => return Verdict::Need(n),
    }
    if let Some(n) = begins(npy::MAGIC) {
        return found(n, |place| Box::new(Npy::new(place.clone(), "")));
    }
    if let Some(n) = begins(gguf::MAGIC) {
        return found(n, |place| Box::new(Gguf::new(place.clone())));
    }
    match input.get(..tar::BLOCK) {
        Some(block) if tar::is_header(block) => Verdict::Is(Box::new(Tar::new(place.clone()))),
        None if left >= tar::BLOCK as u64 => Verdict::Need(tar::BLOCK),
        _ => Verdict::Nothing,
    }
}
