//! The options of every generator: servers, connections, pace, duration.

use crate::plan::{Pace, Plan};
use crate::target::Target;
use crate::{Error, tls, units};
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::time::Duration;

/// The length of alternating phases in a closed loop: as short as CPU clocks allow, so that a disturbance affects all
/// servers; and not a divisor of a second, so that work done once per second does not always affect the same server.
const PHASE_CLOSED: Duration = Duration::from_millis(47);
/// At a fixed rate a phase must be long enough for a 99th percentile.
const PHASE_OPEN: Duration = Duration::from_millis(173);
/// The phase of a single server: one progress line each.
const PHASE_ALONE: Duration = Duration::from_secs(1);

/// How load is applied.
#[derive(clap::Args, Debug, Clone, Serialize)]
pub struct Drive {
    /// The server: [NAME=]HOST:PORT or [NAME=]unix:PATH
    // No default: a load stores its keys, and should do so only where it was told to.
    #[arg(value_name = "SERVER")]
    pub server: Target,
    /// Another server, which alternates with the first in short phases; may be repeated
    #[arg(long, value_name = "SERVER")]
    pub vs: Vec<Target>,
    /// Connections per server
    #[arg(short, long, default_value_t = 50, value_name = "N")]
    pub connections: usize,
    /// Requests per write; the next write follows their last reply
    #[arg(short, long, default_value_t = 1, value_name = "N")]
    pub depth: usize,
    /// Open loop: requests per second over all connections; latency counts from the time each was due
    #[arg(short, long, value_name = "PER_SECOND", value_parser = units::count)]
    pub rate: Option<u64>,
    /// Measured time per server
    #[arg(short = 't', long, default_value = "10s", value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds")]
    pub duration: Duration,
    /// Measure until every server has answered this many requests, instead of for a time
    #[arg(long, value_name = "N", value_parser = units::count, conflicts_with = "duration")]
    pub requests: Option<u64>,
    /// Unmeasured time per server before that
    #[arg(long, default_value = "500ms", value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds")]
    pub warmup: Duration,
    /// Length of a phase when servers alternate [default: 47ms; 173ms with --rate]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    #[serde(serialize_with = "seconds_or_none")]
    pub phase: Option<Duration>,
    /// Count the CPU time between a server's phases too: its work in the background
    #[arg(long)]
    pub background: bool,
    /// Threads of the generator
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: usize,
    /// Connect by TLS
    #[arg(long)]
    pub tls: bool,
    /// Trust only these certificates (PEM); by default any certificate is accepted
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub tls_ca: Option<PathBuf>,
    /// Pin the generator's threads to these CPUs
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub pin: Vec<usize>,
    /// Poll without sleeping, so that servers never wait for an idle CPU to wake
    #[arg(long)]
    pub spin: bool,
    /// Print a line per second on standard error even if it is not a terminal
    #[arg(long)]
    #[serde(skip)]
    pub progress: bool,
}

impl Drive {
    /// The plan that the options describe. An error names an invalid option.
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
            requests: self.requests,
            background: self.background,
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
        if self.requests == Some(0) {
            return wrong("--requests", "must be at least 1");
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
        let phase = |line: &str| drive(&format!("h:1 {line}")).plan(true).expect("plan").phase;
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
            "--requests 0",
        ] {
            assert!(
                matches!(
                    drive(&format!("h:1 {line}")).plan(true),
                    Err(Error::Option { .. })
                ),
                "{line}"
            );
        }
        assert!(matches!(
            drive("h:1 --tls --tls-ca /nowhere").plan(true),
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
