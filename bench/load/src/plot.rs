//! The report as a chart: latency over percentiles, one curve per server.

use crate::report::{Report, ServerReport};
use display::{Axis, Lines, Series, Tick};

/// The labelled percentiles. Their distances grow with the number of nines.
const TICKS: [(f64, &str); 6] = [
    (0.0, "0"),
    (50.0, "50"),
    (90.0, "90"),
    (99.0, "99"),
    (99.9, "99.9"),
    (99.99, "99.99"),
];

/// Draws the latencies of all servers.
pub(crate) fn render(report: &Report) -> String {
    let series = report.servers.iter().map(series).collect();
    let ticks = TICKS.iter().map(|(percentile, label)| Tick {
        value: nines(*percentile),
        label: (*label).to_owned(),
    });
    let lines = Lines {
        title: "Latency by percentile".to_owned(),
        x: Axis {
            label: "percentile of requests".to_owned(),
            ticks: ticks.collect(),
            ..Axis::default()
        },
        y: Axis {
            label: "latency, µs (log scale)".to_owned(),
            logarithmic: true,
            ..Axis::default()
        },
        series,
    };
    lines.render()
}

fn series(server: &ServerReport) -> Series {
    let cpu = server.cpu_us_per_request.map_or(String::new(), |cpu| {
        format!(", {:.2} µs CPU per request", cpu.median)
    });
    Series {
        name: format!(
            "{}: {:.0} requests per second{cpu}",
            server.name, server.throughput
        ),
        points: server
            .percentiles
            .iter()
            .map(|(percentile, latency_us)| (nines(*percentile), *latency_us))
            .collect(),
    }
}

/// The position of a percentile: 90 at 1, 99 at 2, 99.9 at 3.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// The percentiles at which a curve has its points.
pub(crate) fn percentiles() -> impl Iterator<Item = f64> {
    const STEPS: u32 = 80;
    const STEPS_PER_NINE: f64 = 20.0;
    (0..=STEPS).map(|step| 100.0 * (1.0 - 10_f64.powf(-f64::from(step) / STEPS_PER_NINE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_at_four_nines() {
        let all: Vec<f64> = percentiles().collect();
        assert_eq!(all[0], 0.0);
        assert!((all[20] - 90.0).abs() < 1e-9 && (all[80] - 99.99).abs() < 1e-9);
        assert!((nines(99.9) - 3.0).abs() < 1e-9);
    }
}
