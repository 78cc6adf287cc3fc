//! The conformance corpus: through the library with every kernel, and through the command with the corpus's own runner.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail like tests")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use common::decompress_with;
use serde_json::Value;
use sha2::{Digest, Sha256};
use ulpack::kernel::Kernel;
use ulpack::{BankFile, DecoderOptions, Error, ErrorClass, Reference};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

fn vectors() -> Vec<Value> {
    let text = fs::read_to_string(corpus().join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["vectors"].as_array().unwrap().clone()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// Length and SHA-256, as the manifest has them.
fn described(bytes: &[u8]) -> (u64, String) {
    let digest = Sha256::digest(bytes);
    (bytes.len() as u64, digest.iter().map(|b| format!("{b:02x}")).collect())
}

fn of_manifest(value: &Value) -> (u64, String) {
    (value["length"].as_u64().unwrap(), text(value, "sha256").to_owned())
}

/// What is wrong with the decoder's answer to a vector.
fn wrong(vector: &Value, content: &[u8], error: Option<&Error>) -> Option<String> {
    let found = described(content);
    let expect = text(vector, "expect");
    let Some(error) = error else {
        return if expect == "reject" {
            Some(String::from("accepted"))
        } else {
            (found != of_manifest(&vector["output"])).then(|| format!("another content: {} bytes", content.len()))
        };
    };
    if expect == "accept" {
        return Some(format!("rejected: {error}"));
    }
    let class_fits = match text(vector, "class") {
        "invalid" => error.class() == ErrorClass::Invalid,
        "unsupported" => error.class() == ErrorClass::Unsupported,
        "limit" => [ErrorClass::Invalid, ErrorClass::Unsupported, ErrorClass::OverLimit].contains(&error.class()),
        other => panic!("unknown class {other}"),
    };
    if !class_fits {
        return Some(format!("class {:?}: {error}", error.class()));
    }
    let released = vector["released"].as_array().unwrap();
    (!released.iter().any(|r| of_manifest(r) == found)).then(|| format!("released {} bytes: {error}", content.len()))
}

/// The bank files of a vector.
fn banks(vector: &Value) -> Result<Vec<Arc<BankFile>>, Error> {
    let names = vector["banks"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
    names.map(|name| BankFile::parse(&fs::read(corpus().join(name)).unwrap()).map(Arc::new)).collect()
}

fn decode(
    stream: &[u8],
    references: &[Arc<[u8]>],
    banks: Vec<Arc<BankFile>>,
    kernel: Kernel,
    threads: usize,
) -> (Vec<u8>, Option<Error>) {
    let mut options = DecoderOptions::default();
    options.banks = banks;
    options.kernel = Some(kernel);
    options.threads = threads;
    decompress_with(stream, references.iter().map(|r| Reference::Bytes(r.clone())).collect(), options)
}

#[test]
fn every_vector_with_every_kernel() {
    let vectors = vectors();
    assert!(vectors.len() > 100, "the corpus was not found");
    let mut references: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let mut failures = Vec::new();
    for vector in &vectors {
        let name = text(vector, "name");
        let stream = fs::read(corpus().join(text(vector, "file"))).unwrap();
        assert_eq!(described(&stream).1, text(vector, "sha256"), "{name} is not the file of the manifest");
        let own: Vec<Arc<[u8]>> = vector["references"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| {
                let file = r.as_str().unwrap();
                let read = || Arc::from(fs::read(corpus().join(file)).unwrap());
                references.entry(file.to_owned()).or_insert_with(read).clone()
            })
            .collect();
        for kernel in Kernel::ALL.into_iter().filter(|k| k.available()) {
            for threads in [1, 2] {
                let (content, error) = match banks(vector) {
                    Ok(banks) => decode(&stream, &own, banks, kernel, threads),
                    Err(error) => (Vec::new(), Some(error)),
                };
                if let Some(problem) = wrong(vector, &content, error.as_ref()) {
                    failures.push(format!("{name}, {kernel:?}, {threads} thread(s): {problem}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[cfg(feature = "cli")]
fn the_runner_passes_the_command() {
    let Ok(version) = Command::new("python3").arg("--version").output() else {
        eprintln!("note: python3 is absent, skipped");
        return;
    };
    assert!(version.status.success());
    // Every truncation and every bit flip of one stream takes a process each: `.ci/run` runs those too.
    let run = |skip: &[&str], decoder: &str| {
        let output = Command::new("python3")
            .arg(corpus().join("run.py"))
            .args(["--decoder", decoder, "--jobs", "2"])
            .args(skip)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let command = format!("'{}' -d", env!("CARGO_BIN_EXE_ulp"));
    let (passed, report) = run(&["--skip", "generated/*"], &command);
    assert!(passed, "{report}");
    println!("{report}");
    // A decoder that accepts anything and one that refuses everything fail.
    for decoder in ["cat", "false"] {
        let (passed, report) = run(&["--run", "valid/baseline/empty", "--run", "invalid/header/magic"], decoder);
        assert!(!passed, "{decoder} passed: {report}");
    }
}

#[test]
#[cfg(feature = "cli")]
fn the_command_keeps_the_properties_of_encoders() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("note: python3 is absent, skipped");
        return;
    }
    let ulp = env!("CARGO_BIN_EXE_ulp");
    let run = |encoder: &str, decoder: &str, also: &[String]| {
        let mut command = Command::new("python3");
        command.arg(corpus().join("run_encoder.py")).args(["--jobs", "2", "--encoder", encoder, "--decoder", decoder]);
        for command_too in also {
            command.args(["--also", command_too]);
        }
        let output = command.output().unwrap();
        let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), report.into_owned())
    };
    let also = [format!("'{ulp}' -c -T 3"), format!("env ULP_KERNEL=scalar '{ulp}' -c -T 1")];
    let (passed, report) = run(&format!("'{ulp}' -c"), &format!("'{ulp}' -d"), &also);
    assert!(passed, "{report}");
    // What makes no streams fails, and what makes another stream each time.
    let (passed, report) = run("cat", "cat", &[]);
    assert!(!passed && report.contains("the independent decoder says"), "{report}");
    let other = format!("'{ulp}' -c -9");
    let (passed, report) = run(&format!("'{ulp}' -c"), &format!("'{ulp}' -d"), &[other]);
    assert!(!passed && report.contains("makes another stream"), "{report}");
}
