//! How fast appends are, beside `write(2)` of the same bytes: MB per CPU-second, in alternating rounds.
//!
//!     cargo run --release -p hikyaku-log --example append_rate [-- --json]
//!
//! Batches of 64 KiB with records of 1 KiB are written without a sync, each round into a new file of 256 MiB. `append` checks each
//! batch, as a broker does that has received it, and appends it. `build` makes the batch from its records first.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log::batch::{Batch, Builder, NewRecord};
use log::{Log, Options};
use rustix::time::{ClockId, clock_gettime};

const BATCH: usize = 64 << 10;
const RECORD: usize = 1 << 10;
const ROUND: usize = 256 << 20;
const ROUNDS: usize = 15;

fn main() {
    let folder = Folder::new();
    let value = vec![0x5a; RECORD];
    let mut builder = Builder::new();
    let bytes = build(&mut builder, &value).bytes().to_vec();
    let count = ROUND / bytes.len();
    let mut rates: [Vec<f64>; 3] = Default::default();
    // The first round finds a cold allocator and is not counted.
    for round in 0..=ROUNDS {
        let rounds = [
            write(&folder, &bytes, count),
            append(&folder, &bytes, count),
            build_and_append(&folder, &value, count),
        ];
        for (rates, cpu) in rates.iter_mut().zip(rounds) {
            if round > 0 {
                rates.push((count * bytes.len()) as f64 / 1e6 / cpu.as_secs_f64());
            }
        }
    }
    report(&rates);
}

fn build<'b>(builder: &'b mut Builder, value: &[u8]) -> Batch<'b> {
    builder.clear();
    while builder.len() + RECORD + 32 <= BATCH {
        let record = NewRecord {
            timestamp: 1_700_000_000_000,
            key: None,
            value: Some(value),
            headers: &[],
        };
        builder.push(&record).expect("64 KiB fit into a batch");
    }
    builder.finish()
}

fn write(folder: &Folder, bytes: &[u8], count: usize) -> Duration {
    let path = folder.0.join("plain");
    let mut file = File::create(&path).expect("the folder is ours");
    let cpu = measure(|| (0..count).for_each(|_| file.write_all(bytes).expect("there is space")));
    fs::remove_file(path).expect("it was just made");
    cpu
}

fn append(folder: &Folder, bytes: &[u8], count: usize) -> Duration {
    let log = open(&folder.0.join("log"));
    let cpu = measure(|| {
        for _ in 0..count {
            let batch = Batch::parse(bytes).expect("it was just built");
            log.append(&[batch], 0).expect("there is space");
        }
    });
    log.remove().expect("it is ours");
    cpu
}

fn build_and_append(folder: &Folder, value: &[u8], count: usize) -> Duration {
    let log = open(&folder.0.join("log"));
    let mut builder = Builder::new();
    let cpu = measure(|| {
        for _ in 0..count {
            log.append(&[build(&mut builder, value)], 0)
                .expect("there is space");
        }
    });
    log.remove().expect("it is ours");
    cpu
}

fn open(path: &Path) -> Log {
    Log::open(path, Options::default()).expect("the folder is ours").0
}

/// The CPU time of this thread.
fn measure(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let began = now();
    work();
    now() - began
}

fn report(rates: &[Vec<f64>; 3]) {
    let ratios = |of: &[f64]| -> Vec<f64> {
        of.iter()
            .zip(&rates[0])
            .map(|(ours, plain)| ours / plain)
            .collect()
    };
    let (append, build) = (ratios(&rates[1]), ratios(&rates[2]));
    if std::env::args().any(|argument| argument == "--json") {
        println!(
            "{{\"write\": {:?}, \"append\": {:?}, \"build\": {:?}}}",
            rates[0], rates[1], rates[2]
        );
        return;
    }
    println!("MB per CPU-second, medians of {ROUNDS} alternating rounds; ratio to write(2) with quartiles");
    println!("write(2)         {:8.0}", quantile(&rates[0], 0.5));
    for (name, rates, ratios) in [
        ("append", &rates[1], &append),
        ("build, append", &rates[2], &build),
    ] {
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|at| quantile(ratios, at));
        println!(
            "{name:16} {:8.0}  {middle:.3} [{low:.3} {high:.3}]",
            quantile(rates, 0.5)
        );
    }
}

fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * at).round() as usize]
}

/// A folder, removed on drop. DIR in the environment names another place than the temporary one.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let parent = std::env::var_os("DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = parent.join(format!("hikyaku-log-append-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder to write to");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
