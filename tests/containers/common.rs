//! What all tests of layouts share: files to read, ways to push them, rules that hold for any answer.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use ulpack::ElementType;
use ulpack::container::{Layout, LayoutReader, TypedSpan};

/// The file of that name among the samples; `None`, with a note, where the samples are absent.
pub(crate) fn sample(name: &str) -> Option<Vec<u8>> {
    let path = sample_path(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

pub(crate) fn sample_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/containers").join(name)
}

/// The spans of `bytes`, pushed in portions of these sizes, over and over.
pub(crate) fn spans_in_portions(bytes: &[u8], portions: &[usize]) -> Vec<TypedSpan> {
    let mut reader = LayoutReader::new();
    push(&mut reader, bytes, portions);
    reader.finish();
    let spans = reader.take(u64::MAX);
    assert_cover(&spans, 0, bytes.len() as u64);
    spans
}

fn push(reader: &mut LayoutReader, bytes: &[u8], portions: &[usize]) {
    let mut rest = bytes;
    for &portion in portions.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (front, back) = rest.split_at(portion.min(rest.len()));
        reader.push(front);
        rest = back;
    }
}

/// The spans of `bytes`, taken after each window.
pub(crate) fn spans_in_windows(bytes: &[u8], window: usize, portions: &[usize]) -> Vec<TypedSpan> {
    let mut reader = LayoutReader::new();
    let mut spans: Vec<TypedSpan> = Vec::new();
    let mut pushed = 0u64;
    for part in bytes.chunks(window) {
        push(&mut reader, part, portions);
        pushed += part.len() as u64;
        spans.extend(reader.take(pushed));
        let taken = spans.last().map_or(0, TypedSpan::end);
        assert!(pushed - taken < 8, "window: {taken} of {pushed}");
    }
    reader.finish();
    spans.extend(reader.take(pushed));
    assert_cover(&spans, 0, bytes.len() as u64);
    spans
}

/// The rules for any list of spans: they follow each other, and each is made of whole elements.
pub(crate) fn assert_cover(spans: &[TypedSpan], from: u64, to: u64) {
    let mut at = from;
    for span in spans {
        assert_eq!(span.offset, at, "gap or overlap before {span:?}");
        assert!(span.length > 0, "empty {span:?}");
        assert!(span.length.is_multiple_of(span.element.width() as u64), "{span:?}");
        assert!(span.known || span.element == ElementType::Bytes, "{span:?}");
        if let Some(length) = span.tensor.as_ref().and_then(|tensor| tensor.length) {
            assert!(span.within + span.length <= length, "{span:?}");
        }
        at = span.end();
    }
    assert_eq!(at, to, "not covered to the end");
}

/// The spans of `bytes`, after checking that they do not depend on portions, on windows, or on whether the source is a file.
pub(crate) fn spans(bytes: &[u8]) -> Vec<TypedSpan> {
    let whole = spans_in_portions(bytes, &[usize::MAX]);
    for portions in [&[1usize][..], &[7], &[1, 3, 400], &[4096], &[65536, 1]] {
        assert_same(&spans_in_portions(bytes, portions), &whole);
    }
    for window in [bytes.len() / 2 + 1, bytes.len() / 7 + 1] {
        let windows = spans_in_windows(bytes, window, &[usize::MAX]);
        assert_refines(&windows, &whole);
        assert_same(&spans_in_windows(bytes, window, &[5, 1000]), &windows);
    }
    let layout = Layout::of_file(&mut Cursor::new(bytes)).unwrap();
    let tensors = |spans: &[TypedSpan]| spans.iter().filter(|s| s.tensor.is_some()).count();
    assert_eq!(tensors(layout.spans()), tensors(&whole));
    assert_cover(layout.spans(), 0, bytes.len() as u64);
    whole
}

/// Each of `parts` is a part of a span of `whole`, or of unknown type.
fn assert_refines(parts: &[TypedSpan], whole: &[TypedSpan]) {
    for part in parts.iter().filter(|part| part.known) {
        let span = whole.iter().find(|span| span.end() > part.offset);
        let span = span.unwrap_or_else(|| panic!("{part:?} is beyond the end"));
        assert!(part.offset >= span.offset && part.end() <= span.end(), "{part:?} in {span:?}");
        assert_eq!((part.element, part.columns), (span.element, span.columns));
        assert_eq!(part.tensor, span.tensor);
        if span.tensor.is_some() {
            assert_eq!(part.within - span.within, part.offset - span.offset);
        }
    }
}

/// Spans are the same in everything but the identity of their tensors.
fn assert_same(a: &[TypedSpan], b: &[TypedSpan]) {
    assert_eq!(a.len(), b.len(), "{}\n--\n{}", describe(a), describe(b));
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a, b);
    }
}

/// One line per span: offset, length, type (`?` where not known), row length, name, shape, place in the tensor.
pub(crate) fn describe(spans: &[TypedSpan]) -> String {
    let mut text = String::new();
    for span in spans {
        text += &format!("{} {} {}", span.offset, span.length, span.element.name());
        if !span.known {
            text += "?";
        }
        if span.columns > 0 {
            text += &format!(" /{}", span.columns);
        }
        if let Some(tensor) = &span.tensor {
            text += &format!(" {tensor} {:?}", tensor.shape);
        }
        if span.within > 0 {
            text += &format!(" +{}", span.within);
        }
        text += "\n";
    }
    text
}

/// Element type and shape of the tensor of that name.
pub(crate) fn tensor<'a>(spans: &'a [TypedSpan], name: &str) -> &'a TypedSpan {
    let mut found = spans.iter().filter(|span| span.tensor.as_ref().is_some_and(|t| t.to_string() == name));
    found.next().unwrap_or_else(|| panic!("no {name} in\n{}", describe(spans)))
}

/// A small generator of random numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Whatever happens to a file, there is an answer that covers it and does not depend on portions: every truncation and many flips, of small files all.
pub(crate) fn assert_robust(bytes: &[u8]) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let small = bytes.len() <= 4096;
    let portions = if small { [13, 1, 64] } else { [977, 1, 64] };
    let cuts: Vec<usize> = if small {
        (0..bytes.len()).collect()
    } else {
        (0..1200).chain((0..100).map(|_| random.below(bytes.len()))).collect()
    };
    for cut in cuts {
        let cut = &bytes[..cut.min(bytes.len())];
        let whole = spans_in_portions(cut, &[usize::MAX]);
        assert_same(&spans_in_portions(cut, &portions), &whole);
    }
    let mut damaged = bytes.to_vec();
    for round in 0..if small { 4000 } else { 400 } {
        let at = if round % 2 == 0 { random.below(bytes.len().min(2048)) } else { random.below(bytes.len()) };
        let old = damaged[at];
        damaged[at] = match random.below(4) {
            0 => 0xff,
            1 => 0,
            _ => old ^ (1 << random.below(8)),
        };
        let whole = spans_in_portions(&damaged, &[usize::MAX]);
        assert_same(&spans_in_portions(&damaged, &portions), &whole);
        if round % 5 != 4 {
            damaged[at] = old;
        }
    }
}

/// A source of parts with zeros between them.
pub(crate) struct Sparse {
    parts: Vec<(u64, Vec<u8>)>,
    length: u64,
    at: u64,
    /// Bytes read so far.
    pub(crate) read: u64,
}

impl Sparse {
    pub(crate) fn new(parts: Vec<(u64, Vec<u8>)>, length: u64) -> Self {
        Self { parts, length, at: 0, read: 0 }
    }
}

impl Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = (self.length.saturating_sub(self.at)).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..n];
        buffer.fill(0);
        for (start, bytes) in &self.parts {
            for (i, byte) in bytes.iter().enumerate() {
                if let Some(at) = (start + i as u64).checked_sub(self.at)
                    && at < n as u64
                {
                    buffer[at as usize] = *byte;
                }
            }
        }
        self.at += n as u64;
        self.read += n as u64;
        Ok(n)
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => self.length.wrapping_add_signed(by),
            SeekFrom::Current(by) => self.at.wrapping_add_signed(by),
        };
        Ok(self.at)
    }
}
