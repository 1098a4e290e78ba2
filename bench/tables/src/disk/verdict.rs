//! The verdict: which `sync` a disk affords, and what each costs and risks.

use super::text::{rate, time};
use super::{LatencyReport, Percentiles, Report};
use serde::Serialize;

/// Waiting for the disk in every write is affordable up to this p99 of fdatasync, a common rule for databases.
const COMMIT_P99_MAX_US: f64 = 10_000.0;
/// A sync that is due once per second must end within it.
const INTERVAL_MAX_US: f64 = 1_000_000.0;
/// Flash memory without a cache in front of it hardly stores a block in less.
const CACHED_BELOW_US: f64 = 250.0;

/// What each `sync` of a store costs on this disk.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The strictest `sync` that the disk affords.
    pub sync: &'static str,
    /// Each `sync`, the laxest first.
    pub each: Vec<Affordable>,
    /// Reasons to doubt these figures.
    pub warnings: Vec<String>,
}

/// One `sync`.
#[derive(Debug, Serialize)]
pub struct Affordable {
    /// Its name in the configuration.
    pub sync: &'static str,
    /// True if the disk affords it.
    pub affordable: bool,
    /// Its cost and its risk, in words.
    pub cost: String,
}

impl Verdict {
    /// The verdict on a measurement.
    pub(super) fn of(report: &Report) -> Option<Self> {
        // As stores append; where the file system cannot preallocate, as they do then.
        let (row, append) = report
            .latency
            .iter()
            .find_map(|row| row.latency.map(|latency| (row, latency)))?;
        let mut each = vec![none(), interval(append), commit(report, row, append)];
        if report.device.is_memory() {
            for useless in &mut each[1..] {
                useless.affordable = false;
                useless.cost = "the files are in memory, and a power cut loses all of them".into();
            }
        }
        let sync = each.iter().rev().find(|each| each.affordable)?.sync;
        Some(Self {
            sync,
            each,
            warnings: warnings(report, append),
        })
    }
}

fn none() -> Affordable {
    Affordable {
        sync: "none",
        affordable: true,
        cost: "no write waits for the disk; a power cut loses what the kernel has not written, usually the last 30 s".into(),
    }
}

fn interval(append: Percentiles) -> Affordable {
    let affordable = append.max_us <= INTERVAL_MAX_US;
    let cost = if affordable {
        format!(
            "one fdatasync per second in the background, {} at most; a power cut loses up to a second of writes",
            time(append.max_us)
        )
    } else {
        format!(
            "an fdatasync took up to {}, so that a power cut can lose more than a second of writes",
            time(append.max_us)
        )
    };
    Affordable {
        sync: "interval",
        affordable,
        cost,
    }
}

fn commit(report: &Report, row: &LatencyReport, append: Percentiles) -> Affordable {
    let alone = format!(
        "a client that writes alone waits {} (p99 {}) and gets {} writes per second",
        time(append.p50_us),
        time(append.p99_us),
        rate(row.per_second)
    );
    let together = report.group_commit.last().map_or_else(String::new, |group| {
        format!(
            "; {} clients together get {}, and each waits {} (p99 {}); a power cut loses no acknowledged write",
            group.writers,
            rate(group.per_second),
            time(group.latency.p50_us),
            time(group.latency.p99_us)
        )
    });
    Affordable {
        sync: "commit",
        affordable: append.p99_us <= COMMIT_P99_MAX_US,
        cost: alone + &together,
    }
}

fn warnings(report: &Report, append: Percentiles) -> Vec<String> {
    let device = &report.device;
    let kind = device.file_system.as_deref().unwrap_or("unknown");
    let mut warnings = Vec::new();
    if device.is_memory() {
        warnings.push(format!(
            "{kind} keeps files in memory, so no sync makes them durable"
        ));
    } else if device.is_remote() {
        warnings.push(format!(
            "{kind} is no local file system: its server decides when data are durable"
        ));
    } else if append.p50_us < CACHED_BELOW_US && !device.writes_through() {
        warnings.push(format!(
            "fdatasync takes {}: a cache probably answers, in the device or in the hypervisor. Under sync=commit a power \
             cut loses nothing only if that cache survives it",
            time(append.p50_us)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Device, GroupReport};
    use super::*;

    fn report(p50_us: f64, p99_us: f64, max_us: f64, kind: &str) -> Report {
        let latency = Percentiles {
            p50_us,
            p90_us: p50_us,
            p99_us,
            p999_us: max_us,
            max_us,
        };
        let not_measured = LatencyReport {
            key: "append-preallocated",
            what: "",
            writes: 0,
            per_second: 0.0,
            latency: None,
            reason: Some("unsupported".into()),
        };
        let measured = LatencyReport {
            key: "append",
            what: "",
            writes: 100,
            per_second: 1e6 / p50_us,
            latency: Some(latency),
            reason: None,
        };
        let group = GroupReport {
            writers: 64,
            commits: 1000,
            per_second: 20_000.0,
            commits_per_sync: 30.0,
            latency,
        };
        Report {
            device: Device {
                dir: "/data".into(),
                file_system: Some(kind.into()),
                source: None,
                write_cache: Some("write back".into()),
            },
            seconds: 1,
            latency: vec![not_measured, measured],
            group_commit: vec![group],
            files: Vec::new(),
            verdict: None,
        }
    }

    fn sync(report: &Report) -> &'static str {
        Verdict::of(report).unwrap().sync
    }

    #[test]
    fn the_strictest_affordable_sync_is_named() {
        assert_eq!(sync(&report(300.0, 900.0, 5_000.0, "ext4")), "commit");
        assert_eq!(sync(&report(8_000.0, 30_000.0, 200_000.0, "ext4")), "interval");
        assert_eq!(sync(&report(8_000.0, 30_000.0, 3e6, "ext4")), "none");
        assert_eq!(sync(&report(1.0, 2.0, 3.0, "tmpfs")), "none");
    }

    #[test]
    fn the_words_have_the_figures() {
        let verdict = Verdict::of(&report(400.0, 900.0, 5_000.0, "ext4")).unwrap();
        let commit = &verdict.each[2].cost;
        for part in [
            "400 µs",
            "p99 900 µs",
            "2,500 writes per second",
            "64 clients together get 20,000",
        ] {
            assert!(commit.contains(part), "{part} in {commit}");
        }
        assert!(
            verdict.each[1].cost.contains("5.0 ms at most"),
            "{:?}",
            verdict.each[1]
        );
        assert!(verdict.warnings.is_empty());
    }

    #[test]
    fn caches_memory_and_networks_are_warned_of() {
        let warning = |report: &Report| Verdict::of(report).unwrap().warnings.concat();
        assert!(warning(&report(30.0, 60.0, 100.0, "ext4")).contains("a cache probably answers"));
        assert!(warning(&report(1.0, 2.0, 3.0, "tmpfs")).contains("in memory"));
        assert!(warning(&report(800.0, 900.0, 900.0, "nfs4")).contains("server"));
    }

    #[test]
    fn without_a_latency_there_is_no_verdict() {
        let mut report = report(1.0, 1.0, 1.0, "ext4");
        report.latency.pop();
        assert!(Verdict::of(&report).is_none());
    }
}
