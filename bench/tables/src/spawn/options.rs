//! The command line of `hikyaku bench spawn`.

use super::rows;
use super::size::Size;
use std::path::PathBuf;

const AFTER: &str = "\
Every row is measured in turn in each round; figures are medians over the rounds, in microseconds a spawn. CPU is of the
parent and its children together, one column: the split into user and system time is an artefact of tick accounting, as a
process that never meets a tick is booked wholly as user time. Blocked is how long the calling thread could do nothing else.

  hikyaku bench spawn --parents 0 --rows vfork,spawn,std-status
  hikyaku bench spawn --csv spawn.csv --svg spawn.svg";

/// What starting a process costs, by every way there is, from small and large parents
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Spawns of each row in each round
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Rounds, in each of which all rows take their turn
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,
    /// A row ends its turn after so many milliseconds, even if it has made fewer spawns
    #[arg(long, default_value_t = 400, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub budget_ms: u64,
    /// Memory that the parents have touched
    #[arg(
        long,
        default_value = "0,200MiB,2GiB",
        value_name = "SIZE,…",
        value_delimiter = ','
    )]
    pub parents: Vec<Size>,
    /// Rows to measure; all by default (a wrong name lists them)
    #[arg(long, value_name = "ROW,…", value_delimiter = ',', value_parser = rows::known)]
    pub rows: Vec<String>,
    /// libnoshell.so; by default the one beside this program, or in ../lib
    #[arg(long, value_name = "FILE")]
    pub noshell: Option<PathBuf>,
    /// Print JSON, with every round
    #[arg(long)]
    pub json: bool,
    /// Write the table as comma-separated values too
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw the table too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print a line per second on standard error even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// Be a measured parent of this child
    #[arg(long, hide = true, value_name = "CHILD")]
    pub(super) helper: Option<PathBuf>,
    /// Memory that this measured parent touches, in bytes
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) touched: u64,
    /// Zygotes that this measured parent starts before it touches memory
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) zygotes: usize,
    /// Write the child to a file, and measure nothing
    #[arg(long, hide = true, value_name = "FILE")]
    pub(super) write_child: Option<PathBuf>,
}
