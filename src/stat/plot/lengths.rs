//! The papers' Figure 1: how long residuals are, by exponent of the reference.

use plotters::prelude::*;

use super::palette::{GREY, OVER, heat};
use super::{Area, Drawn, MARGIN, bulk, subject};
use crate::core::element::Class;
use crate::stat::report::TensorReport;

/// Pixels of the legend at the right.
const LEGEND: u32 = 130;

pub(super) fn draw(of: &TensorReport, area: &Area<'_>) -> Drawn {
    let (Some(residuals), Class::Float { bias, .. }) = (&of.residuals, of.element.class()) else {
        return Ok(());
    };
    let columns = &residuals.lengths;
    let counts: Vec<u64> = columns.iter().map(|lengths| lengths.iter().sum()).collect();
    let exponents = bulk(&counts);
    let shown = columns.get(exponents.clone()).unwrap_or_default();
    let longest = shown.iter().map(Vec::len).max().unwrap_or(1).max(2);
    let power = |e: usize| e as i32 - bias;
    let (left, right) = (power(exponents.start), power(exponents.end));

    let (chart_area, legend) = area.split_horizontally(area.dim_in_pixel().0 - LEGEND);
    let caption = format!("Residual length by exponent of the reference ({})", subject(of));
    let mut chart = ChartBuilder::on(&chart_area)
        .margin(MARGIN)
        .caption(caption, ("sans-serif", 18))
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d(left..right, 0f64..longest as f64)?;
    let x = |e: &i32| format!("2^{e}");
    let y = |b: &f64| format!("{b:.0}");
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(12)
        .y_labels(longest.min(18))
        .x_label_formatter(&x)
        .y_label_formatter(&y)
        .x_desc("magnitude of the reference (exponents of 99.9 % of the elements)")
        .y_desc("length of |residual|, bits; rows stand above it")
        .draw()?;
    let mut means = Vec::new();
    for (e, lengths) in (left..).zip(shown) {
        let total: u64 = lengths.iter().sum();
        if total == 0 {
            continue;
        }
        let share = |count: u64| count as f64 / total as f64;
        let cells = (0u32..).zip(lengths).filter(|&(_, &count)| count > 0);
        chart.draw_series(cells.map(|(b, &count)| {
            let cell = [(e, f64::from(b)), (e + 1, f64::from(b) + 1.0)];
            Rectangle::new(cell, heat(share(count)).filled())
        }))?;
        let mean: f64 = (0u32..).zip(lengths).map(|(b, &count)| f64::from(b) * share(count)).sum();
        means.push([(e, mean + 0.5), (e + 1, mean + 0.5)]);
    }
    // A step for each exponent: between them there is nothing.
    for step in means {
        chart.draw_series(LineSeries::new(step, OVER.stroke_width(2)))?;
    }
    key(&legend)
}

/// The colours, and what they mean.
fn key(area: &Area<'_>) -> Drawn {
    const STEPS: i32 = 50;
    let (top, height, left, width) = (84, 200, 4, 18);
    let text = ("sans-serif", 12).into_font();
    area.draw(&Text::new("share of the", (left, top - 36), text.clone()))?;
    area.draw(&Text::new("exponent's elements", (left, top - 22), text.clone()))?;
    for step in 0..STEPS {
        let y = |step: i32| top + height - height * step / STEPS;
        let colour = heat((f64::from(step) + 0.5) / f64::from(STEPS));
        area.draw(&Rectangle::new([(left, y(step + 1)), (left + width, y(step))], colour.filled()))?;
    }
    area.draw(&Rectangle::new([(left, top), (left + width, top + height)], GREY))?;
    for quarter in 0..=4 {
        let y = top + height - height * quarter / 4;
        area.draw(&Text::new(format!("{} %", 25 * quarter), (left + width + 6, y - 6), text.clone()))?;
    }
    let y = top + height + 30;
    area.draw(&PathElement::new(vec![(left, y), (left + width, y)], OVER.stroke_width(2)))?;
    area.draw(&Text::new("mean length", (left + width + 6, y - 6), text))?;
    Ok(())
}
