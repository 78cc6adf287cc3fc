//! `ulp -d` of a part of the content, and of chains: what is not needed is neither read nor decoded.

use std::fs::File;
use std::io::{self, Write};
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use glob::Pattern;
use ulpack::{Chain, ElementType, ReadAt, Reader, Reference, TensorInfo};

use super::exit::Exit;
use super::failure::{Failure, place};
use super::identity::Identity;
use super::input::Opened;
use super::messages::say;
use super::options::{Mode, Options, Pick, Source};
use super::output::{Destination, Output};
use super::progress::Progress;
use super::reference::References;
use super::{amounts, bank_files, platform};

/// Restores the part of the content that is asked for.
pub(super) fn run(options: Options, progress: &Arc<Progress>) -> Result<Exit, Failure> {
    let subject = options.input.subject();
    let mut identities = Vec::new();
    let mut files: Vec<Arc<dyn ReadAt>> = Vec::new();
    let mut counts = Vec::new();
    for source in once(&options.input).chain(&options.more) {
        let (file, identity) = Sought::open(source)?;
        identities.extend(identity);
        counts.push((file.subject.clone(), Arc::clone(&file.read), file.file.size().unwrap_or(0)));
        files.push(Arc::new(file));
    }
    let references = References::open(&options.references)?;
    identities.extend(references.with(None));
    let destination = match options.mode {
        Mode::Test => Destination::nowhere(),
        _ => Destination::find(&options.output, &identities)?,
    };
    let mut options = options;
    options.decoder.banks = bank_files::load_all(&options.banks)?;
    let shown = progress.show(options.progress);
    let fail = |error: &ulpack::Error| Failure::library(&subject, error);
    let result = match options.chain {
        Some(at) => chain(files, at, references.list, options.decoder, &options.pick, destination, progress, &subject),
        None => {
            let file = files.pop().ok_or_else(|| Failure::usage("no input"))?;
            let reader = Reader::open(file, options.decoder, references.list).map_err(|error| fail(&error))?;
            part(&reader, &options.pick, destination, progress, &subject, options.verbose)
        }
    };
    drop(shown);
    result?;
    if options.verbose {
        for (subject, read, size) in counts {
            let read = read.load(Ordering::Relaxed);
            say(&format!("{subject}: read {} of {} bytes", amounts::exact(read), amounts::exact(size)));
        }
    }
    Ok(Exit::Done)
}

#[allow(clippy::too_many_arguments)]
fn chain(
    files: Vec<Arc<dyn ReadAt>>,
    at: Option<usize>,
    base: Vec<Reference>,
    decoder: ulpack::DecoderOptions,
    pick: &Pick,
    destination: Destination,
    progress: &Arc<Progress>,
    subject: &str,
) -> Result<(), Failure> {
    let fail = |error: &ulpack::Error| Failure::library(subject, error);
    let chain = Chain::open(files).map_err(|error| fail(&error))?;
    let at = at.unwrap_or(chain.len());
    if *pick != Pick::All {
        let reader = chain.reader(at, decoder, base).map_err(|error| fail(&error))?;
        return part(&reader, pick, destination, progress, subject, false);
    }
    let mut decoder = chain.decoder(at, decoder, base).map_err(|error| fail(&error))?;
    decoder.read_header().map_err(|error| fail(&error))?;
    let mut output = destination.open(progress)?;
    loop {
        let written = match decoder.next_chunk() {
            Ok(Some(bytes)) => output.write_all(bytes).map_err(ulpack::Error::from),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        written.map_err(|error| remains(&output, fail(&error)))?;
    }
    output.close()
}

/// Writes a part of what `reader` reads.
fn part(
    reader: &Reader,
    pick: &Pick,
    destination: Destination,
    progress: &Arc<Progress>,
    subject: &str,
    verbose: bool,
) -> Result<(), Failure> {
    let fail = |error: &ulpack::Error| Failure::library(subject, error);
    if verbose && reader.streams().iter().any(|s| !s.indexed) {
        say(&format!("{subject}: has no index; the headers of all records were read"));
    }
    let (head, ranges): (Vec<u8>, Vec<Range<u64>>) = match pick {
        Pick::All => (Vec::new(), once(0..reader.len()).collect()),
        Pick::Range(start, end) => (Vec::new(), once(*start..end.unwrap_or(reader.len())).collect()),
        Pick::Tensors { patterns, npy } => {
            let tensors = reader.tensors().map_err(|error| fail(&error))?;
            let chosen = choose(&tensors, patterns).map_err(|text| Failure::about(subject, text))?;
            let head = match (npy, &chosen[..]) {
                (false, _) => Vec::new(),
                (true, [only]) => header(only),
                (true, several) => {
                    let text = format!("--npy writes one tensor, these are {}; name one", several.len());
                    return Err(Failure::about(subject, text));
                }
            };
            (head, chosen.iter().map(|t| t.range.clone()).collect())
        }
    };
    let mut output = destination.open(progress)?;
    let written = output.write_all(&head).map_err(ulpack::Error::from);
    let copied = written.and_then(|()| ranges.into_iter().try_for_each(|range| reader.copy(range, &mut output)));
    copied.map_err(|error| remains(&output, fail(&error)))?;
    output.close()
}

fn remains(output: &Output, failure: Failure) -> Failure {
    match output.remains() {
        Some(remains) => failure.with(&remains),
        None => failure,
    }
}

/// The tensors whose names match any of the patterns, in the order of the content.
fn choose<'a>(tensors: &'a [TensorInfo], patterns: &[String]) -> Result<Vec<&'a TensorInfo>, String> {
    let mut wanted = vec![false; tensors.len()];
    for pattern in patterns {
        let glob = Pattern::new(pattern).map_err(|error| format!("--tensor {pattern}: {error}"))?;
        let mut any = false;
        for (tensor, wanted) in tensors.iter().zip(&mut wanted) {
            // A name may hold characters that mean something in a pattern.
            if tensor.name == *pattern || glob.matches(&tensor.name) {
                (any, *wanted) = (true, true);
            }
        }
        if !any {
            return Err(match tensors.first() {
                None => format!("--tensor {pattern}: the content has no tensors that are known by name"),
                Some(first) => format!(
                    "--tensor {pattern}: none of the {} tensors has such a name (the first is {}); ulp -l lists them",
                    tensors.len(),
                    first.name
                ),
            });
        }
    }
    Ok(tensors.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(tensor, _)| tensor).collect())
}

/// The header of an npy file (version 1.0) for a tensor. numpy has no type for bf16 and f8: they are bytes of two and one there.
fn header(tensor: &TensorInfo) -> Vec<u8> {
    let descr = match tensor.element {
        ElementType::Bytes | ElementType::U8 => "|u1",
        ElementType::I8 => "|i1",
        ElementType::U16 => "<u2",
        ElementType::I16 => "<i2",
        ElementType::U32 => "<u4",
        ElementType::I32 => "<i4",
        ElementType::U64 => "<u8",
        ElementType::I64 => "<i8",
        ElementType::F8E4M3 | ElementType::F8E5M2 => "|V1",
        ElementType::Bf16 => "<V2",
        ElementType::F16 => "<f2",
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        _ => "|u1",
    };
    let length = tensor.range.end - tensor.range.start;
    let elements = length / tensor.element.width() as u64;
    let product = tensor.shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    // Types of several bits or numbers an element have another length than their shape says.
    let shape = if product == Some(elements) { tensor.shape.clone() } else { vec![elements] };
    let mut sizes: String = shape.iter().map(|d| format!("{d}, ")).collect();
    if shape.len() > 1 {
        sizes.truncate(sizes.len() - 2);
    }
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head
}

/// A file read by position, whose errors know its name.
pub(super) struct Sought {
    file: File,
    subject: String,
    /// Bytes that have been read.
    read: Arc<AtomicU64>,
}

impl Sought {
    /// Opens a file that can be sought: what stands at the end of a pipe cannot be known at its start.
    pub(super) fn open(source: &Source) -> Result<(Self, Option<Identity>), Failure> {
        let mut opened = Opened::open(source)?;
        if opened.position() != Some(0) {
            return Err(Failure::about(
                &opened.subject,
                "parts and chains are read from the end of a stream backwards, which needs a file; this is a pipe, or partly read",
            ));
        }
        let identity = platform::identity(&opened.metadata);
        Ok((Self { file: opened.file, subject: opened.subject, read: Arc::default() }, identity))
    }
}

impl ReadAt for Sought {
    fn size(&self) -> io::Result<u64> {
        self.file.size().map_err(|error| place(&self.subject, error))
    }

    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.fill_at(buffer, offset).map_err(|error| place(&self.subject, error))?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
