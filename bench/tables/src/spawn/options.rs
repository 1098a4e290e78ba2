//! The command line of `hikyaku bench spawn`.

use super::rows;
use super::size::Size;
use std::path::PathBuf;

const AFTER: &str = "\
Each round measures every row once; figures are medians over the rounds, in microseconds per spawn.

CPU is the time of the parent and its children together. It is not split into user and system time, because tick \
accounting books a process that never meets a tick entirely as user time. Blocked is the time for which the calling \
thread could do nothing else.

  hikyaku bench spawn --parents 0 --rows vfork,spawn,std-status
  hikyaku bench spawn --csv spawn.csv --svg spawn.svg";

/// Measure the cost of starting a process, from small and large parents
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Spawns per row and round
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Rounds; each measures every row once
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,
    /// Time limit per row and round in milliseconds; spawns beyond it are left out
    #[arg(long, default_value_t = 400, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub budget_ms: u64,
    /// Memory touched by the parents
    #[arg(
        long,
        default_value = "0,200MiB,2GiB",
        value_name = "SIZE,…",
        value_delimiter = ','
    )]
    pub parents: Vec<Size>,
    /// Rows to measure; by default all (an unknown name lists them)
    #[arg(long, value_name = "ROW,…", value_delimiter = ',', value_parser = rows::known)]
    pub rows: Vec<String>,
    /// libnoshell.so; by default beside this program or in ../lib
    #[arg(long, value_name = "FILE")]
    pub noshell: Option<PathBuf>,
    /// Print JSON, with every round
    #[arg(long)]
    pub json: bool,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw the table
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print a line per second on standard error even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// Act as a measured parent that starts this child
    #[arg(long, hide = true, value_name = "CHILD")]
    pub(super) helper: Option<PathBuf>,
    /// Memory that this measured parent touches, in bytes
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) touched: u64,
    /// Zygotes that this measured parent starts before it touches its memory
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) zygotes: usize,
    /// Write the child to a file and exit
    #[arg(long, hide = true, value_name = "FILE")]
    pub(super) write_child: Option<PathBuf>,
}
