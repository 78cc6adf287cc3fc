//! `ulp bank`: bank files made and described.

use clap::{ArgMatches, Command};

use super::exit::Exit;
use super::failure::Failure;
use super::{bank_show, bank_train};

/// Its flags.
pub(super) fn command() -> Command {
    Command::new("bank")
        .about("Make and describe bank files: statistics for --bank")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(bank_train::command())
        .subcommand(bank_show::command())
}

/// Does what is asked.
pub(super) fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    match matches.subcommand() {
        Some(("train", matches)) => bank_train::run(matches),
        Some((_, matches)) => bank_show::run(matches),
        None => Err(Failure::usage("bank: train or show")),
    }
}
