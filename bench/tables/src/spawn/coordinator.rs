//! Starts the measured parents and alternates between the rows.

use super::host::{Ask, Host, Kind, Materials, Sample};
use super::options::Options;
use super::report::{Figures, Parent, Report, RowReport};
use super::rows::{ROWS, Row};
use super::size::Size;
use super::{child, sys};
use crate::Error;
use crate::scratch::Scratch;
use display::Progress;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The memory that a parent needs beyond what it touches.
const MARGIN: u64 = 128 << 20;

/// Measures all rows for all sizes of parents.
pub(super) fn measure(options: &Options, prefix: &[&str]) -> Result<Report, Error> {
    sys::forbid_huge_pages();
    let scratch = Scratch::new()?;
    let image = child::image().ok_or(Error::Machine)?;
    let child = scratch.program("tiny", &image)?;
    let materials = Materials {
        scratch: &scratch,
        child: &child,
        prefix,
        noshell: noshell(options),
        rounds: options.rounds,
    };
    let rows: Vec<&Row> = ROWS.iter().filter(|row| wanted(options, row)).collect();
    let mut progress = Progress::new(options.progress);
    let mut parents = Vec::new();
    for touched in &options.parents {
        parents.push(from_parent(options, &materials, &rows, *touched, &mut progress));
    }
    Ok(Report {
        count: options.count,
        rounds: options.rounds,
        child_bytes: image.len(),
        parents,
    })
}

fn wanted(options: &Options, row: &Row) -> bool {
    options.rows.is_empty() || options.rows.iter().any(|key| key == row.key)
}

/// The library that `--noshell` names, or the one that `make build` or `make install` put near this program.
fn noshell(options: &Options) -> Result<PathBuf, String> {
    const NAME: &str = "libnoshell.so";
    if let Some(named) = &options.noshell {
        return named
            .canonicalize()
            .map_err(|error| format!("{}: {error}", named.display()));
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let near = program.ancestors().skip(1).take(2);
    near.flat_map(|folder| [folder.join(NAME), folder.join("lib").join(NAME)])
        .find(|file| file.is_file())
        .ok_or_else(super::methods::no_library)
}

/// The samples of one row for one size.
type Samples = Result<Vec<Sample>, String>;

fn from_parent(
    options: &Options,
    materials: &Materials<'_>,
    rows: &[&Row],
    touched: Size,
    progress: &mut Progress,
) -> Parent {
    progress.print(format_args!("starting parents with {touched} touched"));
    let mut hosts: BTreeMap<Kind, Result<Host, String>> = BTreeMap::new();
    for row in rows {
        hosts
            .entry(row.kind)
            .or_insert_with(|| start(row.kind, materials, touched));
    }
    let mut samples: Vec<Samples> = rows.iter().map(|_| Ok(Vec::new())).collect();
    for round in 1..=options.rounds {
        for (row, samples) in rows.iter().zip(&mut samples) {
            if progress.is_due() {
                progress.print(format_args!(
                    "parent with {touched} touched: round {round} of {}, {}",
                    options.rounds, row.key
                ));
            }
            let Some(host) = hosts.get_mut(&row.kind) else {
                continue;
            };
            take_sample(options, row, host, samples);
        }
    }
    drop(hosts);
    let baseline = rows.iter().position(|row| row.key == super::rows::BASELINE);
    let baseline = baseline
        .and_then(|index| samples[index].as_ref().ok())
        .cloned()
        .unwrap_or_default();
    let report = |(row, samples): (&&Row, &Samples)| RowReport {
        key: row.key,
        what: row.what,
        article: row.article,
        found: samples
            .as_ref()
            .ok()
            .map(|samples| Figures::new(samples, &baseline)),
        reason: samples.as_ref().err().cloned(),
    };
    Parent {
        touched,
        rows: rows.iter().zip(&samples).map(report).collect(),
    }
}

/// Measures a row once more, unless it has failed before.
fn take_sample(options: &Options, row: &Row, host: &mut Result<Host, String>, samples: &mut Samples) {
    let Ok(sofar) = samples else { return };
    let ask = Ask {
        row: row.key,
        count: options.count,
        budget_ms: options.budget_ms,
    };
    match host
        .as_mut()
        .map_err(|reason| reason.clone())
        .and_then(|host| host.ask(ask))
    {
        Ok(sample) => sofar.push(sample),
        Err(reason) => *samples = Err(reason),
    }
}

/// Starts a parent if the machine has the memory for it.
fn start(kind: Kind, materials: &Materials<'_>, touched: Size) -> Result<Host, String> {
    let available = available_memory();
    if touched.0 > 0 && available < touched.0.saturating_add(MARGIN) {
        return Err(format!(
            "needs {touched} of memory, of which {} MiB are available",
            available >> 20
        ));
    }
    let mut host = Host::start(kind, materials, touched)?;
    host.ready()?;
    Ok(host)
}

/// The memory that can be used without swapping, as the kernel estimates it; unlimited without an estimate.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.trim().strip_suffix(" kB"))
        .and_then(|number| number.parse::<u64>().ok())
        .map_or(u64::MAX, |kib| kib << 10)
}
