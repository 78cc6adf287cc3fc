//! What is installed beside the command: man page, completions and file(1) magic are current and do their work.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail like tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

const GENERATED: [(&str, &str); 4] = [
    ("man", "misc/ulp.1"),
    ("complete-bash", "misc/completions/ulp.bash"),
    ("complete-zsh", "misc/completions/_ulp"),
    ("complete-fish", "misc/completions/ulp.fish"),
];

#[test]
fn the_man_page_and_the_completions_are_those_of_the_flags() {
    for (what, file) in GENERATED {
        let made = Command::new(env!("CARGO_BIN_EXE_ulp")).args(["--generate", what]).output().unwrap();
        assert!(made.status.success() && made.stdout.len() > 500);
        let kept = fs::read(root().join(file)).unwrap();
        assert!(made.stdout == kept, "{file} is not what the flags make now: run misc/update");
    }
}

/// What file(1) says with our magic alone, or nothing where it is absent.
fn file(arguments: &[&str], path: &Path) -> Option<String> {
    let output =
        Command::new("file").args(arguments).arg("-b").arg("-m").arg(root().join("misc/magic")).arg(path).output();
    let Ok(output) = output else {
        eprintln!("note: file(1) is absent, skipped");
        return None;
    };
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn file_knows_streams() {
    let vector = |name: &str| root().join(format!("conformance/vectors/{name}.ulp"));
    for (name, said) in [
        ("valid/baseline/empty", "ulp compressed data, draft 1, chunks up to 1 bytes"),
        ("valid/baseline/hex-in-place", "ulp compressed data, draft 1, 1 reference, in place, chunks up to 2 bytes"),
        ("valid/extended/references-255", "ulp compressed data, draft 1, 255 references, feature set 1, "),
        ("unsupported/header-version", "ulp compressed data, version 1, "),
    ] {
        let Some(found) = file(&[], &vector(name)) else { return };
        assert!(found.starts_with(said), "{name}: {found}");
    }
    assert_eq!(file(&["--mime-type"], &vector("valid/baseline/empty")).unwrap(), "application/vnd.ulp");
    for name in ["invalid/header/magic", "invalid/header/magic-text-mode", "invalid/header/other-format"] {
        assert!(!file(&[], &vector(name)).unwrap().contains("ulp"), "{name}");
    }
    let bank = tempfile::NamedTempFile::new().unwrap();
    fs::write(bank.path(), b"\x89ulb\r\n\0\x01\x03\0\0\0\0\0\0\0").unwrap();
    assert_eq!(file(&[], bank.path()).unwrap(), "ulp bank file, 3 banks");
}

#[test]
#[cfg(unix)]
fn one_command_installs_all() {
    let prefix = tempfile::tempdir().unwrap();
    let run =
        Command::new(root().join("misc/install")).arg(prefix.path()).arg(env!("CARGO_BIN_EXE_ulp")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let version = Command::new(prefix.path().join("bin/ulp")).arg("--version").output().unwrap();
    assert!(version.status.success() && version.stdout.starts_with(b"ulp "));
    for line in String::from_utf8(run.stdout).unwrap().lines() {
        assert!(Path::new(line).is_file(), "{line}");
    }
    assert!(prefix.path().join("share/man/man1/ulp.1").is_file());
}
