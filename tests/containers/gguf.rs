//! GGUF: keys and values of every type, alignment, quantised blocks.

use crate::common::{assert_robust, describe, sample, spans};

/// The header of a file.
struct File(Vec<u8>);

impl File {
    fn new(version: u32, tensors: u64, pairs: u64) -> Self {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(pairs.to_le_bytes());
        Self(bytes)
    }

    fn text(&mut self, text: &str) {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    fn pair(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.text(key);
        self.0.extend(kind.to_le_bytes());
        self.0.extend(value);
    }

    fn info(&mut self, name: &str, shape: &[u64], kind: u32, offset: u64) {
        self.text(name);
        self.0.extend((shape.len() as u32).to_le_bytes());
        for dimension in shape {
            self.0.extend(dimension.to_le_bytes());
        }
        self.0.extend(kind.to_le_bytes());
        self.0.extend(offset.to_le_bytes());
    }

    fn body(mut self, alignment: usize, length: usize) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self.0.extend((0..length).map(|i| i as u8));
        self.0
    }
}

#[test]
fn samples_have_floats_and_quantised_blocks() {
    for name in ["model-next.gguf", "model-prev.gguf"] {
        let Some(bytes) = sample(name) else { return };
        let text = describe(&spans(&bytes));
        let lines: Vec<_> = text.lines().filter_map(|l| l.split_once(' ')).collect();
        let lines: Vec<_> = lines.iter().map(|(_, rest)| *rest).collect();
        assert_eq!(
            lines[1..],
            [
                "65536 f16 /256 wte.f16 [128, 256]",
                "32768 f32 /256 wpe.f32 [32, 256]",
                "17408 bytes /34 fc.q8_0 [64, 256]",
                "49152 bf16 /256 proj.bf16 [96, 256]"
            ]
        );
        assert_robust(&bytes);
    }
}

#[test]
fn values_of_every_type_are_passed() {
    for version in [2, 3] {
        let mut file = File::new(version, 2, 7);
        file.pair("general.alignment", 4, &64u32.to_le_bytes());
        for (kind, size) in [(0u32, 1), (3, 2), (7, 1), (10, 8)] {
            file.pair("k", kind, &vec![1; size]);
        }
        let mut words = 8u32.to_le_bytes().to_vec();
        words.extend(3u64.to_le_bytes());
        for word in ["a", "", "longer"] {
            words.extend((word.len() as u64).to_le_bytes());
            words.extend(word.as_bytes());
        }
        file.pair("tokens", 9, &words);
        let mut nested = 9u32.to_le_bytes().to_vec();
        nested.extend(2u64.to_le_bytes());
        for _ in 0..2 {
            nested.extend(5u32.to_le_bytes());
            nested.extend(2u64.to_le_bytes());
            nested.extend([0; 8]);
        }
        file.pair("nested", 9, &nested);
        file.info("b", &[4, 2], 30, 64);
        file.info("a", &[3], 0, 0);
        let bytes = file.body(64, 64 + 16);
        let start = bytes.len() - 80;
        assert_eq!(
            describe(&spans(&bytes)),
            format!(
                "0 {start} bytes\n{start} 12 f32 a [3]\n{} 52 bytes\n{} 16 bf16 /4 b [2, 4]\n",
                start + 12,
                start + 64
            )
        );
        assert_robust(&bytes);
    }
}

/// llama.cpp#6836: names that come twice.
#[test]
fn duplicate_names_and_unknown_types_do_no_harm() {
    let mut file = File::new(3, 3, 0);
    file.info("a", &[8], 0, 0);
    file.info("a", &[8], 0, 32);
    file.info("b", &[5000], 99, 64);
    let bytes = file.body(32, 64 + 5000);
    let start = bytes.len() - 5064;
    assert_eq!(
        describe(&spans(&bytes)),
        format!("0 {start} bytes\n{start} 32 f32 a [8]\n{} 32 f32 a [8]\n{} 5000 bytes?\n", start + 32, start + 64)
    );
}

#[test]
fn absurd_headers_leave_bytes() {
    let all_unknown = |bytes: &[u8]| {
        let spans = spans(bytes);
        let last = spans.last().unwrap();
        assert!(!last.known && last.tensor.is_none(), "{}", describe(&spans));
    };
    let tail = [0u8; 300];
    let mut promises = File::new(3, u64::MAX, u64::MAX).0;
    promises.extend(tail);
    all_unknown(&promises);
    let mut old = File::new(1, 1, 0);
    old.info("a", &[8], 0, 0);
    all_unknown(&old.body(32, 100));
    let mut big_endian = b"GGUF\0\0\0\x03".to_vec();
    big_endian.extend(tail);
    all_unknown(&big_endian);
    for (kind, value) in [
        (9u32, [&8u32.to_le_bytes()[..], &u64::MAX.to_le_bytes(), &tail].concat()),
        (9, [&0u32.to_le_bytes()[..], &(1u64 << 40).to_le_bytes(), &tail].concat()),
        (8, [&u64::MAX.to_le_bytes()[..], &tail].concat()),
        (77, tail.to_vec()),
        (9, [&9u32.to_le_bytes()[..], &1u64.to_le_bytes()].concat().repeat(100)),
    ] {
        let mut file = File::new(3, 1, 5);
        file.pair("k", kind, &value);
        all_unknown(&file.0);
    }
    let mut shapes = File::new(3, 1, 0);
    shapes.info("a", &[u64::MAX, u64::MAX], 0, 0);
    all_unknown(&shapes.body(32, 5000));
    let mut alignment = File::new(3, 1, 1);
    alignment.pair("general.alignment", 4, &0u32.to_le_bytes());
    alignment.info("a", &[8], 0, 0);
    all_unknown(&alignment.body(32, 100));
}
