//! The results of a measurement.

use super::{Device, Options, Part, Percentiles, Verdict, files, group, latency};
use serde::Serialize;

/// A whole measurement.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The disk.
    pub device: Device,
    /// Measured time in all.
    pub seconds: u32,
    /// The latency of fdatasync after a write of 4 KiB, one thread.
    pub latency: Vec<LatencyReport>,
    /// Group commit, by the number of writers.
    pub group_commit: Vec<GroupReport>,
    /// Open, write, fsync and close, by the size of a write and the number of files.
    pub files: Vec<FilesReport>,
    /// Which `sync` the disk affords; absent if the latency of an append could not be measured.
    pub verdict: Option<Verdict>,
}

/// fdatasync after one kind of write.
#[derive(Debug, Serialize)]
pub struct LatencyReport {
    /// Its name.
    pub key: &'static str,
    /// Its description.
    pub what: &'static str,
    /// The number of writes.
    pub writes: u64,
    /// Writes per second.
    pub per_second: f64,
    /// The latencies of write and fdatasync together, if this kind was measured.
    #[serde(flatten)]
    pub latency: Option<Percentiles>,
    /// The reason, if it was not.
    pub reason: Option<String>,
}

/// Group commit with one number of writers.
#[derive(Debug, Serialize)]
pub struct GroupReport {
    /// The number of threads, each with one record in flight.
    pub writers: usize,
    /// Records that became durable.
    pub commits: u64,
    /// Records per second.
    pub per_second: f64,
    /// Records per fdatasync.
    pub commits_per_sync: f64,
    /// The latencies of a commit.
    #[serde(flatten)]
    pub latency: Percentiles,
}

/// Synchronous writes of one size to some files at the same time.
#[derive(Debug, Serialize)]
pub struct FilesReport {
    /// Bytes per write.
    pub bytes: usize,
    /// The number of files, each with a thread of its own.
    pub files: usize,
    /// The number of writes.
    pub writes: u64,
    /// Writes per second.
    pub per_second: f64,
    /// The latencies of open, write, fsync and close together.
    #[serde(flatten)]
    pub latency: Percentiles,
}

impl Report {
    pub(super) fn new(options: &Options, device: Device, parts: Vec<Part>) -> Self {
        let mut report = Self {
            device,
            seconds: options.seconds,
            latency: Vec::new(),
            group_commit: Vec::new(),
            files: Vec::new(),
            verdict: None,
        };
        for part in parts {
            match part {
                Part::Latency(row) => report.latency.push(row.into()),
                Part::Group(row) => report.group_commit.push(row.into()),
                Part::Files(row) => report.files.push(row.into()),
            }
        }
        report.verdict = Verdict::of(&report);
        report
    }

    /// The report as one JSON object.
    pub fn to_json(&self) -> String {
        // A report is structs of numbers and strings, which always serialize.
        serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }
}

impl From<latency::Row> for LatencyReport {
    fn from(row: latency::Row) -> Self {
        Self {
            key: row.way.key(),
            what: row.way.what(),
            writes: row.samples.count(),
            per_second: row.samples.per_second(),
            latency: row.reason.is_none().then(|| row.samples.percentiles()),
            reason: row.reason,
        }
    }
}

impl From<group::Row> for GroupReport {
    fn from(row: group::Row) -> Self {
        Self {
            writers: row.writers,
            commits: row.samples.count(),
            per_second: row.samples.per_second(),
            commits_per_sync: row.commits_per_sync(),
            latency: row.samples.percentiles(),
        }
    }
}

impl From<files::Row> for FilesReport {
    fn from(row: files::Row) -> Self {
        Self {
            bytes: row.bytes,
            files: row.paths.len(),
            writes: row.samples.count(),
            per_second: row.samples.per_second(),
            latency: row.samples.percentiles(),
        }
    }
}
