//! The results: for each size of parent and each row the medians over the rounds, and the rounds themselves.

use super::host::Sample;
use super::size::Size;
use super::statistics::{median, percentile, sorted};
use serde::Serialize;

/// A whole measurement.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Spawns per row and round, unless the time limit came first.
    pub count: u32,
    /// The number of rounds. Each round measures every row once.
    pub rounds: u32,
    /// Size of the child's file in bytes.
    pub child_bytes: usize,
    /// The sizes of parents, in the order of the command line.
    pub parents: Vec<Parent>,
}

/// The results for parents of one size.
#[derive(Debug, Serialize)]
pub struct Parent {
    /// Memory touched by the parents, in bytes.
    #[serde(rename = "touched_bytes")]
    pub touched: Size,
    /// The rows in the order of the table.
    pub rows: Vec<RowReport>,
}

/// A way of starting a process: its figures, or the reason why it could not be measured.
#[derive(Debug, Serialize)]
pub struct RowReport {
    /// Its name on the command line.
    pub key: &'static str,
    /// Its description.
    pub what: &'static str,
    /// The corresponding row of "popen() performance".
    pub article: Option<&'static str>,
    /// The figures, if it was measured.
    #[serde(flatten)]
    pub found: Option<Figures>,
    /// The reason, if it was not.
    pub reason: Option<String>,
}

/// Figures of a row, in microseconds per spawn.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// CPU time of the parent and its child together: the median over the rounds.
    pub cpu_us: f64,
    /// The smallest round.
    pub cpu_us_min: f64,
    /// CPU time of the parent alone.
    pub parent_us: f64,
    /// How long a spawn blocked the calling thread: the median of all spawns.
    pub blocked_p50_us: f64,
    /// The same, 99th percentile.
    pub blocked_p99_us: f64,
    /// CPU time divided by that of bare vfork and execve in the same round, if that row was measured.
    pub against_vfork: Option<f64>,
    /// The rounds, in order.
    pub rounds: Vec<Round>,
}

/// The measurements of one round.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// The number of spawns.
    pub spawns: u32,
    /// CPU time of the parent and its child together, in microseconds per spawn.
    pub cpu_us: f64,
    /// CPU time of the parent alone.
    pub parent_us: f64,
}

impl Round {
    fn new(sample: &Sample) -> Self {
        let each = |ns: u64| ns as f64 / 1000.0 / f64::from(sample.spawns.max(1));
        Self {
            spawns: sample.spawns,
            cpu_us: each(sample.cpu_ns),
            parent_us: each(sample.own_ns),
        }
    }
}

impl Figures {
    pub(super) fn new(samples: &[Sample], baseline: &[Sample]) -> Self {
        let rounds: Vec<Round> = samples.iter().map(Round::new).collect();
        let baseline: Vec<Round> = baseline.iter().map(Round::new).collect();
        let blocked = samples.iter().flat_map(|sample| &sample.blocked_ns);
        let blocked = sorted(blocked.map(|ns| *ns as f64 / 1000.0));
        let ratios = rounds
            .iter()
            .zip(&baseline)
            .map(|(round, baseline)| round.cpu_us / baseline.cpu_us);
        Self {
            cpu_us: median(rounds.iter().map(|round| round.cpu_us)),
            cpu_us_min: rounds
                .iter()
                .map(|round| round.cpu_us)
                .fold(f64::INFINITY, f64::min),
            parent_us: median(rounds.iter().map(|round| round.parent_us)),
            blocked_p50_us: percentile(&blocked, 0.50),
            blocked_p99_us: percentile(&blocked, 0.99),
            against_vfork: (!baseline.is_empty()).then(|| median(ratios)),
            rounds,
        }
    }
}

impl Report {
    /// The report as one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample(spawns: u32, cpu_us: u64) -> Sample {
        Sample {
            spawns,
            cpu_ns: cpu_us * 1000 * u64::from(spawns),
            own_ns: 1000 * u64::from(spawns),
            blocked_ns: vec![2000; spawns as usize],
        }
    }

    #[test]
    fn figures_are_medians_over_rounds() {
        let baseline = [sample(10, 50), sample(10, 100), sample(10, 50)];
        let figures = Figures::new(&[sample(10, 100), sample(1, 150), sample(10, 500)], &baseline);
        assert_eq!(
            (figures.cpu_us, figures.cpu_us_min, figures.parent_us),
            (150.0, 100.0, 1.0)
        );
        assert_eq!((figures.blocked_p50_us, figures.blocked_p99_us), (2.0, 2.0));
        // Ratios are made within rounds: 2, 1.5 and 10.
        assert_eq!(figures.against_vfork, Some(2.0));
    }

    #[test]
    fn without_the_floor_there_is_no_ratio() {
        assert_eq!(Figures::new(&[sample(1, 1)], &[]).against_vfork, None);
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let row = RowReport {
            key: "node-spawn",
            what: "Node",
            article: None,
            found: None,
            reason: Some("node is not installed".into()),
        };
        let value: serde_json::Value = serde_json::to_value(&row).unwrap();
        assert_eq!(value["reason"], "node is not installed");
        assert!(value.get("cpu_us").is_none());
    }
}
