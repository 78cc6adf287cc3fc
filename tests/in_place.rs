//! Deltas applied in place: the result or, if anything is wrong, the file as it was; after a kill at any moment the same call completes it.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests, which may fail like tests")]

mod common;

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use common::{Random, checkpoint, compress, fixed};
use ulpack::{Applied, DecoderOptions, ElementType, EncoderOptions, Error, Level, apply_in_place, apply_to_file};

fn options() -> DecoderOptions {
    let mut options = DecoderOptions::default();
    options.threads = 2;
    options
}

fn chunks(length: u32) -> EncoderOptions {
    let mut options = EncoderOptions::default();
    options.threads = 1;
    options.chunk_length = Some(length);
    options
}

fn apply(path: &Path, delta: &[u8]) -> ulpack::Result<Applied> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    apply_to_file(&file, &path.with_extension("journal"), delta.to_vec(), options())
}

#[test]
fn a_buffer_becomes_the_next_checkpoint() {
    let prev = checkpoint(2, 10_000, 0);
    let mut next = prev.clone();
    let changed = next.len() / 2;
    next[changed] ^= 1;
    let delta = compress(&next, Some(&prev), &chunks(1000));
    let mut buffer = prev.clone();
    let applied = apply_in_place(&mut buffer, &delta, options()).unwrap();
    assert!(buffer == next);
    // Only the changed chunk is touched, and none the second time.
    assert_eq!((applied.written, applied.bytes_written <= 1000), (1, true));
    assert_eq!(apply_in_place(&mut buffer, &delta, options()).unwrap().written, 0);
    assert!(buffer == next);
}

#[test]
fn what_cannot_be_applied_leaves_all_as_it_was() {
    let (prev, next) = (checkpoint(1, 10_000, 0), checkpoint(1, 10_000, 1));
    let delta = compress(&next, Some(&prev), &chunks(1000));
    let refuse = |content: &[u8], delta: &[u8]| {
        let mut buffer = content.to_vec();
        let error = apply_in_place(&mut buffer, delta, options()).unwrap_err();
        assert!(buffer == content);
        error
    };
    // Another file, of which a part has the right bytes; another length; a delta that is damaged near its end.
    let mut other = prev.clone();
    let last = other.len() - 100;
    other[last] ^= 1;
    assert!(matches!(refuse(&other, &delta).rule(), Error::ReferenceMismatch { .. }));
    assert!(matches!(refuse(&prev[..prev.len() - 2], &delta), Error::Usage(_)));
    let mut damaged = delta.clone();
    let near = damaged.len() - 400;
    damaged[near] ^= 1;
    refuse(&prev, &damaged);
    // A stream without reference, and one whose references stand elsewhere.
    assert!(matches!(refuse(&prev, &compress(&next, None, &chunks(1000))), Error::Usage(_)));
    let moved = [&prev[..8], &[b' '; 64][..], &prev[8..]].concat();
    let elsewhere = compress(&next, Some(&moved), &EncoderOptions::default());
    assert!(matches!(refuse(&prev, &elsewhere), Error::Usage(_)));
    assert!(matches!(refuse(&prev, &[delta.clone(), delta].concat()), Error::Usage(_)));
}

#[test]
fn more_changes_than_are_kept() {
    // Every sixteen bytes change, of more of them than are kept from the first look at a delta to the second.
    let prev = Random(3).bytes(70 << 20);
    let mut next = prev.clone();
    next.iter_mut().step_by(10).for_each(|byte| *byte ^= 1);
    let mut encoding = fixed(ElementType::U8);
    encoding.level = Level::Fast;
    let delta = compress(&next, Some(&prev), &encoding);
    let mut damaged = delta.clone();
    let last = damaged.len() * 9 / 10;
    damaged[last] ^= 1;
    let mut buffer = prev.clone();
    apply_in_place(&mut buffer, &damaged, options()).unwrap_err();
    assert!(buffer == prev);
    let applied = apply_in_place(&mut buffer, &delta, options()).unwrap();
    assert!(buffer == next && applied.written == applied.chunks);
}

#[test]
fn a_file_may_grow_and_shrink() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let prev = Random(1).bytes(50_000);
    for length in [50_000, 20_000, 90_000] {
        let mut next = prev.clone();
        next.extend(Random(2).bytes(40_000));
        next.truncate(length);
        next[100] ^= 1;
        let delta = compress(&next, Some(&prev), &{
            let mut options = fixed(ElementType::Bytes);
            options.chunk_length = Some(1000);
            options
        });
        fs::write(&path, &prev).unwrap();
        apply(&path, &delta).unwrap();
        assert!(fs::read(&path).unwrap() == next, "{length}");
        assert_eq!(apply(&path, &delta).unwrap().written, 0);
    }
}

#[test]
fn a_half_applied_file_is_completed_and_a_foreign_one_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let (prev, next) = (checkpoint(2, 10_000, 0), checkpoint(2, 10_000, 1));
    let delta = compress(&next, Some(&prev), &chunks(1000));
    // Chunks of either kind in any order.
    let mut mixed = next.clone();
    let boundaries = common::boundaries(&delta);
    for pair in boundaries.windows(2).step_by(3) {
        mixed[pair[0]..pair[1]].copy_from_slice(&prev[pair[0]..pair[1]]);
    }
    fs::write(&path, &mixed).unwrap();
    assert!(apply(&path, &delta).unwrap().written > 0);
    assert!(fs::read(&path).unwrap() == next);
    // A chunk that is neither.
    mixed[boundaries[2] + 10] ^= 0x40;
    fs::write(&path, &mixed).unwrap();
    assert!(apply(&path, &delta).is_err());
    assert!(fs::read(&path).unwrap() == mixed);
    // What a kill leaves of a journal that was not complete counts for nothing.
    fs::write(path.with_extension("journal"), b"ulp-jrn1 and not all").unwrap();
    fs::write(&path, &prev).unwrap();
    apply(&path, &delta).unwrap();
    assert!(fs::read(&path).unwrap() == next);
    assert!(!path.with_extension("journal").exists());
}

/// Kills the command at random moments; each time the file is completed by the same command, whatever state it was left in. Chunks that a kill has torn are
/// repaired from the journal: here each is torn on purpose.
#[cfg(all(unix, feature = "cli"))]
#[test]
fn a_kill_at_any_moment_does_no_harm() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let journal = directory.path().join("file.ulp-journal");
    let (prev, next) = (Random(1).bytes(24 << 20), Random(2).bytes(24 << 20));
    let mut options = fixed(ElementType::Bytes);
    options.chunk_length = Some(1 << 18);
    let delta = directory.path().join("d.ulp");
    fs::write(&delta, compress(&next, Some(&prev), &options)).unwrap();
    let run = || {
        Command::new(env!("CARGO_BIN_EXE_ulp"))
            .args(["apply", "--in-place"])
            .arg(&path)
            .stdin(File::open(&delta).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut random = Random(3);
    let (mut killed, mut torn) = (0, 0);
    for _ in 0..12 {
        fs::write(&path, &prev).unwrap();
        for _ in 0..3 {
            let mut child = run();
            std::thread::sleep(Duration::from_micros(random.below(60_000)));
            let _ = child.kill();
            killed += u64::from(child.wait().unwrap().code().is_none());
            // Where a journal is complete, what it is of may have been written in part.
            let left = fs::read(&journal).unwrap_or_default();
            if let Some((body, crc)) = left.split_last_chunk::<4>()
                && u32::from_le_bytes(*crc) == crc32fast::hash(body)
            {
                let offset = u64::from_le_bytes(body[28..36].try_into().unwrap());
                let file = OpenOptions::new().write(true).open(&path).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&file, &[0x55; 1000], offset + random.below(1000)).unwrap();
                torn += 1;
            }
        }
        assert!(run().wait().unwrap().success());
        assert!(fs::read(&path).unwrap() == next);
        assert!(!journal.exists());
    }
    assert!(killed > 0, "no run was killed, {torn} torn");
}
