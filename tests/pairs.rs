//! Pairs of floats: where the encoder takes them, and what the header says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::sync::Arc;

use common::{Random, compress, decompress_with, fixed};
use ulpack::core::bank::TokenClass;
use ulpack::{BankFile, DecoderOptions, ElementType, EncoderOptions, Level, Trainer, Training};

/// Where a `Stream_Header` has its feature set.
const FEATURE_SET: usize = 14;

/// Weights in tensors of different scale.
fn weights(seed: u64, element: ElementType, count: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut content = Vec::new();
    for i in 0..count {
        let weight = [0.02, 0.1, 0.5][i * 3 / count] * random.normal();
        match element {
            ElementType::Bf16 => content.extend_from_slice(&half::bf16::from_f64(weight).to_bits().to_le_bytes()),
            ElementType::F16 => content.extend_from_slice(&half::f16::from_f64(weight).to_bits().to_le_bytes()),
            _ => content.extend_from_slice(&(weight as f32).to_le_bytes()),
        }
    }
    content
}

fn at_level(element: ElementType, level: Level) -> EncoderOptions {
    let mut options = fixed(element);
    options.level = level;
    options
}

/// The feature set of the stream, whose content must come back.
fn feature_set(content: &[u8], options: &EncoderOptions) -> u8 {
    let stream = compress(content, None, options);
    let (back, error) = decompress_with(&stream, Vec::new(), DecoderOptions::default());
    assert!(error.is_none() && back == content, "{error:?}");
    stream[FEATURE_SET]
}

#[test]
fn fast_levels_take_pairs_of_weights_and_others_stay_baseline() {
    for element in [ElementType::Bf16, ElementType::F16, ElementType::F32] {
        let content = weights(1, element, 200_001);
        assert_eq!(feature_set(&content, &at_level(element, Level::Fast)), 2, "{element:?}");
        assert_eq!(feature_set(&content, &at_level(element, Level::Default)), 0, "{element:?}");
        let [fast, default] =
            [Level::Fast, Level::Default].map(|l| compress(&content, None, &at_level(element, l)).len());
        assert!(fast < default + default / 50, "{element:?}: {fast} beside {default}");
    }
}

#[test]
fn what_pairs_do_not_suit_has_none() {
    // Integers, floats of other widths, and exponents all over the place.
    let mut random = Random(2);
    let noise: Vec<u8> = (0..400_000).map(|_| random.next() as u8).collect();
    for element in [ElementType::U16, ElementType::F64, ElementType::Bf16] {
        assert_eq!(feature_set(&noise, &at_level(element, Level::Fast)), 0, "{element:?}");
    }
    // A reference.
    let content = weights(3, ElementType::Bf16, 200_000);
    let next: Vec<u8> = content.iter().enumerate().map(|(i, b)| b ^ u8::from(i % 2 == 0)).collect();
    let stream = compress(&next, Some(&content), &at_level(ElementType::Bf16, Level::Fast));
    assert_eq!(stream[FEATURE_SET], 0);
}

#[test]
fn what_the_first_window_does_without_the_others_do_without() {
    let weights = weights(4, ElementType::Bf16, 200_000);
    let content = [vec![0; 33 << 20], weights].concat();
    assert_eq!(feature_set(&content, &at_level(ElementType::Bf16, Level::Fast)), 0);
}

#[test]
fn trained_banks_of_pairs_are_used_on_fast_levels_only() {
    let train = |level| {
        let mut trainer = Trainer::new(Training::default());
        let sample = weights(5, ElementType::F32, 200_000);
        trainer.add(&sample[..], &at_level(ElementType::F32, level), Vec::new()).unwrap();
        trainer.finish().unwrap().0
    };
    let pairs = |file: &BankFile| file.banks().iter().filter(|b| matches!(b.bank.class, TokenClass::Pairs(_))).count();
    for level in [Level::Fast, Level::Default] {
        let file = train(level);
        assert_eq!((file.banks().len(), pairs(&file)), (2, 1), "{level:?}");
    }
    let file = train(Level::Default);
    let file = Arc::new(BankFile::parse(file.bytes()).unwrap());
    let content = weights(6, ElementType::F32, 150_000);
    for (level, expected) in [(Level::Fast, 2), (Level::Default, 0), (Level::Small, 0)] {
        let mut options = at_level(ElementType::F32, level);
        options.bank = Some(Arc::clone(&file));
        options.frozen_only = true;
        assert_eq!(feature_set(&content, &options), expected, "{level:?}");
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let content = weights(7, ElementType::Bf16, 3_000_000);
    let with = |threads| {
        let mut options = at_level(ElementType::Bf16, Level::Fast);
        options.threads = threads;
        compress(&content, None, &options)
    };
    assert!(with(1) == with(4));
}
