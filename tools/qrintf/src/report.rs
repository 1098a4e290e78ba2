//! The report: each call that could be specialized, and what became of it.
//!
//! ```text
//!   src/log.c:40: snprintf "%08x-%zx": specialized
//!   src/log.c:52: printf: left: the format is not a string literal
//!   src/log.c: specialized 1 of 2 calls
//! ```
//!
//! The headers know, and note it in a section of the object file if asked to. The user's own object must not be another
//! for being reported on, so each source is compiled once more afterwards, into a file that is read and thrown away.
//!
//! **Invariant:** what the user's command writes, it writes the same with a report as without.
//! **Invariant:** a file of reports receives all lines of a source by one write at its end, so that the lines of
//! processes which run at the same time do not mix.

mod note;
mod object;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;

use crate::again;
use crate::arguments::Arguments;
use crate::invocation::Invocation;
use note::Note;

/// Where a report goes.
pub(crate) enum Sink {
    /// `--qrintf-report`: standard output, as standard error is the compiler's.
    Output,
    /// `QRINTF_REPORT=file`: the end of this file.
    File(OsString),
}

/// The report on one source.
enum Told {
    /// Each of its calls.
    Calls(Vec<Note>),
    /// The whole of it was left, for this reason.
    Left(String),
    /// Only that it was specialized: C++ has no place for notes, as its formats are read at run time.
    Unlisted,
    /// Only that the compiler did not make an object of it; it will say itself why.
    NotCompiled,
}

/// Reports on each source of a command that is specialized with the words `ours` before the user's.
pub(crate) fn specialized(sink: &Sink, invocation: &Invocation, ours: &[OsString], arguments: &Arguments) {
    let ours: Vec<OsString> = ours.iter().cloned().chain(["-DQRINTF_REPORT".into()]).collect();
    for source in &arguments.sources {
        let told = match again::compile(invocation, &ours, arguments, source, Stdio::null()) {
            Ok(Some(object)) => match note::read_all(&object) {
                notes if let Some(reason) = notes.iter().find_map(Note::about_the_file) => {
                    Told::Left(reason.into())
                }
                notes if notes.is_empty() && arguments.cxx => Told::Unlisted,
                notes => Told::Calls(notes),
            },
            Ok(None) => Told::NotCompiled,
            Err(fault) => return complain(&std::env::temp_dir(), &fault),
        };
        deliver(sink, source, &told);
    }
}

/// Reports that each source was left for one `reason`, or did not compile even so.
pub(crate) fn left(sink: &Sink, arguments: &Arguments, reason: &str, compiled: bool) {
    let told = match compiled {
        true => Told::Left(reason.to_owned()),
        false => Told::NotCompiled,
    };
    for source in &arguments.sources {
        deliver(sink, source, &told);
    }
}

fn deliver(sink: &Sink, source: &OsStr, told: &Told) {
    let text = lines(source, told);
    let (place, written) = match sink {
        Sink::Output => (
            Path::new("standard output"),
            io::stdout().write_all(text.as_bytes()),
        ),
        Sink::File(path) => (Path::new(path), append(Path::new(path), &text)),
    };
    if let Err(fault) = written {
        complain(place, &fault);
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Warns that a report cannot be written; the compilation goes on.
fn complain(place: &Path, fault: &io::Error) {
    eprintln!("qrintf-cc: no report: {}: {fault}", place.display());
}

fn lines(source: &OsStr, told: &Told) -> String {
    let source = source.display();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match told {
        Told::Left(reason) => writeln!(text, "{source}: left: {reason}"),
        Told::Unlisted => writeln!(
            text,
            "{source}: calls of C++ are not listed: their formats are read when they run"
        ),
        Told::NotCompiled => writeln!(text, "{source}: did not compile"),
        Told::Calls(notes) => {
            for note in notes {
                let _ = writeln!(text, "{note}");
            }
            let specialized = notes.iter().filter(|note| note.is_specialized()).count();
            writeln!(
                text,
                "{source}: specialized {specialized} of {} calls",
                notes.len()
            )
        }
    };
    text
}
