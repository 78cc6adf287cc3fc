//! The banks of a window's kinds: made or found, put into slots; the records before its chunks.

use crate::core::bank::Bank;
use crate::encode::bank::{Cover, Statistics, build, covers};
use crate::encode::coding::Coding;
use crate::encode::encode_bank::EncodeBank;
use crate::encode::frozen::{Choice, Origin};
use crate::encode::plan::{Plan, SAMPLED_STEP};
use crate::encode::slots::Slots;
use crate::limits::{BUILT_IN_BANKS, MAX_TABLES};
use crate::wire::layout::{Layout, Span};
use crate::wire::profile::Profile;
use crate::wire::record_header::{RecordType, write_record};

/// A bank ready to code elements of a kind.
#[derive(Debug)]
pub(crate) struct Coder {
    /// The coding.
    pub(crate) coding: Coding,
    /// The bank.
    pub(crate) bank: EncodeBank,
    /// Its number in Substream_Headers.
    pub(crate) id: u8,
}

impl Plan<'_> {
    /// Chooses the banks and appends the Layout and Bind records.
    pub fn bind(
        &mut self,
        statistics: &mut [Option<Statistics>],
        slots: &mut Slots,
        references: u8,
        out: &mut Vec<u8>,
    ) {
        let mut binds = Vec::new();
        let mut used = Vec::new();
        let mut coders = Vec::with_capacity(self.kinds.len());
        for number in 0..self.kinds.len() {
            coders.push(self.bind_frozen(number, slots, &mut used, &mut binds));
        }
        for ((kind, coders), statistics) in self.kinds.iter_mut().zip(&mut coders).zip(statistics) {
            let sampled = kind.sampling;
            if !kind.frozen.is_empty() {
                continue;
            }
            let coding = kind.coding.take();
            let (Some(coding), Some(statistics)) = (coding, statistics) else { continue };
            if statistics.is_empty() && sampled.is_none() {
                // Every chunk of the kind is SAME or CONSTANT.
                continue;
            }
            statistics.settle();
            // What a sample lacks must be codable too, by this bank and by all that may take its place.
            let cover = if sampled.is_some() { Cover::All } else { Cover::Counted };
            if let Some(length) = sampled {
                // Tables cost what they cost, however few of the elements have been counted.
                statistics.multiply((SAMPLED_STEP / length) as u32);
            }
            let statistics = &*statistics;
            let (bank, cost) = build(statistics, &coding, MAX_TABLES, cover);
            let like = |b: &Bank| {
                let has = |b: &Bank| (b.class, b.scale.is_some(), b.masks.is_empty());
                has(b) == has(&bank) && (cover == Cover::Counted || covers(b, &coding))
            };
            let fits = |b: &Bank| like(b) && statistics.cost(b, &coding).is_some_and(|c| c <= cost);
            let slot = slots.banks.iter().position(fits).or_else(|| slots.bind(&bank, None, &used, &mut binds));
            if let Some((slot, bank)) = slot.and_then(|slot| Some((slot, slots.banks.get(slot)?))) {
                used.push(slot);
                kind.coding = Some(coding);
                #[allow(clippy::cast_possible_truncation)]
                coders.push(Some(Coder { coding, bank: EncodeBank::new(bank, &coding), id: slot as u8 }));
            }
        }
        self.coders = coders;
        self.write_layout(references, out);
        for member in self.kinds.iter().flat_map(|k| &k.members) {
            if let Some(slot) = member.slot {
                let mut body = Vec::new();
                Profile { values: member.profile.to_vec() }.write(&mut body);
                write_record(out, RecordType::Profile, 0, slot, &body);
            }
        }
        out.extend_from_slice(&binds);
    }

    /// Whether any of its banks is one of pairs.
    #[must_use]
    pub fn has_pairs(&self) -> bool {
        self.coders.iter().flatten().flatten().any(|coder| coder.coding.class.elements() > 1)
    }

    /// Finds a place for the frozen banks that the chunks of a kind have chosen, the most wanted first.
    #[allow(clippy::cast_possible_truncation)]
    fn bind_frozen(
        &self,
        number: usize,
        slots: &mut Slots,
        used: &mut Vec<usize>,
        binds: &mut Vec<u8>,
    ) -> Vec<Option<Coder>> {
        let Some(kind) = self.kinds.get(number).filter(|k| !k.frozen.is_empty()) else {
            return Vec::new();
        };
        let mut wanted = vec![0usize; kind.frozen.len()];
        for chunk in 0..self.chunks() {
            if let Some(count) = wanted.get_mut(self.pick(chunk, number)) {
                *count += 1;
            }
        }
        let mut order: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i] > 0).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(wanted[i]), i));
        let mut coders: Vec<Option<Coder>> = wanted.iter().map(|_| None).collect();
        for i in order {
            let Choice { origin, coding } = kind.frozen[i];
            let frozen = slots.frozen.clone();
            let Some(bank) = frozen.bank(origin) else { continue };
            let id = match origin {
                Origin::BuiltIn(number) => BUILT_IN_BANKS + number,
                Origin::File(number) => {
                    let known = slots.banks.iter().position(|b| b == bank);
                    let external = frozen.file.as_ref().filter(|_| frozen.external).map(|f| (*f.sha256(), number));
                    let Some(slot) = known.or_else(|| slots.bind(bank, external, used, binds)) else { continue };
                    used.push(slot);
                    slot as u8
                }
            };
            coders[i] = Some(Coder { coding, bank: EncodeBank::new(bank, &coding), id });
        }
        coders
    }

    fn write_layout(&self, references: u8, out: &mut Vec<u8>) {
        let mut layout = Layout { kinds: self.kinds.iter().map(|k| k.kind).collect(), spans: Vec::new() };
        let mut offset = self.start;
        for &o in &self.order {
            let span = self.span(o);
            let profile = self.kinds[usize::from(o.0)].members[o.1 as usize].slot;
            layout.spans.push(Span {
                kind: o.0,
                offset,
                elements: span.elements() as u64,
                profile,
                reference_offset: span.reference.map_or(0, |r| r.offset),
            });
            offset += span.next.len() as u64;
        }
        let mut body = Vec::new();
        layout.write(&mut body, self.start, references);
        #[allow(clippy::cast_possible_truncation)]
        write_record(out, RecordType::Layout, 0, layout.kinds.len() as u16, &body);
    }
}
