//! `ulp -d` and `ulp -t`: streams in, content out, or nowhere.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use ulpack::{Decoder, Summary};

use super::ahead::Ahead;
use super::exit::Exit;
use super::failure::Failure;
use super::input::Input;
use super::messages::{say, tell};
use super::options::{Mode, Options};
use super::output::{Destination, Output};
use super::progress::Progress;
use super::reference::References;
use super::{amounts, bank_files, summary};

/// Decompresses the input.
pub(super) fn run(options: Options, progress: &Arc<Progress>) -> Result<Exit, Failure> {
    let input = Input::open(&options.input, progress)?;
    let subject = input.subject().to_owned();
    let references = References::open(&options.references)?;
    let mut decoding = options.decoder;
    decoding.banks = bank_files::load_all(&options.banks)?;
    let destination = match options.mode {
        Mode::Test => Destination::nowhere(),
        _ => Destination::find(&options.output, &references.with(input.identity))?,
    };

    let shown = progress.show(options.progress);
    let fail = |error: &ulpack::Error| match error.rule() {
        // The input's and the output's errors know their names, the references' do not.
        ulpack::Error::Io(_) => Failure::library(&references.subject, error),
        _ => Failure::library(&subject, error),
    };
    let mut decoder = Decoder::new(Ahead::new(input), decoding, references.list);
    decoder.read_header().map_err(|error| fail(&error))?;
    let mut output = destination.open(progress)?;
    if let Err(error) = pass_on(&mut decoder, &mut output) {
        let failure = fail(&error);
        return Err(match output.remains() {
            Some(remains) => failure.with(&remains),
            None => failure,
        });
    }
    output.close()?;
    drop(shown);

    let summary = decoder.summary();
    if options.verbose && options.json {
        tell(&summary::object(&subject, &summary, progress).to_string());
    } else if options.verbose {
        say(&line(&subject, &summary, progress));
    }
    Ok(damage(&subject, &summary))
}

/// Decodes to the end; another thread writes. Whatever ends it, what was decoded before has been written or has failed to be.
fn pass_on(decoder: &mut Decoder<Ahead>, output: &mut Output) -> ulpack::Result<()> {
    thread::scope(|scope| {
        // One chunk is being written, one waits, one is being decoded.
        let (chunks, arriving) = sync_channel::<Vec<u8>>(1);
        let (spent, returned) = channel();
        let writer = scope.spawn(move || -> io::Result<()> {
            for chunk in arriving {
                output.write_content(&chunk)?;
                // The decoder may have come to its end, and then needs no buffer.
                let _ = spent.send(chunk);
            }
            Ok(())
        });
        let mut decode = || -> ulpack::Result<()> {
            while let Some(chunk) = decoder.take_chunk(returned.try_recv().unwrap_or_default())? {
                if chunks.send(chunk).is_err() {
                    // The writer has failed, and tells why.
                    break;
                }
            }
            Ok(())
        };
        let decoded = decode();
        drop(chunks);
        let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread failed")));
        written.map_err(ulpack::Error::Io)?;
        decoded
    })
}

/// Reports the chunks that could not be saved.
fn damage(subject: &str, summary: &Summary) -> Exit {
    for damage in &summary.damaged {
        say(&format!(
            "{subject}: chunk {} (content bytes {} to {}): {}; zeros take its place",
            damage.chunk,
            amounts::exact(damage.offset),
            amounts::exact(damage.offset.saturating_add(damage.length)),
            damage.reason
        ));
    }
    if summary.damaged.is_empty() { Exit::Done } else { Exit::Invalid }
}

fn line(subject: &str, summary: &Summary, progress: &Progress) -> String {
    format!(
        "{subject}: {} → {} bytes, ratio {}, {}",
        amounts::exact(summary.coded_bytes),
        amounts::exact(summary.content_bytes),
        amounts::ratio(summary.content_bytes, summary.coded_bytes),
        amounts::speed(summary.content_bytes, progress.elapsed())
    )
}
