//! The bodies of the fuzz targets on stable Rust: the seeds, the vectors of the conformance corpus, and a few thousand seeded inputs each.
//!
//! Memory is capped: an input that makes the process hold more than [`MOST`] is kept, as one that makes a body panic, and the process ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(unsafe_code, reason = "the allocator of a test that counts")]

#[path = "../fuzz/bodies/mod.rs"]
mod bodies;
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bodies::Body;
use common::{Random, small_stream};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory, in order; none if it is not there.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Most bytes that all bodies running at a time may hold together. What one needs is far less: chunks of 64 MiB, a few at a time.
const MOST: usize = 1 << 30;

/// The inputs being tried: target, what it is, bytes.
static RUNNING: Mutex<Vec<(&str, String, Vec<u8>)>> = Mutex::new(Vec::new());

struct Capped;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

fn grow(size: usize) {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    // What the report needs is not counted.
    if live > MOST && !OVER.swap(true, Ordering::Relaxed) {
        eprintln!("{size} bytes more make {live}, {MOST} are allowed");
        if let Ok(running) = RUNNING.try_lock() {
            running.iter().for_each(|(name, what, input)| keep(name, what, input));
        }
        // An allocator must not unwind.
        std::process::abort();
    }
}

// SAFETY: all calls are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        grow(block.size());
        // SAFETY: as for the caller.
        unsafe { System.alloc(block) }
    }

    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        grow(block.size());
        // SAFETY: as for the caller.
        unsafe { System.alloc_zeroed(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Layout) {
        LIVE.fetch_sub(block.size(), Ordering::Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.dealloc(pointer, block) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, block: Layout, size: usize) -> *mut u8 {
        grow(size);
        LIVE.fetch_sub(block.size(), Ordering::Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.realloc(pointer, block, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Capped = Capped;

/// Keeps an input that a body failed with; it can be put under `fuzz/seeds`.
fn keep(name: &str, what: &str, input: &[u8]) {
    let path = std::env::temp_dir().join(format!("ulp-fuzz-{name}"));
    let kept = if fs::write(&path, input).is_ok() { format!(", kept as {}", path.display()) } else { String::new() };
    eprintln!("{name}: {what}, {} bytes{kept}", input.len());
}

/// Runs a body; a panic names the input.
fn run((name, body): Body, what: &str, input: &[u8]) {
    struct Running(&'static str);
    impl Drop for Running {
        fn drop(&mut self) {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            let at = running.iter().position(|r| r.0 == self.0).unwrap();
            let (name, what, input) = running.swap_remove(at);
            if std::thread::panicking() {
                keep(name, &what, &input);
            }
        }
    }
    let entry = (name, what.to_owned(), input.to_vec());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    let _running = Running(name);
    body(input);
}

/// The seeds of a target: inputs that once found something.
fn run_seeds(body: Body) {
    for path in files(&root().join("fuzz/seeds").join(body.0)) {
        run(body, &path.display().to_string(), &fs::read(&path).unwrap());
    }
}

/// Changes a few bytes, bits, or the order of parts.
fn mutate(random: &mut Random, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() as u64 + 1) as usize;
        let length = (random.below(40) as usize).min(input.len() - at);
        match random.below(8) {
            0..3 if at < input.len() => input[at] ^= 1 << random.below(8),
            3 if at < input.len() => input[at] = random.next() as u8,
            // Small and extreme numbers, where fields are.
            4 if input.len() - at >= 4 => {
                let number = [0, 1, 2, 255, 65_535, 65_536, 1 << 26, u32::MAX][random.below(8) as usize];
                input[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            5 => drop(input.drain(at..at + length)),
            6 => {
                let other = &others[random.below(others.len() as u64) as usize];
                let from = random.below(other.len() as u64 + 1) as usize;
                let part = other[from..(from + random.below(80) as usize).min(other.len())].to_vec();
                input.splice(at..at + length, part);
            }
            _ => drop(input.splice(at..at, random.bytes(length))),
        }
    }
}

fn run_streams(body: Body, inputs: usize) {
    run_seeds(body);
    let mut seeds: Vec<Vec<u8>> = files(&root().join("conformance/vectors"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "ulp"))
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(seeds.len() > 50, "the corpus was not found");
    seeds.push(small_stream().2);
    for (i, seed) in seeds.iter().enumerate() {
        run(body, &format!("vector {i}"), seed);
    }
    // Long vectors are tried as they are; mutants of them would take the time of many others.
    seeds.retain(|s| s.len() < 1 << 14);
    let mut random = Random(body.0.len() as u64);
    for i in 0..inputs {
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        mutate(&mut random, &mut input, &seeds);
        run(body, &format!("input {i}"), &input);
    }
}

fn run_choices(body: Body, inputs: usize) {
    run_seeds(body);
    let mut random = Random(100 + body.0.len() as u64);
    for i in 0..inputs {
        let length = 1 << random.below(12);
        let mut input = random.bytes(length as usize);
        // Runs of equal bytes, which make equal choices and compressible contents.
        for _ in 0..random.below(4) {
            let at = random.below(length) as usize;
            let end = (at + random.below(200) as usize).min(input.len());
            let byte = [0, 0xFF, random.next() as u8][random.below(3) as usize];
            input[at..end].fill(byte);
        }
        run(body, &format!("input {i}"), &input);
    }
}

fn run_banks(body: Body, inputs: usize) {
    run_seeds(body);
    let seeds: Vec<Vec<u8>> = files(&root().join("conformance/vectors/banks"))
        .into_iter()
        .map(|path| fs::read(path).unwrap())
        .filter(|seed| seed.len() < 1 << 14)
        .collect();
    assert!(seeds.len() > 20, "the bank files of the corpus were not found");
    seeds.iter().enumerate().for_each(|(i, seed)| run(body, &format!("vector {i}"), seed));
    let mut random = Random(body.0.len() as u64);
    for i in 0..inputs {
        let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
        mutate(&mut random, &mut input, &seeds);
        run(body, &format!("input {i}"), &input);
    }
}

/// One test for each target, of its name.
macro_rules! targets {
    ($run:ident: $($name:ident $inputs:literal)*) => {
        $(#[test]
        fn $name() {
            $run((stringify!($name), bodies::$name), $inputs);
        })*
    };
}

targets!(run_streams: decode_any 2000 decode_no_crc 1500 scalar_vs_fast 2000 split_reads 700 headers 3000);
targets!(run_banks: bank_file 1500);
targets!(run_choices: threads_equal 200 prefix_release 1000 round_trip 1000 round_trip_tensor 1500 containers 2000);

#[test]
fn every_target_has_a_body_and_is_declared() {
    let own = fs::read_to_string(root().join("tests/fuzz_bodies.rs")).unwrap();
    let mut names: Vec<&str> = own
        .lines()
        .filter_map(|line| line.strip_prefix("targets!(")?.strip_suffix(");")?.split_once(": "))
        .flat_map(|(_, targets)| targets.split(' ').step_by(2))
        .collect();
    names.sort_unstable();
    let manifest: toml::Table = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap().parse().unwrap();
    let mut declared: Vec<&str> =
        manifest["bin"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    declared.sort_unstable();
    assert_eq!(names, declared);
    for name in names {
        let target = fs::read_to_string(root().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("bodies::{name}(data)")), "{name}");
    }
}
