//! `ulp stat`: what the papers measure, for the user's own checkpoints.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use ulpack::Typing;
use ulpack::stat::{Report, StatOptions, TensorReport, measure};

use super::exit::Exit;
use super::failure::Failure;
use super::messages::shown;
use super::picture::Picture;
use super::{amounts, output, values};

/// `ulp stat [--ref PREV] NEXT`.
pub(super) fn command() -> Command {
    let path = |name| Arg::new(name).value_parser(value_parser!(OsString)).value_hint(ValueHint::AnyPath);
    let flag = |name| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("stat")
        .about(
            "Measure a checkpoint, against the one before or alone: entropies, active bits, sizes under several models",
        )
        .args_override_self(true)
        .max_term_width(100)
        .args([
            path("FILE").required(true).help("The checkpoint: a file, a directory of shards or an index of them"),
            path("ref")
                .long("ref")
                .value_name("FILE")
                .action(ArgAction::Append)
                .help("The checkpoint before, of the same kinds; repeatable"),
            flag("json").help("One JSON object, with counts by exponent, length and bit"),
            path("plot")
                .long("plot")
                .value_name("SVG")
                .value_hint(ValueHint::FilePath)
                .help("Draw lengths by exponent, active bits and sizes by tensor into an SVG file"),
            flag("force").short('f').help("Let --plot replace an existing file"),
            Arg::new("dtype")
                .long("dtype")
                .value_name("TYPE")
                .value_parser(values::typing)
                .help("Type of all numbers of a file without headers: bf16, f16, f32, f64, …"),
            Arg::new("level")
                .long("level")
                .value_name("1…9")
                .value_parser(value_parser!(u8).range(1..=9))
                .help("Level of the streams whose sizes are told"),
            Arg::new("threads")
                .short('T')
                .long("threads")
                .value_name("N")
                .value_parser(value_parser!(u16).range(0..=1024))
                .help("Worker threads, 0 for one per core; the figures do not depend on it"),
        ])
}

/// Measures and prints.
pub(super) fn run(matches: &ArgMatches) -> Result<Exit, Failure> {
    let Some(next) = matches.get_one::<OsString>("FILE").map(PathBuf::from) else {
        return Err(Failure::usage("stat needs a FILE"));
    };
    let references: Vec<_> = matches.get_many::<OsString>("ref").unwrap_or_default().map(PathBuf::from).collect();
    for path in references.iter().chain([&next]) {
        path.metadata().map_err(|error| Failure::io(&shown(path.as_os_str()), &error))?;
    }
    let picture = matches.get_one::<OsString>("plot");
    let picture = picture.map(|path| Picture::find(path, matches.get_flag("force"))).transpose()?;

    let mut options = StatOptions::default();
    if let Some(Typing::Fixed(element)) = matches.get_one::<Typing>("dtype") {
        options.element = Some(*element);
    }
    options.level = matches.get_one::<u8>("level").and_then(|n| values::level(*n)).unwrap_or_default();
    options.threads = matches.get_one::<u16>("threads").map_or(0, |n| values::threads(*n));
    let subject = shown(next.as_os_str());
    let report = measure(&next, &references, &options).map_err(|error| Failure::library(&subject, &error))?;
    if let Some(picture) = picture {
        picture.draw(&report)?;
    }
    let text = if matches.get_flag("json") { json(&report)? } else { table(&report) };
    output::print(text.as_bytes())
}

fn json(report: &Report) -> Result<String, Failure> {
    let text = serde_json::to_string(report).map_err(|error| Failure::io("stdout", &error.into()))?;
    Ok(text + "\n")
}

/// Rows for types, all of it, and each tensor.
fn table(report: &Report) -> String {
    let total = &report.total;
    let mut text = format!(
        "{} tensor{}, {} elements, {} bytes",
        amounts::exact(total.tensors as u64),
        if total.tensors == 1 { "" } else { "s" },
        amounts::exact(total.elements),
        amounts::exact(total.bytes)
    );
    if let Some(changed) = total.changed {
        text += &format!("; {} matched, {:.2} % of their elements changed", total.matched, 100.0 * changed);
    }
    text.push('\n');
    for file in &report.files {
        let ratio = amounts::ratio(file.bytes, file.ulp);
        let (bytes, ulp) = (amounts::exact(file.bytes), amounts::exact(file.ulp));
        text += &format!("{}: ulp makes {ulp} of {bytes} bytes, {ratio}\n", shown(file.path.as_ref()));
    }
    let rows = if total.matched > 0 { compared } else { alone };
    text.push('\n');
    text += &rows(None);
    for of in report.types.iter().chain(&report.tensors) {
        text += &rows(Some(of));
    }
    text
}

/// Figures of a row, right of each other, and the name at the end, where its length does no harm.
fn row(cells: &[(&str, usize)], name: &str) -> String {
    let mut text = String::new();
    for (cell, width) in cells {
        text += &format!("{cell:>width$}  ");
    }
    text + name + "\n"
}

fn ratio(of: &TensorReport, bytes: Option<u64>) -> String {
    bytes.map_or_else(|| String::from("-"), |bytes| amounts::ratio(of.bytes, bytes))
}

/// A tensor against its counterpart.
fn compared(of: Option<&TensorReport>) -> String {
    const WIDTHS: [usize; 11] = [7, 12, 8, 6, 6, 6, 6, 7, 8, 7, 7];
    let heads = ["type", "elements", "changed", "H(b)", "I(b;E)", "I(b;λ)", "tail", "XOR", "FM-Delta", "ULPack", "ulp"];
    let cells = of.map(|of| {
        let residual = |figure: &dyn Fn(&ulpack::stat::Residuals) -> String| {
            of.residuals.as_ref().map_or_else(|| String::from("-"), figure)
        };
        [
            of.element.name().to_owned(),
            amounts::exact(of.elements),
            residual(&|r| format!("{:.2} %", 100.0 * r.changed)),
            residual(&|r| format!("{:.3}", r.length_entropy)),
            residual(&|r| format!("{:.3}", r.information_exponent)),
            residual(&|r| format!("{:.3}", r.information_lambda)),
            residual(&|r| format!("{:.1} %", 100.0 * r.tail_share)),
            ratio(of, of.sizes.xor_bound),
            ratio(of, of.sizes.fm_delta),
            ratio(of, of.sizes.ulpack),
            amounts::ratio(of.bytes, of.sizes.ulp),
        ]
    });
    lines(heads, cells, WIDTHS, of)
}

/// A tensor by itself.
fn alone(of: Option<&TensorReport>) -> String {
    const WIDTHS: [usize; 7] = [7, 12, 8, 7, 8, 9, 7];
    let heads = ["type", "elements", "H(exp)", "H(sign)", "H(top m)", "exponents", "ulp"];
    let cells = of.map(|of| {
        let plain = |figure: fn(&ulpack::stat::Plain) -> f64| {
            of.plain.as_ref().map_or_else(|| String::from("-"), |plain| format!("{:.3}", figure(plain)))
        };
        [
            of.element.name().to_owned(),
            amounts::exact(of.elements),
            plain(|p| p.exponent_entropy),
            plain(|p| p.sign_entropy),
            plain(|p| p.top_mantissa_entropy),
            ratio(of, of.sizes.exponents),
            amounts::ratio(of.bytes, of.sizes.ulp),
        ]
    });
    lines(heads, cells, WIDTHS, of)
}

fn lines<const N: usize>(
    heads: [&str; N],
    cells: Option<[String; N]>,
    widths: [usize; N],
    of: Option<&TensorReport>,
) -> String {
    let cells = cells.unwrap_or_else(|| heads.map(ToOwned::to_owned));
    let cells: Vec<_> = cells.iter().map(String::as_str).zip(widths).collect();
    let name = match of {
        None => String::from("tensor"),
        Some(of) if of.reference.is_none() && of.name == of.element.name() => format!("(all {})", of.name),
        Some(of) => shown(of.name.as_ref()),
    };
    row(&cells, &name)
}
