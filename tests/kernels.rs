//! Kernels decode as the scalar code does: the same elements, the same errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "common/kernel_case.rs"]
mod kernel_case;

use kernel_case::{Case, scalar_vs_fast};

/// Bytes that describe a case: element type and model given, the rest by number.
fn describe(element: u8, model: u8, number: u64) -> [u8; 24] {
    let mut x = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(element) << 8 ^ u64::from(model);
    let mut bytes = [0; 24];
    for byte in &mut bytes {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *byte = (x >> 32) as u8;
    }
    bytes[0] = element;
    bytes[1] = model;
    bytes
}

#[test]
fn kernels_agree_with_the_scalar_code() {
    let mut good = 0;
    for element in 0..15 {
        for model in 0..3 {
            for number in 1..40 {
                let bytes = describe(element, model, number);
                scalar_vs_fast(&bytes);
                good += usize::from(Case::new(&bytes).is_good());
            }
        }
    }
    assert!(good > 100, "only {good} cases of good data");
}

#[test]
fn empty_and_tiny_substreams() {
    for element in 0..15 {
        for model in 0..3 {
            for count in [0u8, 1, 7, 8, 31, 32, 33, 63, 64, 65, 255] {
                let mut bytes = describe(element, model, u64::from(count) + 1000);
                (bytes[5], bytes[6], bytes[7], bytes[18]) = (1, count, 0, 3);
                scalar_vs_fast(&bytes);
            }
        }
    }
}
