//! One run of the command: the parts put together.

use std::sync::Arc;

use super::exit::Exit;
use super::failure::Failure;
use super::options::{Mode, Options, Pick};
use super::progress::{Direction, Progress};
use super::{compress, decompress, extract, list, signals, terminal};

/// Does what the user means.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    terminal::check(&options)?;
    let direction = match options.mode {
        Mode::Compress => Direction::Compress,
        Mode::Decompress | Mode::Test | Mode::List { .. } => Direction::Decompress,
    };
    let progress = Progress::new(options.input.subject(), direction);
    signals::watch(Arc::clone(&progress)).map_err(|error| Failure::io("signals", &error))?;
    match options.mode {
        Mode::Compress => compress::run(options, &progress),
        Mode::Decompress | Mode::Test if options.chain.is_some() || options.pick != Pick::All => {
            extract::run(options, &progress)
        }
        Mode::Decompress | Mode::Test => decompress::run(options, &progress),
        Mode::List { json } => list::run(&options, json, &progress),
    }
}
