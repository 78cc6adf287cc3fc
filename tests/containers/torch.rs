//! torch: eager archives, TorchScript, the format of before the archives, and DCP.

use std::collections::HashMap;
use std::io::Cursor;

use ulpack::ElementType;
use ulpack::container::{Layout, LayoutReader, TypedSpan};

use crate::archive::{Archive, Pickle, Sizes, Tensor, vectors};
use crate::common::{Sparse, assert_robust, describe, sample, spans, tensor};

/// Bytes of each tensor, by name.
fn contents(name: &str) -> Option<HashMap<String, (ElementType, Vec<u8>)>> {
    let bytes = sample(name)?;
    let spans = spans(&bytes);
    let tensors = spans.iter().filter_map(|span| {
        let tensor = span.tensor.as_ref()?;
        assert!(span.known, "{}", describe(&spans));
        let data = bytes[span.offset as usize..span.end() as usize].to_vec();
        Some((tensor.to_string(), (span.element, data)))
    });
    Some(tensors.collect())
}

/// Name, type, row length and length of each tensor.
fn tensors(spans: &[TypedSpan]) -> Vec<String> {
    let tensors = spans.iter().filter(|span| span.tensor.is_some());
    tensors
        .map(|span| {
            let line = describe(std::slice::from_ref(span));
            line.split_once(' ').unwrap().1.trim_end().to_string()
        })
        .collect()
}

/// The same object saved in both formats has the same tensors, in whatever order they come (pytorch#39383, #42163).
#[test]
fn legacy_files_and_archives_have_the_same_tensors() {
    for step in ["step_99", "step_100"] {
        let Some(archive) = contents(&format!("{step}.pt")) else {
            return;
        };
        let Some(legacy) = contents(&format!("{step}-legacy.pt")) else {
            return;
        };
        assert_eq!(archive.len(), 31);
        assert_eq!(archive.len(), legacy.len());
        for (name, (element, data)) in &archive {
            assert_eq!(legacy[name].0, *element, "{name}");
            // The losses' random state and steps differ from save to save, weights do not.
            assert_eq!(legacy[name].1.len(), data.len(), "{name}");
        }
        let same = archive.iter().filter(|(name, data)| legacy[*name] == **data);
        assert!(same.count() >= 25);
        assert_eq!(archive["model.wte.weight"].0, ElementType::Bf16);
        assert_eq!(archive["optimizer.state.0.exp_avg"].0, ElementType::F32);
        assert_eq!(archive["rng"].0, ElementType::U8);
    }
}

#[test]
fn damage_and_truncation_leave_bytes() {
    for name in ["step_100.pt", "step_100-legacy.pt", "scripted-next.pt", "dcp-next/__0_0.distcp", "dcp-next/.metadata"]
    {
        if let Some(bytes) = sample(name) {
            assert_robust(&bytes);
        }
    }
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &vectors(&[("x", 3), ("y", 2)]));
    archive.add("a/data/0", &[1; 12]);
    archive.add("a/data/1", &[2; 8]);
    assert_robust(&archive.finish());
}

/// Each part of a DCP file is an archive by itself; the names are elsewhere.
#[test]
fn archives_that_follow_each_other_are_read_one_by_one() {
    for name in ["dcp-next/__0_0.distcp", "dcp-prev/__0_0.distcp"] {
        let Some(bytes) = sample(name) else { return };
        let spans = spans(&bytes);
        let tensors: Vec<_> = spans.iter().filter(|s| s.tensor.is_some()).collect();
        assert_eq!(tensors.len(), 12, "{}", describe(&spans));
        assert!(tensors.iter().all(|s| s.element == ElementType::Bf16));
        assert!(spans.iter().all(|s| s.known));
    }
}

/// TorchScript archives have the tensors first: their types are known only to whoever has read the whole file.
#[test]
fn tensors_before_their_pickle_are_typed_in_files_only() {
    for name in ["scripted-next.pt", "scripted-prev.pt"] {
        let Some(bytes) = sample(name) else { return };
        let unknown = ["131072 bytes? data/0 []", "98304 bytes? data/1 []"];
        assert_eq!(tensors(&spans(&bytes)), unknown);
        let layout = Layout::of_file(&mut Cursor::new(&bytes)).unwrap();
        let known = ["131072 f32 /256 data/0 [128, 256]", "98304 f32 /256 data/1 [96, 256]"];
        assert_eq!(tensors(layout.spans()), known);
    }
    let mut archive = Archive::new(Sizes::Descriptor);
    // Contents that look like a descriptor, of a size that does not fit.
    archive.add("a/data/0", &b"PK\x07\x08crc!\x00\0\0\0\x00\0\0\0PK\x07\x08PK\x07\x08".repeat(3));
    archive.add("a/data/1", &[7; 16]);
    archive.add("a/data.pkl", &vectors(&[("x", 18), ("y", 4)]));
    archive.add_as("a/code/x.py", 8, b"deflated");
    let bytes = archive.finish();
    assert_eq!(tensors(&spans(&bytes)), ["72 bytes? data/0 []", "16 bytes? data/1 []"]);
    let layout = Layout::of_file(&mut Cursor::new(&bytes)).unwrap();
    assert_eq!(tensors(layout.spans()), ["72 f32 data/0 [18]", "16 f32 data/1 [4]"]);
    assert_robust(&bytes);
}

/// Sizes in headers, extra fields or descriptors of either width, contents aligned or not, checksums wrong (burn#5756): all the same.
#[test]
fn sizes_are_found_wherever_they_are() {
    for sizes in [Sizes::Header, Sizes::Extra, Sizes::Descriptor, Sizes::WideDescriptor] {
        for align in [true, false] {
            let mut archive = Archive::new(sizes);
            archive.align = align;
            archive.add("a/data.pkl", &vectors(&[("x", 3), ("y", 0), ("z", 4)]));
            archive.add("a/byteorder", b"little");
            archive.add("a/data/2", &[2; 16]);
            archive.add("a/data/0", &[1; 12]);
            archive.sizes = Sizes::Header;
            archive.add("a/data/1", &[]);
            archive.sizes = sizes;
            archive.add("a/version", b"3\n");
            let bytes = archive.finish();
            let spans = spans(&bytes);
            assert_eq!(tensors(&spans), ["16 f32 z [4]", "12 f32 x [3]"]);
            assert!(spans.iter().all(|s| s.known), "{}", describe(&spans));
        }
    }
}

/// ecmwf/anemoi-training#57: archives packed again, here with compression.
#[test]
fn compressed_records_are_bytes() {
    for sizes in [Sizes::Header, Sizes::Descriptor] {
        let mut archive = Archive::new(sizes);
        archive.add("a/data.pkl", &vectors(&[("x", 3), ("y", 2)]));
        archive.add_as("a/data/0", 8, &[1; 9]);
        archive.add("a/data/1", &[2; 8]);
        let bytes = archive.finish();
        assert_eq!(tensors(&spans(&bytes)), ["8 f32 y [2]"]);
    }
}

#[test]
fn big_endian_storages_are_bytes_that_repeat() {
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &vectors(&[("x", 3)]));
    archive.add("a/byteorder", b"big");
    archive.add("a/data/0", &[1; 12]);
    let bytes = archive.finish();
    assert_eq!(tensors(&spans(&bytes)), ["12 bytes /4 x [3]"]);
}

/// Tied weights and slices: whichever tensor uses bytes first names them; what no tensor uses has a type but no name.
#[test]
fn views_of_one_storage_share_it() {
    let view =
        |offset, shape, strides| Tensor { class: "BFloat16Storage", key: "0", count: 100, offset, shape, strides };
    let mut pickle = Pickle::new();
    pickle.op(b"}(");
    pickle.text("late").tensor(&view(60, &[2, 10], &[10, 1]));
    pickle.text("first").tensor(&view(0, &[10, 2], &[1, 10]));
    pickle.text("tied").tensor(&view(0, &[20], &[1]));
    pickle.text("across").tensor(&view(10, &[60], &[1]));
    pickle.text("gaps").tensor(&view(80, &[10], &[2]));
    pickle.text("empty").tensor(&view(30, &[0, 7], &[7, 1]));
    pickle.text("beyond").tensor(&view(90, &[11], &[1]));
    pickle.op(b"u.");
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &pickle.0);
    archive.add("a/data/0", &[1; 200]);
    let spans = spans(&archive.finish());
    let lines = describe(&spans);
    let lines: Vec<&str> = lines.lines().filter(|l| l.contains("bf16")).collect();
    let lines: Vec<&str> = lines.iter().map(|l| l.split_once(' ').unwrap().1).collect();
    assert_eq!(lines, ["40 bf16 /10 first [2, 10]", "80 bf16", "40 bf16 /10 late [2, 10]", "40 bf16"]);
}

#[test]
fn a_storage_seen_through_gaps_only_has_the_name_of_its_first_tensor() {
    let mut pickle = Pickle::new();
    pickle.op(b"}(").text("strided").tensor(&Tensor {
        class: "HalfStorage",
        key: "0",
        count: 10,
        offset: 0,
        shape: &[5],
        strides: &[2],
    });
    pickle.op(b"u.");
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &pickle.0);
    archive.add("a/data/0", &[1; 20]);
    assert_eq!(tensors(&spans(&archive.finish())), ["20 f16 strided []"]);
}

/// A storage whose record is longer or shorter than the pickle says.
#[test]
fn records_that_contradict_the_pickle_do_no_harm() {
    for sizes in [Sizes::Header, Sizes::Descriptor] {
        for length in [0, 8, 11, 13, 16, 1000] {
            let mut archive = Archive::new(sizes);
            archive.add("a/data.pkl", &vectors(&[("x", 3), ("y", 2)]));
            archive.add("a/data/0", &vec![1; length]);
            archive.add("a/data/1", &[2; 8]);
            let bytes = archive.finish();
            let spans = spans(&bytes);
            if sizes == Sizes::Header || length >= 12 {
                assert_eq!(tensor(&spans, "y").length, 8, "{}", describe(&spans));
            }
        }
    }
}

#[test]
fn names_are_paths_of_keys() {
    let mut pickle = Pickle::new();
    // {'model': OrderedDict(w=Parameter(tensor)), 'list': [t, (t,)], 3: {4: t}, 'module': object}
    pickle.op(b"}(").text("model").op(b"ccollections\nOrderedDict\n)R(");
    pickle.text("w").op(b"ctorch._utils\n_rebuild_parameter\n(");
    pickle.vector("0", 1).op(b"\x88ccollections\nOrderedDict\n)RtRu");
    pickle.text("list").op(b"](").vector("1", 1).vector("2", 1).op(b"\x85e");
    pickle.int(3).op(b"}").int(4).vector("3", 1).op(b"s");
    pickle.text("module").op(b"cmy\nModule\n)\x81}(");
    pickle.text("_parameters").op(b"}").text("bias").vector("4", 1).op(b"s");
    pickle.text("_modules").op(b"}").text("0").op(b"cmy\nLinear\n)\x81}");
    pickle.text("_parameters").op(b"}").text("weight").vector("5", 1).op(b"ss");
    pickle.op(b"bsub");
    pickle.op(b"u.");
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &pickle.0);
    for i in 0..6 {
        archive.add(&format!("a/data/{i}"), &[i; 4]);
    }
    let spans = spans(&archive.finish());
    let names: Vec<String> = spans.iter().filter_map(|s| s.tensor.as_ref().map(|t| t.to_string())).collect();
    assert_eq!(names, ["model.w", "list.0", "list.1.0", "3.4", "module.bias", "module.0.weight"]);
}

/// Pickles that nest deeply, contain themselves, or ask for much memory: walked in flat tables, with a bound.
#[test]
fn hostile_pickles_do_no_harm() {
    let mut deep = vec![0x80, 2, b')'];
    deep.extend(vec![0x85; 1_000_000]);
    deep.push(b'.');
    let marks = vec![b'('; 1_000_000];
    let mut loops = Pickle::new();
    loops.op(b"}q\x00(").text("me").op(b"h\x00").text("x").vector("0", 3).op(b"u.");
    let mut doubling = b"\x80\x02]q\x00".to_vec();
    doubling.extend(b"h\x00h\x00\x86q\x00".repeat(10_000));
    doubling.push(b'.');
    let mut duplicates = b"\x80\x02)".to_vec();
    duplicates.extend(vec![b'2'; 100_000]);
    let cases: [&[u8]; 12] = [
        &deep,
        &marks,
        &loops.0,
        &doubling,
        &duplicates,
        b"\x80\x02r\xff\xff\xff\xff.",
        b"\x80\x02Nr\xff\xff\xff\xff.",
        b"\x80\x02\x8b\xff\xff\xff\xff.",
        b"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"\x80\x02cno end of line",
        b"\x80\x02(0(1((tQRb.",
        b"\x80\x02h\x05.",
    ];
    for case in cases {
        for sizes in [Sizes::Header, Sizes::Descriptor] {
            let mut archive = Archive::new(sizes);
            archive.add("a/data.pkl", case);
            archive.add("a/data/0", &[1; 12]);
            let bytes = archive.finish();
            let mut reader = LayoutReader::with_held(1 << 20);
            for part in bytes.chunks(1000) {
                reader.push(part);
            }
            reader.finish();
            let spans = reader.take(u64::MAX);
            crate::common::assert_cover(&spans, 0, bytes.len() as u64);
        }
    }
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &loops.0);
    archive.add("a/data/0", &[1; 12]);
    assert_eq!(tensors(&spans(&archive.finish())).len(), 1);
}

/// Long strings in a pickle may hold arrays: they are left to statistics, and are not held.
#[test]
fn long_strings_in_pickles_are_of_unknown_type() {
    let mut pickle = Pickle::new();
    pickle.op(b"}(").text("array").op(b"B").op(&100_000u32.to_le_bytes());
    pickle.op(&[9; 100_000]).text("x").vector("0", 3).op(b"u.");
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &pickle.0);
    archive.add("a/data/0", &[1; 12]);
    let spans = spans(&archive.finish());
    let unknown: Vec<_> = spans.iter().filter(|s| !s.known).map(|s| s.length).collect();
    assert_eq!(unknown, [100_000]);
    assert_eq!(tensors(&spans), ["12 f32 x [3]"]);
}

/// Records beyond 4 GiB: numbers of 64 bits in header and descriptor. Of a file only the headers are read.
#[test]
fn records_beyond_four_gibibytes_are_found() {
    let size = 5u64 << 30;
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("a/data.pkl", &vectors(&[("x", (size / 4) as u32), ("y", 2)]));
    archive.sizes = Sizes::WideDescriptor;
    archive.start("a/data/0", 0, size);
    let front = std::mem::take(&mut archive.bytes);
    archive.end(size);
    archive.add("a/data/1", &[2; 8]);
    let back = archive.finish();
    let start = front.len() as u64;
    let length = start + size + back.len() as u64;
    let mut source = Sparse::new(vec![(0, front.clone()), (start + size, back.clone())], length);
    let expected = ["5368709120 f32 x [1342177280]", "8 f32 y [2]"];
    let layout = Layout::of_file(&mut source).unwrap();
    assert_eq!(tensors(layout.spans()), expected);
    assert_eq!(layout.length(), length);
    assert!(source.read < 1 << 20, "{} bytes read", source.read);

    let mut reader = LayoutReader::new();
    reader.push(&front);
    let zeros = vec![0; 1 << 20];
    for _ in 0..size >> 20 {
        reader.push(&zeros);
    }
    reader.push(&back);
    reader.finish();
    assert_eq!(tensors(&reader.take(u64::MAX)), expected);
}

/// pytorch PR#101964: the id of an archive differs from save to save, in the same place.
#[test]
fn the_serialization_id_is_bytes() {
    let answers = ["1", "7"].map(|digit| {
        let mut archive = Archive::new(Sizes::Descriptor);
        archive.add("a/data.pkl", &vectors(&[("x", 3)]));
        archive.add("a/data/0", &[1; 12]);
        archive.add("a/version", b"3\n");
        archive.add("a/.data/serialization_id", digit.repeat(40).as_bytes());
        describe(&spans(&archive.finish()))
    });
    assert_eq!(answers[0], answers[1]);
    assert!(!answers[0].contains('?'), "{}", answers[0]);
}
