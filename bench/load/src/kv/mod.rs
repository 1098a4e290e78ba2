//! `hikyaku bench kv`: load for memcached servers, and for Redis beside them.

mod client;
mod dialect;
mod items;
mod options;
mod resp;

pub use options::{Options, Protocol};

use crate::{Error, Report, phases};
use client::Load;
use items::Items;
use std::sync::Arc;

/// The mixture of requests.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    protocol: Protocol,
    /// The protocol of the servers but the first.
    vs_protocol: Protocol,
    depth: usize,
    gets: u8,
    multiget: usize,
    fill_on_miss: bool,
    verify: bool,
    seed: u64,
}

/// Runs the load that `options` describe.
pub fn run(options: Options) -> Result<Report, Error> {
    check(&options)?;
    let items =
        Items::new(options.keys, options.key_size, options.value_size).map_err(|problem| Error::Option {
            option: "--keys",
            problem,
        })?;
    let plan = options.drive.plan(!options.no_fill)?;
    let load = Arc::new(Load::new(items, options.skew, mix(&options)));
    let measured = phases::run(&plan, &load)?;
    let report = Report::new(&options, plan.threads, &measured);
    if let Some(path) = options.svg {
        std::fs::write(&path, report.to_svg()).map_err(|source| Error::File { path, source })?;
    }
    Ok(report)
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
    let resp = [Some(options.protocol), options.vs_protocol].contains(&Some(Protocol::Resp));
    if resp && options.multiget > 1 {
        return wrong("--multiget", "a get of many keys is not available with resp");
    }
    if options.fill_on_miss && options.multiget > 1 {
        return wrong(
            "--fill-on-miss",
            "works with gets of one key; leave --multiget out",
        );
    }
    if !(0.0..=20.0).contains(&options.skew) {
        return wrong("--skew", "must be between 0 (uniform) and 20");
    }
    Ok(())
}

fn mix(options: &Options) -> Mix {
    Mix {
        protocol: options.protocol,
        vs_protocol: options.vs_protocol.unwrap_or(options.protocol),
        depth: options.drive.depth,
        gets: options.gets,
        multiget: options.multiget,
        fill_on_miss: options.fill_on_miss,
        verify: options.verify,
        seed: options.seed,
    }
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

    #[test]
    fn senseless_options_are_refused() {
        for line in [
            "--key-size 251",
            "--key-size 0",
            "--multiget 0",
            "--skew=-1",
            "--multiget 2 --protocol resp",
            "--multiget 2 --vs-protocol resp",
            "--multiget 2 --fill-on-miss",
            "--keys 1000 --key-size 2",
            "--value-size 3GiB",
        ] {
            let cli = Cli::try_parse_from(["kv", "127.0.0.1:1"].into_iter().chain(line.split_whitespace()))
                .expect("valid");
            let found = run(cli.options);
            assert!(matches!(found, Err(Error::Option { .. })), "{line}: {found:?}");
        }
    }
}
