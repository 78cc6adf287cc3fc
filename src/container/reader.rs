//! The stream side of the layout layer: takes bytes in any portions, gives spans up to any offset.

use std::collections::VecDeque;

use super::MAX_HELD;
use super::parser::{Parser, Place, Step};
use super::recognise::Any;
use super::span::TypedSpan;

/// Bytes that join held ones at once.
const PORTION: usize = 1 << 16;

/// Turns a stream into typed spans as it flows.
///
/// [`push`](Self::push) takes the bytes, [`take`](Self::take) gives the spans: they follow each other from offset 0 without gap or overlap, and depend on
/// the bytes and on the offsets asked for, never on the portions in which the bytes came.
pub struct LayoutReader {
    root: Any,
    /// Bytes the parser has seen but said nothing of; empty while `skip` is not 0.
    held: Vec<u8>,
    /// Bytes pushed or skipped.
    pushed: u64,
    /// Offset where the parser stands.
    parsed: u64,
    /// Bytes of the parser's last span from `parsed` on.
    skip: u64,
    /// Bytes that must be at hand before it is worth asking the parser again.
    need: usize,
    /// End of the queued spans.
    announced: u64,
    finished: bool,
    queue: VecDeque<TypedSpan>,
    late: Vec<TypedSpan>,
}

impl Default for LayoutReader {
    fn default() -> Self {
        Self::with_held(MAX_HELD)
    }
}

impl LayoutReader {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader that holds at most `held` bytes of a header; with larger headers the container is bytes.
    #[must_use]
    pub fn with_held(held: usize) -> Self {
        let place = Place { path: "".into(), depth: 0, held };
        Self {
            root: Any::new(place),
            held: Vec::new(),
            pushed: 0,
            parsed: 0,
            skip: 0,
            need: 0,
            announced: 0,
            finished: false,
            queue: VecDeque::new(),
            late: Vec::new(),
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pushed = self.pushed.saturating_add(bytes.len() as u64);
        let mut bytes = bytes;
        while !bytes.is_empty() {
            if self.held.is_empty() {
                let used = self.parse(bytes, false);
                bytes = bytes.get(used..).unwrap_or_default();
                if self.skip == 0 && !bytes.is_empty() {
                    self.held.extend_from_slice(bytes);
                    return;
                }
            } else {
                // More than is needed, lest a parser that always keeps a few bytes be asked about every single one.
                let more = self.need.saturating_sub(self.held.len()).max(PORTION);
                let (front, rest) = bytes.split_at(more.min(bytes.len()));
                self.held.extend_from_slice(front);
                bytes = rest;
                self.parse_held(false);
            }
        }
    }

    /// Bytes from here on that make no difference to what comes after them: they may be [skipped](Self::skip).
    #[must_use]
    pub fn skippable(&self) -> u64 {
        self.skip
    }

    /// Passes over the next `length` bytes of the stream, at most [`skippable`](Self::skippable).
    pub fn skip(&mut self, length: u64) {
        let length = length.min(self.skip);
        self.pushed = self.pushed.saturating_add(length);
        self.parsed = self.parsed.saturating_add(length);
        self.skip -= length;
    }

    /// Goes on as far as no bytes are needed: what follows a tensor may be known from a header that has passed, and may then be
    /// [skipped](Self::skip) too.
    pub fn advance(&mut self) {
        // The parser says the same with fewer bytes if they are enough, with none as well.
        while self.skip == 0 && self.held.is_empty() && !self.finished && self.parsed > 0 {
            match self.root.step(&[], u64::MAX) {
                Step::Span(span) => {
                    self.skip = span.length;
                    self.announce(span);
                }
                Step::Late(span) => self.late.push(span),
                Step::Need(_) | Step::End | Step::Surprise => break,
            }
        }
    }

    /// Ends the stream: what has been announced beyond its end is cut off.
    pub fn finish(&mut self) {
        self.finished = true;
        self.parse_held(true);
        self.announce_unknown(self.pushed);
        while let Some(mut last) = self.queue.pop_back() {
            if last.offset >= self.pushed {
                continue;
            }
            last.split_off(self.pushed - last.offset);
            let broken = (last.within + last.length) % last.width();
            let mut tail = last.split_off(last.length.saturating_sub(broken));
            tail.forget();
            self.queue.extend([last, tail].into_iter().filter(|s| s.length > 0));
            break;
        }
        self.announced = self.announced.min(self.pushed);
    }

    /// Bytes that what the container has announced last lacks where the stream ends here. A container that breaks off may lack more.
    #[must_use]
    pub fn missing(&self) -> u64 {
        // What goes on to the end of the stream, wherever that is, lacks nothing.
        if self.skip < 1 << 63 { self.skip } else { 0 }
    }

    /// Offset up to which bytes have been pushed or skipped.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.pushed
    }

    /// The spans from where the last call ended to `end`, but not beyond the bytes pushed.
    ///
    /// A span that goes on behind `end` is cut between two elements, so the last span may end up to seven bytes earlier. Bytes of a header that is not
    /// complete yet count as unknown. For the answer to be reproducible, the bytes pushed before the call must be the same.
    pub fn take(&mut self, end: u64) -> Vec<TypedSpan> {
        let end = end.min(self.pushed);
        if !self.finished {
            // What the parser does with the bytes at hand must not depend on when it was asked last.
            self.parse_held(false);
        }
        self.announce_unknown(end);
        let mut spans = Vec::new();
        while let Some(mut span) = self.queue.pop_front() {
            if span.end() > end {
                let whole = (end.saturating_sub(span.offset)) / span.width() * span.width();
                let rest = span.split_off(whole);
                self.queue.push_front(rest);
                if span.length > 0 {
                    spans.push(span);
                }
                break;
            }
            spans.push(span);
        }
        spans
    }

    /// Spans already known but not yet taken, beyond the bytes pushed as well.
    pub fn announced(&self) -> impl Iterator<Item = &TypedSpan> {
        self.queue.iter()
    }

    /// Tensors that have turned out, after their bytes, to be of a known type.
    pub(super) fn take_late(&mut self) -> Vec<TypedSpan> {
        std::mem::take(&mut self.late)
    }

    fn parse_held(&mut self, finished: bool) {
        self.need = 0;
        let mut held = std::mem::take(&mut self.held);
        let used = self.parse(&held, finished);
        if used >= held.len() {
            // A large header is not kept for the sake of its allocation.
            held = Vec::new();
        } else {
            held.drain(..used);
        }
        self.held = held;
    }

    /// Asks the parser about `input`, which begins at `parsed`, until it needs more; the bytes it has dealt with.
    fn parse(&mut self, input: &[u8], finished: bool) -> usize {
        let mut rest = input;
        loop {
            let skipped = self.skip.min(rest.len() as u64);
            self.skip -= skipped;
            self.parsed = self.parsed.saturating_add(skipped);
            rest = rest.get(usize::try_from(skipped).unwrap_or(usize::MAX)..).unwrap_or_default();
            if self.skip > 0 || rest.is_empty() || rest.len() < self.need {
                break;
            }
            self.need = 0;
            let left = if finished { rest.len() as u64 } else { u64::MAX };
            let span = match self.root.step(rest, left) {
                Step::Span(span) => span,
                Step::Late(span) => {
                    self.late.push(span);
                    continue;
                }
                Step::Need(n) => {
                    self.need = n.max(rest.len() + 1);
                    break;
                }
                Step::End | Step::Surprise => TypedSpan::bytes(left, false),
            };
            self.skip = span.length;
            self.announce(span);
        }
        input.len() - rest.len()
    }

    /// Queues a span that begins where the parser stands.
    fn announce(&mut self, mut span: TypedSpan) {
        span.offset = self.parsed;
        // Bytes that were taken before the parser could speak of them stay what they were.
        let late = self.announced.saturating_sub(span.offset);
        let mut span = span.split_off(late);
        let misaligned = span.within % span.width();
        if misaligned != 0 {
            let aligned = span.split_off(span.width() - misaligned);
            span.forget();
            self.queue_span(span);
            span = aligned;
        }
        let broken = if span.end() == u64::MAX { 0 } else { span.length % span.width() };
        let mut tail = span.split_off(span.length - broken);
        self.queue_span(span);
        tail.forget();
        self.queue_span(tail);
    }

    fn queue_span(&mut self, span: TypedSpan) {
        if span.length == 0 {
            return;
        }
        self.announced = span.end();
        if !self.queue.back_mut().is_some_and(|last| last.merge(&span)) {
            self.queue.push_back(span);
        }
    }

    fn announce_unknown(&mut self, end: u64) {
        if self.announced < end {
            let mut span = TypedSpan::bytes(end - self.announced, false);
            span.offset = self.announced;
            self.queue_span(span);
        }
    }
}
