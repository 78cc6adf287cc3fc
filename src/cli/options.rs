//! The command line as meant: flags and environment together, contradictions refused.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::ArgMatches;
use ulpack::{DecoderOptions, EncoderOptions, Level, Typing};

use super::failure::Failure;
use super::messages::{say, shown};
use super::{flags, values};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Compress,
    Decompress,
    Test,
    List { json: bool },
}

/// What of the content to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    All,
    /// From one offset to another, or to the end.
    Range(u64, Option<u64>),
    /// Tensors by names and patterns.
    Tensors {
        patterns: Vec<String>,
        npy: bool,
    },
}

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Standard input; `named` as `-`, and so to be read even from a terminal.
    Stdin {
        named: bool,
    },
    File(PathBuf),
}

impl Source {
    pub(super) fn new(name: &OsStr) -> Self {
        match name.to_str() {
            Some("-") => Self::Stdin { named: true },
            _ => Self::File(PathBuf::from(name)),
        }
    }

    /// The name in messages.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Stdin { .. } => String::from("stdin"),
            Self::File(path) => shown(path.as_os_str()),
        }
    }
}

/// Where bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Standard output; `named` as `-`, and so to be written even to a terminal.
    Stdout {
        named: bool,
    },
    File {
        path: PathBuf,
        overwrite: bool,
    },
}

impl Target {
    /// The name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Stdout { .. } => String::from("stdout"),
            Self::File { path, .. } => shown(path.as_os_str()),
        }
    }
}

/// All of it.
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) input: Source,
    /// Further inputs, of a list or a chain.
    pub(super) more: Vec<Source>,
    pub(super) pick: Pick,
    /// For a chain: the step to restore, `None` for the last.
    pub(super) chain: Option<Option<usize>>,
    pub(super) output: Target,
    pub(super) references: Vec<Source>,
    /// Bank files.
    pub(super) banks: Vec<Source>,
    pub(super) encoder: EncoderOptions,
    pub(super) decoder: DecoderOptions,
    pub(super) verbose: bool,
    /// The summary as JSON.
    pub(super) json: bool,
    /// Whether to show progress; `None` leaves it to the terminal.
    pub(super) progress: Option<bool>,
}

impl Options {
    /// What the user means.
    pub(super) fn from_matches(matches: &ArgMatches) -> Result<Self, Failure> {
        let quiet = matches.get_flag("quiet");
        let mode = mode(matches)?;
        let chain = chain(matches, mode)?;
        let several = chain.is_some() || matches!(mode, Mode::List { .. });
        let input = operand(matches, several)?;
        let more = if several { matches.get_many::<OsString>("more").unwrap_or_default() } else { Default::default() };
        let more: Vec<_> = more.map(|name| Source::new(name)).collect();
        if more.iter().any(|source| matches!(source, Source::Stdin { .. })) {
            return Err(Failure::usage("standard input is the first input or none"));
        }
        let pick = pick(matches, mode)?;
        let references = references(matches, &input)?;
        let threads = threads(matches, quiet);
        let memory = matches.get_one::<u64>("memory").copied();

        let mut encoder = EncoderOptions::default();
        if let Some(typing) = matches.get_one::<Typing>("dtype") {
            encoder.typing = *typing;
        }
        encoder.level = level(matches, quiet);
        encoder.threads = threads;
        // Reading and writing go on meanwhile.
        encoder.overlap = true;
        encoder.columns = matches.get_one::<u32>("columns").copied();
        encoder.metadata = metadata(matches)?;
        encoder.sha256 = matches.get_flag("sha256");
        encoder.memory = memory;
        encoder.external_bank = matches.get_flag("external-bank");
        encoder.frozen_only = matches.get_flag("frozen-only");

        let mut decoder = DecoderOptions::default();
        decoder.threads = threads;
        decoder.memory = memory;
        decoder.sha256 = encoder.sha256;
        decoder.salvage = matches.get_flag("salvage");

        Ok(Self {
            mode,
            input,
            more,
            pick,
            chain,
            output: output(matches),
            references,
            banks: banks(matches)?,
            encoder,
            decoder,
            verbose: matches.get_flag("verbose"),
            json: matches.get_flag("json"),
            progress: progress(matches, quiet),
        })
    }
}

fn mode(matches: &ArgMatches) -> Result<Mode, Failure> {
    let flag = |name| matches.get_flag(name);
    let mode = if flag("list") {
        Mode::List { json: flag("json") }
    } else if flag("test") {
        Mode::Test
    } else if flag("decompress") {
        Mode::Decompress
    } else {
        Mode::Compress
    };
    if flag("salvage") && !matches!(mode, Mode::Decompress | Mode::Test) {
        return Err(Failure::usage("--salvage needs -d or -t"));
    }
    Ok(mode)
}

fn chain(matches: &ArgMatches, mode: Mode) -> Result<Option<Option<usize>>, Failure> {
    if !matches.get_flag("chain") {
        return Ok(None);
    }
    if !matches!(mode, Mode::Decompress | Mode::Test) {
        return Err(Failure::usage("--chain needs -d or -t"));
    }
    Ok(Some(matches.get_one::<u32>("at").map(|&at| at as usize)))
}

fn pick(matches: &ArgMatches, mode: Mode) -> Result<Pick, Failure> {
    let range = matches.get_one::<(u64, Option<u64>)>("range").copied();
    let patterns: Vec<String> = matches.get_many::<String>("tensor").unwrap_or_default().cloned().collect();
    let pick = match range {
        Some((start, end)) => Pick::Range(start, end),
        None if patterns.is_empty() => Pick::All,
        None => Pick::Tensors { patterns, npy: matches.get_flag("npy") },
    };
    if pick != Pick::All && (mode != Mode::Decompress || matches.get_flag("salvage")) {
        return Err(Failure::usage("--tensor and --range need -d, without --salvage"));
    }
    Ok(pick)
}

fn operand(matches: &ArgMatches, several: bool) -> Result<Source, Failure> {
    if let (Some(second), false) = (matches.get_one::<OsString>("more"), several) {
        return Err(Failure::about(
            &shown(second),
            "a second FILE; one at a time is read, and the output is named with -o",
        ));
    }
    let name = matches.get_one::<OsString>("FILE");
    Ok(name.map_or(Source::Stdin { named: false }, |name| Source::new(name)))
}

fn references(matches: &ArgMatches, input: &Source) -> Result<Vec<Source>, Failure> {
    let names = matches.get_many::<OsString>("ref").unwrap_or_default();
    let sources: Vec<_> = names.map(|name| Source::new(name)).collect();
    let stdin = |source: &&Source| matches!(source, Source::Stdin { .. });
    match sources.iter().filter(stdin).count() {
        0 => Ok(sources),
        1 if matches!(input, Source::File(_)) => Ok(sources),
        1 => Err(Failure::usage("--ref -: standard input is the input already; name the input as FILE")),
        _ => Err(Failure::usage("--ref -: standard input can be read once")),
    }
}

fn banks(matches: &ArgMatches) -> Result<Vec<Source>, Failure> {
    let names = matches.get_many::<OsString>("bank").unwrap_or_default();
    let sources: Vec<_> = names.map(|name| Source::new(name)).collect();
    if sources.iter().any(|source| matches!(source, Source::Stdin { .. })) {
        return Err(Failure::usage("--bank -: name a file"));
    }
    Ok(sources)
}

fn output(matches: &ArgMatches) -> Target {
    match matches.get_one::<OsString>("output") {
        None => Target::Stdout { named: false },
        Some(name) if name == "-" => Target::Stdout { named: true },
        Some(name) => Target::File { path: PathBuf::from(name), overwrite: matches.get_flag("force") },
    }
}

fn level(matches: &ArgMatches, quiet: bool) -> Level {
    let given = (1..=9).zip(flags::LEVELS).find(|(_, name)| matches.get_flag(name));
    let number = given.map(|(number, _)| number).or_else(|| {
        let number = variable("ULP_LEVEL", quiet, "1 to 9", |n| (1..=9).contains(n))?;
        u8::try_from(number).ok()
    });
    number.and_then(values::level).unwrap_or_default()
}

fn threads(matches: &ArgMatches, quiet: bool) -> usize {
    let given = matches.get_one::<u16>("threads").copied();
    given.or_else(|| variable("ULP_THREADS", quiet, "0 to 1024", |n| *n <= 1024)).map_or(0, values::threads)
}

/// A number from the environment; a wrong one must not break a script that did not set it.
fn variable(name: &str, quiet: bool, range: &str, fits: impl Fn(&u16) -> bool) -> Option<u16> {
    let value = env::var_os(name)?;
    let number = value.to_str().and_then(|text| text.parse().ok()).filter(fits);
    if number.is_none() && !value.is_empty() && !quiet {
        say(&format!("{name}: '{}' is not a number from {range}; ignored", shown(&value)));
    }
    number
}

fn metadata(matches: &ArgMatches) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut keys = BTreeSet::new();
    let mut pairs = Vec::new();
    for text in matches.get_many::<OsString>("meta").unwrap_or_default() {
        let subject = format!("--meta {}", shown(text));
        let (key, value) = values::pair(text).map_err(|why| Failure::about(&subject, why))?;
        if !keys.insert(key.clone()) {
            return Err(Failure::about(&subject, "the key is given twice"));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn progress(matches: &ArgMatches, quiet: bool) -> Option<bool> {
    if matches.get_flag("progress") {
        Some(true)
    } else if matches.get_flag("no-progress") || quiet {
        Some(false)
    } else {
        None
    }
}
