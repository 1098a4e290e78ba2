//! The report as a chart: one group of bars per row, one bar per size of parent.

use super::report::{Report, RowReport};
use display::{Bars, Group};

/// Draws the total CPU time per spawn.
pub(super) fn render(report: &Report) -> String {
    let rows = report.parents.first().map_or(0, |parent| parent.rows.len());
    let bars = Bars {
        title: "Starting a process: total CPU per spawn, parent and child, µs (log scale)".to_owned(),
        series: report
            .parents
            .iter()
            .map(|parent| format!("parent with {} touched", parent.touched))
            .collect(),
        groups: (0..rows).map(|row| group(report, row)).collect(),
    };
    bars.render()
}

fn group(report: &Report, row: usize) -> Group {
    Group {
        label: report.parents[0].rows[row].what.to_owned(),
        values: report
            .parents
            .iter()
            .map(|parent| value(&parent.rows[row]))
            .collect(),
    }
}

fn value(row: &RowReport) -> Result<f64, String> {
    match &row.found {
        Some(found) => Ok(found.cpu_us),
        None => Err(row.reason.clone().unwrap_or_default()),
    }
}
