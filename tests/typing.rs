//! Element types told from the bytes alone, against the truth that the containers tell.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use common::shared;
use ulpack::ElementType;
use ulpack::container::Layout;
use ulpack::encode::typing::{guess, segment};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// Type and phase of every byte, where the container vouches for it.
fn truth(content: &[u8]) -> Vec<Option<(ElementType, u8)>> {
    let layout = Layout::of_file(&mut Cursor::new(content)).unwrap();
    let mut truth = vec![None; content.len()];
    for span in layout.tensors().filter(|s| s.known) {
        let phase = (span.offset % span.element.width() as u64) as u8;
        truth[span.offset as usize..span.end() as usize].fill(Some((span.element, phase)));
    }
    truth
}

#[test]
fn statistics_tell_the_type_of_most_bytes() {
    let Some(data) = shared("") else { return };
    let mut paths = Vec::new();
    files(&data, &mut paths);
    let (mut all, mut hit) = (0usize, 0usize);
    for path in paths {
        let content = std::fs::read(&path).unwrap();
        let truth = truth(&content);
        let (mut known, mut right) = (0usize, 0usize);
        let mut before = None;
        let mut at = 0;
        while at < content.len() {
            let end = content.len().min(at + segment(at as u64));
            let found = guess(&content[at..end], &[], before, at as u64);
            before = Some(found);
            for told in truth[at..end].iter().flatten() {
                known += 1;
                right += usize::from(*told == (found.element, found.phase));
            }
            at = end;
        }
        if known > 0 {
            let name = path.strip_prefix(&data).unwrap().display();
            println!("{name:<60} {:.3} of {known} typed bytes", right as f64 / known as f64);
        }
        all += known;
        hit += right;
    }
    let rate = hit as f64 / all as f64;
    println!("all files: {rate:.4}");
    assert!(rate > 0.95, "{rate}");
}
