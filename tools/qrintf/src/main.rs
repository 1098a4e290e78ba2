//! `qrintf-cc`: a compiler driver that specializes `sprintf` and its family at compile time.
//!
//! ```text
//!   qrintf-cc gcc -O2 -c a.c
//!       │   invocation  which compiler          (search, compiler)
//!       │   arguments   is there C to specialize?
//!       │   headers     where our stdio.h is
//!       ▼
//!   gcc -isystem PREFIX/lib/qrintf/include -O2 -c a.c         (attempt) and if that fails:
//!   gcc -O2 -c a.c                                            by execve: this process becomes the compiler
//! ```
//!
//! All the rest is the headers' doing. Their directory comes before every other `-isystem`, so that a C library given
//! by that option is still behind them, and after every `-I`, so that a project's own `stdio.h` comes first.
//!
//! **Invariant:** a command that the compiler accepts is accepted.
//! **Invariant:** a command with nothing to specialize costs one `execve`; one that compiles costs one process.
//! **Invariant:** nothing is printed, unless a compiler or the headers are missing or unfit, or a report is asked for.

mod again;
mod arguments;
mod attempt;
mod compiler;
mod error;
mod headers;
mod help;
mod invocation;
mod report;
mod search;
mod signals;

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use arguments::{Arguments, Left};
use attempt::Attempt;
use error::Error;
use invocation::Invocation;
use report::Sink;
use search::Search;

fn main() -> ExitCode {
    let mut words: VecDeque<OsString> = env::args_os().collect();
    let called = words.pop_front().unwrap_or_else(|| "qrintf-cc".into());
    match run(&called, words) {
        Ok(status) => end_as(status),
        Err(error) => {
            eprintln!("qrintf-cc: {error}");
            ExitCode::from(error.status())
        }
    }
}

/// Ends this process as the compiler ended.
fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        signals::end_by(signal);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The status of the compiler, if this process did not become it.
fn run(called: &OsStr, mut words: VecDeque<OsString>) -> Result<ExitStatus, Error> {
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from(called));
    // The default of execvp.
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let search = Search {
        path: &path,
        own: &own,
    };
    let question = Question::take(called, &mut words);
    let reports = take_reports(called, &mut words);
    let invocation = invocation::read(called, &mut words, env::var_os("QRINTF_CC"), &search);
    reports.into_iter().for_each(|report| words.push_front(report));
    if let Question::Help = question {
        print!("{}", help::text(&own, invocation));
        return Ok(ExitStatus::default());
    }
    let invocation = invocation?;
    let compiler = invocation.compiler.as_ref();
    let arguments = arguments::read(
        words.into_iter(),
        compiler.is_some_and(|(name, _)| compiler::is_cxx(name)),
    );
    if let Question::Version = question {
        let status = wait(&invocation, &arguments)?;
        println!("qrintf-cc {}", env!("CARGO_PKG_VERSION"));
        return Ok(status);
    }
    let sink = sink(&arguments);
    let reason = match fit(&invocation, &arguments, &own) {
        Err(reason) => reason,
        Ok(headers) => {
            let ours = words_of_ours(&headers, &arguments);
            match attempt::run(&invocation, &ours, &headers, &arguments)? {
                Attempt::Done(status) => {
                    if let Some(sink) = sink {
                        report::specialized(&sink, &invocation, &ours, &arguments);
                    }
                    return Ok(status);
                }
                Attempt::Rejected(reason) => reason.to_owned(),
            }
        }
    };
    let Some(sink) = sink else {
        return Err(become_compiler(invocation, &arguments));
    };
    let status = wait(&invocation, &arguments)?;
    report::left(&sink, &arguments, &reason, status.success());
    Ok(status)
}

/// A question to this program itself, not to a compiler.
enum Question {
    Help,
    Version,
    Nothing,
}

impl Question {
    /// Looks at the first word: one behind a compiler's name is the compiler's, and so is every one that follows a link
    /// with a compiler's name.
    fn take(called: &OsStr, words: &mut VecDeque<OsString>) -> Self {
        if !invocation::has_own_name(called) {
            return Self::Nothing;
        }
        match words.front().and_then(|word| word.to_str()) {
            Some("--help" | "--qrintf-help") => {
                words.pop_front();
                Self::Help
            }
            Some("--version") => Self::Version,
            _ => Self::Nothing,
        }
    }
}

/// Takes `--qrintf-report` from the front: it may stand before the compiler's name as well as behind it.
fn take_reports(called: &OsStr, words: &mut VecDeque<OsString>) -> Vec<OsString> {
    let is_ours = |word: &OsString| invocation::has_own_name(called) && word == arguments::REPORT;
    let count = words.iter().take_while(|word| is_ours(word)).count();
    words.drain(..count).collect()
}

/// Runs the compiler with the user's words alone.
fn wait(invocation: &Invocation, arguments: &Arguments) -> Result<ExitStatus, Error> {
    let status = invocation.command().args(arguments.flat()).status();
    status.map_err(|source| Error::Run {
        path: invocation.program.clone(),
        source,
    })
}

/// Becomes the compiler; what comes back is why that failed.
fn become_compiler(invocation: Invocation, arguments: &Arguments) -> Error {
    let source = invocation.command().args(arguments.flat()).exec();
    Error::Run {
        path: invocation.program,
        source,
    }
}

/// The directory of the headers, or why they have no place in this command. Where the user could do something about that,
/// it is said at once.
fn fit(invocation: &Invocation, arguments: &Arguments, own: &Path) -> Result<PathBuf, String> {
    if let Some(left) = &arguments.left {
        return Err(left.to_string());
    }
    let Some((name, path)) = &invocation.compiler else {
        return Err("no compiler is named".to_owned());
    };
    let said = |reason: String| {
        eprintln!("qrintf-cc: {reason}: passed through unchanged");
        reason
    };
    compiler::judge(name, path).map_err(|unfit| said(unfit.to_string()))?;
    // A pipe cannot be read by a second run.
    let pipe = |source: &&OsString| Path::new(source).metadata().is_ok_and(|file| !file.is_file());
    if let Some(source) = arguments.sources.iter().find(pipe) {
        return Err(format!("{} is not a regular file", source.display()));
    }
    headers::directory(own).map_err(|missing| {
        said(format!(
            "no headers in {}; `make install` puts them there",
            missing.display()
        ))
    })
}

/// The words that this program adds to a command.
fn words_of_ours(headers: &Path, arguments: &Arguments) -> Vec<OsString> {
    let mut ours = vec!["-isystem".into(), headers.as_os_str().to_owned()];
    // Lets gcc share the headers' functions between object files by a way that its link-time optimizer does not take.
    if !arguments.lto {
        ours.push("-DQRINTF_COMDAT".into());
    }
    ours.extend(
        arguments
            .kept
            .iter()
            .map(|name| format!("-DQRINTF_KEEP_{name}").into()),
    );
    ours
}

/// Where a report is to go, if one is wanted of this command.
fn sink(arguments: &Arguments) -> Option<Sink> {
    if let Some(Left::NothingCompiled(_)) = arguments.left {
        return None;
    }
    let file = env::var_os("QRINTF_REPORT").filter(|file| !file.is_empty());
    match file {
        Some(file) => Some(Sink::File(file)),
        None => arguments.report.then_some(Sink::Output),
    }
}
