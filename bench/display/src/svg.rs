//! An SVG document under construction: rectangles, texts and paths.

use std::fmt::{Arguments, Write};

/// Colours that are told apart by readers with any colour vision, in order of use.
const PALETTE: [&str; 6] = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#72b7b2"];
/// Grid lines.
pub(crate) const GRID: &str = "#ddd";

/// The colour of the series with this number.
pub(crate) fn colour(index: usize) -> &'static str {
    PALETTE[index % PALETTE.len()]
}

/// Where a text's position lies within it.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The document. Coordinates are in pixels from the top left corner.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// An empty page with a title.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut svg = Svg {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
                 font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
            ),
        };
        let title = escaped(title);
        svg.add(format_args!(
            "<text x=\"12\" y=\"22\" font-size=\"15\">{title}</text>"
        ));
        svg
    }

    pub(crate) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{fill}\"/>"
        ));
    }

    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    /// A text in a smaller font, such as a figure beside its bar.
    pub(crate) fn note(&mut self, (x, y): (f64, f64), fill: &str, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"8\" fill=\"{fill}\">{text}</text>"
        ));
    }

    /// A straight line.
    pub(crate) fn line(&mut self, (x, y): (f64, f64), (to_x, to_y): (f64, f64), stroke: &str) {
        self.add(format_args!(
            "<path d=\"M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}\" stroke=\"{stroke}\"/>"
        ));
    }

    /// A line through points, with a dot on each.
    pub(crate) fn curve(&mut self, points: &[(f64, f64)], stroke: &str, dots: bool) {
        let mut path = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            // Writing to a String cannot fail.
            let _ = write!(path, "{command}{x:.1} {y:.1}");
        }
        self.add(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.8\"/>"
        ));
        for (x, y) in points.iter().filter(|_| dots) {
            self.add(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{stroke}\"/>"
            ));
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn add(&mut self, element: Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
