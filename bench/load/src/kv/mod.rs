//! Load for memcached-protocol servers: what `hikyaku bench kv` runs.

mod dialect;
mod items;
mod options;
mod session;

pub use options::{Options, Protocol};

use crate::plan::{Pace, Plan};
use crate::{Error, Report, phases, tls};
use items::Items;
use session::Load;
use std::sync::Arc;
use std::time::Duration;

/// Phases of servers that alternate: as short as the servers' CPU clocks allow, so that a disturbance meets all of them.
const PHASE_CLOSED: Duration = Duration::from_millis(50);
/// At a fixed rate a phase must hold enough requests for a 99th percentile.
const PHASE_OPEN: Duration = Duration::from_millis(500);
/// A server that runs alone is measured in pieces of a second, for the progress line.
const PHASE_ALONE: Duration = Duration::from_secs(1);

/// How requests are mixed.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    protocol: Protocol,
    depth: usize,
    gets: u8,
    multiget: usize,
    fill_on_miss: bool,
    verify: bool,
    seed: u64,
}

/// Runs the load that `options` describe and says what it found.
pub fn run(options: Options) -> Result<Report, Error> {
    check(&options)?;
    let items =
        Items::new(options.keys, options.key_size, options.value_size).map_err(|problem| Error::Option {
            option: "--keys",
            problem,
        })?;
    let plan = plan(&options)?;
    let load = Arc::new(Load::new(items, options.skew, mix(&options)));
    let measured = phases::run(&plan, &load)?;
    Ok(Report::new(settings(&options, &plan), &measured))
}

fn check(options: &Options) -> Result<(), Error> {
    const KEY_MAX: usize = 250;
    const MULTIGET_MAX: usize = 10_000;
    let wrong = |option, problem: &str| {
        Err(Error::Option {
            option,
            problem: problem.into(),
        })
    };
    if !(1..=KEY_MAX).contains(&options.key_size) {
        return wrong("--key-size", "a key of this protocol has 1 to 250 bytes");
    }
    if options.value_size > u32::MAX as usize / 2 {
        return wrong("--value-size", "a value can have 2 GiB at most");
    }
    if !(1..=MULTIGET_MAX).contains(&options.multiget) {
        return wrong("--multiget", "a get can have 1 to 10000 keys");
    }
    if options.fill_on_miss && options.multiget > 1 {
        return wrong(
            "--fill-on-miss",
            "works with gets of one key; leave --multiget out",
        );
    }
    if options.depth == 0 || options.connections == 0 || options.threads == 0 {
        return wrong("--depth, --connections, --threads", "must be at least 1");
    }
    if options.threads > options.connections {
        return wrong(
            "--threads",
            "every thread needs a connection; there are fewer connections than threads",
        );
    }
    if options.rate == Some(0) {
        return wrong("--rate", "must be at least 1; leave it out for a closed loop");
    }
    if !(0.0..=20.0).contains(&options.skew) {
        return wrong("--skew", "must be between 0 (uniform) and 20");
    }
    Ok(())
}

fn plan(options: &Options) -> Result<Plan, Error> {
    let pace = match options.rate {
        Some(rate) => Pace::Open {
            writes_per_second: rate as f64 / options.depth as f64,
        },
        None => Pace::Closed,
    };
    let usual = match (options.vs.is_empty(), pace) {
        (true, _) => PHASE_ALONE,
        (false, Pace::Closed) => PHASE_CLOSED,
        (false, Pace::Open { .. }) => PHASE_OPEN,
    };
    let shortest = options.duration.max(Duration::from_millis(1));
    Ok(Plan {
        servers: std::iter::once(&options.server)
            .chain(&options.vs)
            .cloned()
            .collect(),
        connections: options.connections,
        threads: options.threads,
        pace,
        fill: !options.no_fill,
        warmup: options.warmup,
        duration: options.duration,
        phase: options
            .phase
            .unwrap_or(usual)
            .clamp(Duration::from_millis(1), shortest),
        spin: options.spin,
        pin: options.pin.clone(),
        tls: if options.tls {
            Some(tls::client(options.tls_ca.as_deref())?)
        } else {
            None
        },
        progress: options.progress,
    })
}

fn mix(options: &Options) -> Mix {
    Mix {
        protocol: options.protocol,
        depth: options.depth,
        gets: options.gets,
        multiget: options.multiget,
        fill_on_miss: options.fill_on_miss,
        verify: options.verify,
        seed: options.seed,
    }
}

/// What a stored report says about its making.
fn settings(options: &Options, plan: &Plan) -> serde_json::Value {
    serde_json::json!({
        "protocol": options.protocol,
        "connections": options.connections,
        "depth": options.depth,
        "rate": options.rate,
        "keys": options.keys,
        "skew": options.skew,
        "key_size": options.key_size,
        "value_size": options.value_size,
        "gets_percent": options.gets,
        "multiget": options.multiget,
        "fill": plan.fill,
        "fill_on_miss": options.fill_on_miss,
        "verify": options.verify,
        "tls": options.tls,
        "threads": options.threads,
        "pin": options.pin,
        "spin": options.spin,
        "seed": options.seed,
        "warmup_seconds": plan.warmup.as_secs_f64(),
        "duration_seconds": plan.duration.as_secs_f64(),
        "phase_seconds": plan.phase.as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        Cli::try_parse_from(std::iter::once("kv").chain(line.split_whitespace()))
            .expect("valid")
            .options
    }

    #[test]
    fn options_become_a_plan() {
        let plan = plan(&options(
            "a=127.0.0.1:1 --vs b=unix:/x --rate 50k --depth 2 --no-fill",
        ))
        .expect("plan");
        assert_eq!(plan.servers.len(), 2);
        assert_eq!(
            plan.pace,
            Pace::Open {
                writes_per_second: 25_000.0
            }
        );
        assert_eq!((plan.phase, plan.fill), (PHASE_OPEN, false));
        assert_eq!(
            super::plan(&options("--duration 200ms")).expect("plan").phase,
            Duration::from_millis(200)
        );
        assert_eq!(
            super::plan(&options("--vs h:1")).expect("plan").phase,
            PHASE_CLOSED
        );
    }

    #[test]
    fn senseless_options_are_refused_by_name() {
        for line in [
            "--key-size 251",
            "--key-size 0",
            "--multiget 0",
            "--depth 0",
            "--connections 0",
            "--threads 51",
            "--rate 0",
            "--skew=-1",
            "--multiget 2 --fill-on-miss",
            "--keys 1000 --key-size 2",
        ] {
            let found = run(options(line));
            assert!(matches!(found, Err(Error::Option { .. })), "{line}: {found:?}");
        }
    }
}
