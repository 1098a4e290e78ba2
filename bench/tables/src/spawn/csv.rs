//! The report as comma-separated values (RFC 4180): one line per row and size of parent.

use super::report::Report;
use std::fmt::Write;

const HEADING: &str = "touched_bytes,row,what,article,cpu_us,cpu_us_min,parent_us,blocked_p50_us,blocked_p99_us,\
                       against_vfork,spawns,reason\r\n";

/// The report's figures; a row that was not measured has empty ones and a reason.
pub(super) fn render(report: &Report) -> String {
    let mut text = HEADING.to_owned();
    for (touched, row) in report
        .parents
        .iter()
        .flat_map(|parent| parent.rows.iter().map(|row| (parent.touched.0, row)))
    {
        let article = quoted(row.article.unwrap_or(""));
        let reason = quoted(row.reason.as_deref().unwrap_or(""));
        let figures = row.found.as_ref().map_or_else(
            || ",,,,,,".to_owned(),
            |found| {
                let ratio = found
                    .against_vfork
                    .map(|ratio| format!("{ratio:.4}"))
                    .unwrap_or_default();
                let spawns: u32 = found.rounds.iter().map(|round| round.spawns).sum();
                format!(
                    "{:.3},{:.3},{:.3},{:.3},{:.3},{ratio},{spawns}",
                    found.cpu_us,
                    found.cpu_us_min,
                    found.parent_us,
                    found.blocked_p50_us,
                    found.blocked_p99_us
                )
            },
        );
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{touched},{},{},{article},{figures},{reason}\r\n",
            row.key,
            quoted(row.what)
        );
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("popen(\"T\"), read"), "\"popen(\"\"T\"\"), read\"");
    }
}
