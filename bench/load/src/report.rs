//! The result of a run: numbers per server, and ratios of the subject over each peer.

use crate::phases::{Measured, Sample};
use crate::plot;
use serde::Serialize;
use std::fmt;

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// All options, so that a stored report explains itself.
    pub settings: serde_json::Value,
    /// The subject first, then its peers.
    pub servers: Vec<ServerReport>,
    /// Subject over peer, one entry per peer.
    pub ratios: Vec<Ratios>,
    /// The share of a CPU that each thread of the generator used. Near 100 without `--spin`, the generator is the bottleneck.
    pub generator_busy_percent: f64,
}

/// The numbers of one server in the measured phases.
#[derive(Debug, Clone, Serialize)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its processes, if they run on this machine and are visible.
    pub processes: Vec<u32>,
    /// Requests answered (a get of many keys is one).
    pub requests: u64,
    /// The number of keys in requests.
    pub keys: u64,
    /// The number of keys found.
    pub hits: u64,
    /// The number of keys not found.
    pub misses: u64,
    /// Hits divided by hits and misses; absent without gets.
    pub hit_ratio: Option<f64>,
    /// Error replies.
    pub errors: u64,
    /// The first error reply.
    pub first_error: Option<String>,
    /// The number of values that did not belong to their key (`--verify`).
    pub wrong: u64,
    /// Measured time.
    pub seconds: f64,
    /// Requests per second of measured time.
    pub throughput: f64,
    /// CPU per request in microseconds: the median of the phases.
    pub cpu_us_per_request: Option<Spread>,
    /// The median latencies of the phases, in microseconds, which a few disturbed phases do not change.
    pub phase_p50_us: Option<Spread>,
    /// The 99th percentiles of the phases, in microseconds.
    pub phase_p99_us: Option<Spread>,
    /// Latency of all requests.
    pub latency: Latency,
    /// Percentiles with their latencies in microseconds: the points of the chart.
    #[serde(skip)]
    pub percentiles: Vec<(f64, f64)>,
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
    /// Requests per second: above 1 the subject answers more.
    pub throughput: Spread,
    /// CPU per request: below 1 the subject needs less. Absent if a server's process is not visible.
    pub cpu: Option<Spread>,
    /// Median latency: below 1 the subject is faster.
    pub p50: Spread,
    /// 99th percentile of latency.
    pub p99: Spread,
}

/// A median with its quartiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The number of samples.
    pub samples: usize,
}

impl Spread {
    /// The spread of the finite samples; `None` without any.
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
    pub(crate) fn new(settings: &impl Serialize, threads: usize, measured: &[Measured]) -> Report {
        let (own_cpu, time) = measured.iter().fold((0.0, 0.0), |(own_cpu, time), server| {
            (
                own_cpu + server.total.own_cpu.as_secs_f64(),
                time + server.total.elapsed.as_secs_f64(),
            )
        });
        let peers = measured
            .split_first()
            .map(|(subject, peers)| peers.iter().map(|peer| Ratios::of(subject, peer)));
        Report {
            servers: measured.iter().map(ServerReport::new).collect(),
            ratios: peers.map(|ratios| ratios.flatten().collect()).unwrap_or_default(),
            generator_busy_percent: own_cpu / (time * threads as f64) * 100.0,
            // Options are structs of numbers and strings, which always serialize.
            settings: serde_json::to_value(settings).unwrap_or_default(),
        }
    }

    /// The latencies of all servers as a chart, an SVG document.
    pub fn to_svg(&self) -> String {
        plot::render(self)
    }

    /// The report as one JSON document.
    pub fn to_json(&self) -> String {
        // A report is structs of numbers and strings, which always serialize.
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
        writeln!(
            f,
            "\ngenerator: {:.0} % of a CPU a thread",
            self.generator_busy_percent
        )
    }
}

impl ServerReport {
    fn new(measured: &Measured) -> ServerReport {
        let total = &measured.total;
        let asked = total.hits + total.misses;
        let seconds = total.elapsed.as_secs_f64();
        ServerReport {
            name: measured.server.name.clone(),
            address: measured.server.address.to_string(),
            processes: measured.processes.clone(),
            requests: total.requests,
            keys: total.keys,
            hits: total.hits,
            misses: total.misses,
            hit_ratio: (asked > 0).then(|| total.hits as f64 / asked as f64),
            errors: total.errors,
            first_error: total.first_error.clone(),
            wrong: total.wrong,
            seconds,
            throughput: total.requests as f64 / seconds,
            cpu_us_per_request: Spread::of(measured.phases.iter().filter_map(Sample::cpu_us_per_request)),
            phase_p50_us: Spread::of(measured.phases.iter().map(|sample| sample.p50_us)),
            phase_p99_us: Spread::of(measured.phases.iter().map(|sample| sample.p99_us)),
            latency: total.latency(),
            percentiles: plot::percentiles()
                .map(|each| (each, total.percentile_us(each)))
                .collect(),
        }
    }

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
    /// The ratios of all cycles; `None` if no cycle has answers of both servers.
    fn of(subject: &Measured, peer: &Measured) -> Option<Ratios> {
        let spread = |number: fn(&Sample) -> Option<f64>| {
            let cycles = subject.phases.iter().zip(&peer.phases);
            Spread::of(cycles.filter_map(|(one, other)| Some(number(one)? / number(other)?)))
        };
        Some(Ratios {
            peer: peer.server.name.clone(),
            throughput: spread(|sample| Some(sample.throughput()))?,
            cpu: spread(Sample::cpu_us_per_request),
            p50: spread(|sample| Some(sample.p50_us))?,
            p99: spread(|sample| Some(sample.p99_us))?,
        })
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;
    use std::time::Duration;

    fn measured(name: &str, phases: &[(u64, u64)]) -> Measured {
        let sample = |(requests, cpu_us): &(u64, u64)| Sample {
            requests: *requests,
            seconds: 0.5,
            cpu: Some(Duration::from_micros(*cpu_us)),
            p50_us: 10.0,
            p99_us: 20.0,
        };
        let mut total = Tally::new();
        total.answered(4, Duration::from_micros(100));
        (total.hits, total.misses, total.elapsed) = (3, 1, Duration::from_secs(2));
        total.own_cpu = Duration::from_secs(1);
        Measured {
            server: format!("{name}=127.0.0.1:1").parse().expect("a target"),
            processes: vec![7],
            total,
            phases: phases.iter().map(sample).collect(),
        }
    }

    fn report() -> Report {
        // The machine is disturbed in the second cycle: both servers are slow, their ratio stays.
        let ours = measured("ours", &[(100, 200), (50, 200), (100, 210)]);
        let theirs = measured("theirs", &[(50, 200), (25, 200), (50, 200)]);
        Report::new(&serde_json::json!({"connections": 50}), 1, &[ours, theirs])
    }

    #[test]
    fn quartiles_interpolate() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0, f64::NAN, 5.0]).expect("samples");
        assert_eq!(
            spread,
            Spread {
                median: 3.0,
                q1: 2.0,
                q3: 4.0,
                samples: 5
            }
        );
        assert_eq!(Spread::of([f64::INFINITY]), None);
    }

    #[test]
    fn ratios_are_made_within_cycles() {
        let report = report();
        let ratios = &report.ratios[0];
        assert_eq!(report.ratios.len(), 1);
        assert_eq!((ratios.peer.as_str(), ratios.throughput.median), ("theirs", 2.0));
        assert_eq!(ratios.cpu.expect("measured").median, 0.5);
        assert_eq!(report.generator_busy_percent, 50.0);
    }

    #[test]
    fn json_has_what_scripts_read() {
        let json: serde_json::Value = serde_json::from_str(&report().to_json()).expect("valid JSON");
        assert_eq!(json["servers"][0]["name"], "ours");
        assert_eq!(json["servers"][0]["processes"][0], 7);
        assert_eq!(json["servers"][0]["hit_ratio"], 0.75);
        assert_eq!(json["servers"][1]["throughput"], 2.0);
        assert!((json["servers"][0]["latency"]["p99"].as_f64().expect("a number") - 100.0).abs() < 0.2);
        assert_eq!(json["ratios"][0]["cpu"]["median"], 0.5);
        assert_eq!(json["ratios"][0]["throughput"]["samples"], 3);
        assert_eq!(json["settings"]["connections"], 50);
    }

    #[test]
    fn the_table_names_servers_and_ratios() {
        let table = report().to_string();
        for part in [
            "ours",
            "theirs",
            "requests/s",
            "hit ratio 0.7500",
            "CPU/request 0.500",
            "throughput 2.000",
        ] {
            assert!(table.contains(part), "{part} in {table}");
        }
    }
}
