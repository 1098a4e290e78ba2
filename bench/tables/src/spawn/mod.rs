//! The cost of starting a process. This reproduces the table of "popen() performance", the article about the library
//! popen-noshell, with `fork`, `vfork`, `posix_spawn`, `system` and `popen`, from parents with no, some and much memory.
//! Our own functions and those of other languages are added.
//!
//! ```text
//!   run ──► for each parent size: one host per kind (plain, preloaded, Python, Go, Node), memory touched once
//!            └► rounds: every row in turn, "ROW COUNT BUDGET" down the host's standard input,
//!               and its result back as one line of JSON
//!                                                         ▼
//!           Report: text, JSON, CSV, SVG      ◄──  medians over the rounds
//! ```
//!
//! One column is the CPU time of the parent and its children together. The article splits user from system time, but that
//! split is an artefact: a kernel with tick accounting books a process that never meets a tick entirely as user time, and
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
mod size;
mod statistics;
mod svg;
mod sys;
mod text;

pub use options::Options;
pub use report::{Figures, Parent, Report, Round, RowReport};
pub use size::Size;

use crate::{Error, scratch};

/// Measures the table and writes the files that `options` name.
///
/// `prefix` are the arguments that lead to this function, `["spawn"]` for `hikyaku-bench`: the measured processes are this
/// program, started again with them. In such a process the result is `Ok(None)`.
///
/// # Errors
/// If an option is invalid, if no process can be measured at all, or if a file cannot be written. For a single row that
/// cannot be measured the report has the reason.
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
