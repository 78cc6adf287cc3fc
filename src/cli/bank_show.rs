//! `ulp bank show`: what a bank file holds, as lines for people or as one JSON object.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use serde_json::{Value, json};
use ulpack::BankFile;
use ulpack::core::bank::{Bank, TokenClass};
use ulpack::core::model::Model;
use ulpack::core::table::{FrequencyTable, TOTAL};
use ulpack::core::thresholds::Thresholds;
use ulpack::wire::bank_file::FileBank;

use super::bank_files::{hex, load};
use super::exit::Exit;
use super::failure::Failure;
use super::options::Source;
use super::{amounts, output};

/// Its flags.
pub(super) fn command() -> Command {
    Command::new("show")
        .about("Describe a bank file")
        .arg(
            Arg::new("FILE")
                .required(true)
                .value_parser(value_parser!(OsString))
                .value_hint(ValueHint::FilePath)
                .help("The bank file"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("One JSON object"))
}

/// Describes the file.
pub(super) fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let name = matches.get_one::<OsString>("FILE").cloned().unwrap_or_default();
    let source = Source::new(&name);
    let file = load(&source)?;
    let text = if matches.get_flag("json") {
        format!("{}\n", object(&source.subject(), &file))
    } else {
        lines(&source.subject(), &file)
    };
    output::print(text.as_bytes())
}

/// Banks and tables, counted.
pub(super) fn counted(banks: &[FileBank]) -> String {
    let plural = |n: usize, what: &str| format!("{} {what}{}", amounts::exact(n as u64), if n == 1 { "" } else { "s" });
    format!("{}, {}", plural(banks.len(), "bank"), plural(banks.iter().map(|b| tables(&b.bank)).sum(), "table"))
}

fn tables(bank: &Bank) -> usize {
    usize::from(bank.scale.is_some()) + bank.masks.len() + bank.elements.len()
}

fn model(model: Model) -> &'static str {
    match model {
        Model::Residual => "residual",
        Model::Mask => "mask",
        Model::Plain => "plain",
    }
}

/// Bits that a symbol drawn from the table takes.
fn entropy(table: &FrequencyTable) -> f64 {
    let bits = |&f: &u16| {
        let p = f64::from(f) / f64::from(TOTAL);
        if f == 0 { 0.0 } else { -p * p.log2() }
    };
    table.0.iter().map(bits).sum()
}

/// The least λ of each table but the first, which takes all below.
fn bounds(thresholds: &Thresholds) -> Vec<i32> {
    let mut at = i32::from(thresholds.base);
    let later = thresholds.steps.iter().map(|&step| {
        at += i32::from(step);
        at
    });
    std::iter::once(i32::from(thresholds.base)).chain(later.collect::<Vec<_>>()).collect()
}

fn size(bank: &Bank) -> usize {
    let mut body = Vec::new();
    ulpack::wire::bank::write(bank, &mut body);
    body.len()
}

fn lines(subject: &str, file: &BankFile) -> String {
    let mut text = format!(
        "{subject}: {}, {} bytes, SHA-256 {}\n",
        counted(file.banks()),
        amounts::exact(file.bytes().len() as u64),
        hex(file.sha256())
    );
    for (number, entry) in file.banks().iter().enumerate() {
        let bank = &entry.bank;
        let block = if entry.block == 0 { String::from("whole") } else { format!("blocks of {}", 1u32 << entry.block) };
        text.push_str(&format!(
            "{number:>4}  {} {}, {block}, {} bytes",
            entry.element.name(),
            model(entry.model),
            amounts::exact(size(bank) as u64)
        ));
        let groups =
            [("masks", &bank.masks, &bank.mask_thresholds), ("elements", &bank.elements, &bank.element_thresholds)];
        for (name, tables, thresholds) in groups {
            let (Some(first), Some(last)) = (bounds(thresholds).first().copied(), bounds(thresholds).last().copied())
            else {
                continue;
            };
            if !tables.is_empty() {
                let (low, high) = tables.iter().map(entropy).fold((f64::MAX, 0.0f64), |(l, h), e| (l.min(e), h.max(e)));
                text.push_str(&format!(
                    "; {} {name} tables, λ {first} to {last}, entropy {low:.2} to {high:.2} bits",
                    tables.len()
                ));
            }
        }
        if let Some(scale) = &bank.scale {
            text.push_str(&format!("; scales {:.2} bits", entropy(scale)));
        }
        text.push('\n');
    }
    text
}

fn object(subject: &str, file: &BankFile) -> Value {
    let group = |tables: &[FrequencyTable], thresholds: &Thresholds| {
        let rounded = |table: &FrequencyTable| (entropy(table) * 1e4).round() / 1e4;
        json!({
            "tables": tables.len(),
            "lambda": if tables.is_empty() { Vec::new() } else { bounds(thresholds) },
            "entropy": tables.iter().map(rounded).collect::<Vec<_>>(),
        })
    };
    let bank = |(number, entry): (usize, &FileBank)| {
        let bank = &entry.bank;
        let class = match bank.class {
            TokenClass::Byte => json!({ "name": "bytes" }),
            TokenClass::Length2 => json!({ "name": "lengths", "refinement": 2 }),
            TokenClass::Length1 => json!({ "name": "lengths", "refinement": 1 }),
            TokenClass::Plain(form) => json!({
                "name": "exponents", "sign": form.sign, "top": form.top, "centre": form.centre, "window": form.window,
            }),
            TokenClass::Pairs(form) => json!({ "name": "pairs", "centre": form.centre, "window": form.window }),
        };
        json!({
            "number": number,
            "element": entry.element.name(),
            "method": model(entry.model),
            "block": entry.block,
            "class": class,
            "precision": bank.precision,
            "bytes": size(bank),
            "scales": group(bank.scale.as_slice(), &Thresholds::default()),
            "masks": group(&bank.masks, &bank.mask_thresholds),
            "elements": group(&bank.elements, &bank.element_thresholds),
        })
    };
    json!({
        "file": subject,
        "version": 0,
        "draft": ulpack::limits::DRAFT,
        "bytes": file.bytes().len(),
        "sha256": hex(file.sha256()),
        "banks": file.banks().iter().enumerate().map(bank).collect::<Vec<_>>(),
    })
}
