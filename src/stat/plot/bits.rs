//! Activity of bits: how often each is set, in next XOR reference and in the difference of ordered integers.

use plotters::prelude::*;

use super::palette::{GREY, ORDERED, XOR};
use super::{Area, Drawn, MARGIN, subject};
use crate::core::element::Class;
use crate::stat::report::TensorReport;

pub(super) fn draw(of: &TensorReport, area: &Area<'_>) -> Drawn {
    let (Some(residuals), Class::Float { mantissa, exponent, .. }) = (&of.residuals, of.element.class()) else {
        return Ok(());
    };
    let width = residuals.bits.xor.len();
    let shares = residuals.bits.xor.iter().chain(&residuals.bits.ordered);
    let top = 1.25 * shares.fold(0.001, |most: f64, &share| most.max(share));
    let caption = format!("Share of elements with a bit set ({})", subject(of));
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .caption(caption, ("sans-serif", 18))
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d(0f64..width as f64, 0f64..top)?;
    let x = |bit: &f64| if bit.fract() == 0.0 { format!("{bit:.0}") } else { String::new() };
    let digits = usize::from(top < 0.1) + usize::from(top < 0.01);
    let y = |share: &f64| format!("{:.digits$} %", 100.0 * share);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(width.min(33))
        .y_labels(7)
        .x_label_formatter(&x)
        .y_label_formatter(&y)
        .x_desc("bit, 0 the lowest; columns stand right of their number")
        .draw()?;
    for (shares, offset, colour, label) in [
        (&residuals.bits.xor, 0.12, XOR, "next XOR reference"),
        (&residuals.bits.ordered, 0.5, ORDERED, "|next − reference|, ordered integers"),
    ] {
        let columns = (0u32..).zip(shares);
        chart
            .draw_series(columns.map(|(bit, &share)| {
                let left = f64::from(bit) + offset;
                Rectangle::new([(left, 0.0), (left + 0.38, share)], colour.filled())
            }))?
            .label(label)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    // Where a float's fields begin and end.
    let fields = [(0, mantissa, "mantissa"), (mantissa, mantissa + exponent, "exponent")];
    for (from, to, name) in fields {
        let edge = [(f64::from(to), 0.0), (f64::from(to), top)];
        chart.draw_series(LineSeries::new(edge, GREY.stroke_width(1)))?;
        let middle = f64::from(from + to) / 2.0;
        let style = ("sans-serif", 13).into_font().color(&GREY);
        chart.draw_series([Text::new(name, (middle - 0.04 * width as f64, 0.98 * top), style)])?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::Coordinate(area.dim_in_pixel().0 as i32 - 400, 40))
        .background_style(WHITE.mix(0.9))
        .border_style(GREY)
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}
