//! Decoding of one chunk (spec §7, §8).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::core::bank::TokenClass;
use crate::core::convert::convert;
use crate::core::element::{Class, ElementType};
use crate::core::model::Model;
use crate::decode::parts::{Part, parts};
use crate::decode::slots::{LazyBank, Slots};
use crate::decode::substream::{Job, Substream};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
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
    data: Vec<u8>,
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
    /// ULP-CHK-01 … 05, ULP-SUB.
    pub fn parse(
        body: &[u8],
        count: u16,
        offset: u64,
        max_length: u32,
        layout: &Layout,
        slots: &Slots,
    ) -> Result<Self> {
        let (header, data) = ChunkHeader::parse(body, count)?;
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
        let mut chunk = Self { header, parts, ranges: Vec::new(), data: data.to_vec(), substreams };
        for part in &chunk.parts {
            let (true, Some(reference)) = (chunk.uses_reference(part.kind), part.reference) else {
                continue;
            };
            let range = part.reference_offset..part.reference_offset + part.reference_length() as u64;
            match chunk.ranges.last_mut() {
                Some((index, last)) if *index == reference.index && last.end == range.start => last.end = range.end,
                _ => chunk.ranges.push((reference.index, range)),
            }
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

    /// Decodes the chunk's content; `reference` holds the bytes of `ranges`, one after the other. The content's CRC has matched.
    ///
    /// # Errors
    /// ULP-CHK-06, 07 and the rules of substreams.
    pub fn decode(&self, reference: &[u8]) -> Result<Vec<u8>> {
        let result = self.content(reference).and_then(|content| {
            let actual = crc32fast::hash(&content);
            let expected = self.header.content_crc;
            if actual == expected { Ok(content) } else { Err(Error::ContentCrc { expected, actual }) }
        });
        if result.is_err() {
            let (expected, actual) = (self.header.reference_crc, crc32fast::hash(reference));
            if expected != actual {
                let mut indices: Vec<usize> = self.ranges.iter().map(|r| r.0.into()).collect();
                indices.dedup();
                let index = if let [index] = indices[..] { Some(index) } else { None };
                return Err(Error::ReferenceMismatch { index, expected, actual });
            }
        }
        result
    }

    fn content(&self, reference: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; self.header.output_length as usize];
        let mut data = self.data.as_slice();
        for substream in &self.substreams {
            let (own, rest) = data.split_at_checked(substream.header.length as usize).ok_or(Error::Extent("Chunk"))?;
            data = rest;
            substream.decode(own, self, reference, &mut out)?;
        }
        Ok(out)
    }

    /// Reference bytes of the parts of a kind, converted, contiguous.
    fn gather<'r>(&self, kind: u8, reference: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        let mut result = Cow::Borrowed(&[][..]);
        let mut at = 0;
        let mut single = true;
        for part in self.parts.iter().filter(|p| self.uses_reference(p.kind)) {
            let end = at + part.reference_length();
            if let (true, Some(r)) = (part.kind == kind, part.reference) {
                let bytes = reference.get(at..end).ok_or(Error::Extent("reference"))?;
                let converted = convert(bytes, r.element, part.element);
                if single {
                    result = converted;
                } else {
                    result.to_mut().extend_from_slice(&converted);
                }
                single = false;
            }
            at = end;
        }
        Ok(result)
    }
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
    fn decode(&self, data: &[u8], chunk: &Chunk, reference: &[u8], out: &mut [u8]) -> Result<()> {
        let mut own = chunk.parts.iter().filter(|p| p.kind == self.kind);
        let reference = if self.header.method.uses_reference() {
            chunk.gather(self.kind, reference)?
        } else {
            Cow::Borrowed(&[][..])
        };
        // One part decodes into its place; several are decoded side by side and spread.
        if let (Some(part), None) = (own.next(), own.next()) {
            let place = out.get_mut(part.output.clone()).ok_or(Error::Extent("Chunk"))?;
            return self.elements(data, chunk, &reference, place);
        }
        let own = || chunk.parts.iter().filter(|p| p.kind == self.kind);
        let mut elements = vec![0; own().map(|p| p.output.len()).sum()];
        self.elements(data, chunk, &reference, &mut elements)?;
        let mut rest = elements.as_slice();
        for part in own() {
            let (bytes, after) = rest.split_at(part.output.len());
            out.get_mut(part.output.clone()).ok_or(Error::Extent("Chunk"))?.copy_from_slice(bytes);
            rest = after;
        }
        Ok(())
    }

    fn elements(&self, data: &[u8], chunk: &Chunk, reference: &[u8], out: &mut [u8]) -> Result<()> {
        let model = match self.header.method {
            Method::Raw => {
                out.copy_from_slice(data.get(..out.len()).ok_or(Error::Extent("raw elements"))?);
                return Ok(());
            }
            Method::Constant => {
                for element in out.chunks_exact_mut(self.element.width()) {
                    element.copy_from_slice(data);
                }
                return Ok(());
            }
            Method::Same => {
                out.copy_from_slice(reference.get(..out.len()).ok_or(Error::Extent("reference"))?);
                return Ok(());
            }
            Method::Residual => Model::Residual,
            Method::Mask => Model::Mask,
            Method::Plain => Model::Plain,
        };
        let bank = self.bank.as_ref().ok_or(Error::Order("no bank"))?;
        let profiles = self.profile_values(chunk);
        let substream = Substream {
            model,
            element: self.element,
            shift: self.header.shift,
            block: self.header.block,
            lanes: self.header.lanes,
            scale_base: self.header.scale_base,
            bank: bank.decoders(),
            profiles: &profiles,
        };
        Job { substream, data, reference, out }.decode(Some(Kernel::active()))
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
