//! Compressed size over size, by tensor: a bar for this format, marks for the others.

use plotters::prelude::*;

use super::palette::{FM_DELTA, GREY, ORDERED, ULP, XOR};
use super::{Area, Drawn, MARGIN};
use crate::stat::report::{Report, Sizes, TensorReport};

/// Most tensors shown.
const MOST: usize = 40;
/// Pixels of a tensor.
const ROW: u32 = 20;
/// Pixels above and below the rows.
const AROUND: u32 = 130;
/// Rows that the legend takes.
const LEGEND: u32 = 4;
/// Longest name shown.
const NAME: usize = 34;

/// Marks of models: colour, label, size under it.
type Model = (RGBColor, &'static str, fn(&Sizes) -> Option<u64>);

const COMPARED: [Model; 3] = [
    (XOR, "XOR byte bound", |sizes| sizes.xor_bound),
    (FM_DELTA, "FM-Delta", |sizes| sizes.fm_delta),
    (ORDERED, "ULPack", |sizes| sizes.ulpack),
];
const ALONE: [Model; 1] = [(XOR, "exponents by themselves", |sizes| sizes.exponents)];

/// The tensors shown: the largest, in the order of the file, but none below a thousandth of all: of those the stream around them is the larger part.
fn shown(report: &Report) -> Vec<&TensorReport> {
    let mut bytes: Vec<u64> = report.tensors.iter().map(|tensor| tensor.bytes).collect();
    bytes.sort_unstable_by(|a, b| b.cmp(a));
    let least = bytes.get(MOST - 1).copied().unwrap_or(0).max(report.total.bytes / 1000);
    report.tensors.iter().filter(|tensor| tensor.bytes >= least).take(MOST).collect()
}

/// Pixels that the chart needs.
pub(super) fn height(report: &Report) -> u32 {
    AROUND + ROW * (shown(report).len() as u32 + LEGEND)
}

pub(super) fn draw(report: &Report, area: &Area<'_>) -> Drawn {
    let tensors = shown(report);
    let count = tensors.len() as u32;
    let models: &[Model] = if report.total.matched > 0 { &COMPARED } else { &ALONE };
    let ratio = |bytes: u64, tensor: &TensorReport| bytes as f64 / tensor.bytes.max(1) as f64;
    let all = tensors.iter().flat_map(|tensor| {
        let marks = models.iter().filter_map(|(_, _, size)| size(&tensor.sizes));
        marks.chain([tensor.sizes.ulp]).map(|bytes| ratio(bytes, tensor))
    });
    let right = (1.05 * all.fold(0.0, f64::max)).clamp(0.02, 1.2);

    let what = if tensors.len() < report.tensors.len() {
        format!("the {} largest of {} tensors", tensors.len(), report.tensors.len())
    } else {
        String::from("by tensor")
    };
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .caption(format!("Compressed size / size, {what}"), ("sans-serif", 18))
        .x_label_area_size(44)
        .y_label_area_size(250)
        .build_cartesian_2d(0f64..right, f64::from(count)..-f64::from(LEGEND))?;
    let x = |ratio: &f64| if right < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&x)
        .x_labels(11)
        .x_desc("compressed size / size (models: adaptive code lengths without tables; ulp: streams as they are)")
        .draw()?;
    chart
        .draw_series((0u32..).zip(&tensors).map(|(row, tensor)| {
            let row = f64::from(row);
            let end = ratio(tensor.sizes.ulp, tensor).min(right);
            Rectangle::new([(0.0, row + 0.15), (end, row + 0.85)], ULP.filled())
        }))?
        .label("ulp")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], ULP.filled()));
    for (model, (colour, label, size)) in (0i32..).zip(models) {
        let marks = (0u32..).zip(&tensors).filter_map(|(row, tensor)| {
            let at = ratio(size(&tensor.sizes)?, tensor);
            (at <= right).then_some((at, f64::from(row) + 0.5))
        });
        // Shapes as well as colours tell them apart.
        let mark = move |(x, y): (i32, i32)| {
            let style = colour.stroke_width(2);
            let points = match model {
                0 => vec![(x - 4, y - 4), (x + 4, y + 4), (x, y), (x - 4, y + 4), (x + 4, y - 4)],
                1 => vec![(x - 4, y + 3), (x, y - 4), (x + 4, y + 3), (x - 4, y + 3)],
                _ => vec![(x, y - 5), (x, y + 5)],
            };
            PathElement::new(points, style)
        };
        let screen: Vec<(i32, i32)> = marks.map(|at| chart.backend_coord(&at)).collect();
        let plane = area.clone();
        for at in screen {
            let (left, top) = plane.get_base_pixel();
            plane.draw(&mark((at.0 - left, at.1 - top)))?;
        }
        chart
            .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?
            .label(*label)
            .legend(move |(x, y)| mark((x + 7, y)));
    }
    names(&tensors, &chart, area)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .border_style(GREY)
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}

/// Names at the left of their rows.
fn names<X, Y>(
    tensors: &[&TensorReport],
    chart: &ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    area: &Area<'_>,
) -> Drawn
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let style = ("sans-serif", 12).into_font().color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    for (row, tensor) in (0u32..).zip(tensors) {
        let (x, y) = chart.backend_coord(&(0.0, f64::from(row) + 0.5));
        let (left, top) = area.get_base_pixel();
        area.draw(&Text::new(shortened(&tensor.name), (x - left - 8, y - top), style.clone()))?;
    }
    Ok(())
}

/// A name that fits: its end tells more than its beginning.
fn shortened(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length + 1 - NAME).collect();
    format!("…{end}")
}
