//! The command line: flags, files, terminals, signals and messages. What is coded, and how, is the library's business.

mod ahead;
mod amounts;
mod apply;
mod bank;
mod bank_files;
mod bank_show;
mod bank_train;
mod commands;
mod compress;
mod decompress;
mod exit;
mod extract;
mod failure;
mod flags;
mod generate;
mod help;
mod identity;
mod input;
mod list;
mod messages;
mod options;
mod output;
mod picture;
mod platform;
mod progress;
mod reference;
mod run;
mod signals;
mod stat;
mod summary;
mod temporary;
mod terminal;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use exit::Exit;
use failure::Failure;
use options::Options;

/// Runs the command with the arguments and environment of the process.
pub(crate) fn main() -> ExitCode {
    match command(std::env::args_os()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if let Some(message) = failure.message() {
                messages::say(&message);
            }
            failure.exit().into()
        }
    }
}

fn command(args: impl Iterator<Item = OsString>) -> Result<Exit, Failure> {
    let matches = match flags::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return Err(Failure::syntax(&error)),
        // Help or version.
        Err(error) => return output::print(error.render().to_string().as_bytes()),
    };
    if let Some(what) = generate::asked(&matches) {
        return output::print(&what.render()?);
    }
    if let Some(result) = commands::run(&matches) {
        return result;
    }
    run::run(Options::from_matches(&matches)?)
}
