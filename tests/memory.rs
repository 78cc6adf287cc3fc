//! Memory of the command does not grow with the stream, nor with the reference. `memory.sh` does the same with gigabytes.
#![cfg(all(target_os = "linux", feature = "cli"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail like tests")]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use common::Random;

const MEBIBYTE: usize = 1 << 20;
/// Most memory with two threads, as promised.
const LIMIT: usize = 256 * MEBIBYTE;
/// What may be more with a longer stream: allocators do not give all back at once.
const SLACK: usize = 24 * MEBIBYTE;

/// A mebibyte of bf16 numbers, and that a step later.
fn mebibyte(random: &mut Random, prev: &mut Vec<u8>, next: &mut Vec<u8>) {
    prev.clear();
    next.clear();
    while prev.len() < MEBIBYTE {
        // Four numbers at once: mantissas and low exponent bits are random, and a change of one in some of them.
        let bits = (random.next() & 0x81FF_81FF_81FF_81FF) | 0x3C00_3C00_3C00_3C00;
        let step = random.next() & random.next() & 0x0001_0001_0001_0001;
        prev.extend_from_slice(&bits.to_le_bytes());
        next.extend_from_slice(&bits.wrapping_add(step).to_le_bytes());
    }
}

fn write_pair(directory: &Path, mebibytes: usize) {
    let mut random = Random(1);
    let (mut prev, mut next) = (Vec::new(), Vec::new());
    let mut files = ["prev", "next"].map(|name| File::create(directory.join(name)).unwrap());
    for _ in 0..mebibytes {
        mebibyte(&mut random, &mut prev, &mut next);
        files[0].write_all(&prev).unwrap();
        files[1].write_all(&next).unwrap();
    }
}

/// Peak memory of a process so far, in bytes, while it runs.
fn peak(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

/// Runs the command in the directory through pipes; its peak memory, as last seen before it ended.
fn run(directory: &Path, arguments: &str, input: &str, output: &str) -> usize {
    let mut child = Command::new("bash")
        .args(["-c", &format!("exec \"$ULP\" -T2 {arguments}")])
        .current_dir(directory)
        .env("ULP", env!("CARGO_BIN_EXE_ulp"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut from, mut to) =
        (File::open(directory.join(input)).unwrap(), File::create(directory.join(output)).unwrap());
    let feeder = thread::spawn(move || {
        let mut buffer = vec![0; MEBIBYTE];
        let mut most = 0;
        loop {
            let count = from.read(&mut buffer).unwrap();
            most = most.max(peak(id).unwrap_or(0));
            if count == 0 {
                return most;
            }
            stdin.write_all(&buffer[..count]).unwrap();
        }
    });
    let mut most = 0;
    let mut buffer = vec![0; MEBIBYTE];
    loop {
        let count = stdout.read(&mut buffer).unwrap();
        most = most.max(peak(id).unwrap_or(0));
        if count == 0 {
            break;
        }
        to.write_all(&buffer[..count]).unwrap();
    }
    assert!(child.wait().unwrap().success());
    most.max(feeder.join().unwrap())
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for way in ["prev", "<(cat prev)"] {
        let mut before = None;
        for mebibytes in [160, 320] {
            write_pair(directory, mebibytes);
            let compress = run(directory, &format!("--dtype bf16 --ref {way}"), "next", "coded");
            let decompress = run(directory, &format!("-d --ref {way}"), "coded", "back");
            let same = Command::new("cmp").args(["next", "back"]).current_dir(directory).status().unwrap();
            assert!(same.success());
            let [c, d] = [compress, decompress].map(|bytes| bytes / MEBIBYTE);
            println!("{mebibytes} MiB, --ref {way}: {c} MiB to compress, {d} MiB to decompress");
            assert!(c > 4 && d > 4, "the memory was not seen");
            assert!(compress <= LIMIT && decompress <= LIMIT, "{mebibytes} MiB, --ref {way}: {c} MiB, {d} MiB");
            let (small_c, small_d) = *before.get_or_insert((compress, decompress));
            assert!(compress <= small_c + SLACK, "compression needs {c} MiB, not {}", small_c / MEBIBYTE);
            assert!(decompress <= small_d + SLACK, "decompression needs {d} MiB, not {}", small_d / MEBIBYTE);
        }
    }
}
