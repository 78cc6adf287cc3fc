//! Terminals: compressed data neither comes from one nor goes to one, and checkpoints are no text either.

use std::io::{self, IsTerminal};

use super::failure::Failure;
use super::options::{Mode, Options, Source, Target};

/// Refuses what would garble a terminal, or wait for it.
pub(super) fn check(options: &Options) -> Result<(), Failure> {
    let reads = matches!(options.input, Source::Stdin { named: false });
    let writes = matches!(options.output, Target::Stdout { named: false });
    match options.mode {
        Mode::Compress if writes => refuse_output("compressed data"),
        Mode::Decompress | Mode::Test | Mode::List { .. } if reads && io::stdin().is_terminal() => Err(Failure::about(
            "stdin",
            "a terminal has no compressed data; name a FILE or redirect a file here ('-' reads the terminal all the same)",
        )),
        Mode::Decompress if writes => refuse_output("a checkpoint's bytes"),
        _ => Ok(()),
    }
}

fn refuse_output(what: &str) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Ok(());
    }
    let text = format!(
        "{what} would garble a terminal; redirect the output or name a file with -o FILE ('-o -' writes to the terminal all the same, -h shows all options)"
    );
    Err(Failure::about("stdout", text))
}
