//! What starting a process costs: the article's table of `fork`, `vfork`, `posix_spawn`, `system` and `popen`, with
//! ours and the languages' own ways beside them, from parents that hold no, some and much memory.
//!
//! ```text
//!   run ──► for each parent size: one host per kind (plain, preloaded, Python, Go, Node), memory touched once
//!            └► rounds: every row in turn, "ROW COUNT BUDGET" down the host's standard input,
//!               what it found back as one line of JSON
//!                                                         ▼
//!           Report: text, JSON, CSV, SVG      ◄──  medians over the rounds
//! ```
//!
//! One column is total CPU, of the parent and of its children together. The article splits user from system time; that
//! split is an artefact. A kernel that accounts by ticks books a process that never met a tick wholly as user time, and
//! nearly all of these children live for less than a tick. Only the sum is exact.
//!
//! **Invariant**: every spawn that is counted has ended and was waited for before the clocks are read.

mod child;
mod coordinator;
mod csv;
mod helper;
mod host;
mod methods;
mod options;
mod report;
mod rows;
mod scratch;
mod size;
mod statistics;
mod svg;
mod sys;
mod text;

pub use options::Options;
pub use report::{Figures, Parent, Report, Round, RowReport};
pub use size::Size;

use crate::Error;

/// Measures the table that `options` ask for and writes the files that they name.
///
/// `prefix` is the command line that leads to this very function, `["bench", "spawn"]` of `hikyaku`: the processes that
/// are measured are this program, started again with it. In such a process there is nothing to report: `Ok(None)`.
///
/// # Errors
/// When an option makes no sense, when no process can be measured at all, or when a file cannot be written. A single row
/// that cannot be measured is no error; the report says why.
pub fn run(options: Options, prefix: &[&str]) -> Result<Option<Report>, Error> {
    if let Some(child) = &options.helper {
        return helper::serve(
            child,
            options.touched,
            options.noshell.as_deref(),
            options.zygotes,
        )
        .map(|()| None);
    }
    if let Some(path) = &options.write_child {
        return scratch::write_program(path, &child::image().ok_or(Error::Machine)?).map(|()| None);
    }
    let report = coordinator::measure(&options, prefix)?;
    for (path, content) in [
        (&options.csv, csv::render as fn(&Report) -> String),
        (&options.svg, svg::render),
    ] {
        if let Some(path) = path {
            std::fs::write(path, content(&report)).map_err(|source| Error::File {
                path: path.clone(),
                source,
            })?;
        }
    }
    Ok(Some(report))
}
