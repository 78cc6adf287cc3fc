//! Makes one half of a checkpoint pair of any size, on stdout, without storing it.
//!
//! Tensors of 1024 × 1024 elements; every tensor has a scale and every column two (of the weights and of their updates), all log-normal, and every
//! element is a function of the seed and its index alone. So `prev` and `next` come from two independent processes, agree element by element, and
//! the first bytes of a large pair are a small pair.
//!
//!     ulp -c --dtype bf16 --ref <(synthetic --kind bf16 --size 8GiB --which prev) < <(synthetic --kind bf16 --size 8GiB --which next)
//!
//! Kinds: `bf16` and `f32` are weights a hundred optimizer steps apart, `optim` is Adam's two moments (f32, tensor by tensor in turn), `rl` is bf16
//! weights one step at a tiny learning rate apart, of which `--fraction` differ (default 0.025).

use std::collections::BTreeMap;
use std::env;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Elements of a row; also the length of a matrix's scale tables.
const COLUMNS: usize = 1024;
/// Rows of a tensor.
const ROWS: u64 = 1024;
/// Rows made per write.
const ROWS_AT_ONCE: usize = 64;
/// Update of a dense pair relative to its column's weights.
const DENSE_STEP: f32 = 0.027;
/// Largest scale, in ulps, of an RL step.
const LARGEST_JUMP: f32 = 64.0;
/// Added to a small number it leaves the nearest integer in the low bits.
const NO_FRACTION: f32 = 12_582_912.0;
/// Entries of the table of normal variates.
const NORMALS: usize = 4096;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bf16,
    F32,
    Optim,
    Rl,
}

struct Arguments {
    kind: Kind,
    size: u64,
    seed: u64,
    next: bool,
    fraction: f64,
}

/// SplitMix64's output function: every counter gives an independent number.
#[inline(always)]
fn mix(counter: u64) -> u64 {
    let mut x = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Quantiles of the normal distribution, each with the distance to the next: 12 bits choose the pair, 20 more the place between.
struct Normals(Box<[[f32; 2]; NORMALS]>);

impl Normals {
    fn new() -> Self {
        // The ends, where the quantile is infinite, stop at half a step: 3.7 standard deviations.
        let at = |i: usize| quantile((i as f64).clamp(0.5, NORMALS as f64 - 0.5) / NORMALS as f64);
        let mut table = Box::new([[0.0; 2]; NORMALS]);
        for (i, entry) in table.iter_mut().enumerate() {
            *entry = [at(i) as f32, (at(i + 1) - at(i)) as f32];
        }
        Self(table)
    }

    #[inline(always)]
    fn sample(&self, bits: u32) -> f32 {
        let [base, width] = self.0[(bits >> 20) as usize];
        base + width * ((bits & 0xF_FFFF) as i32 as f32 * (1.0 / 1_048_576.0))
    }
}

/// Inverse of the normal distribution function (Acklam's rational approximation, relative error 1e-9).
fn quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, k| sum * x + k);
    if p > 0.5 {
        -quantile(1.0 - p)
    } else if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        poly(&C, q) / (poly(&D, q) * q + 1.0)
    } else {
        let q = p - 0.5;
        let r = q * q;
        poly(&A, r) * q / (poly(&B, r) * r + 1.0)
    }
}

/// What the elements of one tensor have in common.
struct Tensor {
    /// Scale of the weights of each column.
    weights: [f32; COLUMNS],
    /// Scale of the updates of each column.
    updates: [f32; COLUMNS],
}

impl Tensor {
    fn new(arguments: &Arguments, normals: &Normals, index: u64) -> Self {
        // Scales come from another part of the counter space than elements.
        let scales = mix(arguments.seed ^ 0x5CA1_E000_0000_0000).wrapping_add(index << 12);
        let log_normal =
            |n: u64, sigma: f32| f64::from(sigma * normals.sample((mix(scales + n) >> 32) as u32)).exp() as f32;
        let common = 0.02 * log_normal(0, 0.6);
        let step = DENSE_STEP * log_normal(1, 0.3);
        let mut tensor = Self { weights: [0.0; COLUMNS], updates: [0.0; COLUMNS] };
        for (column, (weight, update)) in tensor.weights.iter_mut().zip(&mut tensor.updates).enumerate() {
            *weight = common * log_normal(2 + 2 * column as u64, 0.3);
            *update = common * step * log_normal(3 + 2 * column as u64, 0.5);
        }
        tensor
    }
}

/// Nearest bf16, ties to even; all values here are finite.
#[inline(always)]
fn bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) as u16
}

/// How far bf16 weights move in one RL step.
struct Moves {
    /// Scale of the master weights' step.
    step: f32,
    /// Lest rounding keep a weight where everything is to change.
    least: i32,
}

impl Moves {
    /// The step at which the expected number of changed elements, over 64 tensors, is the fraction asked for. Steps far below an ulp seldom cross a
    /// rounding boundary, so small weights move more often.
    fn calibrated(arguments: &Arguments, normals: &Normals) -> Self {
        let mut binades = BTreeMap::new();
        for index in 0..64 {
            let tensor = Tensor::new(arguments, normals, index);
            for (column, scale) in tensor.weights.iter().enumerate() {
                let random = mix(arguments.seed ^ !(index << 32 | column as u64));
                let weight = bf16(scale * normals.sample(random as u32));
                *binades.entry(ulps_per_unit(weight) as u64).or_insert(0_u32) += 1;
            }
        }
        // Odds of a change, for a step of so many ulps times a normal variate.
        let odds = |ulps: f32| {
            let variates = (0..64_u32).map(|i| normals.sample((i << 26) + (1 << 25)));
            variates.map(|n| f64::from((ulps * n).abs().min(1.0))).sum::<f64>() / 64.0
        };
        let wanted = arguments.fraction.min(0.98) * 64.0 * COLUMNS as f64;
        let (mut low, mut high) = (0.0_f32, 1.0_f32);
        for _ in 0..40 {
            let step = (low + high) / 2.0;
            let changed: f64 = binades.iter().map(|(ulps, n)| odds(step * *ulps as f32) * f64::from(*n)).sum();
            if changed < wanted {
                low = step;
            } else {
                high = step;
            }
        }
        Self { step: high, least: i32::from(arguments.fraction >= 1.0) }
    }

    /// The bf16 pattern a step later. `variate` is normal; its low bits, which hardly touch its size, say where between two rounding boundaries the
    /// master weight is.
    #[inline(always)]
    fn apply(&self, prev: u16, variate: f32) -> u16 {
        let place = (variate.to_bits().wrapping_mul(0x9E37_79B1) >> 8) as i32 as f32 * (1.0 / 16_777_216.0);
        let scale = (self.step * ulps_per_unit(prev)).min(LARGEST_JUMP);
        let moved = scale * variate + place;
        // The floor of it. A conversion saturates, and would not be vectorised.
        let steps = (moved - 0.5 + NO_FRACTION).to_bits() as i32 - NO_FRACTION.to_bits() as i32;
        let steps = if steps == 0 { self.least } else { steps };
        prev & 0x8000 | (i32::from(prev & 0x7FFF) + steps).max(0) as u16
    }
}

/// Reciprocal of the rounding step in the binade of a bf16 pattern; all weights here are far from the ends of the range.
#[inline(always)]
fn ulps_per_unit(bits: u16) -> f32 {
    f32::from_bits((261 - u32::from(bits >> 7 & 0xFF).max(8)) << 23)
}

/// Makes rows of tensors.
struct Generator {
    arguments: Arguments,
    normals: Normals,
    moves: Moves,
    /// First counters of the weights and of the updates.
    origins: [u64; 2],
    tensor: Tensor,
    tensor_index: u64,
}

impl Generator {
    fn new(arguments: Arguments) -> Self {
        let normals = Normals::new();
        Self {
            origins: [mix(arguments.seed), mix(arguments.seed ^ 0x0DE1_7A00_0000_0000)],
            moves: Moves::calibrated(&arguments, &normals),
            tensor: Tensor::new(&arguments, &normals, 0),
            tensor_index: 0,
            normals,
            arguments,
        }
    }

    /// One row of weights, before rounding.
    fn weights(&self, row: u64, values: &mut [f32; COLUMNS]) {
        self.normal(0, row, values);
        for (value, scale) in values.iter_mut().zip(&self.tensor.weights) {
            *value *= scale;
        }
        if self.arguments.next && self.arguments.kind != Kind::Rl {
            let mut updates = [0.0; COLUMNS];
            self.normal(1, row, &mut updates);
            for ((value, update), scale) in values.iter_mut().zip(&updates).zip(&self.tensor.updates) {
                *value += update * scale;
            }
        }
    }

    /// Adam's first moment forgets in ten steps: a hundred steps on only a little of it is left.
    fn first_moments(&self, row: u64, values: &mut [f32; COLUMNS]) {
        self.normal(0, row, values);
        if self.arguments.next {
            let mut fresh = [0.0; COLUMNS];
            self.normal(1, row, &mut fresh);
            for (value, fresh) in values.iter_mut().zip(&fresh) {
                *value = 0.3 * *value + 0.95 * fresh;
            }
        }
        for (value, scale) in values.iter_mut().zip(&self.tensor.weights) {
            *value *= 0.01 * scale;
        }
    }

    /// Adam's second moment: positive, of a wide range, and slow.
    fn second_moments(&self, row: u64, values: &mut [f32; COLUMNS]) {
        self.normal(0, row, values);
        for (value, scale) in values.iter_mut().zip(&self.tensor.weights) {
            let gradient = 0.01 * scale * (0.2 + value.abs());
            *value = gradient * gradient;
        }
        if self.arguments.next {
            let mut fresh = [0.0; COLUMNS];
            self.normal(1, row, &mut fresh);
            for (value, fresh) in values.iter_mut().zip(&fresh) {
                *value *= 0.9 + 0.05 * fresh.abs();
            }
        }
    }

    /// First counter of a row: each serves two elements.
    fn first(&self, origin: usize, row: u64) -> u64 {
        self.origins[origin].wrapping_add(row * (COLUMNS as u64 / 2))
    }

    #[inline(always)]
    fn normal(&self, origin: usize, row: u64, values: &mut [f32; COLUMNS]) {
        let first = self.first(origin, row);
        for (counter, pair) in (0..).zip(values.as_chunks_mut::<2>().0) {
            let random = mix(first.wrapping_add(counter));
            *pair = [self.normals.sample(random as u32), self.normals.sample((random >> 32) as u32)];
        }
    }

    /// Fills one row of the tensor at hand.
    fn row(&self, row: u64, out: &mut [u8]) {
        let mut values = [0.0; COLUMNS];
        match self.arguments.kind {
            Kind::Bf16 | Kind::Rl | Kind::F32 => self.weights(row, &mut values),
            Kind::Optim if self.tensor_index.is_multiple_of(2) => self.first_moments(row, &mut values),
            Kind::Optim => self.second_moments(row, &mut values),
        }
        match self.arguments.kind {
            Kind::F32 | Kind::Optim => {
                for (bytes, value) in out.as_chunks_mut().0.iter_mut().zip(values) {
                    *bytes = value.to_le_bytes();
                }
            }
            Kind::Rl if self.arguments.next => {
                let mut variates = [0.0; COLUMNS];
                self.normal(1, row, &mut variates);
                let bytes = out.as_chunks_mut().0.iter_mut();
                for ((bytes, value), variate) in bytes.zip(values).zip(variates) {
                    *bytes = self.moves.apply(bf16(value), variate).to_le_bytes();
                }
            }
            Kind::Bf16 | Kind::Rl => {
                for (bytes, value) in out.as_chunks_mut().0.iter_mut().zip(values) {
                    *bytes = bf16(value).to_le_bytes();
                }
            }
        }
    }

    /// Writes everything.
    fn run(&mut self, out: &mut impl Write) -> io::Result<()> {
        let width = match self.arguments.kind {
            Kind::Bf16 | Kind::Rl => 2,
            Kind::F32 | Kind::Optim => 4,
        };
        let mut rows = vec![0; ROWS_AT_ONCE * COLUMNS * width];
        let mut left = self.arguments.size;
        let mut row = 0;
        while left > 0 {
            if row / ROWS != self.tensor_index {
                self.tensor_index = row / ROWS;
                self.tensor = Tensor::new(&self.arguments, &self.normals, self.tensor_index);
            }
            for bytes in rows.chunks_exact_mut(COLUMNS * width) {
                self.row(row, bytes);
                row += 1;
            }
            let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(rows.len());
            out.write_all(&rows[..bytes])?;
            left -= bytes as u64;
        }
        out.flush()
    }
}

/// Bytes, with an optional suffix: `K`, `KB`, `KiB` and so on are all powers of 1024.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim_end_matches(['B', 'i']) {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn parse_arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { kind: Kind::Bf16, size: 1 << 30, seed: 1, next: false, fraction: 0.025 };
    let mut words = env::args().skip(1);
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let bad = || format!("{option} {value}: not understood");
        match option.as_str() {
            "--kind" => {
                arguments.kind = match value.as_str() {
                    "bf16" => Kind::Bf16,
                    "f32" => Kind::F32,
                    "optim" => Kind::Optim,
                    "rl" => Kind::Rl,
                    _ => return Err(bad()),
                }
            }
            "--size" => arguments.size = parse_size(&value).ok_or_else(bad)?,
            "--seed" => arguments.seed = value.parse().map_err(|_| bad())?,
            "--which" if value == "prev" || value == "next" => arguments.next = value == "next",
            "--fraction" => {
                arguments.fraction = value.parse().map_err(|_| bad())?;
                if !(0.0..=1.0).contains(&arguments.fraction) {
                    return Err(bad());
                }
            }
            _ => return Err(bad()),
        }
    }
    Ok(arguments)
}

fn main() -> ExitCode {
    let arguments = match parse_arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!(
                "synthetic: {message}\nusage: synthetic --kind bf16|f32|optim|rl --size 8GiB --seed 1 --which prev|next [--fraction 0.025]"
            );
            return ExitCode::from(64);
        }
    };
    match Generator::new(arguments).run(&mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("synthetic: {error}");
            ExitCode::from(74)
        }
    }
}
