//! From files to the report: tensors are measured in parallel, each in one pass, in bounded memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::code_length::entropy;
use super::counts::{BLOCK, Counts, ResidualCounts};
use super::pairs::{Pair, Place, pairs};
use super::report::{BitActivity, FileReport, Origin, Plain, Report, Residuals, Sizes, TensorReport, Total};
use crate::container::directory::files;
use crate::core::element::ElementType;
use crate::error::{Error, Result};
use crate::stream::{Encoder, EncoderOptions, Level, Reference, Typing};

/// Options of [`measure`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StatOptions {
    /// Type of all numbers of the file, where no container tells; then the file is one tensor.
    pub element: Option<ElementType>,
    /// Level of the streams that are made for their sizes.
    pub level: Level,
    /// Worker threads; 0 means one per core, at most 8. Figures do not depend on it.
    pub threads: usize,
}

/// Elements read at a time, whole blocks.
const PORTION: usize = BLOCK << 9;

/// Measures the checkpoint `next`, a file, a directory of shards or an index of them, against `references` of the same kinds, in their order.
///
/// Memory depends on the number of threads and tensors, not on their sizes: about 150 MiB for each thread.
///
/// # Errors
/// [`Error::Io`] where a file cannot be read, [`Error::Usage`] where no tensors are found and `options.element` does not say what there is.
pub fn measure(next: &Path, references: &[PathBuf], options: &StatOptions) -> Result<Report> {
    let (nexts, pairs) = pairs(next, references, options.element)?;
    if pairs.is_empty() {
        let what = next.display();
        let advice = "no tensors found; if it is numbers and nothing else, give their type with --dtype";
        return Err(Error::Usage(format!("{what}: {advice}")));
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8),
        n => n,
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Io(io::Error::other(error)))?;
    let (tensors, files) = pool.install(|| -> Result<_> {
        let tensors: Vec<_> = pairs.par_iter().map(|pair| measured(pair, options)).collect::<Result<_>>()?;
        let files: Vec<_> = nexts.par_iter().map(|path| file(path, references, options)).collect::<Result<_>>()?;
        Ok((tensors, files))
    })?;
    Ok(report(&pairs, &tensors, files))
}

/// Counts of a tensor, and the bytes of its stream.
struct Measured {
    counts: Counts,
    ulp: u64,
}

fn measured(pair: &Pair, options: &StatOptions) -> Result<Measured> {
    let element = pair.next.element;
    let mut counts = Counts::new(element, pair.reference.is_some());
    let mut next = pair.next.open()?;
    let mut reference = pair.reference.as_ref().map(|place| place.open_as(element)).transpose()?;
    let portion = (PORTION * element.width()) as u64;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        (&mut next).take(portion).read_to_end(&mut a)?;
        if let Some(reference) = &mut reference {
            reference.take(portion).read_to_end(&mut b)?;
        }
        if a.is_empty() {
            break;
        }
        counts.count(&a, &b);
    }
    Ok(Measured { counts, ulp: stream(pair, options)? })
}

/// Bytes of the stream of this tensor alone.
fn stream(pair: &Pair, options: &StatOptions) -> Result<u64> {
    let element = pair.next.element;
    let encoding = EncoderOptions {
        typing: Typing::Fixed(element),
        level: options.level,
        threads: 1,
        columns: Some(pair.columns).filter(|&columns| columns > 0),
        ..EncoderOptions::default()
    };
    let reference = pair.reference.as_ref().map(|place| place.open_as(element)).transpose()?;
    let references = reference.map(|reference| Reference::Pipe(Box::new(reference))).into_iter().collect();
    coded(pair.next.open()?, encoding, references)
}

/// What `ulp` makes of a file.
fn file(path: &Path, references: &[PathBuf], options: &StatOptions) -> Result<FileReport> {
    let typing = options.element.map_or(Typing::Auto, Typing::Fixed);
    let encoding = EncoderOptions { typing, level: options.level, threads: 1, ..EncoderOptions::default() };
    let mut opened = Vec::new();
    for reference in references {
        for path in files(reference)? {
            opened.push(Reference::File(File::open(path)?));
        }
    }
    let content = File::open(path)?;
    let bytes = content.metadata()?.len();
    Ok(FileReport { path: path.display().to_string(), bytes, ulp: coded(content, encoding, opened)? })
}

fn coded(mut content: impl Read, options: EncoderOptions, references: Vec<Reference>) -> Result<u64> {
    let mut encoder = Encoder::new(io::sink(), options, references)?;
    let mut portion = vec![0; 1 << 20];
    loop {
        let count = content.read(&mut portion)?;
        let Some(bytes) = portion.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        encoder.write_all(bytes)?;
    }
    Ok(encoder.finish()?.1.coded_bytes)
}

fn report(pairs: &[Pair], measured: &[Measured], files: Vec<FileReport>) -> Report {
    let mut tensors = Vec::new();
    // Tensors with and without counterparts apart: what is counted of them is not the same.
    let mut types: BTreeMap<(ElementType, bool), (Counts, u64)> = BTreeMap::new();
    for (pair, Measured { counts, ulp }) in pairs.iter().zip(measured) {
        let key = (counts.element(), counts.residual.is_some());
        match types.get_mut(&key) {
            Some((sum, streams)) => {
                sum.add(counts);
                *streams += ulp;
            }
            None => drop(types.insert(key, (counts.clone(), *ulp))),
        }
        tensors.push(TensorReport {
            shape: pair.shape.clone(),
            reference: pair.reference.as_ref().map(origin),
            ..tensor(pair.name.clone(), counts, *ulp)
        });
    }
    let mut types: Vec<_> =
        types.into_values().map(|(counts, ulp)| tensor(counts.element().name().to_owned(), &counts, ulp)).collect();
    types.sort_by_key(|report| std::cmp::Reverse(report.bytes));
    let total = total(&tensors, &types, files.iter().map(|file| file.ulp).sum());
    Report { tensors, types, total, files }
}

fn origin(place: &Place) -> Origin {
    Origin { path: place.path.display().to_string(), offset: place.offset, element: place.element }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn total(tensors: &[TensorReport], types: &[TensorReport], ulp: u64) -> Total {
    let matched = tensors.iter().filter(|tensor| tensor.residuals.is_some());
    let compared: f64 = matched.clone().map(|tensor| tensor.elements as f64).sum();
    let changed: f64 =
        matched.clone().filter_map(|tensor| Some(tensor.residuals.as_ref()?.changed * tensor.elements as f64)).sum();
    let any = compared > 0.0;
    // Tensors without a counterpart take what they take alone, under every model.
    let sum = |size: fn(&Sizes) -> Option<u64>| {
        let of = |report: &TensorReport| size(&report.sizes).or(report.sizes.exponents).unwrap_or(report.bytes);
        any.then(|| types.iter().map(of).sum())
    };
    Total {
        tensors: tensors.len(),
        matched: matched.count(),
        elements: tensors.iter().map(|tensor| tensor.elements).sum(),
        bytes: tensors.iter().map(|tensor| tensor.bytes).sum(),
        changed: any.then_some(changed / compared),
        sizes: Sizes {
            xor_bound: sum(|sizes| sizes.xor_bound),
            fm_delta: sum(|sizes| sizes.fm_delta),
            no_exponent: sum(|sizes| sizes.no_exponent),
            ulpack: sum(|sizes| sizes.ulpack),
            exponents: Some(types.iter().map(|report| report.sizes.exponents.unwrap_or(report.bytes)).sum()),
            ulp,
        },
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bytes(bits: f64) -> u64 {
    (bits / 8.0).ceil() as u64
}

fn tensor(name: String, counts: &Counts, ulp: u64) -> TensorReport {
    let element = counts.element();
    let residual = counts.residual.as_ref();
    let size = |bits: fn(&ResidualCounts) -> f64| residual.map(|counts| bytes(bits(counts)));
    TensorReport {
        name,
        element,
        shape: Vec::new(),
        elements: counts.elements,
        bytes: counts.elements * element.width() as u64,
        reference: None,
        plain: element.is_float().then(|| plain(counts)),
        residuals: residual.map(|residual| residuals(element, residual)),
        sizes: Sizes {
            xor_bound: size(ResidualCounts::xor_bound_bits),
            fm_delta: size(ResidualCounts::fm_delta_bits),
            no_exponent: size(ResidualCounts::no_exponent_bits),
            ulpack: size(ResidualCounts::ulpack_bits),
            exponents: element.is_float().then(|| bytes(counts.exponents_bits())),
            ulp,
        },
    }
}

#[allow(clippy::cast_precision_loss)]
fn plain(counts: &Counts) -> Plain {
    let elements = counts.elements.max(1) as f64;
    let top = counts.top.iter().zip(&counts.exponents);
    let top: f64 = top.map(|(&ones, &all)| entropy([ones, all - ones]) * all as f64).sum();
    Plain {
        exponent_entropy: entropy(counts.exponents.iter().copied()),
        sign_entropy: entropy([counts.negative, counts.elements - counts.negative]),
        top_mantissa_entropy: top / elements,
        exponents: trimmed(&counts.exponents),
    }
}

#[allow(clippy::cast_precision_loss)]
fn residuals(element: ElementType, counts: &ResidualCounts) -> Residuals {
    let lengths = counts.all_lengths();
    let elements = lengths.iter().sum::<u64>().max(1) as f64;
    let length_entropy = entropy(lengths);
    let information = |given: f64| (length_entropy - given).max(0.0);
    let exponent = information(counts.given_exponent());
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let bits = 8 * element.width();
    let shares = |counts: &[u64]| counts.iter().take(bits).map(|&c| c as f64 / elements).collect();
    let mut by_exponent: Vec<Vec<u64>> = counts.lengths.iter().map(|lengths| trimmed(lengths)).collect();
    by_exponent.truncate(by_exponent.iter().rposition(|lengths| !lengths.is_empty()).map_or(0, |last| last + 1));
    Residuals {
        changed: counts.changed as f64 / elements,
        length_entropy,
        information_exponent: exponent,
        information_lambda: information(counts.given_lambda()),
        scale_bits: counts.scale_bits() / elements,
        conditioning_gain: ratio(exponent, length_entropy),
        tail_share: ratio(counts.tail_bits() as f64, counts.ulpack_bits()),
        lengths: by_exponent,
        bits: BitActivity { xor: shares(&counts.xor_bits), ordered: shares(&counts.residual_bits) },
    }
}

/// The counts up to the last that is not zero.
fn trimmed(counts: &[u64]) -> Vec<u64> {
    let end = counts.iter().rposition(|&c| c > 0).map_or(0, |last| last + 1);
    counts.get(..end).unwrap_or_default().to_vec()
}
