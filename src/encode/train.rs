//! Banks from sample contents (coding-model §5): symbols are counted by chunk or tensor, what is alike is put together, each group becomes a bank.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::core::bank::{Bank, TokenClass};
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::encode::bank::{Cover, Statistics, build_with};
use crate::encode::cluster::{cluster, cluster_alike};
use crate::encode::coding::Coding;
use crate::encode::histogram::{BINS, Histogram};
use crate::encode::log2::{divergence, entropy};
use crate::encode::narrow::narrow;
use crate::error::{Error, Result};
use crate::limits::{MAX_FILE_BANKS, MAX_TABLES};
use crate::wire::bank_file::{BankFile, FileBank};

/// What shares a bank, of the statistics of one element type, method and block length. Decoders see only tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Everything.
    #[default]
    Global,
    /// Each tensor has its own; those at the same place of several files share one.
    Tensor,
    /// Each chunk has its own.
    Chunk,
    /// A chunk joins the first group that is alike by Jensen–Shannon distance; so do neighbouring λ.
    Distance,
    /// A chunk joins the group where it costs least, unless tables of its own cost less.
    Cost,
}

/// How banks are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// What shares a bank.
    pub grouping: Grouping,
    /// Largest Jensen–Shannon distance of what is alike, 0…1: the square root of the divergence in bits.
    pub tau: f64,
    /// Most mask and element tables of a bank, 2…32.
    pub tables: usize,
    /// log2 of the block length, 0 for whole substreams, 5…20 else; what suits the samples best where none is given.
    pub block: Option<u8>,
}

impl Default for Training {
    fn default() -> Self {
        Self { grouping: Grouping::Global, tau: 0.05, tables: MAX_TABLES, block: None }
    }
}

impl Training {
    /// The largest divergence of what is alike, in units of 2^−20 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn divergence(&self) -> u64 {
        (self.tau * self.tau * 1_048_576.0) as u64
    }
}

/// What statistics must have in common to share a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    element: ElementType,
    model: Model,
    block: u8,
    class: TokenClass,
}

/// Counts of 256 symbols by λ.
type Bins = BTreeMap<i16, Box<[u32; 256]>>;

/// Counts of a chunk, a tensor, or a group of them.
#[derive(Clone, Debug)]
struct Counts {
    scales: [u32; 256],
    masks: Bins,
    elements: Bins,
}

fn bins(histogram: &Histogram) -> Bins {
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    let lambda = |bin: usize| histogram.base().saturating_add(bin as i16);
    histogram.bins().map(|(bin, counts)| (lambda(bin), Box::new(*counts))).collect()
}

fn sum(a: &[u32; 256], b: &[u32; 256]) -> [u32; 256] {
    std::array::from_fn(|i| a[i].saturating_add(b[i]))
}

fn add_bins(to: &mut Bins, from: &Bins) {
    for (lambda, counts) in from {
        match to.get_mut(lambda) {
            Some(known) => **known = sum(known, counts),
            None => drop(to.insert(*lambda, counts.clone())),
        }
    }
}

fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|&c| u64::from(c)).sum()
}

impl Counts {
    fn new(statistics: &Statistics) -> Self {
        Self {
            scales: statistics.scales,
            masks: statistics.masks.as_ref().map(bins).unwrap_or_default(),
            elements: bins(&statistics.elements),
        }
    }

    fn add(&mut self, other: &Self) {
        self.scales = sum(&self.scales, &other.scales);
        add_bins(&mut self.masks, &other.masks);
        add_bins(&mut self.elements, &other.elements);
    }

    /// Mean divergence from `other` under the same λ, by this one's counts, in units of 2^−20 bits.
    fn divergence(&self, other: &Self) -> u64 {
        let (mut weight, mut divergences) = (0u128, 0u128);
        for (own, others) in [(&self.masks, &other.masks), (&self.elements, &other.elements)] {
            for (lambda, counts) in own {
                let apart = others.get(lambda).map_or(1 << 20, |other| divergence(&counts[..], &other[..]));
                let count = u128::from(total(&counts[..]));
                weight += count;
                divergences += count * u128::from(apart);
            }
        }
        u64::try_from(divergences / weight.max(1)).unwrap_or(u64::MAX)
    }

    /// Bits more that the two take with the same tables than each with its own, in units of 2^−16 bits.
    fn cost_together(&self, other: &Self) -> u64 {
        let more = |a: &[u32; 256], b: &[u32; 256]| entropy(&sum(a, b)).saturating_sub(entropy(a) + entropy(b));
        let mut bits = more(&self.scales, &other.scales);
        for (own, others) in [(&self.masks, &other.masks), (&self.elements, &other.elements)] {
            bits += own.iter().filter_map(|(l, counts)| Some(more(counts, others.get(l)?))).sum::<u64>();
        }
        bits
    }

    /// As statistics with one λ base: the one that gives most counts a bin of their own; the rest falls into the bins at the ends.
    fn statistics(&self) -> Statistics {
        let base = base(&self.masks, &self.elements);
        let mut statistics = Statistics::new(base, !self.masks.is_empty());
        statistics.scales = self.scales;
        statistics.elements = histogram(base, &self.elements);
        if let Some(masks) = &mut statistics.masks {
            *masks = histogram(base, &self.masks);
        }
        statistics
    }
}

fn histogram(base: i16, bins: &Bins) -> Histogram {
    Histogram::of(base, bins.iter().map(|(lambda, counts)| (*lambda, &**counts)))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
fn base(masks: &Bins, elements: &Bins) -> i16 {
    let mut weights: BTreeMap<i16, u64> = BTreeMap::new();
    for (lambda, counts) in masks.iter().chain(elements) {
        *weights.entry(*lambda).or_default() += total(&counts[..]);
    }
    let within = |low: i16| weights.range(low..low.saturating_add(BINS as i16)).map(|(_, w)| w).sum::<u64>();
    let best = weights.keys().copied().max_by_key(|&low| (within(low), std::cmp::Reverse(low)));
    best.unwrap_or(0)
}

/// Statistics learned so far, in groups, and the time that it took.
#[derive(Clone, Debug)]
pub struct Learned {
    training: Training,
    groups: Vec<(Key, Option<usize>, Counts)>,
    setup: Setup,
}

/// Time that a bank took to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Counting symbols, typing and all that comes before it.
    pub histograms: Duration,
    /// Finding out what shares tables.
    pub search: Duration,
    /// Making tables.
    pub tables: Duration,
}

impl Learned {
    /// Nothing learned yet.
    #[must_use]
    pub fn new(training: Training) -> Self {
        Self { training, groups: Vec::new(), setup: Setup::default() }
    }

    /// Nothing learned, in the same way.
    #[must_use]
    pub fn empty(&self) -> Self {
        Self::new(self.training)
    }

    /// How banks are made.
    #[must_use]
    pub fn training(&self) -> Training {
        self.training
    }

    /// Adds time spent on counting.
    pub fn spent_counting(&mut self, time: Duration) {
        self.setup.histograms += time;
    }

    /// Learns the statistics, settled, of a chunk or of tensor number `tensor` of a file.
    pub fn add(&mut self, coding: &Coding, statistics: &Statistics, tensor: usize) {
        let clock = Instant::now();
        let Coding { element, model, block, class, .. } = *coding;
        let key = Key { element, model, block, class };
        let counts = Counts::new(statistics);
        let grouping = self.training.grouping;
        let own = (grouping == Grouping::Tensor).then_some(tensor);
        let most = self.training.divergence();
        let alike = || self.groups.iter().enumerate().filter(|(_, g)| g.0 == key);
        let mut found = match grouping {
            Grouping::Global => alike().next().map(|(i, _)| i),
            Grouping::Tensor => alike().find(|(_, g)| g.1 == own).map(|(i, _)| i),
            Grouping::Chunk => None,
            Grouping::Distance => alike().find(|(_, g)| counts.divergence(&g.2) <= most).map(|(i, _)| i),
            Grouping::Cost => {
                let cheapest = alike().map(|(i, g)| (g.2.cost_together(&counts), i)).min();
                cheapest.filter(|(cost, _)| *cost <= OWN_TABLES).map(|(_, i)| i)
            }
        };
        if found.is_none() && self.groups.len() >= MAX_FILE_BANKS {
            // No room for more: to the nearest.
            found = alike().min_by_key(|(i, g)| (counts.divergence(&g.2), *i)).map(|(i, _)| i);
        }
        let room = self.groups.len() < MAX_FILE_BANKS;
        match found {
            Some(i) => self.groups.iter_mut().skip(i).take(1).for_each(|group| group.2.add(&counts)),
            None if room => self.groups.push((key, own, counts)),
            None => {}
        }
        self.setup.search += clock.elapsed();
    }

    /// Makes the banks.
    ///
    /// # Errors
    /// Nothing has been learned.
    pub fn finish(mut self) -> Result<(BankFile, Setup)> {
        if self.groups.is_empty() {
            return Err(Error::Usage(String::from("nothing to learn from: no numbers that coding makes smaller")));
        }
        let banks = self.groups.iter().map(|(key, _, counts)| self.training.bank(*key, counts, &mut self.setup));
        let file = BankFile::new(banks.collect())?;
        Ok((file, self.setup))
    }
}

/// What a bank of its own takes, about, in units of 2^−16 bits.
const OWN_TABLES: u64 = (12 << 10) << 16;

impl Training {
    fn bank(&self, key: Key, counts: &Counts, setup: &mut Setup) -> FileBank {
        let Key { element, model, block, class } = key;
        let mut counts = counts.clone();
        let mut coding = Coding { model, element, shift: 0, block, class, hold: 0, clip: None };
        let mut clock = Instant::now();
        coding.class = narrow_bins(class, &mut counts.elements);
        let statistics = counts.statistics();
        let limit = self.tables.clamp(2, MAX_TABLES);
        let most = self.divergence();
        let masks = statistics.masks.as_ref().map(|masks| match self.grouping {
            Grouping::Distance => cluster_alike(masks, limit / 2, most),
            _ => cluster(masks, limit / 2),
        });
        let left = limit - masks.as_ref().map_or(0, |m| m.1.len());
        let elements = match self.grouping {
            Grouping::Distance => cluster_alike(&statistics.elements, left, most),
            _ => cluster(&statistics.elements, left),
        };
        setup.search += clock.elapsed();
        clock = Instant::now();
        let (bank, _): (Bank, u64) = build_with(&statistics.scales, block != 0, masks, elements, &coding, Cover::All);
        setup.tables += clock.elapsed();
        FileBank { element, model, block, bank }
    }
}

/// Narrows the window of relative exponents to those that are worth a token.
fn narrow_bins(class: TokenClass, bins: &mut Bins) -> TokenClass {
    let totals = std::array::from_fn(|token| bins.values().map(|bin| u64::from(bin[token])).sum());
    let (class, map) = narrow(class, &totals);
    for bin in bins.values_mut() {
        let mut narrowed = [0u32; 256];
        for (&to, &count) in map.iter().zip(bin.iter()) {
            let place = &mut narrowed[usize::from(to)];
            *place = place.saturating_add(count);
        }
        **bin = narrowed;
    }
    class
}
