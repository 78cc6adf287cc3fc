//! Measurements of checkpoints: the figures that were published before this code existed, and known answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::path::{Path, PathBuf};

use common::{Random, shared};
use ulpack::ElementType;
use ulpack::stat::{Report, StatOptions, measure};

fn stat(next: &Path, reference: Option<&Path>) -> Report {
    let references: Vec<_> = reference.iter().map(|path| path.to_path_buf()).collect();
    measure(next, &references, &StatOptions::default()).unwrap()
}

/// Rows of `../shared/design/evidence.md`: the pair, elements, the share that is equal, then FM-Delta, no exponent and `ULPack` by payload.
const EVIDENCE: [(&str, &str, u64, [f64; 4]); 9] = [
    ("bf16-step01600", "bf16-step01601", 2_137_088, [0.7054, 0.1049, 0.1043, 0.0791]),
    ("bf16-step01600", "bf16-step01610", 2_137_088, [0.2358, 0.2605, 0.2578, 0.2165]),
    ("bf16-step01600", "bf16-step01700", 2_137_088, [0.0691, 0.3783, 0.3746, 0.3388]),
    ("bf16-step01200", "bf16-step01600", 2_137_088, [0.0179, 0.5053, 0.4988, 0.4704]),
    ("rl-bf16-step020", "rl-bf16-step021", 2_137_088, [0.9749, 0.0136, 0.0136, 0.0096]),
    ("f16-step01600", "f16-step01700", 2_137_088, [0.0088, 0.5630, 0.5604, 0.5244]),
    ("f32-step01600", "f32-step01610", 2_137_088, [0.0000, 0.6291, 0.6278, 0.6061]),
    ("f32-step01600", "f32-step01700", 2_137_088, [0.0000, 0.6890, 0.6873, 0.6693]),
    ("optim-f32-step01600", "optim-f32-step01700", 1_579_520, [0.0000, 0.8577, 0.8482, 0.8310]),
];

#[test]
fn the_evidence_is_reproduced() {
    let mut failures = Vec::new();
    for (prev, next, elements, [equal, fm_delta, no_exponent, ulpack]) in EVIDENCE {
        let path = |name: &str| shared(&format!("trajectory/{name}.safetensors"));
        let (Some(prev), Some(path)) = (path(prev), path(next)) else { continue };
        let report = stat(&path, Some(&prev));
        assert_eq!(report.total.elements, elements, "{next}");
        assert_eq!(report.total.matched, report.total.tensors, "{next}");
        let ratio = |bytes: Option<u64>| bytes.unwrap() as f64 / report.total.bytes as f64;
        let sizes = &report.total.sizes;
        let found = [ratio(sizes.fm_delta), ratio(sizes.no_exponent), ratio(sizes.ulpack)];
        let xor = ratio(sizes.xor_bound);
        let ulp = ratio(Some(sizes.ulp));
        println!("{next:<20} {found:.4?}, xor bound {xor:.4}, ulp {ulp:.4}");
        for (found, published) in found.into_iter().zip([fm_delta, no_exponent, ulpack]) {
            // Half a percent, and what rounding to four digits hides.
            if (found - published).abs() > 0.005 * published + 0.00005 {
                failures.push((next, found, published));
            }
        }
        if (1.0 - report.total.changed.unwrap() - equal).abs() > 0.00005 {
            failures.push((next, report.total.changed.unwrap(), equal));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A file with these bytes.
fn file(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn of_type(element: ElementType) -> StatOptions {
    let mut options = StatOptions::default();
    options.element = Some(element);
    options
}

fn bf16(values: impl IntoIterator<Item = u16>) -> Vec<u8> {
    values.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn known_answers_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    // Half of 1.0 and half of 2.0; those of 1.0 move by one ulp outward or stay, those of 2.0 by five inward.
    let prev = bf16((0..1024).map(|i| if i % 2 == 0 { 0x3F80 } else { 0x4000 }));
    let next = bf16((0..1024u16).map(|i| if i % 2 == 0 { 0x3F80 + (i / 2) % 2 } else { 0x4000 - 5 }));
    let (prev, next) = (file(directory.path(), "prev", &prev), file(directory.path(), "next", &next));
    let report = measure(&next, &[prev], &of_type(ElementType::Bf16)).unwrap();
    let all = &report.tensors[0];
    let residuals = all.residuals.as_ref().unwrap();
    let near = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-9, "{found} {exact}");
    near(residuals.changed, 0.75);
    // Lengths 0, 1, 3 with shares 1/4, 1/4, 1/2; under 2.0 there is no doubt, under 1.0 one bit.
    near(residuals.length_entropy, 1.5);
    near(residuals.information_exponent, 1.0);
    near(residuals.conditioning_gain, 1.0 / 1.5);
    // 0x4000 ^ 0x3FFB has the 15 upper bits set but one, and the residual is 5.
    near(residuals.bits.xor[0], 0.75);
    near(residuals.bits.xor[14], 0.5);
    near(residuals.bits.ordered[0], 0.75);
    near(residuals.bits.ordered[1], 0.0);
    near(residuals.bits.ordered[2], 0.5);
    near(residuals.bits.ordered[14], 0.0);
    assert_eq!(residuals.lengths[127], [256, 256]);
    assert_eq!(residuals.lengths[128], [0, 0, 0, 512]);
    assert_eq!(residuals.lengths.len(), 129);
    let plain = all.plain.as_ref().unwrap();
    near(plain.exponent_entropy, 0.0);
    near(plain.sign_entropy, 0.0);
    // 5 below 2.0 is below 2.0.
    assert_eq!((plain.exponents.len(), plain.exponents.last()), (128, Some(&1024)));
}

#[test]
fn extreme_values_are_measured_like_any_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(3);
    for element in ElementType::ALL {
        let prev: Vec<u8> = random.bytes(3000 * element.width());
        let next: Vec<u8> = prev
            .chunks(element.width())
            .flat_map(|p| {
                let kept = random.below(2) == 0;
                p.iter().map(|b| if kept { *b } else { (random.next() >> 32) as u8 }).collect::<Vec<_>>()
            })
            .collect();
        let (prev, next) = (file(directory.path(), "prev", &prev), file(directory.path(), "next", &next));
        let report = measure(&next, &[prev], &of_type(element)).unwrap();
        let residuals = report.tensors[0].residuals.as_ref().unwrap();
        assert!(residuals.length_entropy.is_finite() && residuals.scale_bits.is_finite());
        assert!(residuals.information_lambda <= residuals.length_entropy + 1e-9);
        assert_eq!(report.total.elements, 3000);
        // Models never take less than the lengths' own entropy allows, and the counts are all there.
        assert_eq!(residuals.lengths.iter().flatten().sum::<u64>(), 3000, "{element:?}");
        assert!(report.total.sizes.fm_delta.unwrap() > 0);
        serde_json::to_string(&report).unwrap();
    }
}

#[test]
fn another_float_type_is_converted_first() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    let values: Vec<half::bf16> = (0..2000).map(|_| half::bf16::from_f64(random.normal())).collect();
    let file32 = |bytes: Vec<u8>, element: &str, name: &str| {
        let header = format!(r#"{{"a":{{"dtype":"{element}","shape":[2000],"data_offsets":[0,{}]}}}}"#, bytes.len());
        let mut all = (header.len() as u64).to_le_bytes().to_vec();
        all.extend(header.as_bytes());
        all.extend(bytes);
        file(directory.path(), name, &all)
    };
    let next = file32(values.iter().flat_map(|v| v.to_le_bytes()).collect(), "BF16", "next");
    let prev = file32(values.iter().flat_map(|v| v.to_f32().to_le_bytes()).collect(), "F32", "prev");
    let report = stat(&next, Some(&prev));
    assert_eq!(report.tensors[0].reference.as_ref().unwrap().element, ElementType::F32);
    assert_eq!(report.total.changed, Some(0.0));
}

#[test]
fn figures_do_not_depend_on_threads_and_files_without_tensors_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = file(directory.path(), "text", b"no tensors here");
    let error = measure(&text, &[], &StatOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no tensors"), "{error}");
    let Some(next) = shared("containers/step_100.pt") else { return };
    let prev = shared("containers/step_99.pt").unwrap();
    let with = |threads| {
        let mut options = StatOptions::default();
        options.threads = threads;
        serde_json::to_string(&measure(&next, std::slice::from_ref(&prev), &options).unwrap()).unwrap()
    };
    assert_eq!(with(1), with(3));
}

#[cfg(feature = "plot")]
#[test]
fn pictures_have_axes_and_legends() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(9);
    let prev: Vec<u16> = (0..5000).map(|_| half::bf16::from_f64(random.normal()).to_bits()).collect();
    let next = bf16(prev.iter().map(|u| u + (random.below(4) as u16)));
    let (prev, next) = (file(directory.path(), "prev", &bf16(prev)), file(directory.path(), "next", &next));
    let both = measure(&next, &[prev], &of_type(ElementType::Bf16)).unwrap();
    let alone = measure(&next, &[], &of_type(ElementType::Bf16)).unwrap();
    let (both, alone) = (ulpack::stat::plot(&both).unwrap(), ulpack::stat::plot(&alone).unwrap());
    for text in
        ["magnitude of the reference", "length of |residual|", "mean length", "next XOR reference", "ULPack", "(all)"]
    {
        assert!(both.contains(text), "{text}");
    }
    for text in ["share of the elements", "exponents by themselves", "bf16"] {
        assert!(alone.contains(text), "{text}");
    }
    assert!(!both.contains("NaN") && !alone.contains("NaN"));
}
