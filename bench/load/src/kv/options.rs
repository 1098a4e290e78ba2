//! The command line of `hikyaku bench kv`.

use crate::Drive;
use crate::units;
use serde::Serialize;
use std::path::PathBuf;

/// Load for memcached-protocol servers: closed loop, or open loop at a fixed rate; one server, or several in turn.
#[derive(clap::Args, Debug, Clone, Serialize)]
#[command(after_help = AFTER)]
pub struct Options {
    /// How load is applied.
    #[command(flatten)]
    #[serde(flatten)]
    pub drive: Drive,
    /// Keys in use
    #[arg(short, long, default_value = "10000", value_name = "N", value_parser = units::count)]
    pub keys: u64,
    /// Exponent of the Zipf distribution of keys; 0 is uniform
    #[arg(long, default_value_t = 0.0, value_name = "S")]
    pub skew: f64,
    /// Length of a key in bytes
    #[arg(long, default_value = "100", value_name = "BYTES", value_parser = units::size)]
    pub key_size: usize,
    /// Length of a value in bytes
    #[arg(long, default_value = "400", value_name = "BYTES", value_parser = units::size)]
    pub value_size: usize,
    /// Of a hundred requests so many are gets, the others sets
    #[arg(short, long, default_value_t = 100, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub gets: u8,
    /// Keys in each get
    #[arg(short, long, default_value_t = 1, value_name = "KEYS")]
    pub multiget: usize,
    /// How to speak to the server
    #[arg(short, long, value_enum, default_value_t = Protocol::Text)]
    pub protocol: Protocol,
    /// Skip storing every key before the run
    #[arg(long)]
    pub no_fill: bool,
    /// Set a key whose get missed, as a cache's user does, and report the hit ratio
    #[arg(long)]
    pub fill_on_miss: bool,
    /// Check that every value is the one that belongs to its key
    #[arg(long)]
    pub verify: bool,
    /// Start of the random sequence; the same seed asks for the same keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Draw the latencies of all servers by percentile
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub svg: Option<PathBuf>,
}

/// The three dialects of the memcached protocol.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `get`, `set`
    Text,
    /// `mg`, `ms`
    Meta,
    /// the binary protocol of 1.4
    Binary,
}

const AFTER: &str = "\
The first server is the subject; ratios are subject over peer, so CPU below 1 and throughput above 1 are good.
CPU is measured for servers of this machine, found by their listening socket (other users' processes need root).

  hikyaku bench kv --connections 50 --depth 16 ours=127.0.0.1:11211 --vs memcached=127.0.0.1:11311
  hikyaku bench kv --rate 50k --duration 20s 127.0.0.1:11211
  hikyaku bench kv --keys 1M --skew 0.99 --fill-on-miss --no-fill 127.0.0.1:11211";
