//! Curves over a common axis.

use crate::scale::{Scale, label};
use crate::svg::{Anchor, GRID, Svg, colour};
use serde::Deserialize;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 52.0;
const LEGEND_TOP: f64 = 42.0;
const LEGEND_LINE: f64 = 18.0;
/// Curves with more points than this are drawn without dots.
const DOTS_MAX: usize = 24;

/// A chart of one or more curves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Axis {
    /// The measured quantity with its unit.
    pub label: String,
    /// True if equal distances are equal ratios.
    pub logarithmic: bool,
    /// The labelled values of the horizontal axis; by default those of the points.
    pub ticks: Vec<Tick>,
}

/// A labelled value of an axis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Its label.
    pub label: String,
}

/// One curve.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Lines {
    /// Draws the chart as an SVG document.
    pub fn render(&self) -> String {
        let legend = LEGEND_LINE * self.series.len() as f64;
        let plot = self.plot(LEGEND_TOP + legend + 8.0, HEIGHT + legend);
        let mut svg = Svg::new(WIDTH, HEIGHT + legend, &self.title);
        self.draw_axes(&mut svg, &plot);
        for (index, series) in self.series.iter().enumerate() {
            let points: Vec<_> = series.points.iter().map(|point| plot.place(*point)).collect();
            svg.curve(&points, colour(index), points.len() <= DOTS_MAX);
            let line = LEGEND_TOP + LEGEND_LINE * index as f64;
            svg.rectangle((LEFT + 80.0, line - 8.0), (18.0, 4.0), colour(index));
            svg.text((LEFT + 106.0, line), Anchor::Start, &series.name);
        }
        svg.finish()
    }

    fn plot(&self, top: f64, height: f64) -> Plot {
        let bottom = height - BOTTOM;
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (x_values, y_values) = (points().map(|point| point.0), points().map(|point| point.1));
        Plot {
            top,
            bottom,
            x: Scale::exact(x_values, self.x.logarithmic, WIDTH - LEFT - RIGHT),
            y: match self.y.logarithmic {
                true => Scale::decades(y_values, bottom - top),
                false => Scale::from_zero(y_values, bottom - top),
            },
        }
    }

    fn draw_axes(&self, svg: &mut Svg, plot: &Plot) {
        let (right, middle) = (WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2.0);
        for value in plot.y.ticks() {
            let at = plot.bottom - plot.y.position(value);
            svg.line((LEFT, at), (right, at), GRID);
            svg.text((LEFT - 6.0, at + 4.0), Anchor::End, &label(value));
        }
        for tick in self.x_ticks() {
            let at = LEFT + plot.x.position(tick.value);
            svg.line((at, plot.top), (at, plot.bottom), GRID);
            svg.text((at, plot.bottom + 16.0), Anchor::Middle, &tick.label);
        }
        svg.text((middle, plot.bottom + 38.0), Anchor::Middle, &self.x.label);
        svg.text((12.0, plot.top - 8.0), Anchor::Start, &self.y.label);
    }

    fn x_ticks(&self) -> Vec<Tick> {
        if !self.x.ticks.is_empty() {
            return self.x.ticks.clone();
        }
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut values: Vec<f64> = points.map(|point| point.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let tick = |value| Tick {
            value,
            label: label(value),
        };
        values.into_iter().map(tick).collect()
    }
}

/// The area of the curves.
struct Plot {
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Plot {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (LEFT + self.x.position(x), self.bottom - self.y.position(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_come_from_json() {
        let chart: Lines = serde_json::from_str(
            r#"{"title": "CPU", "x": {"label": "connections", "logarithmic": true}, "y": {"label": "µs"},
                "series": [{"name": "ours", "points": [[10, 1.5], [100, 2], [1000, 2.5]]},
                           {"name": "peer", "points": [[10, 3], [1000, 4]]}]}"#,
        )
        .expect("valid");
        let svg = chart.render();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("fill=\"none\"").count(), 2, "two curves: {svg}");
        assert_eq!(svg.matches("<circle").count(), 5, "five points: {svg}");
        for text in [">ours<", ">peer<", ">connections<", ">10<", ">100<", ">1000<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }
}
