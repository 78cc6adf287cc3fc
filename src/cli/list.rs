//! `ulp -l`: what streams hold, as tables for people or as one JSON object a file.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use ulpack::{BankFile, Link, Listing, Names, ReferenceInfo, Row, StreamInfo};

use super::bank_files::hex;
use super::exit::Exit;
use super::failure::Failure;
use super::input::Input;
use super::options::{Options, Source};
use super::progress::Progress;
use super::reference::References;
use super::{amounts, bank_files, output};

/// Describes the inputs. What there is of a truncated or damaged one is described before it fails.
pub(super) fn run(options: &Options, json: bool, progress: &Arc<Progress>) -> Result<Exit, Failure> {
    let banks = bank_files::load_all(&options.banks)?;
    let shown = progress.show(options.progress);
    let mut last: Option<(String, StreamInfo)> = None;
    let mut failure = None;
    for source in std::iter::once(&options.input).chain(&options.more) {
        let (text, failed) = describe(source, &options.references, &banks, json, &mut last, progress)?;
        output::print(text.as_bytes())?;
        failure = failure.or(failed);
    }
    drop(shown);
    failure.map_or(Ok(Exit::Done), Err)
}

fn describe(
    source: &Source,
    references: &[Source],
    banks: &[Arc<BankFile>],
    json: bool,
    last: &mut Option<(String, StreamInfo)>,
    progress: &Arc<Progress>,
) -> Result<(String, Option<Failure>), Failure> {
    let input = Input::open(source, progress)?;
    let subject = input.subject().to_owned();
    let references = References::open(references)?;
    let (listing, result) = ulpack::inspect_with(input, references.list, banks);
    let mut failure = result.err().map(|error| Failure::library(&subject, &error));
    let complete = failure.is_none();
    let wrong = |info: &StreamInfo| info.references.iter().any(|r| r.given == Some(false));
    if complete && listing.parts.iter().any(wrong) {
        let text = format!("a reference is not among those given ({} does not match)", references.subject);
        failure = Some(Failure::invalid(&subject, text));
    }
    let links = links(&listing.parts, &subject, last);
    if listing.streams == 0 {
        return Ok((String::new(), failure));
    }
    let text = if json {
        format!("{}\n", object(&subject, &listing, &links, complete))
    } else {
        let mut text = line(&subject, &listing, complete);
        text += &table(&listing.tensors);
        text += &notes(&listing, &links);
        text
    };
    Ok((text, failure))
}

/// What each stream says of the one before: the subject of that, and whether it follows.
fn links(parts: &[StreamInfo], subject: &str, last: &mut Option<(String, StreamInfo)>) -> Vec<Option<(String, Link)>> {
    let mut links = Vec::new();
    for part in parts {
        links.push(last.as_ref().map(|(name, before)| (name.clone(), part.link(before))));
        let name = if parts.len() > 1 { format!("stream {} of {subject}", links.len()) } else { subject.to_owned() };
        *last = Some((name, part.clone()));
    }
    links
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

/// A row for each tensor, columns aligned.
fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut cells = vec![["tensor", "type", "shape", "bytes", "coded", "ratio", "mode"].map(String::from)];
    for row in rows {
        let shape: Vec<String> = row.shape.iter().map(u64::to_string).collect();
        cells.push([
            row.name.as_deref().map_or_else(|| String::from("-"), |name| name.escape_debug().to_string()),
            row.element.name().to_owned(),
            if shape.is_empty() { String::from("-") } else { shape.join("×") },
            amounts::exact(row.bytes),
            amounts::exact(row.coded),
            amounts::ratio(row.bytes, row.coded),
            mode(row),
        ]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &cells {
        let mut line = String::from(" ");
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers stand at the right.
            let _ = if (3..6).contains(&column) {
                write!(line, " {cell:>width$}")
            } else {
                write!(line, " {cell:<width$}")
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// How a tensor is coded: the methods, the one of most bytes first, with their shares where there are several.
fn mode(row: &Row) -> String {
    let mut methods: Vec<_> = row.methods.iter().filter(|m| *m.1 > 0).collect();
    methods.sort_by_key(|m| std::cmp::Reverse(*m.1));
    match &methods[..] {
        [(only, _)] => (*only).to_string(),
        several => {
            let share = |bytes: u64| (u128::from(bytes) * 100 / u128::from(row.bytes.max(1))).max(1);
            several.iter().map(|(name, bytes)| format!("{name} {}%", share(**bytes))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// What there is to say below the table.
fn notes(listing: &Listing, links: &[Option<(String, Link)>]) -> String {
    let mut text = String::new();
    let mut say = |line: String| {
        text += "  ";
        text += &line;
        text.push('\n');
    };
    match listing.names {
        Names::NeedReference => say(String::from("names need --ref: a header is coded against the reference")),
        Names::Damaged => say(String::from("names are not known: a chunk with a header is damaged")),
        _ => {}
    }
    let index = if listing.parts.iter().all(|p| p.indexed) && !listing.parts.is_empty() { ", index" } else { "" };
    let place = if listing.in_place { ", may be applied in place" } else { "" };
    say(format!(
        "{}, {} of memory for each thread{index}{place}",
        counted(listing.banks, "bank"),
        amounts::memory(listing.memory)
    ));
    for (number, (part, link)) in listing.parts.iter().zip(links).enumerate() {
        let stream = if listing.streams > 1 { format!("stream {}: ", number + 1) } else { String::new() };
        for (index, reference) in part.references.iter().enumerate() {
            say(format!("{stream}reference {index}: {}", identity(reference)));
        }
        if let Some((before, link)) = link {
            match link {
                Link::Follows => say(format!("{stream}follows from {before}")),
                Link::Broken => say(format!("{stream}does not follow from {before}: its reference is another")),
                Link::Unknown => say(format!("{stream}does not tell whether it follows from {before}")),
                _ => {}
            }
        }
    }
    text
}

fn identity(reference: &ReferenceInfo) -> String {
    let mut text = match (reference.whole, reference.sampled) {
        (Some(whole), _) => format!("{} bytes, CRC32 {:08x}", amounts::exact(whole.length), whole.crc),
        (None, Some(sampled)) => {
            format!("{} bytes, CRC32 of samples {:08x}", amounts::exact(sampled.length), sampled.crc)
        }
        (None, None) => String::from("not described"),
    };
    match reference.given {
        Some(true) => text += "; --ref is it",
        Some(false) => text += "; --ref is another",
        None => {}
    }
    text
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", amounts::exact(number))
}

fn object(subject: &str, listing: &Listing, links: &[Option<(String, Link)>], complete: bool) -> Value {
    let elements = listing.elements.iter();
    let elements: serde_json::Map<_, _> =
        elements.map(|(element, bytes)| (element.name().to_owned(), json!(bytes))).collect();
    let tensors: Vec<Value> = listing.tensors.iter().map(tensor).collect();
    let parts = listing.parts.iter().zip(links);
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
        "metadata": metadata(&listing.metadata),
        "sha256": listing.sha256.map(|digest| hex(&digest)),
        "content_crc": listing.content_crc.map(|crc| format!("{crc:08x}")),
        "complete": complete,
        "names": match listing.names {
            Names::NeedReference => "need reference",
            Names::Damaged => "damaged",
            _ => "known",
        },
        "tensors": tensors,
        "parts": parts.map(|(part, link)| stream(part, link.as_ref().map(|l| l.1))).collect::<Vec<_>>(),
    })
}

fn tensor(row: &Row) -> Value {
    json!({
        "name": row.name,
        "type": row.element.name(),
        "shape": row.shape,
        "offset": row.offset,
        "bytes": row.bytes,
        "coded_bytes": row.coded,
        "methods": row.methods,
    })
}

fn stream(part: &StreamInfo, link: Option<Link>) -> Value {
    let form =
        |known: Option<(u64, u32)>| known.map(|(length, crc)| json!({ "bytes": length, "crc": format!("{crc:08x}") }));
    let references: Vec<Value> = part
        .references
        .iter()
        .map(|r| {
            json!({
                "sampled": form(r.sampled.map(|s| (s.length, s.crc))),
                "whole": form(r.whole.map(|w| (w.length, w.crc))),
                "given": r.given,
            })
        })
        .collect();
    json!({
        "offset": part.coded.start,
        "coded_bytes": part.coded.end - part.coded.start,
        "content_bytes": part.content.end - part.content.start,
        "content_crc": format!("{:08x}", part.content_crc),
        "chunks": part.chunks,
        "in_place": part.in_place,
        "index": part.indexed,
        "references": references,
        "metadata": metadata(&part.metadata),
        "follows": match link {
            Some(Link::Follows) => json!(true),
            Some(Link::Broken) => json!(false),
            _ => Value::Null,
        },
    })
}

fn metadata(pairs: &[(String, Vec<u8>)]) -> serde_json::Map<String, Value> {
    pairs.iter().map(|(key, value)| (key.clone(), text_or_hex(value))).collect()
}

/// A value of the metadata: a string, or an object with the bytes in hex where they are no text.
fn text_or_hex(value: &[u8]) -> Value {
    match std::str::from_utf8(value) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": hex(value) }),
    }
}
