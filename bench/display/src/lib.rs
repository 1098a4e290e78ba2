//! Output of the benchmarks: charts in SVG, and progress on a terminal.
//!
//! [`Bars`] and [`Lines`] hold a chart's data and render it as one SVG document; both are drawn with the same palette and
//! axes. [`Progress`] prints at most one line per second on standard error.

#![forbid(unsafe_code)]

mod bars;
mod lines;
mod progress;
mod scale;
mod svg;

pub use bars::{Bars, Group};
pub use lines::{Axis, Lines, Series, Tick};
pub use progress::Progress;
