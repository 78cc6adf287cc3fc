//! `ulp`: content in, a stream out.

use std::sync::Arc;

use ulpack::{Encoder, Summary};

use super::ahead::Ahead;
use super::exit::Exit;
use super::failure::Failure;
use super::input::Input;
use super::messages::{say, tell};
use super::options::Options;
use super::output::Destination;
use super::progress::Progress;
use super::reference::References;
use super::{amounts, bank_files, summary};

/// Compresses the input.
pub(super) fn run(options: Options, progress: &Arc<Progress>) -> Result<Exit, Failure> {
    let input = Input::open(&options.input, progress)?;
    let references = References::open(&options.references)?;
    let mut coding = options.encoder;
    coding.bank = bank_files::only(&options.banks)?;
    let sources = references.with(input.identity);
    let output = Destination::find(&options.output, &sources)?.open(progress)?;

    let shown = progress.show(options.progress);
    // The content's and the output's errors know their names.
    let fail = |error: ulpack::Error| Failure::library(&references.subject, &error);
    let mut encoder = Encoder::new(output, coding, references.list).map_err(fail)?;
    let subject = input.subject().to_owned();
    let read = if input.regular {
        encoder.read_from(&mut { input })
    } else {
        // A pipe is read on while the encoder waits for others.
        encoder.read_from(&mut Ahead::new(input))
    };
    read.map_err(fail)?;
    let (output, summary) = encoder.finish().map_err(fail)?;
    output.close()?;
    drop(shown);

    if options.verbose && options.json {
        tell(&summary::object(&subject, &summary, progress).to_string());
    } else if options.verbose {
        say(&line(&subject, &summary, progress));
    }
    Ok(Exit::Done)
}

fn line(subject: &str, summary: &Summary, progress: &Progress) -> String {
    let mut line = format!(
        "{subject}: {} → {} bytes, ratio {}, {}",
        amounts::exact(summary.content_bytes),
        amounts::exact(summary.coded_bytes),
        amounts::ratio(summary.content_bytes, summary.coded_bytes),
        amounts::speed(summary.content_bytes, progress.elapsed())
    );
    if summary.identical {
        line.push_str(", identical to the reference");
    }
    if summary.missing > 0 {
        line.push_str(&format!(
            ", ends early: its headers announce at least {} bytes more",
            amounts::exact(summary.missing)
        ));
    }
    if let Some(frozen) = &summary.frozen {
        line.push_str(&format!(
            "; bank used for {}, {} over an inline one",
            amounts::share(frozen.content_bytes, summary.content_bytes),
            amounts::excess(frozen.frozen_cost, frozen.inline_cost)
        ));
        if frozen.refused_bytes > 0 {
            line.push_str(&format!(", wrong for {}", amounts::share(frozen.refused_bytes, summary.content_bytes)));
        }
    }
    line
}
