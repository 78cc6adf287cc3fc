//! Writes a safetensors checkpoint of any size to standard output: `large_checkpoint MIB [STEP]`, tensors of 16 MiB of bf16 weights that look random, after
//! so many steps, each of which moves about an eighth of the weights to a neighbour.
//!
//! For what needs size, not meaning: how much random access reads of a stream of gigabytes, what chains of large deltas need.
//!
//! ```text
//! cargo run --release --example large_checkpoint 8192 > large.safetensors
//! ulp -1 large.safetensors -o large.ulp
//! ulp -d -v --tensor layer.300.weight large.ulp -o weight.bin
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "an example that may fail")]

use std::io::{BufWriter, Write};

/// Bytes of a tensor.
const TENSOR: u64 = 16 << 20;
/// Elements of a row.
const COLUMNS: u64 = 4096;

/// A number that looks random (splitmix64).
fn hash(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Four weights: any sign and mantissa, exponents below 1/16 that get rarer downwards.
fn weights(word: u64, steps: u64) -> [u8; 8] {
    let random = hash(word);
    let exponents = hash(!word);
    let mut bytes = [0; 8];
    for (i, pair) in bytes.chunks_exact_mut(2).enumerate() {
        let own = (random >> (16 * i)) as u16;
        let exponent = 122 - ((exponents >> (16 * i)) as u16 | 0x8000).trailing_zeros() as u16;
        let mut bits = (own & 0x807F) | exponent << 7;
        for step in 1..=steps {
            bits += u16::from(hash(word ^ step << 48) >> (3 * i) & 7 == 0);
        }
        pair.copy_from_slice(&bits.to_le_bytes());
    }
    bytes
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mib: u64 = arguments.next().expect("large_checkpoint MIB [STEP]").parse().unwrap();
    let steps: u64 = arguments.next().map_or(0, |step| step.parse().unwrap());
    let tensors = (mib << 20).div_ceil(TENSOR).max(1);
    let entries: Vec<String> = (0..tensors)
        .map(|i| {
            let (rows, start) = (TENSOR / 2 / COLUMNS, i * TENSOR);
            let end = start + TENSOR;
            format!("\"layer.{i}.weight\":{{\"dtype\":\"BF16\",\"shape\":[{rows},{COLUMNS}],\"data_offsets\":[{start},{end}]}}")
        })
        .collect();
    let mut header = format!("{{{}}}", entries.join(","));
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    out.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    out.write_all(header.as_bytes()).unwrap();
    for word in 0..tensors * TENSOR / 8 {
        out.write_all(&weights(word, steps)).unwrap();
    }
    out.flush().unwrap();
}
