//! Makes the built-in banks (spec §12.2): `builtin_banks TRAJECTORY FILE`. The same trajectory files give the same bytes.
//!
//! They learn from dense steps of several lengths, a sparse one, weights and Adam moments. Step 1700, on which the tests measure, is left out but for the
//! optimizer, of which there is one pair.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ulpack::wire::bank_file::FileBank;
use ulpack::{BankFile, EncoderOptions, Level, Reference, Trainer, Training};

/// What one bank, or one per method, is made from: pairs of files, `-` for none, and log2 of the block length.
const LESSONS: [(&[(&str, &str)], u8); 9] = [
    (
        &[
            ("bf16-step01200", "bf16-step01600"),
            ("bf16-step01600", "bf16-step01601"),
            ("bf16-step01600", "bf16-step01610"),
            ("bf16-step01601", "bf16-step01610"),
        ],
        8,
    ),
    (&[("f32-step01600", "f32-step01610")], 8),
    (&[("optim-f32-step01600", "optim-f32-step01700")], 8),
    (&[("rl-bf16-step020", "rl-bf16-step021")], 0),
    (&[("bf16-step01600", "bf16-step01601"), ("rl-bf16-step020", "rl-bf16-step021")], 10),
    (&[("-", "bf16-step01200"), ("-", "bf16-step01600")], 8),
    (&[("-", "f16-step01600")], 8),
    (&[("-", "f32-step01600")], 8),
    (&[("-", "optim-f32-step01600")], 8),
];

fn learn(folder: &Path, pairs: &[(&str, &str)], block: u8) -> Vec<FileBank> {
    let mut trainer = Trainer::new(Training { block: Some(block), ..Training::default() });
    let open = |name: &str| File::open(folder.join(name).with_extension("safetensors")).expect(name);
    let mut options = EncoderOptions::default();
    options.level = Level::Fast;
    options.threads = 1;
    for (prev, next) in pairs {
        let references = if *prev == "-" { Vec::new() } else { vec![Reference::File(open(prev))] };
        trainer.add(open(next), &options, references).unwrap();
    }
    let file = trainer.finish().unwrap().0;
    // Streams with pairs are not Baseline ones, which built-in banks are for.
    file.banks().iter().filter(|bank| bank.bank.class.elements() == 1).cloned().collect()
}

fn main() {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, output] = &args[..] else { panic!("usage: builtin_banks TRAJECTORY FILE") };
    let mut banks: Vec<FileBank> = Vec::new();
    for (pairs, block) in LESSONS {
        for bank in learn(folder, pairs, block) {
            // References that do not help leave plain statistics, which others have learned from more.
            let known = |b: &FileBank| {
                (b.element, b.model, b.block, b.bank.class) == (bank.element, bank.model, bank.block, bank.bank.class)
            };
            if pairs[0].0 == "-" || bank.model != ulpack::core::model::Model::Plain {
                println!(
                    "{} {:?} 2^{}{}",
                    bank.element.name(),
                    bank.model,
                    bank.block,
                    if banks.iter().any(known) { " (again)" } else { "" }
                );
                banks.push(bank);
            }
        }
    }
    let file = BankFile::new(banks).unwrap();
    fs::write(output, file.bytes()).unwrap();
    let digest: String = file.sha256().iter().map(|b| format!("{b:02x}")).collect();
    println!("{}: {} banks, {} bytes, SHA-256 {digest}", output.display(), file.banks().len(), file.bytes().len());
}
