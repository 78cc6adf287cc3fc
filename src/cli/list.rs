//! `ulp -l`: what a stream holds, on one line for people or as one JSON object.

use std::sync::Arc;

use serde_json::{Value, json};
use ulpack::Listing;

use super::bank_files::hex;
use super::exit::Exit;
use super::failure::Failure;
use super::input::Input;
use super::options::Options;
use super::progress::Progress;
use super::{amounts, bank_files, output};

/// Describes the input. What there is of a truncated or damaged one is described before it fails.
pub(super) fn run(options: &Options, json: bool, progress: &Arc<Progress>) -> Result<Exit, Failure> {
    let input = Input::open(&options.input, progress)?;
    let subject = input.subject().to_owned();
    let banks = bank_files::load_all(&options.banks)?;
    let shown = progress.show(options.progress);
    let (listing, result) = ulpack::inspect_with_banks(input, &banks);
    drop(shown);
    if listing.streams > 0 {
        let text = if json {
            format!("{}\n", object(&subject, &listing, result.is_ok()))
        } else {
            line(&subject, &listing, result.is_ok())
        };
        output::print(text.as_bytes())?;
    }
    match result {
        Ok(()) => Ok(Exit::Done),
        Err(error) => Err(Failure::library(&subject, &error)),
    }
}

fn line(subject: &str, listing: &Listing, complete: bool) -> String {
    let mut parts = vec![
        format!(
            "{} bytes in {}, ratio {}",
            amounts::exact(listing.content_bytes),
            amounts::exact(listing.coded_bytes),
            amounts::ratio(listing.content_bytes, listing.coded_bytes)
        ),
        counted(listing.chunks, "chunk"),
    ];
    if listing.streams > 1 {
        parts.push(counted(listing.streams, "stream"));
    }
    if listing.references > 0 {
        parts.push(counted(listing.references.into(), "reference"));
    }
    parts.extend(listing.elements.keys().map(|element| element.name().to_owned()));
    if !listing.baseline {
        parts.push(String::from("extended"));
    }
    if !complete {
        parts.push(String::from("incomplete"));
    }
    format!("{subject}: {}\n", parts.join(", "))
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", amounts::exact(number))
}

fn object(subject: &str, listing: &Listing, complete: bool) -> Value {
    let elements = listing.elements.iter();
    let elements: serde_json::Map<_, _> =
        elements.map(|(element, bytes)| (element.name().to_owned(), json!(bytes))).collect();
    let metadata: serde_json::Map<_, _> =
        listing.metadata.iter().map(|(key, value)| (key.clone(), text_or_hex(value))).collect();
    json!({
        "file": subject,
        "version": listing.version.0,
        "draft": listing.version.1,
        "profile": if listing.baseline { "baseline" } else { "extended" },
        "in_place": listing.in_place,
        "streams": listing.streams,
        "references": listing.references,
        "chunks": listing.chunks,
        "content_bytes": listing.content_bytes,
        "coded_bytes": listing.coded_bytes,
        "elements": elements,
        "methods": listing.methods,
        "banks": listing.banks,
        "bank_files": listing.bank_files.iter().map(|digest| hex(digest)).collect::<Vec<_>>(),
        "built_in_banks": listing.built_in_banks.iter().map(|(n, uses)| (n.to_string(), json!(uses))).collect::<serde_json::Map<_, _>>(),
        "memory": listing.memory,
        "metadata": metadata,
        "sha256": listing.sha256.map(|digest| hex(&digest)),
        "content_crc": listing.content_crc.map(|crc| format!("{crc:08x}")),
        "complete": complete,
    })
}

/// A value of the metadata: a string, or an object with the bytes in hex where they are no text.
fn text_or_hex(value: &[u8]) -> Value {
    match std::str::from_utf8(value) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": hex(value) }),
    }
}
