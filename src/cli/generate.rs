//! `--generate`: the man page and the shells' completions, from the definition of the flags.

use std::io;

use clap::{ArgMatches, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::failure::Failure;
use super::{commands, flags, help};

/// What can be asked for.
pub(super) const NAMES: [&str; 4] = ["man", "complete-bash", "complete-zsh", "complete-fish"];

/// A text to generate.
pub(super) enum Generate {
    Man,
    Completions(Shell),
}

/// The text that the user asks for, if any.
pub(super) fn asked(matches: &ArgMatches) -> Option<Generate> {
    let name = matches.get_one::<String>("generate")?;
    Some(match name.as_str() {
        "complete-bash" => Generate::Completions(Shell::Bash),
        "complete-zsh" => Generate::Completions(Shell::Zsh),
        "complete-fish" => Generate::Completions(Shell::Fish),
        _ => Generate::Man,
    })
}

impl Generate {
    /// The text.
    pub(super) fn render(&self) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        match self {
            Self::Man => man(&mut text).map_err(|error| Failure::io("man page", &error))?,
            Self::Completions(shell) => {
                clap_complete::generate(*shell, &mut flags::command(), "ulp", &mut text);
            }
        }
        Ok(text)
    }
}

fn man(text: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(flags::command());
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    let mut roff = Roff::new();
    for entry in commands::ALL {
        command_section(&(entry.command)(), &mut roff);
    }
    for section in &help::SECTIONS {
        roff.control("SH", [section.title.to_uppercase().as_str()]);
        if !section.text.is_empty() {
            roff.text([roman(section.text)]);
        }
        for (term, meaning) in section.items {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(*meaning)]);
        }
    }
    roff.to_writer(text)
}

/// A command beside the filter: its usage, what it does, its flags.
fn command_section(command: &Command, roff: &mut Roff) {
    let mut command = command.clone();
    roff.control("SH", [format!("ULP {}", command.get_name().to_uppercase()).as_str()]);
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        roff.text([roman(about.to_string())]);
    }
    let usage = command.render_usage().to_string();
    roff.control("PP", []);
    roff.text([bold(usage.trim_start_matches("Usage: "))]);
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
        roff.control("TP", []);
        roff.text([bold(arg.to_string())]);
        roff.text([roman(help)]);
    }
    for inner in command.get_subcommands() {
        roff.control("TP", []);
        roff.text([bold(inner.get_name())]);
        roff.text([roman(inner.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
}
