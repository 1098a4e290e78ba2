//! The options that every generator has: which servers, how many connections, at which pace, for how long.

use crate::plan::{Pace, Plan};
use crate::target::Target;
use crate::{Error, tls, units};
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::time::Duration;

/// Phases of servers that alternate in a closed loop: as short as CPU clocks allow, so that a disturbance meets all of
/// them, and no fraction of a second, so that what happens once a second does not meet the same one every time.
const PHASE_CLOSED: Duration = Duration::from_millis(47);
/// At a fixed rate a phase must hold enough requests for a 99th percentile.
const PHASE_OPEN: Duration = Duration::from_millis(173);
/// A server that runs alone is measured in pieces of a second, for the progress line.
const PHASE_ALONE: Duration = Duration::from_secs(1);

/// How load is applied.
#[derive(clap::Args, Debug, Clone, Serialize)]
pub struct Drive {
    /// The server: [NAME=]HOST:PORT or [NAME=]unix:PATH
    #[arg(value_name = "SERVER", default_value = "127.0.0.1:11211")]
    pub server: Target,
    /// Another server to compare with, in short alternating phases; may be given several times
    #[arg(long, value_name = "SERVER")]
    pub vs: Vec<Target>,
    /// Connections to each server
    #[arg(short, long, default_value_t = 50, value_name = "N")]
    pub connections: usize,
    /// Requests in one write; the next write follows when all of them are answered
    #[arg(short, long, default_value_t = 1, value_name = "N")]
    pub depth: usize,
    /// Open loop: so many requests a second over all connections, latency counted from when each was due
    #[arg(short, long, value_name = "PER_SECOND", value_parser = units::count)]
    pub rate: Option<u64>,
    /// How long to measure, each server
    #[arg(short = 't', long, default_value = "10s", value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds")]
    pub duration: Duration,
    /// How long to run before that without measuring, each server
    #[arg(long, default_value = "500ms", value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds")]
    pub warmup: Duration,
    /// Length of one phase when servers alternate [default: 47ms; 173ms with --rate]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds_or_none")]
    pub phase: Option<Duration>,
    /// Threads of the generator; each has its share of the connections
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: usize,
    /// Connect by TLS
    #[arg(long)]
    pub tls: bool,
    /// Certificates (PEM) to trust; without it any certificate is accepted, for this is a measurement
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub tls_ca: Option<PathBuf>,
    /// CPUs to pin the generator's threads to
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub pin: Vec<usize>,
    /// Never sleep between polls; the server then need not wake an idle CPU to answer
    #[arg(long)]
    pub spin: bool,
    /// A line a second on standard error, even where that is no terminal
    #[arg(long)]
    #[serde(skip)]
    pub progress: bool,
}

impl Drive {
    /// The plan that the options describe, or which of them makes no sense.
    pub(crate) fn plan(&self, fill: bool) -> Result<Plan, Error> {
        self.check()?;
        let pace = match self.rate {
            Some(rate) => Pace::Open {
                writes_per_second: rate as f64 / self.depth as f64,
            },
            None => Pace::Closed,
        };
        let usual = match (self.vs.is_empty(), pace) {
            (true, _) => PHASE_ALONE,
            (false, Pace::Closed) => PHASE_CLOSED,
            (false, Pace::Open { .. }) => PHASE_OPEN,
        };
        let longest = self.duration.max(Duration::from_millis(1));
        Ok(Plan {
            servers: std::iter::once(&self.server).chain(&self.vs).cloned().collect(),
            connections: self.connections,
            threads: self.threads,
            pace,
            fill,
            warmup: self.warmup,
            duration: self.duration,
            phase: self
                .phase
                .unwrap_or(usual)
                .clamp(Duration::from_millis(1), longest),
            spin: self.spin,
            pin: self.pin.clone(),
            tls: if self.tls {
                Some(tls::client(self.tls_ca.as_deref())?)
            } else {
                None
            },
            progress: self.progress,
        })
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |option, problem: &str| {
            Err(Error::Option {
                option,
                problem: problem.into(),
            })
        };
        if self.depth == 0 || self.connections == 0 || self.threads == 0 {
            return wrong("--depth, --connections, --threads", "must be at least 1");
        }
        if self.threads > self.connections {
            return wrong(
                "--threads",
                "every thread needs a connection; there are fewer connections than threads",
            );
        }
        if self.rate == Some(0) {
            return wrong("--rate", "must be at least 1; leave it out for a closed loop");
        }
        Ok(())
    }
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn seconds_or_none<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        drive: Drive,
    }

    fn drive(line: &str) -> Drive {
        Cli::try_parse_from(std::iter::once("load").chain(line.split_whitespace()))
            .expect("valid")
            .drive
    }

    #[test]
    fn options_become_a_plan() {
        let plan = drive("a=127.0.0.1:1 --vs b=unix:/x --rate 50k --depth 2")
            .plan(false)
            .expect("plan");
        assert_eq!(plan.servers.len(), 2);
        assert_eq!(
            plan.pace,
            Pace::Open {
                writes_per_second: 25_000.0
            }
        );
        assert_eq!((plan.phase, plan.fill), (PHASE_OPEN, false));
        let phase = |line| drive(line).plan(true).expect("plan").phase;
        assert_eq!(phase(""), PHASE_ALONE);
        assert_eq!(phase("--duration 200ms"), Duration::from_millis(200));
        assert_eq!(phase("--vs h:1"), PHASE_CLOSED);
        assert_eq!(phase("--vs h:1 --phase 25ms"), Duration::from_millis(25));
    }

    #[test]
    fn senseless_options_are_refused() {
        for line in [
            "--depth 0",
            "--connections 0",
            "--threads 51",
            "--threads 0",
            "--rate 0",
        ] {
            assert!(
                matches!(drive(line).plan(true), Err(Error::Option { .. })),
                "{line}"
            );
        }
        assert!(matches!(
            drive("--tls --tls-ca /nowhere").plan(true),
            Err(Error::Tls(_))
        ));
    }

    #[test]
    fn settings_are_written_in_seconds() {
        let json = serde_json::to_value(drive("a=h:1 --warmup 250ms")).expect("plain values");
        assert_eq!(
            (json["server"].as_str(), json["warmup"].as_f64()),
            (Some("a=h:1"), Some(0.25))
        );
    }
}
