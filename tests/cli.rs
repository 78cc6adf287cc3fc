//! The command, as shells and other programs see it: each case in `tests/cli/*.toml` is a line for bash with what it must print
//! and how it must end.
#![cfg(all(unix, feature = "cli"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail like tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml::{Table, Value};

/// The files of cases, a test each.
macro_rules! files {
    ($($name:ident),* $(,)?) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { run_file(stringify!($name)); })*
    };
}

files!(
    apply, arguments, banks, chains, damage, empty, help, list, look, messages, output, references, refusals, signals,
    stat, terminal
);

#[test]
fn every_file_is_listed() {
    let listed: BTreeSet<_> = FILES.iter().map(|name| format!("{name}.toml")).collect();
    let there: BTreeSet<_> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(listed, there);
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    root().join("tests/cli")
}

/// One case of a file.
struct Case {
    name: String,
    /// For bash, in an empty directory but for `files`, with `ulp` in the path.
    run: String,
    files: Table,
    /// Programs it cannot do without.
    needs: Vec<String>,
    status: i64,
    /// Exact, but for `[..]`, which stands for anything in a line.
    stdout: String,
    stderr: String,
}

impl Case {
    fn new(table: &Table) -> Self {
        const KEYS: [&str; 7] = ["name", "run", "files", "needs", "status", "stdout", "stderr"];
        for key in table.keys() {
            assert!(KEYS.contains(&key.as_str()), "unknown key {key}");
        }
        let text = |key: &str| table.get(key).map_or("", |value| value.as_str().unwrap());
        let needs = table.get("needs").map(|value| value.as_array().unwrap());
        Self {
            name: text("name").to_owned(),
            run: text("run").to_owned(),
            files: table.get("files").map_or_else(Table::new, |value| value.as_table().unwrap().clone()),
            needs: needs
                .map_or_else(Vec::new, |names| names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()),
            status: table.get("status").map_or(0, |value| value.as_integer().unwrap()),
            stdout: text("stdout").to_owned(),
            stderr: text("stderr").to_owned(),
        }
    }

    /// What is missing to run it here.
    fn missing(&self) -> Option<&str> {
        let data = root().join("../shared/data");
        self.needs.iter().map(String::as_str).find(|name| match *name {
            "data" => !data.is_dir(),
            program => !is_program(program),
        })
    }

    /// Runs it; the reasons why it is not as it must be.
    fn check(&self) -> Result<(), String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in &self.files {
            fs::write(directory.path().join(name), content.as_str().unwrap()).unwrap();
        }
        let output = Command::new("timeout")
            .args(["120", "bash", "-c", &self.run])
            .current_dir(directory.path())
            .env_clear()
            .env("PATH", path())
            .env("DATA", root().join("../shared/data"))
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let status = output.status.code().map_or(-1, i64::from);
        let mut wrong = String::new();
        if status != self.status {
            wrong += &format!("  status {status}, not {}\n", self.status);
        }
        for (what, bytes, expected) in
            [("stdout", output.stdout, &self.stdout), ("stderr", output.stderr, &self.stderr)]
        {
            let found = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            if !matches(expected, &found) {
                wrong += &format!("  {what}:\n{}  not:\n{}", indent(&found), indent(expected));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

fn run_file(name: &str) {
    let text = fs::read_to_string(folder().join(name).with_extension("toml")).unwrap();
    let file: Table = text.parse().unwrap();
    let cases = file.get("case").and_then(Value::as_array).unwrap();
    let mut failures = String::new();
    for table in cases {
        let case = Case::new(table.as_table().unwrap());
        if let Some(missing) = case.missing() {
            println!("skipped, as {missing} is not here: {}", case.name);
        } else if let Err(wrong) = case.check() {
            failures += &format!("{}: {}\n{wrong}", case.name, case.run.trim());
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The command's directory, then the user's.
fn path() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_ulp")).parent().unwrap().to_owned();
    let theirs = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&theirs))).unwrap()
}

fn is_program(name: &str) -> bool {
    std::env::split_paths(&path()).any(|directory| directory.join(name).is_file())
}

/// Whether the lines of `text` are those of `pattern`.
fn matches(pattern: &str, text: &str) -> bool {
    let (patterns, lines) = (pattern.split('\n'), text.split('\n'));
    patterns.clone().count() == lines.clone().count()
        && patterns.zip(lines).all(|(pattern, line)| matches_line(pattern, line))
}

fn matches_line(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once("[..]") else {
        return pattern == line;
    };
    line.strip_prefix(start).is_some_and(|line| {
        let ends = line.char_indices().map(|(i, _)| i).chain([line.len()]);
        ends.into_iter().any(|i| matches_line(rest, &line[i..]))
    })
}

/// Text for the report of a failure: on its own lines, printable, not endless.
fn indent(text: &str) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let lines = text.lines().take(30);
    lines.map(|line| format!("    {}\n", line.chars().map(printable).take(300).collect::<String>())).collect()
}

#[test]
fn patterns_match_what_they_should() {
    assert!(matches("a[..]c\n", "abbc\n"));
    assert!(matches("[..]", ""));
    assert!(!matches("[..]", "a\nb"));
    assert!(!matches("a[..]c", "abcd"));
    assert!(!matches("", "a"));
}
