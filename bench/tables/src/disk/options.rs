//! The command line of `hikyaku bench disk`.

use std::path::PathBuf;

const AFTER: &str = "\
The folder must be on the disk that is to be measured. It needs about 150 MiB of free space; the files are removed at the end, \
also after an interrupt.

A disk that answers within microseconds often has a volatile cache. This program cannot see whether it survives a power cut.

  hikyaku bench disk --dir /var/lib/hikyaku
  hikyaku bench disk --seconds 60 --json";

/// Measure what durable writes cost on a disk, and say which `sync` it affords
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct Options {
    /// Folder on the disk to measure
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Measured time in all
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print a line per second on standard error even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
}
