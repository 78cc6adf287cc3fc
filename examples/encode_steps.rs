//! Cycles per element of each step of the encoder, for every kernel: `encode_steps TYPE CONTENT REFERENCE|-`. For profiles.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Instant;

use ulpack::ElementType;
use ulpack::core::bank::TokenClass;
use ulpack::core::model::Model;
use ulpack::encode::bank::{Cover, Statistics, build};
use ulpack::encode::estimate::{self, Run};
use ulpack::encode::histogram::Histogram;
use ulpack::encode::symbols::{Coding, Elements, EncodeBank};
use ulpack::encode::workspace::Workspace;
use ulpack::kernel::Kernel;
use ulpack::kernel::encode::{Coder, Lengths, Piece, Plains, Symbols};

/// Nanoseconds of the best of many runs.
fn best(mut f: impl FnMut()) -> f64 {
    (0..40)
        .map(|_| {
            let clock = Instant::now();
            f();
            clock.elapsed().as_secs_f64() * 1e9
        })
        .fold(f64::MAX, f64::min)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let element = ElementType::from_name(&args[0]).unwrap();
    let read = |path: &str| {
        let file = std::fs::read(path).unwrap();
        let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        file[header..][..1 << 20].to_vec()
    };
    let next = read(&args[1]);
    let reference = if args[2] == "-" { Vec::new() } else { read(&args[2]) };
    let plain = reference.is_empty();
    let runs = [Run { next: next.clone(), reference: reference.clone(), profiles: Vec::new() }];
    let elements = Elements { next: &next, reference: &reference, profiles: &[] };
    let count = next.len() / element.width();
    let per = |ns: f64| ns / count as f64;
    let models: &[Model] = if plain { &[Model::Plain] } else { &[Model::Residual, Model::Mask] };
    for &model in models {
        let mut coding: Coding = estimate::coding(model, element, 0, &runs);
        coding.block = 8;
        for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
            let mut workspace = Workspace::new(kernel);
            let units = coding.units(kernel, elements);
            let scales = coding.scales(&units, count);
            let base = estimate::base(&coding, &runs, std::slice::from_ref(&units));
            let mut statistics = Statistics::new(base, model == Model::Mask);
            coding.statistics(elements, &scales, &mut statistics, &mut workspace);
            let (bank, _) = build(&statistics, &coding, 32, Cover::Counted);
            let ready = EncodeBank::new(&bank, &coding);
            let distances = best(|| drop(coding.units(kernel, elements)));
            let making = best(|| drop(coding.scales(&units, count)));
            let counting = best(|| coding.statistics(elements, &scales, &mut statistics, &mut workspace));
            let building = best(|| drop(build(&statistics, &coding, 32, Cover::Counted)));
            let mut out = Vec::new();
            let coding_all = best(|| {
                out.clear();
                coding.encode(elements, &scales, &ready, 5, &mut workspace, &mut out);
            });
            print!(
                "{model:?} {} ns/element: distances {:.3} scales {:.3} count {:.3} encode {:.3}; bank {:.0} us, {} tables; ratio {:.4}",
                kernel.name(),
                per(distances),
                per(making),
                per(counting),
                per(coding_all),
                building / 1e3,
                bank.elements.len(),
                out.len() as f64 / next.len() as f64,
            );
            if model != Model::Mask {
                let pieces: Vec<Piece> = scales
                    .blocks
                    .iter()
                    .enumerate()
                    .filter_map(|(i, s)| Some(Piece { start: i * 256, length: 256.min(count - i * 256), scale: (*s)? }))
                    .collect();
                let mut symbols = Symbols::default();
                let make = |symbols: &mut Symbols, pieces: &[Piece]| match coding.class {
                    TokenClass::Plain(form) => Plains::new(element, 0, form).unwrap().symbols(
                        kernel,
                        &ready.element_map,
                        &elements,
                        pieces,
                        symbols,
                    ),
                    _ => Lengths::new(element, 0, true).symbols(kernel, &ready.element_map, &elements, pieces, symbols),
                };
                let tokens = best(|| {
                    for tile in pieces.chunks(8) {
                        make(&mut symbols, tile)
                    }
                });
                let mut words = Vec::new();
                make(&mut symbols, &pieces);
                let lanes = best(|| {
                    let mut coder = Coder::new(5, &mut words);
                    let _ = &mut coder;
                    coder.take(kernel, &ready.elements, symbols.steps(), symbols.raws());
                });
                let mut histogram = Histogram::new(base);
                let counts = best(|| {
                    for part in symbols.steps().chunks(2048) {
                        histogram.count(part)
                    }
                });
                print!(" | tokens {:.3} histogram {:.3} lanes {:.3}", per(tokens), per(counts), per(lanes));
            }
            println!();
        }
    }
}
