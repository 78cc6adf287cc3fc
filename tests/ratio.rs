//! Sizes on the real trajectories: at most those of the issue that asked for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::{fixed, round_trip, shared};
use ulpack::ElementType::{self, Bf16, F16, F32};

/// Element type, previous file (or none), file, largest compressed/input.
const FIXED: [(ElementType, Option<&str>, &str, f64); 13] = [
    (Bf16, Some("bf16-step01600"), "bf16-step01601", 0.080),
    (Bf16, Some("bf16-step01600"), "bf16-step01610", 0.214),
    (Bf16, Some("bf16-step01600"), "bf16-step01700", 0.335),
    (Bf16, Some("bf16-step01200"), "bf16-step01600", 0.463),
    (Bf16, Some("rl-bf16-step020"), "rl-bf16-step021", 0.0103),
    (F16, Some("f16-step01600"), "f16-step01700", 0.522),
    (F32, Some("f32-step01600"), "f32-step01610", 0.607),
    (F32, Some("f32-step01600"), "f32-step01700", 0.670),
    (F32, Some("optim-f32-step01600"), "optim-f32-step01700", 0.825),
    (Bf16, None, "bf16-step01700", 0.660),
    (F16, None, "f16-step01700", 0.848),
    (F32, None, "f32-step01700", 0.832),
    (F32, None, "optim-f32-step01700", 0.822),
];

#[test]
fn fixed_types_reach_their_sizes() {
    let mut failures = Vec::new();
    for (element, prev, next, most) in FIXED {
        let read =
            |name: &str| shared(&format!("trajectory/{name}.safetensors")).map(|path| std::fs::read(path).unwrap());
        let Some(content) = read(next) else { continue };
        let reference = prev.and_then(read);
        let size = round_trip(&content, reference.as_deref(), &fixed(element));
        let ratio = size as f64 / content.len() as f64;
        println!("{:>20} -> {next:<20} {ratio:.4} (at most {most})", prev.unwrap_or("-"));
        if ratio > most {
            failures.push((next, ratio, most));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// Previous file (or none), file, largest compressed/input with nothing but the reference.
const AUTO: [(Option<&str>, &str, f64); 15] = [
    (Some("bf16-step01600"), "bf16-step01601", 0.0788),
    (Some("bf16-step01600"), "bf16-step01610", 0.2125),
    (Some("bf16-step01600"), "bf16-step01700", 0.3325),
    (Some("bf16-step01200"), "bf16-step01600", 0.459),
    (Some("rl-bf16-step020"), "rl-bf16-step021", 0.0101),
    (Some("f16-step01600"), "f16-step01700", 0.519),
    // The weights of the same step in the other float type.
    (Some("f32-step01600"), "bf16-step01600", 0.002),
    (Some("bf16-step01600"), "f32-step01600", 0.53),
    (Some("f32-step01600"), "f32-step01610", 0.605),
    (Some("f32-step01600"), "f32-step01700", 0.668),
    (Some("optim-f32-step01600"), "optim-f32-step01700", 0.808),
    (None, "bf16-step01700", 0.655),
    (None, "f16-step01700", 0.842),
    (None, "f32-step01700", 0.829),
    (None, "optim-f32-step01700", 0.811),
];

#[test]
fn containers_reach_their_sizes() {
    let mut failures = Vec::new();
    for (prev, next, most) in AUTO {
        let read =
            |name: &str| shared(&format!("trajectory/{name}.safetensors")).map(|path| std::fs::read(path).unwrap());
        let Some(content) = read(next) else { continue };
        let reference = prev.and_then(read);
        let mut options = ulpack::EncoderOptions::default();
        options.threads = 1;
        let size = round_trip(&content, reference.as_deref(), &options);
        let ratio = size as f64 / content.len() as f64;
        println!("{:>20} => {next:<20} {ratio:.4} (at most {most})", prev.unwrap_or("-"));
        if ratio > most {
            failures.push((next, ratio, most));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
