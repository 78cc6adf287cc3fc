//! Without a reference: how often each exponent occurs.

use plotters::prelude::*;

use super::palette::ORDERED;
use super::{Area, Drawn, MARGIN, bulk, subject};
use crate::core::element::Class;
use crate::stat::report::TensorReport;

pub(super) fn draw(of: &TensorReport, area: &Area<'_>) -> Drawn {
    let (Some(plain), Class::Float { bias, .. }) = (&of.plain, of.element.class()) else {
        return Ok(());
    };
    let exponents = bulk(&plain.exponents);
    let shown = plain.exponents.get(exponents.clone()).unwrap_or_default();
    let share = |count: u64| count as f64 / of.elements.max(1) as f64;
    let top = shown.iter().map(|&count| share(count)).fold(0.01, f64::max);
    let left = exponents.start as i32 - bias;
    let right = exponents.end as i32 - bias;
    let caption = format!("Exponents: {:.2} bits of entropy ({})", plain.exponent_entropy, subject(of));
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .caption(caption, ("sans-serif", 18))
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d(f64::from(left)..f64::from(right), 0f64..1.08 * top)?;
    let x = |e: &f64| format!("2^{e:.0}");
    let y = |share: &f64| format!("{:.0} %", 100.0 * share);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(12)
        .x_label_formatter(&x)
        .y_label_formatter(&y)
        .x_desc("magnitude (exponents of 99.9 % of the elements)")
        .y_desc("share of the elements")
        .draw()?;
    chart.draw_series((left..).zip(shown).map(|(e, &count)| {
        let e = f64::from(e);
        Rectangle::new([(e + 0.08, 0.0), (e + 0.92, share(count))], ORDERED.filled())
    }))?;
    Ok(())
}
