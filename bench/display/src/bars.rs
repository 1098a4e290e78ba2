//! Grouped horizontal bars on a logarithmic scale.

use crate::scale::{Scale, label};
use crate::svg::{Anchor, GRID, Svg, colour};

const LABELS: f64 = 330.0;
const PLOT: f64 = 560.0;
const VALUES: f64 = 90.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 36.0;
/// The distance between the bars of a group, and the height of one.
const BAR: f64 = 8.0;
const BAR_HEIGHT: f64 = 7.0;
const GAP: f64 = 8.0;
const LEGEND: f64 = 190.0;

/// A chart with one group of bars per row and one bar per series.
#[derive(Debug, Clone)]
pub struct Bars {
    /// The heading, which names the unit.
    pub title: String,
    /// The names of the series, for the legend.
    pub series: Vec<String>,
    /// The groups, from the top.
    pub groups: Vec<Group>,
}

/// The bars of one row.
#[derive(Debug, Clone)]
pub struct Group {
    /// The row's label.
    pub label: String,
    /// One value per series, or the reason why there is none, which is drawn in its place.
    pub values: Vec<Result<f64, String>>,
}

impl Bars {
    /// Draws the chart as an SVG document.
    pub fn render(&self) -> String {
        let group_height = BAR * self.series.len() as f64 + GAP;
        let height = TOP + group_height * self.groups.len() as f64 + BOTTOM;
        let mut svg = Svg::new(LABELS + PLOT + VALUES, height, &self.title);
        for (index, name) in self.series.iter().enumerate() {
            let x = 12.0 + LEGEND * index as f64;
            svg.rectangle((x, 34.0), (12.0, 12.0), colour(index));
            svg.text((x + 18.0, 45.0), Anchor::Start, name);
        }
        let values = self
            .groups
            .iter()
            .flat_map(|group| &group.values)
            .flatten()
            .copied();
        let scale = Scale::decades(values, PLOT);
        draw_axis(&mut svg, &scale, height - 30.0);
        for (index, group) in self.groups.iter().enumerate() {
            group.draw(&mut svg, TOP + group_height * index as f64, &scale);
        }
        svg.finish()
    }
}

impl Group {
    fn draw(&self, svg: &mut Svg, top: f64, scale: &Scale) {
        let middle = top + BAR * self.values.len() as f64 / 2.0 + 4.0;
        svg.text((LABELS - 8.0, middle), Anchor::End, &self.label);
        for (index, value) in self.values.iter().enumerate() {
            let y = top + BAR * index as f64;
            match value {
                Ok(value) => {
                    let length = scale.position(*value);
                    svg.rectangle((LABELS, y), (length, BAR_HEIGHT), colour(index));
                    svg.note((LABELS + length + 4.0, y + 7.0), "#000", &format!("{value:.0}"));
                }
                Err(reason) => svg.note((LABELS + 4.0, y + 7.0), "#777", reason),
            }
        }
    }
}

fn draw_axis(svg: &mut Svg, scale: &Scale, bottom: f64) {
    for value in scale.ticks() {
        let x = LABELS + scale.position(value);
        svg.line((x, TOP - 6.0), (x, bottom), GRID);
        svg.text((x, bottom + 16.0), Anchor::Middle, &label(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bar_and_every_gap_a_reason() {
        let bars = Bars {
            title: "Cost, µs".into(),
            series: vec!["small".into(), "large".into()],
            groups: vec![Group {
                label: "fork & exec".into(),
                values: vec![Ok(100.0), Err("no <memory>".into())],
            }],
        };
        let svg = bars.render();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("height=\"7\"").count(), 1, "{svg}");
        assert!(
            svg.contains("fork &amp; exec") && svg.contains("no &lt;memory&gt;"),
            "{svg}"
        );
    }
}
