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
mod invocation;
mod search;

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use arguments::Arguments;
use error::Error;
use invocation::Invocation;
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

fn run(called: OsString, mut words: VecDeque<OsString>) -> Result<std::convert::Infallible, Error> {
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from(&called));
    // What execvp takes when there is no PATH.
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let search = Search {
        path: &path,
        own: &own,
    };
    let invocation = invocation::read(&called, &mut words, env::var_os("QRINTF_CC"), &search)?;
    let cxx = invocation
        .compiler
        .as_ref()
        .is_some_and(|(name, _)| compiler::is_cxx(name));
    let arguments = arguments::read(words.into_iter(), cxx);
    let headers = headers_for(&invocation, &arguments, &own);
    let mut command = Command::new(&invocation.program);
    command.arg0(&invocation.arg0).args(&invocation.leading);
    if let Some(headers) = headers {
        command.arg("-isystem").arg(headers);
    }
    let source = command.args(&arguments.words).exec();
    Err(Error::Run {
        path: invocation.program,
        source,
    })
}

/// The headers' directory, if this command is one for them. Why it is not is said where the user could do something
/// about it.
fn headers_for(invocation: &Invocation, arguments: &Arguments, own: &std::path::Path) -> Option<PathBuf> {
    let (name, path) = invocation.compiler.as_ref()?;
    if arguments.left.is_some() {
        return None;
    }
    if let Err(unfit) = compiler::judge(name, path) {
        eprintln!("qrintf-cc: {unfit}");
        return None;
    }
    match headers::directory(own) {
        Ok(directory) => Some(directory),
        Err(expected) => {
            eprintln!(
                "qrintf-cc: no headers in {}, so passed through unchanged; install them by `make install`",
                expected.display()
            );
            None
        }
    }
}
