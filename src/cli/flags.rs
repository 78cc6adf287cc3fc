//! The flags, each defined once: parser, help, man page and completions all come from here.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, Command, ValueHint, value_parser};

use super::{commands, generate, help};

/// The three documented levels and the aliases between them, by position.
pub(super) const LEVELS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The whole command line.
pub(super) fn command() -> Command {
    Command::new("ulp")
        .version(env!("CARGO_PKG_VERSION"))
        .about(help::ABOUT)
        .after_help(help::SHORT_END)
        .after_long_help(help::long_end())
        .override_usage(help::USAGE)
        // Aliases and scripts repeat flags; no harm in it.
        .args_override_self(true)
        .max_term_width(100)
        .args(operands())
        .args(modes())
        .args(files())
        .args(coding())
        .args(resources())
        .args(reports())
        .group(ArgGroup::new("described").args(["list", "verbose"]).multiple(true))
        .subcommands(commands::ALL.iter().map(|entry| (entry.command)()))
        // Behind any other argument the name of a command is a FILE.
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

fn option(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value)
}

fn operands() -> [Arg; 2] {
    let operand = |name| Arg::new(name).value_parser(value_parser!(OsString)).value_hint(ValueHint::FilePath);
    [
        operand("FILE").help("Input; standard input without it, or as '-'"),
        // Of -l and --chain; else parsed only to say in words that there is one operand.
        operand("more").num_args(0..).hide(true).help("None"),
    ]
}

fn modes() -> Vec<Arg> {
    const HEADING: &str = "What to do (without any: compress)";
    [
        flag("compress")
            .short('z')
            .conflicts_with_all(["decompress", "test", "list"])
            .help("Compress"),
        flag("decompress").short('d').help("Decompress"),
        flag("test")
            .short('t')
            .conflicts_with_all(["list", "output"])
            .help("Decompress to nowhere: check the input"),
        flag("list")
            .short('l')
            .conflicts_with("output")
            .help("Describe the input, or several FILEs"),
        flag("json")
            .requires("described")
            .help("With -l or -v: one JSON object"),
        option("tensor", "NAME")
            .action(ArgAction::Append)
            .conflicts_with("range")
            .help("With -d: only the tensors of this name or pattern; repeatable")
            .long_help(
                "With -d: only the bytes of the tensors whose names are or match NAME ('*' any characters, '?' one, '[…]' \
                 one of some), in the order of the content; repeatable. The input is a file; only what is needed of it and \
                 of the references is read",
            ),
        option("range", "A:B")
            .value_parser(super::values::range)
            .hide_short_help(true)
            .help("With -d: only bytes A to B − 1 of the content")
            .long_help("With -d: only bytes A to B − 1 of the content; to its end without B. As for --tensor"),
        flag("npy")
            .requires("tensor")
            .hide_short_help(true)
            .help("With --tensor: write an npy file")
            .long_help("With --tensor: write an npy file of the one tensor named; bf16 and f8, which numpy lacks, are raw bytes there"),
        flag("chain")
            .conflicts_with("salvage")
            .help("With -d or -t: the FILEs are deltas, each to the one before")
            .long_help(
                "With -d or -t: the input, one or more FILEs with one or more streams, is a chain: each stream was made against \
                 the content of the one before, the first against --ref. Restores the last content in one pass, without \
                 anything in between",
            ),
        option("at", "K")
            .requires("chain")
            .hide_short_help(true)
            .value_parser(value_parser!(u32).range(1..))
            .help("With --chain: the content of step K, 1 for the first"),
        flag("salvage")
            .help("With -d or -t: put zeros for damaged chunks and go on")
            .long_help(
                "With -d or -t: put zeros in the place of each damaged chunk, say so, and go on; the exit code is 2 if there was any",
            ),
    ]
    .map(|arg| arg.help_heading(HEADING))
    .into()
}

fn files() -> Vec<Arg> {
    const HEADING: &str = "Input and output";
    [
        flag("stdout").short('c').help("Write to standard output (the default)"),
        option("output", "FILE")
            .short('o')
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath)
            .help("Write to FILE; '-' is standard output, even a terminal")
            .long_help(
                "Write to FILE, which appears when it is complete and not before; '-' is standard output, even a terminal",
            ),
        flag("force").short('f').help("Let -o replace an existing file"),
        option("ref", "FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath)
            .help("Code against FILE, which decompression needs again; repeatable")
            .long_help(
                "Code against the content of FILE, usually the checkpoint before; decompression needs it again, \
                 unchanged. Several are numbered by their order. A pipe is read once, in step with the content; '-' is \
                 standard input where there is a FILE operand",
            ),
        option("bank", "FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath)
            .help("Use the statistics in FILE, made by 'ulp bank train'; with -d, where the input needs it")
            .long_help(
                "Use the statistics in FILE, made by 'ulp bank train', where they suit the input, without counting its own \
                 first. With -d, -t and -l: a bank file that the input may need; repeatable",
            ),
        flag("keep").short('k').help("Keep the input (always so)").hide_short_help(true),
    ]
    .map(|arg| arg.help_heading(HEADING))
    .into()
}

fn coding() -> Vec<Arg> {
    const HEADING: &str = "Compression";
    let level = |i: usize| {
        let name = LEVELS[i];
        let others = LEVELS.iter().filter(move |other| **other != name);
        Arg::new(name).short(char::from(b'1' + i as u8)).action(ArgAction::SetTrue).overrides_with_all(others)
    };
    let mut args = vec![level(0).help("Fast"), level(4).help("The balance (the default)"), level(8).help("Small")];
    args.extend([1, 2, 3, 5, 6, 7].map(|i| level(i).hide(true).help("The nearest of -1, -5 and -9")));
    args.extend([
        option("dtype", "TYPE")
            .value_parser(super::values::typing)
            .help("Type of the numbers: bf16, f16, f32, f64, … or auto")
            .long_help(
                "Type of all numbers in the input: bytes, u8 … u64, i8 … i64, f8_e4m3, f8_e5m2, bf16, f16, f32, f64; \
                 auto finds it from the input (the default)",
            ),
        option("columns", "N")
            .value_parser(value_parser!(u32).range(1..=1 << 20))
            .help("Row length of the input's matrix, in numbers"),
        option("meta", "KEY=VALUE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString))
            .help("Store a key and a value in the stream; repeatable"),
        flag("external-bank").requires("bank").help("Leave the tables of --bank out: decompression needs FILE again"),
        flag("frozen-only")
            .hide_short_help(true)
            .requires("bank")
            .help("Use no other statistics than those of --bank, however badly they suit"),
        flag("sha256")
            .help("Store the content's SHA-256 in the stream, or check it")
            .long_help("Store the content's SHA-256 in the stream; with -d or -t check it, where the stream has one"),
    ]);
    args.into_iter().map(|arg| arg.help_heading(HEADING)).collect()
}

fn resources() -> Vec<Arg> {
    const HEADING: &str = "Resources";
    [
        option("threads", "N")
            .short('T')
            .value_parser(value_parser!(u16).range(0..=1024))
            .help("Worker threads, 0 for one per core; the output does not depend on it")
            .long_help(
                "Worker threads, 0 for one per core; by default one per core, at most 8. The output does not depend on it",
            ),
        option("memory", "SIZE")
            .value_parser(super::values::size)
            .help("Most memory to use, such as 64MiB; the output does not depend on it")
            .long_help(
                "Most memory to use: bytes, or a number and KiB, MiB, GiB, TiB. Lowers the number of threads where \
                 needed; a stream that needs more is refused with exit code 3. The output does not depend on it",
            ),
    ]
    .map(|arg| arg.help_heading(HEADING))
    .into()
}

fn reports() -> Vec<Arg> {
    const HEADING: &str = "Messages";
    let mut args: Vec<_> = [
        flag("quiet")
            .short('q')
            .conflicts_with("verbose")
            .help("No notes and no automatic progress; errors are always shown"),
        flag("verbose").short('v').help("End with a summary"),
        flag("progress").overrides_with("no-progress").help("Show progress, even without a terminal"),
        flag("no-progress")
            .overrides_with("progress")
            .help("Show no progress")
            .long_help("Show no progress; the default shows it on a terminal, after a second"),
    ]
    .map(|arg| arg.help_heading(HEADING))
    .into();
    args.push(
        option("generate", "WHAT")
            .hide(true)
            .value_parser(PossibleValuesParser::new(generate::NAMES))
            .help("Print the man page or a shell's completions"),
    );
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_has_help() {
        let whole = command();
        for command in whole.get_subcommands().chain([&whole]) {
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}
