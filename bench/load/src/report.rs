//! What a run found: per server, and ratios of the subject over each peer.

use serde::Serialize;
use std::fmt;

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Everything that was asked for, so that a stored report explains itself.
    pub settings: serde_json::Value,
    /// The subject first, then its peers.
    pub servers: Vec<ServerReport>,
    /// Subject over peer, one entry a peer.
    pub ratios: Vec<Ratios>,
    /// Of one CPU, how much each thread of the generator used; near 100 without `--spin` the generator is the bottleneck.
    pub generator_busy_percent: f64,
}

/// What one server did in the measured phases.
#[derive(Debug, Clone, Serialize)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// Its processes, where they run on this machine and can be seen.
    pub processes: Vec<u32>,
    /// Requests answered (a get of many keys is one).
    pub requests: u64,
    /// Keys asked for or stored.
    pub keys: u64,
    /// Keys that were asked for and there.
    pub hits: u64,
    /// Keys that were asked for and not there.
    pub misses: u64,
    /// Hits by hits and misses together; absent if nothing was asked for.
    pub hit_ratio: Option<f64>,
    /// Error replies.
    pub errors: u64,
    /// The first error reply.
    pub first_error: Option<String>,
    /// Values that were not those of their keys (`--verify`).
    pub wrong: u64,
    /// Measured time.
    pub seconds: f64,
    /// Requests a second over the measured time.
    pub throughput: f64,
    /// CPU a request in microseconds: the median of the phases.
    pub cpu_us_per_request: Option<Spread>,
    /// Latency of a request.
    pub latency: Latency,
}

/// Percentiles of latency in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    pub max: f64,
}

/// Ratios of the subject over one peer, each computed within one cycle of phases.
#[derive(Debug, Clone, Serialize)]
pub struct Ratios {
    /// The peer's name.
    pub peer: String,
    /// Requests a second: above 1 the subject does more.
    pub throughput: Spread,
    /// CPU a request: below 1 the subject needs less. Absent where a server's process cannot be seen.
    pub cpu: Option<Spread>,
    /// Median latency: below 1 the subject is faster.
    pub p50: Spread,
    /// 99th percentile of latency.
    pub p99: Spread,
}

/// A median with its quartiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the samples are below.
    pub median: f64,
    /// A quarter of the samples is below.
    pub q1: f64,
    /// Three quarters of the samples are below.
    pub q3: f64,
    /// How many samples there were.
    pub samples: usize,
}

impl Spread {
    /// The spread of some samples; `None` of none. Samples that are no numbers (a division by nothing) are left out.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let position = share * (sorted.len() - 1) as f64;
            let (low, high) = (
                sorted[position.floor() as usize],
                sorted[position.ceil() as usize],
            );
            low + (high - low) * position.fract()
        };
        match sorted.is_empty() {
            true => None,
            false => Some(Spread {
                median: at(0.5),
                q1: at(0.25),
                q3: at(0.75),
                samples: sorted.len(),
            }),
        }
    }
}

impl Report {
    /// The report as one JSON document.
    pub fn to_json(&self) -> String {
        // A report is numbers and strings in structs: there is nothing in it that JSON cannot hold.
        serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .servers
            .iter()
            .map(|server| server.name.chars().count())
            .max()
            .unwrap_or(0)
            .max(6);
        writeln!(
            f,
            "{:width$} {:>12} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "server", "requests/s", "CPU µs/req", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"
        )?;
        for server in &self.servers {
            server.line(f, width)?;
        }
        for server in &self.servers {
            server.remarks(f)?;
        }
        if let (Some(subject), false) = (self.servers.first(), self.ratios.is_empty()) {
            writeln!(
                f,
                "\n{} over each peer, median of cycles [quartiles]",
                subject.name
            )?;
        }
        for ratios in &self.ratios {
            ratios.line(f, width)?;
        }
        write!(
            f,
            "\ngenerator: {:.0} % of a CPU a thread",
            self.generator_busy_percent
        )
    }
}

impl ServerReport {
    fn line(&self, f: &mut fmt::Formatter<'_>, width: usize) -> fmt::Result {
        let cpu = self
            .cpu_us_per_request
            .map_or("-".to_string(), |cpu| format!("{:.3}", cpu.median));
        let Latency {
            p50,
            p90,
            p99,
            p999,
            max,
            ..
        } = self.latency;
        writeln!(
            f,
            "{:width$} {:>12.0} {cpu:>10} {p50:>9.1} {p90:>9.1} {p99:>9.1} {p999:>9.1} {max:>9.1}",
            self.name, self.throughput
        )
    }

    fn remarks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(ratio), true) = (self.hit_ratio, self.misses > 0) {
            writeln!(
                f,
                "{}: {} hits, {} misses, hit ratio {:.4}",
                self.name, self.hits, self.misses, ratio
            )?;
        }
        if let Some(error) = &self.first_error {
            writeln!(
                f,
                "{}: {} error replies, the first: {error}",
                self.name, self.errors
            )?;
        }
        if self.wrong > 0 {
            writeln!(f, "{}: {} VALUES WERE WRONG", self.name, self.wrong)?;
        }
        Ok(())
    }
}

impl Ratios {
    fn line(&self, f: &mut fmt::Formatter<'_>, width: usize) -> fmt::Result {
        let cpu = self.cpu.map_or("-".to_string(), |cpu| cpu.to_string());
        writeln!(
            f,
            "{:width$} CPU/request {cpu}  throughput {}  p50 {}  p99 {}",
            self.peer, self.throughput, self.p50, self.p99
        )
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} [{:.3} {:.3}]", self.median, self.q1, self.q3)
    }
}
