//! `qrintf-cc`: a compiler driver that specializes `sprintf` and its family at compile time.
//!
//! ```text
//!   qrintf-cc gcc -O2 -c a.c
//!       │   invocation  which compiler          (search, compiler)
//!       │   arguments   is there C to specialize?
//!       │   headers     where our stdio.h is
//!       ▼
//!   gcc -isystem PREFIX/lib/qrintf/include -O2 -c a.c         by execve: this process becomes the compiler
//! ```
//!
//! All the rest is the headers' doing. Their directory comes before every other `-isystem`, so that a C library given
//! by that option is still behind them, and after every `-I`, so that a project's own `stdio.h` comes first.
//!
//! **Invariant:** one `execve`, no other process and no file, unless a report is asked for.
//! **Invariant:** nothing is printed, unless a compiler or the headers are missing or unfit, or a report is asked for.

mod arguments;
mod compiler;
mod error;
mod headers;
mod help;
mod invocation;
mod report;
mod search;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::{Arguments, Left};
use error::Error;
use invocation::Invocation;
use report::Sink;
use search::Search;

fn main() -> ExitCode {
    let mut words: VecDeque<OsString> = env::args_os().collect();
    let called = words.pop_front().unwrap_or_else(|| "qrintf-cc".into());
    let error = match run(called, words) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    eprintln!("qrintf-cc: {error}");
    ExitCode::from(error.status())
}

fn run(called: OsString, mut words: VecDeque<OsString>) -> Result<Infallible, Error> {
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from(&called));
    // What execvp takes when there is no PATH.
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let search = Search {
        path: &path,
        own: &own,
    };
    let help = words.pop_front_if(|word| word == "--qrintf-help").is_some();
    let invocation = invocation::read(&called, &mut words, env::var_os("QRINTF_CC"), &search);
    if help {
        print!("{}", help::text(&own, invocation));
        std::process::exit(0);
    }
    let invocation = invocation?;
    let compiler = invocation.compiler.as_ref();
    let arguments = arguments::read(
        words.into_iter(),
        compiler.is_some_and(|(name, _)| compiler::is_cxx(name)),
    );
    let ours = words_of_ours(&invocation, &arguments, &own);
    if let Some(sink) = sink(&arguments) {
        match &ours {
            Ok(ours) => report::specialized(&sink, &invocation, ours, &arguments),
            Err(reason) => report::left(&sink, &arguments, reason),
        }
    }
    let mut command = invocation.command();
    let source = command
        .args(ours.unwrap_or_default())
        .args(arguments.flat())
        .exec();
    Err(Error::Run {
        path: invocation.program,
        source,
    })
}

/// What this program adds to the command, or why it is not one to add anything to. Where the user could do something
/// about that, it is said at once.
fn words_of_ours(
    invocation: &Invocation,
    arguments: &Arguments,
    own: &Path,
) -> Result<Vec<OsString>, String> {
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
    let headers = headers::directory(own).map_err(|missing| {
        said(format!(
            "no headers in {}; `make install` puts them there",
            missing.display()
        ))
    })?;
    let mut ours = vec!["-isystem".into(), headers.into_os_string()];
    // Lets gcc share the headers' functions between object files by a way that its link-time optimizer does not take.
    if !arguments.lto {
        ours.push("-DQRINTF_COMDAT".into());
    }
    Ok(ours)
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
