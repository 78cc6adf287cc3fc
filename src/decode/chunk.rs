//! Decoding of one chunk (spec §7, §8).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::core::bank::TokenClass;
use crate::core::convert::convert;
use crate::core::element::{Class, ElementType};
use crate::core::model::Model;
use crate::decode::parts::{Part, parts, reference_ranges};
use crate::decode::slots::{LazyBank, Slots};
use crate::decode::substream::{Job, Substream};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::limits::MIN_PAIR_BLOCK;
use crate::wire::chunk_header::{ChunkHeader, Method, SubstreamHeader};
use crate::wire::layout::Layout;

/// A chunk with all that its decoding needs but the reference bytes.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Header.
    pub header: ChunkHeader,
    /// Parts of spans, in output order.
    pub parts: Vec<Part>,
    /// Reference ranges that are needed, in output order: index, bytes. Neighbours are one.
    pub ranges: Vec<(u8, Range<u64>)>,
    body: Vec<u8>,
    substreams: Vec<Prepared>,
}

/// A substream's header, kind and bank.
#[derive(Clone, Debug)]
struct Prepared {
    header: SubstreamHeader,
    kind: u8,
    element: ElementType,
    bank: Option<Arc<LazyBank>>,
    profiles: BTreeMap<u16, Arc<[i8]>>,
}

impl Chunk {
    /// Parses and checks the body of a Chunk record against the stream's state.
    ///
    /// # Errors
    /// ULP-CHK-01 … 05, ULP-CHK-08, ULP-SUB.
    pub fn parse(
        body: Vec<u8>,
        count: u16,
        offset: u64,
        max_length: u32,
        layout: &Layout,
        slots: &Slots,
    ) -> Result<Self> {
        let (header, _) = ChunkHeader::parse(&body, count)?;
        if header.output_offset != offset {
            return Err(Error::Contradiction {
                field: "output_offset",
                expected: header.output_offset,
                actual: offset,
            });
        }
        if header.output_length == 0 || header.output_length > max_length {
            return Err(Error::Field { field: "output_length", value: header.output_length.into() });
        }
        let parts = parts(layout, offset, header.output_length)?;
        let mut kinds: Vec<(u8, ElementType, bool)> =
            parts.iter().map(|p| (p.kind, p.element, p.reference.is_some())).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() != header.substreams.len() {
            return Err(Error::Contradiction {
                field: "substreams",
                expected: count.into(),
                actual: kinds.len() as u64,
            });
        }
        let mut substreams = Vec::with_capacity(kinds.len());
        for (&substream, (kind, element, reference)) in header.substreams.iter().zip(kinds) {
            let of_kind = || parts.iter().filter(|p| p.kind == kind);
            let elements = of_kind().map(Part::elements).sum();
            check(&substream, element, reference, elements)?;
            let bank = if substream.method.uses_bank() { Some(slots.bank(substream.bank)?) } else { None };
            if let Some(bank) = &bank {
                check_bank(&substream, element, bank)?;
            }
            let mut profiles = BTreeMap::new();
            if substream.profiles {
                for slot in of_kind().filter_map(|p| p.profile) {
                    profiles.insert(slot, slots.profile(slot)?);
                }
                if profiles.is_empty() {
                    return Err(Error::Order("PROFILES without a profile"));
                }
            }
            substreams.push(Prepared { header: substream, kind, element, bank, profiles });
        }
        let mut chunk = Self { header, parts, ranges: Vec::new(), body, substreams };
        chunk.ranges = reference_ranges(&chunk.parts, |kind| chunk.uses_reference(kind));
        if chunk.substreams.iter().all(|s| !s.header.method.uses_reference()) && chunk.header.reference_crc != 0 {
            return Err(Error::Field { field: "reference_crc", value: chunk.header.reference_crc.into() });
        }
        Ok(chunk)
    }

    fn uses_reference(&self, kind: u8) -> bool {
        self.substreams.iter().any(|s| s.kind == kind && s.header.method.uses_reference())
    }

    /// Bytes of reference that are needed.
    #[must_use]
    pub fn reference_length(&self) -> u64 {
        self.ranges.iter().map(|(_, r)| r.end - r.start).sum()
    }

    /// The record's body, for another use of its memory.
    #[must_use]
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// The data of each substream.
    fn data(&self) -> impl Iterator<Item = &[u8]> {
        let before = ChunkHeader::size(u16::try_from(self.substreams.len()).unwrap_or(u16::MAX));
        let mut rest = self.body.get(before..).unwrap_or(&[]);
        self.substreams.iter().map(move |substream| {
            let (own, after) = rest.split_at_checked(substream.header.length as usize).unwrap_or_default();
            rest = after;
            own
        })
    }

    /// Reference bytes of the parts of a kind, converted, contiguous.
    fn gather<'r>(&self, kind: u8, reference: &[&'r [u8]]) -> Result<Cow<'r, [u8]>> {
        let mut result = Cow::Borrowed(&[][..]);
        let mut single = true;
        let mut ranges = self.ranges.iter().zip(reference);
        let mut range = None;
        let mut end = 0;
        for part in self.parts.iter().filter(|p| self.uses_reference(p.kind)) {
            let (start, length) = (part.reference_offset, part.reference_length());
            // As the ranges were made: a part goes on where the one before has ended, or begins a range.
            let goes_on = |((index, _), _): (&(u8, Range<u64>), _)| part.reference.is_some_and(|r| r.index == *index);
            if end != start || !range.is_some_and(goes_on) {
                range = ranges.next();
            }
            end = start + length as u64;
            let (true, Some(r)) = (part.kind == kind, part.reference) else { continue };
            let bytes = range.and_then(|((_, range), bytes)| {
                let from = usize::try_from(start.checked_sub(range.start)?).ok()?;
                bytes.get(from..from + length)
            });
            let converted = convert(bytes.ok_or(Error::Extent("reference"))?, r.element, part.element);
            if single {
                result = converted;
            } else {
                result.to_mut().extend_from_slice(&converted);
            }
            single = false;
        }
        Ok(result)
    }
}

/// A chunk to be decoded.
#[derive(Debug)]
pub struct Work<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// The bytes of each of the chunk's `ranges`.
    pub reference: &'a [&'a [u8]],
    /// What takes the content, as many bytes as the chunk's header says.
    pub out: &'a mut [u8],
}

/// Decodes the contents of chunks, two substreams at a time where they are alike. Where the result is good the content's CRC has matched.
///
/// # Errors
/// For each chunk: ULP-CHK-06, 07 and the rules of substreams.
pub fn decode(kernel: Kernel, work: &mut [Work<'_>]) -> Vec<Result<()>> {
    let mut results = contents(kernel, work);
    for (work, result) in work.iter().zip(&mut results) {
        let header = &work.chunk.header;
        if result.is_ok() {
            let (expected, actual) = (header.content_crc, crc32fast::hash(work.out));
            if expected == actual {
                continue;
            }
            *result = Err(Error::ContentCrc { expected, actual });
        }
        let mut crc = crc32fast::Hasher::new();
        work.reference.iter().for_each(|bytes| crc.update(bytes));
        let (expected, actual) = (header.reference_crc, crc.finalize());
        if expected != actual {
            let mut indices: Vec<usize> = work.chunk.ranges.iter().map(|r| r.0.into()).collect();
            indices.dedup();
            let index = if let [index] = indices[..] { Some(index) } else { None };
            *result = Err(Error::ReferenceMismatch { index, expected, actual });
        }
    }
    results
}

/// The content of one chunk, from the bytes of each of its `ranges`.
///
/// # Errors
/// As of [`decode`].
pub fn decode_one(kernel: Kernel, chunk: &Chunk, reference: &[&[u8]]) -> Result<Vec<u8>> {
    // The header's length is within the stream's max_chunk_length.
    let mut out = vec![0; chunk.header.output_length as usize];
    let mut work = [Work { chunk, reference, out: &mut out }];
    decode(kernel, &mut work).pop().unwrap_or(Err(Error::Extent("Chunk")))?;
    Ok(out)
}

/// A substream to be decoded.
struct Task<'a> {
    /// Index of its chunk.
    chunk: usize,
    prepared: &'a Prepared,
    data: &'a [u8],
    reference: Cow<'a, [u8]>,
    profiles: Vec<i8>,
    /// Its parts of the output.
    places: Vec<&'a mut [u8]>,
    /// All its elements, where they have several places.
    side: Vec<u8>,
    result: Result<()>,
}

fn contents(kernel: Kernel, work: &mut [Work<'_>]) -> Vec<Result<()>> {
    let mut results = Vec::with_capacity(work.len());
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (index, work) in work.iter_mut().enumerate() {
        results.push(prepare(index, work, &mut tasks));
    }
    // Tasks that are alike come together.
    tasks.sort_by_key(|t| t.prepared.alike());
    let mut jobs: Vec<(&mut Result<()>, Job<'_>)> = Vec::new();
    for task in &mut tasks {
        let Task { prepared, data, reference, profiles, places, side, result, .. } = task;
        let out = if let [place] = &mut places[..] { &mut **place } else { side.as_mut_slice() };
        match prepared.job(data, reference, profiles, out) {
            Ok(None) => {}
            Ok(Some(job)) => jobs.push((result, job)),
            Err(error) => *result = Err(error),
        }
    }
    let mut jobs = jobs.into_iter();
    while let Some((result, job)) = jobs.next() {
        match jobs.next() {
            None => *result = job.decode(kernel),
            Some((other, second)) => [*result, *other] = Job::decode_two(job, second, kernel),
        }
    }
    // The order of substreams tells which error is a chunk's.
    tasks.sort_by_key(|t| (t.chunk, t.prepared.kind));
    for task in tasks {
        let Task { chunk, places, side, result, .. } = task;
        if places.len() > 1 {
            let mut rest = side.as_slice();
            for place in places {
                let (bytes, after) = rest.split_at_checked(place.len()).unwrap_or_default();
                if bytes.len() == place.len() {
                    place.copy_from_slice(bytes);
                }
                rest = after;
            }
        }
        if let Some(of_chunk) = results.get_mut(chunk).filter(|r| r.is_ok()) {
            *of_chunk = result;
        }
    }
    results
}

/// Makes tasks of a chunk's substreams.
fn prepare<'a>(index: usize, work: &'a mut Work<'_>, tasks: &mut Vec<Task<'a>>) -> Result<()> {
    let chunk = work.chunk;
    let mut own: Vec<Task<'a>> = Vec::with_capacity(chunk.substreams.len());
    for (prepared, data) in chunk.substreams.iter().zip(chunk.data()) {
        let reference = if prepared.header.method.uses_reference() {
            chunk.gather(prepared.kind, work.reference)?
        } else {
            Cow::Borrowed(&[][..])
        };
        let profiles = prepared.profile_values(chunk);
        let (places, side) = (Vec::new(), Vec::new());
        own.push(Task { chunk: index, prepared, data, reference, profiles, places, side, result: Ok(()) });
    }
    // Parts cover the output without gaps, in order.
    let mut rest = &mut *work.out;
    for part in &chunk.parts {
        let (place, after) = rest.split_at_mut_checked(part.output.len()).ok_or(Error::Extent("Chunk"))?;
        rest = after;
        if let Some(task) = own.iter_mut().find(|t| t.prepared.kind == part.kind) {
            task.places.push(place);
        }
    }
    for task in &mut own {
        if task.places.len() > 1 {
            task.side = vec![0; task.places.iter().map(|p| p.len()).sum()];
        }
    }
    tasks.append(&mut own);
    Ok(())
}

/// Checks a header's fields against its kind (ULP-SUB-01, 05, and the fixed lengths).
fn check(header: &SubstreamHeader, element: ElementType, reference: bool, elements: usize) -> Result<()> {
    let width = element.width();
    let exact = |length: usize| {
        if header.length as usize == length {
            Ok(())
        } else {
            Err(Error::Contradiction { field: "length", expected: header.length.into(), actual: length as u64 })
        }
    };
    if header.method.uses_reference() && !reference {
        return Err(Error::Field { field: "method of a kind without reference", value: header.method as u64 });
    }
    match header.method {
        Method::Raw => exact(elements * width)?,
        Method::Constant => exact(width)?,
        Method::Same => exact(0)?,
        _ => {
            if (header.length as usize) < 4 << header.lanes {
                return Err(Error::Field { field: "length", value: header.length.into() });
            }
        }
    }
    #[allow(clippy::cast_possible_truncation)]
    let most = match element.class() {
        _ if width == 1 => 0,
        Class::Float { mantissa, .. } => mantissa as u8,
        _ => 8 * width as u8 - 1,
    };
    if header.shift > most {
        return Err(Error::Field { field: "shift", value: header.shift.into() });
    }
    Ok(())
}

/// Checks that a bank fits (ULP-SUB-04 … 06).
fn check_bank(header: &SubstreamHeader, element: ElementType, bank: &LazyBank) -> Result<()> {
    let bank = bank.bank();
    let plain_float = header.method == Method::Plain && element.is_float() && element.width() > 1;
    let fits = match bank.class {
        TokenClass::Plain(form) => {
            let Class::Float { mantissa, .. } = element.class() else {
                return Err(Error::Order("the bank's class does not fit the element type"));
            };
            plain_float && (!form.top || u32::from(header.shift) < mantissa)
        }
        TokenClass::Pairs(_) => {
            if (1..MIN_PAIR_BLOCK).contains(&header.block) {
                return Err(Error::Field { field: "block of pairs", value: header.block.into() });
            }
            if header.profiles {
                return Err(Error::Order("pairs with profiles"));
            }
            plain_float && element.width() < 8
        }
        class => !plain_float && class == TokenClass::of_lengths(element),
    };
    if !fits {
        return Err(Error::Order("the bank's class does not fit the element type"));
    }
    let missing = (header.block != 0 && bank.scale.is_none())
        || (header.method == Method::Mask && bank.masks.is_empty())
        || bank.elements.is_empty();
    if missing {
        return Err(Error::Order("the bank lacks a table"));
    }
    Ok(())
}

impl Prepared {
    /// Equal for substreams that can be decoded side by side.
    fn alike(&self) -> (u8, u8) {
        (self.header.method as u8, self.element.id())
    }

    /// Decodes the elements, or makes a job of it where they are entropy coded.
    fn job<'a>(
        &'a self,
        data: &'a [u8],
        reference: &'a [u8],
        profiles: &'a [i8],
        out: &'a mut [u8],
    ) -> Result<Option<Job<'a>>> {
        let model = match self.header.method {
            Method::Raw => {
                out.copy_from_slice(data.get(..out.len()).ok_or(Error::Extent("raw elements"))?);
                return Ok(None);
            }
            Method::Constant => {
                for element in out.chunks_exact_mut(self.element.width()) {
                    element.copy_from_slice(data);
                }
                return Ok(None);
            }
            Method::Same => {
                out.copy_from_slice(reference.get(..out.len()).ok_or(Error::Extent("reference"))?);
                return Ok(None);
            }
            Method::Residual => Model::Residual,
            Method::Mask => Model::Mask,
            Method::Plain => Model::Plain,
        };
        let bank = self.bank.as_ref().ok_or(Error::Order("no bank"))?;
        let substream = Substream {
            model,
            element: self.element,
            shift: self.header.shift,
            block: self.header.block,
            lanes: self.header.lanes,
            scale_base: self.header.scale_base,
            bank: bank.decoders(),
            profiles,
        };
        Ok(Some(Job { substream, data, reference, out }))
    }

    /// Profile value of each element; empty where profiles are not used.
    #[allow(clippy::cast_possible_truncation)]
    fn profile_values(&self, chunk: &Chunk) -> Vec<i8> {
        let mut values = Vec::new();
        if self.header.profiles {
            for part in chunk.parts.iter().filter(|p| p.kind == self.kind) {
                let profile = part.profile.and_then(|slot| self.profiles.get(&slot)).filter(|p| !p.is_empty());
                match profile {
                    Some(profile) => {
                        let first = (part.first % profile.len() as u64) as usize;
                        values.extend(profile.iter().copied().cycle().skip(first).take(part.elements()));
                    }
                    None => values.resize(values.len() + part.elements(), 0),
                }
            }
        }
        values
    }
}
