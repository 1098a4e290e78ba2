//! The report as a table of text.

use super::report::{Figures, Parent, Report, RowReport};
use std::fmt;

const NOTE: &str = "\
CPU is the time of the parent and its child together. It is not split into user and system time, because tick accounting
books a process that never meets a tick entirely as user time. Blocked is the time for which the calling thread could do
nothing else; for system, and for rows that collect output, it is the whole life of the child.
";

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "Starting a static child of {} bytes: µs per spawn, medians of {} rounds of up to {} spawns",
            self.child_bytes, self.rounds, self.count
        )?;
        for parent in &self.parents {
            write!(out, "\n{parent}")?;
        }
        write!(out, "\n{NOTE}")
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
        let title = format!("parent with {} touched", self.touched);
        writeln!(
            out,
            "{title:width$}  {:>9} {:>9} {:>11} {:>11} {:>9}",
            "CPU", "parent's", "blocked p50", "p99", "vs vfork"
        )?;
        for row in &self.rows {
            line(out, row, width)?;
        }
        Ok(())
    }
}

fn line(out: &mut fmt::Formatter<'_>, row: &RowReport, width: usize) -> fmt::Result {
    let what = row.what;
    match (&row.found, &row.reason) {
        (Some(found), _) => {
            let (cpu, parent, p50, p99) = columns(found);
            let ratio = found.against_vfork.map(|ratio| format!("{ratio:.2}x"));
            let ratio = ratio.unwrap_or_else(|| "-".into());
            writeln!(
                out,
                "{what:width$}  {cpu:>9} {parent:>9} {p50:>11} {p99:>11} {ratio:>9}"
            )
        }
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("unknown reason");
            writeln!(out, "{what:width$}  not measured: {reason}")
        }
    }
}

fn columns(found: &Figures) -> (String, String, String, String) {
    let number = |value: f64| {
        if value < 100.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        }
    };
    (
        number(found.cpu_us),
        number(found.parent_us),
        number(found.blocked_p50_us),
        number(found.blocked_p99_us),
    )
}
