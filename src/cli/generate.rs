//! `--generate`: the man page and the shells' completions, from the definition of the flags.

use clap::ArgMatches;
use clap_complete::Shell;

use super::failure::Failure;
use super::flags;

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
            Self::Man => clap_mangen::Man::new(flags::command())
                .render(&mut text)
                .map_err(|error| Failure::io("man page", &error))?,
            Self::Completions(shell) => {
                clap_complete::generate(*shell, &mut flags::command(), "ulp", &mut text);
            }
        }
        Ok(text)
    }
}
