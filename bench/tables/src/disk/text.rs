//! The report as text.

use super::{FilesReport, Percentiles, Report, Verdict};
use std::fmt;

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        device(out, self)?;
        latency(out, self)?;
        group(out, self)?;
        files(out, &self.files)?;
        self.verdict
            .as_ref()
            .map_or(Ok(()), |verdict| write!(out, "\n{verdict}"))
    }
}

fn device(out: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    let device = &report.device;
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    writeln!(
        out,
        "{}: {} on {}, write cache: {}",
        device.dir.display(),
        or_unknown(&device.file_system),
        or_unknown(&device.source),
        or_unknown(&device.write_cache)
    )
}

const WIDTH: usize = 34;

fn heading(out: &mut fmt::Formatter<'_>, title: &str, first: &str) -> fmt::Result {
    writeln!(
        out,
        "\n{title:WIDTH$} {first:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "p50", "p90", "p99", "p99.9", "max"
    )
}

fn line(out: &mut fmt::Formatter<'_>, what: &str, per_second: f64, latency: &Percentiles) -> fmt::Result {
    let Percentiles {
        p50_us,
        p90_us,
        p99_us,
        p999_us,
        max_us,
    } = *latency;
    write!(out, "{what:WIDTH$} {:>10}", rate(per_second))?;
    for us in [p50_us, p90_us, p99_us, p999_us, max_us] {
        write!(out, " {:>9}", time(us))?;
    }
    writeln!(out)
}

fn latency(out: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    heading(out, "write 4 KiB, fdatasync", "per second")?;
    for row in &report.latency {
        match (&row.latency, &row.reason) {
            (Some(latency), _) => line(out, &format!("  {}", row.what), row.per_second, latency)?,
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or("unknown reason");
                writeln!(out, "  {}: not measured: {reason}", row.what)?;
            }
        }
    }
    Ok(())
}

fn group(out: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    heading(out, "group commit of 512 B records", "per second")?;
    for row in &report.group_commit {
        let plural = if row.writers == 1 { "" } else { "s" };
        let what = format!(
            "  {} writer{plural}, {:.1} per fdatasync",
            row.writers, row.commits_per_sync
        );
        line(out, &what, row.per_second, &row.latency)?;
    }
    Ok(())
}

fn files(out: &mut fmt::Formatter<'_>, rows: &[FilesReport]) -> fmt::Result {
    heading(out, "open, write, fsync, close", "per second")?;
    for row in rows {
        let plural = if row.files == 1 { "" } else { "s" };
        let what = format!("  {} to each of {} file{plural}", bytes(row.bytes), row.files);
        line(out, &what, row.per_second, &row.latency)?;
    }
    Ok(())
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "This disk affords sync={}.", self.sync)?;
        for each in &self.each {
            let verdict = if each.affordable { "yes" } else { "no" };
            writeln!(out, "  {:8} {verdict}: {}", each.sync, each.cost)?;
        }
        for warning in &self.warnings {
            writeln!(out, "  warning: {warning}")?;
        }
        Ok(())
    }
}

fn bytes(count: usize) -> String {
    if count >= 1024 {
        format!("{} KiB", count / 1024)
    } else {
        format!("{count} B")
    }
}

/// A latency with its unit.
pub(super) fn time(us: f64) -> String {
    match us {
        us if us < 100.0 => format!("{us:.1} µs"),
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e5 => format!("{:.1} ms", us / 1e3),
        us if us < 1e6 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// A rate with commas between thousands.
pub(super) fn rate(per_second: f64) -> String {
    let digits = format!("{per_second:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0.0, 7.0, 999.6, 1234.0, 1e6].map(rate),
            ["0", "7", "1,000", "1,234", "1,000,000"]
        );
        assert_eq!(
            [9.96, 100.0, 1500.0, 250_000.0, 2e6].map(time),
            ["10.0 µs", "100 µs", "1.5 ms", "250 ms", "2.0 s"]
        );
        assert_eq!([1, 1024, 10_240].map(bytes), ["1 B", "1 KiB", "10 KiB"]);
    }
}
