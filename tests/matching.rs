//! References of checkpoints: what is matched, by what, and what it costs when nothing is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::Write;
use std::sync::Arc;

use common::{Random, decompress_with, shared};
use ulpack::{DecoderOptions, Encoder, EncoderOptions, Reference};

/// A safetensors file of these tensors: name, dtype, shape, bytes.
fn safetensors(tensors: &[(String, &str, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
    let mut header = String::from("{");
    let mut at = 0;
    for (i, (name, dtype, shape, bytes)) in tensors.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let end = at + bytes.len();
        header +=
            &format!("{comma}\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}");
        at = end;
    }
    header.push('}');
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    for (_, _, _, bytes) in tensors {
        file.extend_from_slice(bytes);
    }
    file
}

fn bf16(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|&v| half::bf16::from_f64(v).to_le_bytes()).collect()
}

fn weights(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.normal() * 0.02).collect()
}

fn moved(random: &mut Random, values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v + random.normal() * 2e-4).collect()
}

fn options() -> EncoderOptions {
    let mut options = EncoderOptions::default();
    options.threads = 1;
    options
}

fn bytes(reference: &[u8]) -> Reference {
    Reference::Bytes(Arc::from(reference))
}

/// Size of the stream; what comes back is checked.
fn size(content: &[u8], references: &[&[u8]]) -> usize {
    let open = || references.iter().map(|r| bytes(r)).collect::<Vec<_>>();
    let mut encoder = Encoder::new(Vec::new(), options(), open()).unwrap();
    encoder.write_all(content).unwrap();
    let stream = encoder.finish().unwrap().0;
    let (back, error) = decompress_with(&stream, open(), DecoderOptions::default());
    assert!(error.is_none(), "{error:?}");
    assert!(back == content);
    // The same set in another order works as well: references of some size are found by what they are.
    if references.len() > 1 && content.len() >= 1 << 16 {
        let reversed = open().into_iter().rev().collect();
        let (back, error) = decompress_with(&stream, reversed, DecoderOptions::default());
        assert!(error.is_none(), "{error:?}");
        assert!(back == content);
    }
    stream.len()
}

/// Names, shapes and values of a small model, before and after a step.
struct Model {
    names: Vec<String>,
    shapes: Vec<Vec<usize>>,
    prev: Vec<Vec<f64>>,
    next: Vec<Vec<f64>>,
}

fn model(layers: usize) -> Model {
    let mut random = Random(7);
    let mut model = Model { names: Vec::new(), shapes: Vec::new(), prev: Vec::new(), next: Vec::new() };
    for layer in 0..layers {
        for (name, shape) in
            [("attn.weight", vec![96, 128]), ("mlp.weight", vec![128, 160]), ("norm.weight", vec![128])]
        {
            let prev = weights(&mut random, shape.iter().product());
            model.next.push(moved(&mut random, &prev));
            model.prev.push(prev);
            model.names.push(format!("layers.{layer}.{name}"));
            model.shapes.push(shape);
        }
    }
    model
}

type Tensor<'a> = (String, &'a str, Vec<usize>, Vec<u8>);

fn tensors<'a>(model: &Model, values: &[Vec<f64>]) -> Vec<Tensor<'a>> {
    let of = |i: usize| (model.names[i].clone(), "BF16", model.shapes[i].clone(), bf16(&values[i]));
    (0..values.len()).map(of).collect()
}

#[test]
fn tensors_that_moved_cost_what_aligned_ones_cost() {
    let model = model(6);
    let prev = safetensors(&tensors(&model, &model.prev));
    let aligned = size(&safetensors(&tensors(&model, &model.next)), &[&prev]);
    let mut shuffled = tensors(&model, &model.next);
    shuffled.reverse();
    let reversed = size(&safetensors(&shuffled), &[&prev]);
    // The header is in another order too, which is beside the point here.
    assert!(reversed < aligned + aligned / 50 + 1200, "{reversed} against {aligned}");
}

#[test]
fn renamed_tensors_are_found_by_type_shape_and_order() {
    let model = model(6);
    let prev = safetensors(&tensors(&model, &model.prev));
    let aligned = size(&safetensors(&tensors(&model, &model.next)), &[&prev]);
    let mut renamed = tensors(&model, &model.next);
    for tensor in &mut renamed {
        tensor.0 = format!("module.{}", tensor.0);
    }
    let renamed = size(&safetensors(&renamed), &[&prev]);
    assert!(renamed < aligned + aligned / 50 + 1200, "{renamed} against {aligned}");
}

#[test]
fn a_tensor_that_grew_by_rows_uses_the_old_rows() {
    let mut random = Random(11);
    let old = weights(&mut random, 500 * 128);
    let mut new = moved(&mut random, &old);
    let aligned = size(
        &safetensors(&[(String::from("e"), "BF16", vec![500, 128], bf16(&new))]),
        &[&safetensors(&[(String::from("e"), "BF16", vec![500, 128], bf16(&old))])],
    );
    new.extend(weights(&mut random, 20 * 128));
    let tail = size(&safetensors(&[(String::from("t"), "BF16", vec![20, 128], bf16(&new[500 * 128..]))]), &[]);
    let grown = size(
        &safetensors(&[(String::from("e"), "BF16", vec![520, 128], bf16(&new))]),
        &[&safetensors(&[
            (String::from("a"), "BF16", vec![64, 64], bf16(&weights(&mut random, 4096))),
            (String::from("e"), "BF16", vec![500, 128], bf16(&old)),
        ])],
    );
    assert!(grown < aligned + tail + 800, "{grown} against {aligned} + {tail}");
}

#[test]
fn an_unrelated_reference_costs_next_to_nothing() {
    let model = model(6);
    let next = safetensors(&tensors(&model, &model.next));
    let plain = size(&next, &[]);
    let mut random = Random(99);
    let other: Vec<Vec<f64>> = model.prev.iter().map(|v| weights(&mut random, v.len())).collect();
    let unrelated = size(&next, &[&safetensors(&tensors(&model, &other))]);
    assert!(unrelated <= plain + plain / 1000 + 64, "{unrelated} against {plain}");
    let noise = random.bytes(next.len());
    let unrelated = size(&next, &[&noise]);
    assert!(unrelated <= plain + plain / 1000 + 64, "{unrelated} against {plain}");
}

#[test]
fn shards_are_found_by_name_across_files() {
    let model = model(6);
    let aligned = {
        let prev = safetensors(&tensors(&model, &model.prev));
        size(&safetensors(&tensors(&model, &model.next)), &[&prev])
    };
    let old = tensors(&model, &model.prev);
    let (a, b) = old.split_at(7);
    let shards = [safetensors(b), safetensors(a)];
    let next = safetensors(&tensors(&model, &model.next));
    let sharded = size(&next, &[&shards[0], &shards[1]]);
    assert!(sharded < aligned + aligned / 50 + 1200, "{sharded} against {aligned}");
}

#[test]
fn a_thousand_tiny_tensors_cost_four_bytes_each() {
    let mut random = Random(5);
    let count = 1000;
    let mut old = Vec::new();
    let mut new = Vec::new();
    let mut joined = (Vec::new(), Vec::new());
    for i in 0..count {
        // Lengths that differ, so that nothing can be said of many at once.
        let elements = 24 + i % 13;
        let prev = weights(&mut random, elements);
        let next = moved(&mut random, &prev);
        joined.0.extend(bf16(&prev));
        joined.1.extend(bf16(&next));
        old.push((format!("t{i}"), "BF16", vec![elements], bf16(&prev)));
        new.push((format!("t{i}"), "BF16", vec![elements], bf16(&next)));
    }
    let elements = joined.0.len() / 2;
    let one = |values: Vec<u8>| safetensors(&[(String::from("all"), "BF16", vec![elements], values)]);
    for with in [true, false] {
        let (prev, prev_one) = (safetensors(&old), one(joined.0.clone()));
        let references = |r| if with { vec![r] } else { Vec::new() };
        let header = |file: &[u8]| {
            let length = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
            size(&file[..length], &[])
        };
        let next = safetensors(&new);
        let tiny = size(&next, &references(&prev[..]));
        let single = size(&one(joined.1.clone()), &references(&prev_one[..]));
        // The JSON header names each tensor; against the same header it costs nothing, alone what it costs alone.
        let names = if with { 0 } else { header(&next) };
        assert!(tiny <= single + names + 4 * count, "{tiny} against {single} + {names}");
    }
}

#[test]
fn weights_of_another_float_type_are_found() {
    let Some(narrow) = shared("trajectory/bf16-step01700.safetensors") else { return };
    let Some(wide) = shared("trajectory/f32-step01700.safetensors") else { return };
    let (narrow, wide) = (std::fs::read(narrow).unwrap(), std::fs::read(wide).unwrap());
    let ratio = |content: &[u8], reference: &[u8]| size(content, &[reference]) as f64 / content.len() as f64;
    assert!(ratio(&narrow, &wide) <= 0.002);
    assert!(ratio(&wide, &narrow) <= 0.53);
}

#[test]
fn a_narrow_type_in_a_wide_one_costs_what_it_costs_itself() {
    let model = model(6);
    let wide = |values: &[Vec<f64>]| -> Vec<u8> {
        let of = |i: usize| {
            let bytes = values[i].iter().flat_map(|&v| half::bf16::from_f64(v).to_f32().to_le_bytes()).collect();
            (model.names[i].clone(), "F32", model.shapes[i].clone(), bytes)
        };
        safetensors(&(0..values.len()).map(of).collect::<Vec<_>>())
    };
    let narrow = |values: &[Vec<f64>]| safetensors(&tensors(&model, values));
    let expected = size(&narrow(&model.next), &[&narrow(&model.prev)]);
    let found = size(&wide(&model.next), &[&wide(&model.prev)]);
    assert!(found <= expected + expected * 3 / 100, "{found} against {expected}");
    let expected = size(&narrow(&model.next), &[]);
    let found = size(&wide(&model.next), &[]);
    assert!(found <= expected + expected * 3 / 100, "{found} against {expected}");
}

#[test]
fn the_same_again_is_next_to_nothing_and_is_told() {
    let model = model(6);
    let next = safetensors(&tensors(&model, &model.next));
    let mut encoder = Encoder::new(Vec::new(), options(), vec![bytes(&next)]).unwrap();
    encoder.write_all(&next).unwrap();
    let (stream, summary) = encoder.finish().unwrap();
    assert!(summary.identical);
    assert!(stream.len() <= next.len() / 2000 + 300, "{}", stream.len());
}
