//! NeuralZip's packed exponents, measured: `packed_pairs TYPE FILE TRAINED`, files of raw elements, bf16 or f32. For `bench/banks.py`.
//!
//! Exponents are coded with tables made from TRAINED: recurring pairs of elements 2j, 2j + 1 as one symbol with their members as fallback, or every
//! element by itself; one table, or tables shared by chunks that are alike; absolute, or relative to the scale of their block as the format has them.
//! All use the same coder, eight interleaved rANS lanes of 12 bits without vectors, so that what differs is the symbols. Signs and mantissas are left out.
//!
//! Prints a line for each: name, tables, exponent bits per element, nanoseconds per element to encode and to decode.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::cast_possible_truncation)]

use std::hint::black_box;
use std::time::Instant;

const LANES: usize = 8;
const CHUNK: usize = 1 << 19;
const BLOCK: usize = 256;

/// Symbols of a table: single exponents first, then pairs.
struct Book {
    /// Pair of each symbol; the second is 256 for a single one.
    meaning: Vec<(u8, u16)>,
    single: [u16; 256],
    pair: Vec<u16>,
    frequency: Vec<u32>,
    cumulative: Vec<u32>,
    /// symbol << 24 | frequency - 1 << 12 | offset.
    slots: Vec<u64>,
}

impl Book {
    /// A book for these tokens, `pairs` of them at most as one symbol. Every single token has a code.
    fn new(tokens: &[u8], pairs: usize) -> Self {
        let mut counts = vec![1u64; 256];
        let mut joint = vec![0u64; 1 << 16];
        tokens.iter().for_each(|&t| counts[usize::from(t)] += 1);
        tokens.as_chunks::<2>().0.iter().for_each(|&[a, b]| joint[usize::from(a) << 8 | usize::from(b)] += 1);
        let mut best: Vec<usize> = (0..1 << 16).filter(|&p| joint[p] > 1).collect();
        best.sort_by_key(|&p| std::cmp::Reverse(joint[p]));
        best.truncate(pairs);
        let used: Vec<usize> = (0..256).filter(|&t| counts[t] > 1).collect();
        let mut meaning: Vec<(u8, u16)> = (0..256).map(|t| (t as u8, 256)).collect();
        let mut weights = counts.clone();
        let mut pair = vec![u16::MAX; 1 << 16];
        for &p in &best {
            pair[p] = meaning.len() as u16;
            meaning.push(((p >> 8) as u8, (p & 255) as u16));
            weights.push(joint[p]);
            // What goes by pairs does not go by itself.
            weights[p >> 8] -= joint[p].min(weights[p >> 8] - 1);
            weights[p & 255] -= joint[p].min(weights[p & 255] - 1);
        }
        // Exponents that the sample lacks share what is left: one slot each.
        let total: u64 = weights.iter().sum();
        let _ = used;
        let room = 4096 - weights.len() as u64;
        let mut frequency: Vec<u32> = weights.iter().map(|&w| 1 + (w * room / total) as u32).collect();
        let rest = 4096 - frequency.iter().sum::<u32>();
        let top = (0..frequency.len()).max_by_key(|&s| frequency[s]).unwrap();
        frequency[top] += rest;
        let (mut cumulative, mut slots) = (Vec::new(), Vec::with_capacity(4096));
        for (s, &f) in frequency.iter().enumerate() {
            cumulative.push(slots.len() as u32);
            slots.extend((0..f).map(|offset| (s as u64) << 24 | u64::from(f - 1) << 12 | u64::from(offset)));
        }
        let single = std::array::from_fn(|t| t as u16);
        Self { meaning, single, pair, frequency, cumulative, slots }
    }

    fn symbols(&self, tokens: &[u8], packed: bool, out: &mut Vec<u16>) {
        for &[a, b] in tokens.as_chunks::<2>().0 {
            let pair = self.pair[usize::from(a) << 8 | usize::from(b)];
            if packed && pair != u16::MAX {
                out.push(pair);
            } else {
                out.extend([self.single[usize::from(a)], self.single[usize::from(b)]]);
            }
        }
    }

    /// Words, in the order of the decoder.
    fn encode(&self, tokens: &[u8], packed: bool, symbols: &mut Vec<u16>) -> ([u32; LANES], Vec<u16>) {
        symbols.clear();
        self.symbols(tokens, packed, symbols);
        let mut states = [1u32 << 16; LANES];
        let mut words = Vec::with_capacity(symbols.len());
        for (i, &s) in symbols.iter().enumerate().rev() {
            let x = &mut states[i % LANES];
            let (f, c) = (self.frequency[usize::from(s)], self.cumulative[usize::from(s)]);
            if *x >> 20 >= f {
                words.push(*x as u16);
                *x >>= 16;
            }
            *x = ((*x / f) << 12) + *x % f + c;
        }
        words.reverse();
        (states, words)
    }

    fn decode(&self, mut states: [u32; LANES], words: &[u16], count: usize, out: &mut Vec<u8>) {
        let mut words = words.iter();
        let mut lane = 0;
        while out.len() < count {
            let x = &mut states[lane];
            let slot = self.slots[(*x & 4095) as usize];
            *x = ((slot >> 12 & 4095) as u32 + 1) * (*x >> 12) + (slot & 4095) as u32;
            if *x < 1 << 16 {
                *x = *x << 16 | u32::from(*words.next().unwrap());
            }
            lane = (lane + 1) % LANES;
            let (a, b) = self.meaning[(slot >> 24) as usize];
            out.push(a);
            if b < 256 {
                out.push(b as u8);
            }
        }
    }
}

/// Exponent fields; where `relative`, less the largest of the block of 256.
fn tokens(bytes: &[u8], width: usize, relative: bool) -> Vec<u8> {
    let high = |e: &[u8]| (u16::from_le_bytes([e[width - 2], e[width - 1]]) >> 7) as u8;
    let mut tokens: Vec<u8> = bytes.chunks_exact(width).map(high).collect();
    tokens.truncate(tokens.len() & !1);
    if relative {
        for block in tokens.chunks_mut(BLOCK) {
            let largest = block.iter().copied().max().unwrap();
            block.iter_mut().for_each(|t| *t = largest.wrapping_sub(*t));
        }
    }
    tokens
}

/// Jensen–Shannon distance.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let h = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    a.iter().zip(b).map(|(&a, &b)| h((a + b) / 2.0) - (h(a) + h(b)) / 2.0).sum::<f64>().max(0.0).sqrt()
}

fn shares(tokens: &[u8]) -> Vec<f64> {
    let mut counts = vec![0f64; 256];
    tokens.iter().for_each(|&t| counts[usize::from(t)] += 1.0 / tokens.len() as f64);
    counts
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let width = if args[0] == "bf16" { 2 } else { 4 };
    let (content, trained) = (std::fs::read(&args[1]).unwrap(), std::fs::read(&args[2]).unwrap());
    for (name, relative, shared, pairs) in [
        ("order-0", false, false, 0),
        ("sharing only", false, true, 0),
        ("packing only", false, false, 512),
        ("sharing and packing", false, true, 512),
        ("relative", true, false, 0),
        ("relative and packing", true, false, 512),
    ] {
        let (sample, content) = (tokens(&trained, width, relative), tokens(&content, width, relative));
        let mut groups: Vec<(Vec<f64>, Vec<u8>)> = Vec::new();
        for chunk in sample.chunks(if shared { CHUNK / 8 } else { sample.len() }) {
            let own = shares(chunk);
            match groups.iter_mut().find(|g| distance(&g.0, &own) <= 0.05) {
                Some(group) => group.1.extend_from_slice(chunk),
                None => groups.push((own, chunk.to_vec())),
            }
        }
        let books: Vec<Book> = groups.iter().map(|g| Book::new(&g.1, pairs)).collect();
        let (mut bits, mut encode, mut decode) = (0u64, f64::MAX, f64::MAX);
        let (mut symbols, mut back) = (Vec::new(), Vec::new());
        for _round in 0..7 {
            bits = 0;
            let (mut encoding, mut decoding) = (0.0, 0.0);
            for chunk in content.chunks(if shared { CHUNK / 8 } else { CHUNK }) {
                let own = if books.len() > 1 { shares(&chunk[..chunk.len().min(1 << 14)]) } else { Vec::new() };
                let near = |i: &usize| (distance(&groups[*i].0, &own) * 1e9) as u64;
                let book = &books[if books.len() > 1 { (0..books.len()).min_by_key(near).unwrap() } else { 0 }];
                let clock = Instant::now();
                let (states, words) = black_box(book.encode(chunk, pairs > 0, &mut symbols));
                encoding += clock.elapsed().as_secs_f64();
                back.clear();
                let clock = Instant::now();
                book.decode(states, &words, chunk.len(), &mut back);
                decoding += clock.elapsed().as_secs_f64();
                assert!(back == chunk, "{name}: the exponents came back changed");
                bits += 32 * LANES as u64 + 16 * words.len() as u64;
            }
            (encode, decode) = (encode.min(encoding), decode.min(decoding));
        }
        let per = |x: f64| x / content.len() as f64;
        println!(
            "{name}\t{}\t{:.5}\t{:.3}\t{:.3}",
            books.len(),
            per(bits as f64),
            per(encode * 1e9),
            per(decode * 1e9)
        );
    }
}
