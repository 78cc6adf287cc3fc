//! Chains: deltas of which each has the content before it as its reference.

use std::io::{Read, Take};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::stream::decoder::Decoder;
use crate::stream::map::{self, Bounds};
use crate::stream::open_stream::OpenStream;
use crate::stream::options::DecoderOptions;
use crate::stream::pool::Pool;
use crate::stream::read_at::{Cursor, ReadAt};
use crate::stream::reader::Reader;
use crate::stream::reference::Reference;
use crate::stream::state::Identities;

/// Coded and reference bytes that the decoders of a chain work on at a time, about, all together.
const BATCH_BYTES: u64 = 96 << 20;

/// Streams in the order of their steps, each in any file.
///
/// Opening reads the ends of the streams, and says at once where one does not follow from the one before.
///
/// ```
/// # fn main() -> ulpack::Result<()> {
/// use std::io::Read;
/// use std::sync::Arc;
/// use ulpack::{Chain, DecoderOptions, EncoderOptions, ReadAt, Reference};
/// let step = |n: u8| vec![n; 200_000];
/// let delta = |n: u8| ulpack::compress(&step(n), EncoderOptions::default(), vec![Reference::Bytes(step(n - 1).into())]);
/// let files: Vec<Arc<dyn ReadAt>> = vec![Arc::new(delta(1)?), Arc::new([delta(2)?, delta(3)?].concat())];
/// let chain = Chain::open(files)?;
/// assert_eq!(chain.len(), 3);
/// let base = || vec![Reference::Bytes(step(0).into())];
/// // All of the last step, in one pass.
/// let mut last = Vec::new();
/// chain.decoder(3, DecoderOptions::default(), base())?.read_to_end(&mut last)?;
/// assert_eq!(last, step(3));
/// // A part of the second.
/// let mut part = Vec::new();
/// chain.reader(2, DecoderOptions::default(), base())?.copy(10..20, &mut part)?;
/// assert_eq!(part, [2; 10]);
/// # Ok(()) }
/// ```
pub struct Chain {
    steps: Vec<Step>,
}

struct Step {
    source: Arc<dyn ReadAt>,
    bounds: Bounds,
    references: Vec<Identities>,
}

/// Whether a stream follows from the content before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// That content is its reference, by length and CRC32.
    Follows,
    /// It has no reference: a chain begins with it.
    Independent,
    /// Its references are known to be others.
    Broken,
    /// The stream does not tell enough of its reference.
    Unknown,
}

impl Chain {
    /// The streams of these files, in this order.
    ///
    /// # Errors
    /// A file holds no complete streams, or a stream's reference is not the content before it.
    pub fn open(files: Vec<Arc<dyn ReadAt>>) -> Result<Self> {
        let mut steps: Vec<Step> = Vec::new();
        for source in files {
            for bounds in map::streams(source.as_ref())? {
                let stream = OpenStream::new(Arc::clone(&source), bounds, &[])?;
                let step = Step { source: Arc::clone(&source), bounds: stream.bounds, references: stream.references };
                if let Some(last) = steps.last()
                    && step.link(last) == Link::Broken
                {
                    let told = step.references.iter().find_map(|r| r.whole.or(r.sampled));
                    return Err(Error::ChainBroken {
                        step: steps.len() + 1,
                        expected: told.map_or(0, |t| t.length),
                        actual: last.bounds.end.content_length,
                    });
                }
                steps.push(step);
            }
        }
        Ok(Self { steps })
    }

    /// Number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// All of the content of step `at`, 1 for the first, in one pass: each decoder reads from the one before it. `base` are the references of the first step.
    ///
    /// # Errors
    /// There is no such step, one has several references, or `base` is not what the first needs; and those of a [`Decoder`] as it is read.
    pub fn decoder(&self, at: usize, options: DecoderOptions, base: Vec<Reference>) -> Result<ChainDecoder> {
        let steps = self.up_to(at)?;
        let pool = Arc::new(Pool::new(options.threads)?);
        let batch = (BATCH_BYTES / steps.len() as u64).max(1);
        let mut references = base;
        let mut first = true;
        let mut made = None;
        for step in steps {
            if let Some(before) = made.take() {
                let before: Decoder<Coded> = before;
                references = vec![Reference::Pipe(Box::new(before))];
            }
            let mut input = Cursor::new(Arc::clone(&step.source));
            input.go_to(step.bounds.start);
            let input = input.take(step.bounds.end.encoded_length);
            let mut decoder = Decoder::new(input, options.clone(), std::mem::take(&mut references));
            decoder.share(Arc::clone(&pool), batch);
            if first {
                // A wrong base is said now, not when a step is first read.
                decoder.prime()?;
            }
            first = false;
            made = Some(decoder);
        }
        made.map(ChainDecoder).ok_or_else(|| none(at, self.len()))
    }

    /// Random access to the content of step `at`: of each step before it, only the chunks that a part needs are read.
    ///
    /// # Errors
    /// As of [`decoder`](Self::decoder) and [`Reader::open`].
    pub fn reader(&self, at: usize, options: DecoderOptions, base: Vec<Reference>) -> Result<Reader> {
        let mut references = base;
        let mut made: Option<Reader> = None;
        let mut sample = true;
        for step in self.up_to(at)? {
            if let Some(before) = made.take() {
                references = vec![Reference::Random(Arc::new(before))];
                sample = false;
            }
            let (source, bounds) = (Arc::clone(&step.source), vec![step.bounds.clone()]);
            let given = std::mem::take(&mut references);
            made = Some(Reader::chained(source, bounds, options.clone(), given, sample)?);
        }
        made.ok_or_else(|| none(at, self.len()))
    }

    /// The steps that step `at` needs: from the last one that has no reference.
    fn up_to(&self, at: usize) -> Result<&[Step]> {
        let steps = self.steps.get(..at).filter(|s| !s.is_empty()).ok_or_else(|| none(at, self.len()))?;
        let first = steps.iter().rposition(|s| s.bounds.header.references == 0).unwrap_or(0);
        let steps = steps.get(first..).unwrap_or(steps);
        if let Some(many) = steps.iter().skip(1).position(|s| s.bounds.header.references > 1) {
            let step = first + many + 2;
            return Err(Error::Usage(format!("step {step} has several references; a chain has one for each step")));
        }
        Ok(steps)
    }
}

fn none(at: usize, steps: usize) -> Error {
    Error::Usage(format!("there is no step {at}; the chain has {steps}"))
}

impl Step {
    fn link(&self, before: &Self) -> Link {
        link(&self.references, before.bounds.end.content_length, before.bounds.end.content_crc)
    }
}

/// Whether one of the references is a content of this length and CRC32.
pub(crate) fn link(references: &[Identities], length: u64, crc: u32) -> Link {
    if references.is_empty() {
        return Link::Independent;
    }
    let mut unknown = false;
    for known in references {
        match (known.whole, known.sampled) {
            (Some(whole), _) if (whole.length, whole.crc) == (length, crc) => return Link::Follows,
            (Some(_), _) => {}
            (None, Some(sampled)) => unknown |= sampled.length == length,
            (None, None) => unknown = true,
        }
    }
    if unknown { Link::Unknown } else { Link::Broken }
}

/// The coded bytes of one step.
type Coded = Take<Cursor<Arc<dyn ReadAt>>>;

/// The content of a step of a [`Chain`], read forward.
pub struct ChainDecoder(Decoder<Coded>);

impl ChainDecoder {
    /// The next verified bytes, or `None` at the end.
    ///
    /// # Errors
    /// Any violated rule, in any of the steps; all content before it has been returned.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        self.0.next_chunk()
    }

    /// Reads and checks the first header.
    ///
    /// # Errors
    /// As of [`Decoder::read_header`].
    pub fn read_header(&mut self) -> Result<()> {
        self.0.read_header()
    }
}

impl Read for ChainDecoder {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}
