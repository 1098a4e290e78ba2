//! The cost of durable writes on one disk: what a store pays for each `sync`.
//!
//! ```text
//!   run ──► rounds: every part in turn, each for its share of the time
//!            ├─ latency       one thread: write 4 KiB, fdatasync; appended, appended to preallocated space, overwritten
//!            ├─ group commit  1 to 64 threads append to one file; one fdatasync serves all that wait
//!            └─ files         1 to 40 threads: open, write, fsync, close, each a file of its own
//!                                                         ▼
//!           Report: text, JSON     ◄── Verdict: which sync the disk affords     ◄── percentiles over all rounds
//! ```
//!
//! The last part reproduces the table of the article about Amazon's Elastic File System: synchronous writes of 1 B, 1 KiB and
//! 10 KiB to up to 40 files at once. The article opens its files with O_DIRECT, which local disks refuse for such sizes.
//!
//! **Invariant**: the files lie in a folder of this process, which is removed at the end, after an error and after a signal.

mod device;
mod files;
mod group;
mod interrupt;
mod latency;
mod options;
mod report;
mod samples;
mod text;
mod verdict;

pub use device::Device;
pub use options::Options;
pub use report::{FilesReport, GroupReport, LatencyReport, Report};
pub use samples::Percentiles;
pub use verdict::{Affordable, Verdict};

use crate::Error;
use crate::scratch::Scratch;
use std::time::{Duration, Instant};

/// The number of slices per part, so that a disturbance affects all parts alike.
const ROUNDS: u32 = 4;

/// Free space that the whole measurement needs at most, as its help says.
const SPACE: u64 = 150 << 20;

/// Measures the disk that `options` name.
///
/// # Errors
/// If the folder cannot be written, is full, or if a signal interrupts the measurement.
pub fn run(options: &Options) -> Result<Report, Error> {
    interrupt::catch();
    let device = Device::of(&options.dir)?;
    let scratch = Scratch::below(&options.dir)?;
    let mut parts = parts(&scratch)?;
    let shares: u32 = parts.iter().map(Part::shares).sum();
    let share = Duration::from_secs(options.seconds.into()) / (ROUNDS * shares);
    let mut progress = display::Progress::new(options.progress);
    for round in 1..=ROUNDS {
        for part in &mut parts {
            if progress.is_due() {
                progress.print(format_args!("round {round} of {ROUNDS}: {}", part.name()));
            }
            part.measure(Slice::new(share * part.shares()))?;
            interrupt::check()?;
        }
    }
    Ok(Report::new(options, device, parts))
}

/// One row of the tables.
enum Part {
    Latency(latency::Row),
    Group(group::Row),
    Files(files::Row),
}

fn parts(scratch: &Scratch) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    for way in latency::Way::ALL {
        parts.push(Part::Latency(latency::Row::new(scratch, way)?));
    }
    for writers in group::WRITERS {
        parts.push(Part::Group(group::Row::new(scratch, writers)?));
    }
    for bytes in files::SIZES {
        for count in files::COUNTS {
            parts.push(Part::Files(files::Row::new(scratch, bytes, count)));
        }
    }
    Ok(parts)
}

impl Part {
    /// Shares of the time. The latencies of one thread have more, since their tail needs many samples.
    fn shares(&self) -> u32 {
        match self {
            Part::Latency(_) => 4,
            Part::Group(_) | Part::Files(_) => 1,
        }
    }

    fn name(&self) -> String {
        match self {
            Part::Latency(row) => row.name(),
            Part::Group(row) => row.name(),
            Part::Files(row) => row.name(),
        }
    }

    fn measure(&mut self, slice: Slice) -> Result<(), Error> {
        match self {
            Part::Latency(row) => row.measure(slice),
            Part::Group(row) => row.measure(slice),
            Part::Files(row) => row.measure(slice),
        }
    }
}

/// The time that one row has in one round.
#[derive(Clone, Copy)]
struct Slice {
    start: Instant,
    length: Duration,
}

impl Slice {
    fn new(length: Duration) -> Self {
        Self {
            start: Instant::now(),
            length,
        }
    }

    /// Returns true if the time is over, or if a signal ended the measurement.
    fn is_over(&self) -> bool {
        self.start.elapsed() >= self.length || interrupt::caught().is_some()
    }
}
