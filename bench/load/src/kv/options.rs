//! The command line of `hikyaku bench kv`.

use crate::target::Target;
use crate::units;
use std::path::PathBuf;
use std::time::Duration;

/// Load for memcached-protocol servers: closed loop, or open loop at a fixed rate; one server, or several in turn.
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct Options {
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
    /// How long to measure, each server
    #[arg(short = 't', long, default_value = "10s", value_name = "TIME", value_parser = units::duration)]
    pub duration: Duration,
    /// How long to run before that without measuring, each server
    #[arg(long, default_value = "500ms", value_name = "TIME", value_parser = units::duration)]
    pub warmup: Duration,
    /// Length of one phase when servers alternate [default: 50ms; 500ms with --rate]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub phase: Option<Duration>,
    /// Threads of the generator; each has its share of the connections
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: usize,
    /// Skip storing every key before the run
    #[arg(long)]
    pub no_fill: bool,
    /// Set a key whose get missed, as a cache's user does, and report the hit ratio
    #[arg(long)]
    pub fill_on_miss: bool,
    /// Check that every value is the one that belongs to its key
    #[arg(long)]
    pub verify: bool,
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
    /// Start of the random sequence; the same seed asks for the same keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// A line a second on standard error, even where that is no terminal
    #[arg(long)]
    pub progress: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// The three dialects of the memcached protocol.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
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
