//! The command line of `hikyaku bench kv`.

use crate::Drive;
use crate::units;
use serde::Serialize;
use std::path::PathBuf;

/// Put load on memcached servers: one, or several in alternating phases
#[derive(clap::Args, Debug, Clone, Serialize)]
#[command(after_help = AFTER)]
pub struct Options {
    /// How load is applied.
    #[command(flatten)]
    #[serde(flatten)]
    pub drive: Drive,
    /// Number of keys
    #[arg(short, long, default_value = "10000", value_name = "N", value_parser = units::count)]
    pub keys: u64,
    /// Exponent of the Zipf distribution of keys; 0 is uniform
    #[arg(long, default_value_t = 0.0, value_name = "S")]
    pub skew: f64,
    /// Key length
    #[arg(long, default_value = "100", value_name = "BYTES", value_parser = units::size)]
    pub key_size: usize,
    /// Value length
    #[arg(long, default_value = "400", value_name = "BYTES", value_parser = units::size)]
    pub value_size: usize,
    /// Percentage of GETs; the rest are SETs
    #[arg(short, long, default_value_t = 100, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub gets: u8,
    /// Keys per GET
    #[arg(short, long, default_value_t = 1, value_name = "KEYS")]
    pub multiget: usize,
    /// Protocol
    #[arg(short, long, value_enum, default_value_t = Protocol::Text)]
    pub protocol: Protocol,
    /// Protocol of the --vs servers, if it is another one
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    pub vs_protocol: Option<Protocol>,
    /// Do not store the keys before the run
    #[arg(long)]
    pub no_fill: bool,
    /// SET each key whose GET missed, as users of a cache do, and report the hit ratio
    #[arg(long)]
    pub fill_on_miss: bool,
    /// Check that every value belongs to its key
    #[arg(long)]
    pub verify: bool,
    /// Seed of the random sequence of keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Draw latency by percentile
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub svg: Option<PathBuf>,
}

/// The three dialects of the memcached protocol, and Redis's protocol.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `get`, `set`
    Text,
    /// `mg`, `ms`
    Meta,
    /// the binary protocol
    Binary,
    /// Redis's: `GET`, `SET`
    Resp,
}

const AFTER: &str = "\
Ratios are those of the first server over each --vs server: below 1 is less CPU, above 1 is more throughput.

CPU time is measured for servers on this machine. For servers of another user, run as root.

  hikyaku bench kv --connections 50 --depth 16 ours=127.0.0.1:11211 --vs memcached=127.0.0.1:11311
  hikyaku bench kv --rate 50k --duration 20s 127.0.0.1:11211
  hikyaku bench kv --gets 0 --background ours=127.0.0.1:11211 --vs redis=127.0.0.1:6379 --vs-protocol resp
  hikyaku bench kv --keys 1M --skew 0.99 --fill-on-miss --no-fill 127.0.0.1:11211";
