//! The report as a picture: a group of bars a row, a bar a size of parent, on a logarithmic scale.

use super::report::Report;
use std::fmt::Write;

const LABELS: f64 = 330.0;
const PLOT: f64 = 560.0;
const VALUES: f64 = 90.0;
const TOP: f64 = 64.0;
const BAR: f64 = 8.0;
const GAP: f64 = 8.0;
const COLOURS: [&str; 6] = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#72b7b2"];

/// Draws total CPU a spawn.
pub(super) fn render(report: &Report) -> String {
    let rows = report.parents.first().map_or(0, |parent| parent.rows.len());
    let group = BAR * report.parents.len() as f64 + GAP;
    let height = TOP + group * rows as f64 + 36.0;
    let width = LABELS + PLOT + VALUES;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\">Starting a process: total CPU a spawn, parent and child, µs (log scale)</text>\n"
    );
    legend(&mut svg, report);
    let scale = Scale::new(report);
    scale.draw(&mut svg, height - 30.0);
    for row in 0..rows {
        draw_group(&mut svg, report, row, TOP + group * row as f64, &scale);
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String, report: &Report) {
    for (index, parent) in report.parents.iter().enumerate() {
        let x = 12.0 + 190.0 * index as f64;
        let label = format!("parent with {} touched", parent.touched);
        add(
            svg,
            format_args!(
                "<rect x=\"{x}\" y=\"34\" width=\"12\" height=\"12\" fill=\"{}\"/>",
                colour(index)
            ),
        );
        add(
            svg,
            format_args!("<text x=\"{}\" y=\"45\">{label}</text>", x + 18.0),
        );
    }
}

fn draw_group(svg: &mut String, report: &Report, row: usize, top: f64, scale: &Scale) {
    let middle = top + BAR * report.parents.len() as f64 / 2.0 + 4.0;
    let what = report.parents[0].rows[row].what;
    let label = LABELS - 8.0;
    add(
        svg,
        format_args!(
            "<text x=\"{label}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            escaped(what)
        ),
    );
    for (index, parent) in report.parents.iter().enumerate() {
        let (y, row) = (top + BAR * index as f64, &parent.rows[row]);
        let Some(found) = &row.found else {
            let reason = escaped(row.reason.as_deref().unwrap_or(""));
            let text = format_args!(
                "<text x=\"{}\" y=\"{:.1}\" font-size=\"8\" fill=\"#777\">{reason}</text>",
                LABELS + 4.0,
                y + 7.0
            );
            add(svg, text);
            continue;
        };
        let length = scale.position(found.cpu_us);
        let fill = colour(index);
        add(
            svg,
            format_args!(
                "<rect x=\"{LABELS}\" y=\"{y}\" width=\"{length:.1}\" height=\"7\" fill=\"{fill}\"/>"
            ),
        );
        let (x, y) = (LABELS + length + 4.0, y + 7.0);
        add(
            svg,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{y}\" font-size=\"8\">{:.0}</text>",
                found.cpu_us
            ),
        );
    }
}

/// Decades from the one below the smallest figure to the one above the largest.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn new(report: &Report) -> Self {
        let rows = report.parents.iter().flat_map(|parent| &parent.rows);
        let figures = rows
            .filter_map(|row| row.found.as_ref())
            .map(|found| found.cpu_us.max(1.0).log10());
        let (low, high) = figures.fold((f64::INFINITY, 1.0_f64), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        let first = if low.is_finite() { low.floor() as i32 } else { 0 };
        Self {
            first,
            last: (high.ceil() as i32).max(first + 1),
        }
    }

    fn position(&self, value: f64) -> f64 {
        let share = (value.max(1.0).log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        share.clamp(0.0, 1.0) * PLOT
    }

    fn draw(&self, svg: &mut String, bottom: f64) {
        for decade in self.first..=self.last {
            let value = 10_f64.powi(decade);
            let x = LABELS + self.position(value);
            add(
                svg,
                format_args!("<path d=\"M{x:.1} {}V{bottom}\" stroke=\"#ddd\"/>", TOP - 6.0),
            );
            let y = bottom + 16.0;
            add(
                svg,
                format_args!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{value}</text>"),
            );
        }
    }
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

fn add(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(svg, "{element}");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
