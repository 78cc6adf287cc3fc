//! The references of a stream among those given: which is which, and their bytes (spec §5).

use std::ops::Range;

use crate::error::{Error, Result};
use crate::stream::reference::{RandomAccess, Reference, Source};
use crate::stream::state::Identities;
use crate::wire::records::ReferenceIdentity;

/// The references given, and the order in which the stream numbers them.
#[derive(Default)]
pub(crate) struct References {
    sources: Vec<Source>,
    /// Which of `sources` is the stream's reference 0, 1, …
    order: Vec<usize>,
}

impl References {
    /// Opens what is given.
    pub(crate) fn open(given: Vec<Reference>) -> Result<Self> {
        let sources = given.into_iter().map(Source::open).collect::<Result<_>>()?;
        Ok(Self { sources, order: Vec::new() })
    }

    /// How many have been given.
    pub(crate) fn given(&self) -> usize {
        self.sources.len()
    }

    /// Whether any can only be read forward.
    pub(crate) fn piped(&self) -> bool {
        self.sources.iter().any(|s| s.random().is_none())
    }

    /// Whether a reference of which this is known is among those with random access; `None` where there are none or too little is known.
    pub(crate) fn has(&mut self, known: &Identities) -> Result<Option<bool>> {
        let mut found = None;
        for source in &mut self.sources {
            let Some(random) = source.random() else { continue };
            let equal = match (known.sampled, known.whole) {
                (Some(told), _) => random.len() == told.length && random.sampled()? == told,
                (None, Some(told)) => random.len() == told.length && source.whole()? == told,
                (None, None) => return Ok(None),
            };
            found = Some(found.unwrap_or(false) || equal);
        }
        Ok(found)
    }

    /// Begins a stream that needs so many. References are found by their identities; until one is known, the order given is the order meant.
    pub(crate) fn begin(&mut self, needed: u8, first_stream: bool) -> Result<()> {
        let (needed, given) = (usize::from(needed), self.sources.len());
        self.order = (0..needed).collect();
        if needed > 0 && given == 0 {
            return Err(Error::ReferenceMissing { needed, given });
        }
        let piped = self.sources.iter().take(needed).any(|r| r.random().is_none());
        if !first_stream && piped {
            return Err(Error::Usage(String::from(
                "a piped reference serves one stream, and this input holds several; give it as a file",
            )));
        }
        Ok(())
    }

    /// The reference that the stream calls `index`, if it has been given.
    pub(crate) fn get(&self, index: usize) -> Option<&Source> {
        self.sources.get(*self.order.get(index)?)
    }

    /// The same, to read on.
    pub(crate) fn get_mut(&mut self, index: usize) -> Result<&mut Source> {
        let (needed, given) = (self.order.len(), self.sources.len());
        let place = self.order.get(index).copied().unwrap_or(usize::MAX);
        self.sources.get_mut(place).ok_or(Error::ReferenceMissing { needed, given })
    }

    /// Those with random access, by the stream's numbers.
    pub(crate) fn randoms(&self) -> Vec<Option<RandomAccess>> {
        (0..self.order.len()).map(|index| self.get(index).and_then(Source::random).cloned()).collect()
    }

    /// Finds the reference of which the stream has told the sampled form (ULP-REF-01).
    pub(crate) fn check_sampled(&mut self, index: usize, told: ReferenceIdentity) -> Result<()> {
        let Some(&place) = self.order.get(index) else {
            return Ok(());
        };
        let own = self.sources.get(place);
        if own.is_some_and(|r| r.random().is_none()) {
            return Ok(());
        }
        let mut found = own.and_then(Source::random).map(RandomAccess::sampled).transpose()?;
        if found == Some(told) {
            return Ok(());
        }
        for (other, source) in self.sources.iter().enumerate() {
            let Some(random) = source.random().filter(|r| r.len() == told.length) else { continue };
            if random.sampled()? == told {
                // The two change places: what was given here may be meant there.
                let swapped = self.order.iter().position(|&p| p == other);
                if let Some(swapped) = swapped.and_then(|s| self.order.get_mut(s)) {
                    *swapped = place;
                }
                if let Some(own) = self.order.get_mut(index) {
                    *own = other;
                }
                return Ok(());
            }
        }
        match found.take() {
            None => Err(Error::ReferenceAbsent { index, length: told.length, crc: told.crc }),
            Some(found) if told.length != found.length => {
                Err(Error::ReferenceLength { index, expected: told.length, actual: found.length })
            }
            Some(found) => Err(Error::ReferenceMismatch { index: Some(index), expected: told.crc, actual: found.crc }),
        }
    }
}

/// The bytes of reference ranges: those in memory as they are, others read into `buffer`.
pub(crate) fn reference_bytes<'a>(
    ranges: &[(u8, Range<u64>)],
    randoms: &'a [Option<RandomAccess>],
    buffer: &'a mut Vec<u8>,
) -> Result<Vec<&'a [u8]>> {
    let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut slices = Vec::with_capacity(ranges.len());
    let mut found = Vec::with_capacity(ranges.len());
    let mut total = 0;
    for (index, range) in ranges {
        let index = usize::from(*index);
        let random = randoms.get(index).and_then(Option::as_ref);
        let random = random.ok_or(Error::ReferenceMissing { needed: index + 1, given: randoms.len() })?;
        if range.end > random.len() {
            return Err(Error::ReferenceShort { index, needed: range.end, actual: random.len() });
        }
        if random.in_memory(range).is_none() {
            total += length(range);
        }
        found.push((index, random, range));
    }
    if buffer.len() < total {
        // Not resized: memory that is zero from the start need not be cleared.
        *buffer = vec![0; total];
    }
    let mut rest = buffer.as_mut_slice();
    for (index, random, range) in found {
        if let Some(bytes) = random.in_memory(range) {
            slices.push(bytes);
            continue;
        }
        let (own, after) = rest.split_at_mut_checked(length(range)).ok_or(Error::Extent("reference"))?;
        rest = after;
        let got = random.read_at(own, range.start)?;
        if got < own.len() {
            return Err(Error::ReferenceShort { index, needed: range.end, actual: range.start + got as u64 });
        }
        slices.push(own);
    }
    Ok(slices)
}
