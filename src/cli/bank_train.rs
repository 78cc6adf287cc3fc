//! `ulp bank train`: a bank file from sample checkpoints.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use ulpack::{EncoderOptions, Grouping, Trainer, Training, Typing};

use super::bank_files::hex;
use super::exit::Exit;
use super::failure::Failure;
use super::input::Input;
use super::messages::say;
use super::options::{Source, Target};
use super::output::Destination;
use super::progress::{Direction, Progress};
use super::reference::References;
use super::{amounts, bank_show, values};

/// Names of the groupings.
const GROUPINGS: [(&str, Grouping); 5] = [
    ("global", Grouping::Global),
    ("tensor", Grouping::Tensor),
    ("chunk", Grouping::Chunk),
    ("js", Grouping::Distance),
    ("cost", Grouping::Cost),
];

/// Its flags.
pub(super) fn command() -> Command {
    let file = |arg: Arg| arg.value_parser(value_parser!(OsString)).value_hint(ValueHint::FilePath);
    Command::new("train")
        .about("Make a bank file from sample checkpoints")
        .arg(file(Arg::new("FILE")).num_args(1..).required(true).help("Samples, typed as when they are compressed"))
        .arg(
            file(Arg::new("output").short('o').long("output").value_name("FILE"))
                .required(true)
                .help("Write the bank file to FILE"),
        )
        .arg(Arg::new("force").short('f').long("force").action(ArgAction::SetTrue).help("Let -o replace a file"))
        .arg(
            file(Arg::new("ref").long("ref").value_name("FILE"))
                .action(ArgAction::Append)
                .help("Learn references too: one for each sample in order, or one for all")
                .long_help(
                    "Learn what samples are against their references too: the n-th is that of the n-th sample, a single \
                     one is that of all",
                ),
        )
        .arg(
            Arg::new("group")
                .long("group")
                .value_name("HOW")
                .value_parser(PossibleValuesParser::new(GROUPINGS.map(|g| g.0)))
                .default_value("global")
                .help("What shares a bank: all, the same tensor, nothing, what is alike, or what costs less so")
                .long_help(
                    "What shares a bank, of one element type and method: global is all; tensor the same tensor of all samples; \
                     chunk nothing; js a chunk and the first group within a Jensen-Shannon distance of --tau, and so \
                     neighbouring tables; cost a chunk and the group where it costs least",
                ),
        )
        .arg(
            Arg::new("tau")
                .long("tau")
                .value_name("DISTANCE")
                .value_parser(distance)
                .default_value("0.05")
                .help("Largest distance of what is alike with --group js, 0 to 1"),
        )
        .arg(
            Arg::new("tables")
                .long("tables")
                .value_name("N")
                .value_parser(value_parser!(u8).range(2..=32))
                .default_value("32")
                .help("Most tables of a bank"),
        )
        .arg(
            Arg::new("block")
                .long("block")
                .value_name("N")
                .value_parser(block)
                .help("Log2 of the block length, 5 to 20, or 0 for none; by default what suits the samples"),
        )
        .arg(Arg::new("no-plain").long("no-plain").action(ArgAction::SetTrue).requires("ref").help(
            "Learn nothing of samples without their references",
        ))
        .args(["dtype", "columns"].map(shared))
        .arg(
            Arg::new("threads")
                .short('T')
                .long("threads")
                .value_name("N")
                .value_parser(value_parser!(u16).range(0..=1024))
                .help("Worker threads, 0 for one per core"),
        )
        .arg(Arg::new("quiet").short('q').long("quiet").action(ArgAction::SetTrue).help("Print nothing"))
}

/// Flags that mean what they mean to the filter.
fn shared(name: &'static str) -> Arg {
    match name {
        "dtype" => Arg::new(name)
            .long(name)
            .value_name("TYPE")
            .value_parser(values::typing)
            .help("Type of the numbers: bf16, f16, f32, f64, … or auto"),
        _ => Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..=1 << 20))
            .help("Row length of the samples' matrix, in numbers"),
    }
}

fn block(text: &str) -> Result<u8, String> {
    let number = text.parse().ok().filter(|number| *number == 0 || (5..=20).contains(number));
    number.ok_or_else(|| String::from("0, or a number from 5 to 20"))
}

fn distance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| String::from("a number from 0 to 1"))
}

/// Makes the file.
pub(super) fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let sources = |name| -> Vec<Source> {
        let names = matches.get_many::<OsString>(name).unwrap_or_default();
        names.map(|name| Source::new(name)).collect()
    };
    let (samples, references) = (sources("FILE"), sources("ref"));
    if references.len() > 1 && references.len() != samples.len() {
        return Err(Failure::usage(format!(
            "references: {}, samples: {}; one for each, or one for all",
            references.len(),
            samples.len()
        )));
    }
    let reads_stdin = samples.iter().chain(&references).any(|source| matches!(source, Source::Stdin { .. }));
    if reads_stdin {
        return Err(Failure::usage("samples are read more than once; name files"));
    }
    let mut options = EncoderOptions::default();
    options.typing = matches.get_one::<Typing>("dtype").copied().unwrap_or_default();
    options.columns = matches.get_one::<u32>("columns").copied();
    options.threads = matches.get_one::<u16>("threads").map_or(0, |&n| values::threads(n));
    let mut training = Training::default();
    if let Some(name) = matches.get_one::<String>("group") {
        training.grouping = GROUPINGS.iter().find(|g| g.0 == name).map_or(Grouping::Global, |g| g.1);
    }
    training.tau = matches.get_one::<f64>("tau").copied().unwrap_or(training.tau);
    training.block = matches.get_one::<u8>("block").copied();
    training.tables = matches.get_one::<u8>("tables").map_or(training.tables, |&n| n.into());

    let name = matches.get_one::<OsString>("output").map(PathBuf::from).unwrap_or_default();
    let target = Target::File { path: name, overwrite: matches.get_flag("force") };
    let mut identities = Vec::new();
    let mut trainer = Trainer::new(training);
    for (i, sample) in samples.iter().enumerate() {
        let reference = references.get(if references.len() == 1 { 0 } else { i });
        let without = Some(None).filter(|_| !matches.get_flag("no-plain"));
        for reference in without.into_iter().chain(reference.map(Some)) {
            let progress = Progress::new(sample.subject(), Direction::Compress);
            let input = Input::open(sample, &progress)?;
            let found = References::open(reference.map_or(&[], std::slice::from_ref))?;
            identities.extend(found.with(input.identity));
            let subject = input.subject().to_owned();
            trainer.add(input, &options, found.list).map_err(|error| Failure::library(&subject, &error))?;
        }
    }
    let (file, setup) = trainer.finish().map_err(|error| Failure::library("bank", &error))?;
    let progress = Progress::new(String::from("bank"), Direction::Compress);
    let mut output = Destination::find(&target, &identities)?.open(&progress)?;
    output.write_all(file.bytes()).map_err(|error| Failure::io("bank", &error))?;
    output.close()?;
    if !matches.get_flag("quiet") {
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        say(&format!(
            "{}: {}, {} bytes, SHA-256 {}; setup {}: histograms {}, search {}, tables {}",
            target.name(),
            bank_show::counted(file.banks()),
            amounts::exact(file.bytes().len() as u64),
            hex(file.sha256()),
            seconds(setup.histograms + setup.search + setup.tables),
            seconds(setup.histograms),
            seconds(setup.search),
            seconds(setup.tables)
        ));
    }
    Ok(Exit::Done)
}
