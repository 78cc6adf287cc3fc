//! Commands beside the filter: `ulp NAME …`. Each is a file that defines its flags and does its work; this one lists them.
//!
//! Only the first argument can name one: `ulp -9 stat`, `ulp ./stat` and `ulp -- stat` compress a file of that name, as they always did.

use clap::{ArgMatches, Command};

use super::apply;
use super::exit::Exit;
use super::failure::Failure;
use super::{bank, stat};

/// A command: how its flags are called, and what it does with them.
pub(super) struct Entry {
    pub(super) command: fn() -> Command,
    pub(super) run: fn(&ArgMatches) -> Result<Exit, Failure>,
}

/// All commands, in the order of the help.
pub(super) const ALL: &[Entry] = &[
    Entry { command: apply::command, run: apply::run },
    Entry { command: bank::command, run: bank::run },
    Entry { command: stat::command, run: stat::run },
];

/// Does what a command line says that names a command; `None` for the filter's.
pub(super) fn run(matches: &ArgMatches) -> Option<Result<Exit, Failure>> {
    let (name, matches) = matches.subcommand()?;
    let entry = ALL.iter().find(|entry| (entry.command)().get_name() == name)?;
    Some((entry.run)(matches))
}
