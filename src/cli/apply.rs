//! `ulp apply`: a delta applied to the file it was made against, in its place.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use ulpack::{DecoderOptions, ReadAt, apply_to_file};

use super::exit::Exit;
use super::extract::Sought;
use super::failure::Failure;
use super::input::{Forward, Opened};
use super::messages::{say, shown};
use super::options::Source;
use super::{amounts, bank_files, values};

/// Its flags.
pub(super) fn command() -> Command {
    let path =
        |name: &'static str| Arg::new(name).value_parser(value_parser!(OsString)).value_hint(ValueHint::FilePath);
    Command::new("apply")
        .about("Apply a delta to the file it was made against")
        .long_about(
            "Apply a delta to the file it was made against, in its place: only chunks that change are written. All chunks are \
             verified first; a file that is neither reference nor result is left as it is. What is about to be written is \
             kept in FILE.ulp-journal while it is written: after a kill or a loss of power the same command completes it. \
             A delta from a pipe is held in memory",
        )
        .override_usage("ulp apply --in-place FILE [OPTIONS] [DELTA]")
        .args([
            path("in-place").long("in-place").value_name("FILE").required(true).help("The file to be changed"),
            path("DELTA").help("The delta; standard input without it, or as '-'"),
            path("bank")
                .long("bank")
                .value_name("FILE")
                .action(ArgAction::Append)
                .help("A bank file that the delta may need; repeatable"),
            Arg::new("threads")
                .long("threads")
                .short('T')
                .value_name("N")
                .value_parser(value_parser!(u16).range(0..=1024))
                .help("Worker threads, 0 for one per core"),
            Arg::new("memory")
                .long("memory")
                .value_name("SIZE")
                .value_parser(values::size)
                .help("Most memory to use, such as 64MiB; a delta that needs more is refused"),
            Arg::new("verbose").long("verbose").short('v').action(ArgAction::SetTrue).help("End with a summary"),
        ])
}

/// Applies the delta.
pub(super) fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let path = PathBuf::from(matches.get_one::<OsString>("in-place").cloned().unwrap_or_default());
    let subject = shown(path.as_os_str());
    let source = matches.get_one::<OsString>("DELTA").map_or(Source::Stdin { named: false }, |name| Source::new(name));
    let mut options = DecoderOptions::default();
    options.threads = matches.get_one::<u16>("threads").copied().map_or(0, values::threads);
    options.memory = matches.get_one::<u64>("memory").copied();
    let banks: Vec<Source> =
        matches.get_many::<OsString>("bank").unwrap_or_default().map(|name| Source::new(name)).collect();
    options.banks = bank_files::load_all(&banks)?;
    let delta = delta(&source, options.memory)?;
    let open = || {
        let path = path.canonicalize()?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok((journal(&path), file))
    };
    let (journal, file) = open().map_err(|error| Failure::io(&subject, &error))?;
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Err(Failure::about(&subject, "is no regular file; only these are changed in their place"));
    }
    let applied = apply_to_file(&file, &journal, delta, options).map_err(|error| match error.rule() {
        // The delta's errors know its name.
        ulpack::Error::Io(_) => Failure::library(&subject, &error),
        ulpack::Error::ReferenceMismatch { .. } | ulpack::Error::ReferenceShort { .. } => {
            Failure::library(&subject, &error)
                .with("it is neither what the delta was made against nor its result, and was not changed")
        }
        _ => Failure::library(&source.subject(), &error),
    })?;
    if matches.get_flag("verbose") {
        say(&format!(
            "{subject}: {} of {} chunks written, {} bytes",
            amounts::exact(applied.written),
            amounts::exact(applied.chunks),
            amounts::exact(applied.bytes_written)
        ));
    }
    Ok(Exit::Done)
}

/// The journal of a file: beside it.
fn journal(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".ulp-journal");
    path.with_file_name(name)
}

/// The delta, in memory where it cannot be sought.
fn delta(source: &Source, memory: Option<u64>) -> Result<Arc<dyn ReadAt>, Failure> {
    let mut opened = Opened::open(source)?;
    if opened.position() == Some(0) {
        return Ok(Arc::new(Sought::open(source)?.0));
    }
    let subject = opened.subject.clone();
    let mut bytes = Vec::new();
    let limit = memory.unwrap_or(u64::MAX);
    let read = Forward::new(opened).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io(&subject, &error))?;
    if bytes.len() as u64 >= limit {
        return Err(Failure::about(
            &subject,
            "the delta comes from a pipe and is larger than --memory; give it as a file",
        ));
    }
    Ok(Arc::new(bytes))
}
