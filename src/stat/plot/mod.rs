//! Pictures of a report, as one SVG: residual lengths against exponents, activity of bits, sizes by tensor.

mod bits;
mod exponents;
mod lengths;
mod palette;
mod sizes;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::report::{Report, TensorReport};
use crate::error::{Error, Result};

/// Pixels from side to side.
const WIDTH: u32 = 960;
/// Pixels of a chart of fixed height.
const CHART: u32 = 400;
/// Pixels left and right of charts.
const MARGIN: u32 = 16;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The report as the text of an SVG file: for the element type with most bytes the number of elements by residual length and exponent of the reference
/// (the papers' Figure 1) and how often each bit is set, or, without a reference, the exponents; then the sizes of the largest tensors.
///
/// # Errors
/// [`Error::Io`] where the picture cannot be drawn.
pub fn plot(report: &Report) -> Result<String> {
    let mut text = String::new();
    draw(report, &mut text).map_err(|error| Error::Io(std::io::Error::other(error.to_string())))?;
    Ok(text)
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

fn draw(report: &Report, text: &mut String) -> Drawn {
    let compared = report.types.iter().find(|of| of.element.is_float() && of.residuals.is_some());
    let alone = report.types.iter().find(|of| of.plain.is_some());
    let sizes = sizes::height(report);
    let charts = match (compared, alone) {
        (Some(_), _) => 2 * CHART,
        (None, Some(_)) => CHART,
        (None, None) => 0,
    };
    let root = SVGBackend::with_string(text, (WIDTH, charts + sizes)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut rest = root.clone();
    if let Some(of) = compared {
        let (first, below) = rest.split_vertically(CHART);
        lengths::draw(of, &first)?;
        let (second, below) = below.split_vertically(CHART);
        bits::draw(of, &second)?;
        rest = below;
    } else if let Some(of) = alone {
        let (first, below) = rest.split_vertically(CHART);
        exponents::draw(of, &first)?;
        rest = below;
    }
    sizes::draw(report, &rest)?;
    root.present()?;
    Ok(())
}

/// What a chart is about.
fn subject(of: &TensorReport) -> String {
    // Groups of three digits.
    let digits = of.elements.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    format!("{} elements, {}", groups.join(","), of.element.name())
}

/// The stretch of `counts` that holds all but one in a thousand, and never nothing.
fn bulk(counts: &[u64]) -> std::ops::Range<usize> {
    let total: u64 = counts.iter().sum();
    let spare = total / 2000;
    let skip = |counts: &mut dyn Iterator<Item = &u64>| {
        let mut sum = 0;
        counts
            .take_while(|&&count| {
                sum += count;
                sum <= spare
            })
            .count()
    };
    let low = skip(&mut counts.iter());
    let high = counts.len() - skip(&mut counts.iter().rev());
    low..high.max(low + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bulk_leaves_out_what_hardly_occurs() {
        assert_eq!(bulk(&[0, 0, 5, 7, 0]), 2..4);
        assert_eq!(bulk(&[1, 0, 5000, 9000, 1]), 2..4);
        assert_eq!(bulk(&[0, 0]), 2..3);
    }
}
