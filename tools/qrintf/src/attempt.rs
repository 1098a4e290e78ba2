//! Compiles with the headers, and without them where that fails.
//!
//! ```text
//!   run with the headers, output held back
//!       │ succeeds, no message about a call ──────► show the output, done
//!       │ succeeds, messages about calls    ──────► -c: take the messages of a compilation without headers; else as below
//!       │ fails                             ──────► run without the headers: its output, messages and status are the user's
//!       └ a linker or a missing header fails ─────► show the output, done
//! ```
//!
//! C that compiles without the headers can fail with them: a comma within braces in an argument, a member called `snprintf`,
//! a prototype after `<stdio.h>`. The compiler is the only judge of that, so the driver asks it.
//!
//! **Invariant:** of two runs the user sees the messages of one.
//! **Invariant:** the run without headers comes last, so files that both write are those of the plain compiler.

mod messages;

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use crate::again;
use crate::arguments::Arguments;
use crate::error::Error;
use crate::invocation::Invocation;
use crate::signals::{self, Forwarding};
use messages::Messages;

/// How an attempt with the headers ended.
pub(crate) enum Attempt {
    /// The user has its output; this is its status.
    Done(ExitStatus),
    /// Nothing of it was shown: the compiler must run without the headers, for this reason.
    Rejected(&'static str),
}

/// Why a command is compiled without the headers after all.
const FAILS: &str = "it does not compile with the headers";
const WARNS: &str = "the compiler warns about a call, and links in the same command";

/// Runs the compiler with `ours` before the user's words. `headers` is the directory that one of them names.
pub(crate) fn run(
    invocation: &Invocation,
    ours: &[OsString],
    headers: &Path,
    arguments: &Arguments,
) -> Result<Attempt, Error> {
    let failed = |source| Error::Run {
        path: invocation.program.clone(),
        source,
    };
    let mut held = Held::new().map_err(failed)?;
    let forwarding = Forwarding::start();
    let mut child = invocation
        .command()
        .args(ours)
        .args(color().map(|()| "-fdiagnostics-color=always"))
        .args(arguments.flat())
        .stdout(held.stdout().map_err(failed)?)
        .stderr(held.stderr().map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let (status, interrupted) = forwarding.wait(&mut child).map_err(failed)?;
    drop(forwarding);
    let ended = interrupted || status.signal().is_some_and(signals::asks_to_end);
    if ended || set("QRINTF_STRICT").is_some() {
        held.show();
        return Ok(Attempt::Done(status));
    }
    let messages = Messages::new(held.read().map_err(failed)?, headers);
    if !status.success() && !messages.is_no_fault_of_ours() {
        return Ok(Attempt::Rejected(FAILS));
    }
    if status.success() && messages.mention_calls() && !arguments.verbose {
        if !arguments.compiles_only {
            return Ok(Attempt::Rejected(WARNS));
        }
        for source in &arguments.sources {
            // The object is there; what cannot be compiled again has no messages.
            let _ = again::compile(invocation, &[], arguments, source, Stdio::inherit());
        }
        held.show_stdout();
        return Ok(Attempt::Done(status));
    }
    held.show();
    Ok(Attempt::Done(status))
}

/// An environment variable that is not empty.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns a value if the compiler, writing to our standard error, would color its messages.
fn color() -> Option<()> {
    let terminal = set("TERM").is_some_and(|kind| kind != "dumb") && io::stderr().is_terminal();
    let refused =
        set("NO_COLOR").is_some() || env::var_os("GCC_COLORS").is_some_and(|value| value.is_empty());
    (terminal && !refused).then_some(())
}

/// The output of a process, kept in memory until it is known whether the user is to see it.
struct Held {
    stderr: File,
    /// Nothing if both streams lead to one place, so that the order of what they say is kept.
    stdout: Option<File>,
}

impl Held {
    fn new() -> io::Result<Self> {
        let place = |stream: OwnedFd| {
            File::from(stream)
                .metadata()
                .map(|place| (place.dev(), place.ino()))
        };
        let out = io::stdout().as_fd().try_clone_to_owned().and_then(place).ok();
        let err = io::stderr().as_fd().try_clone_to_owned().and_then(place).ok();
        Ok(Self {
            stderr: signals::unnamed_file()?,
            stdout: (out.is_none() || out != err)
                .then(signals::unnamed_file)
                .transpose()?,
        })
    }

    fn stdout(&self) -> io::Result<File> {
        self.stdout.as_ref().unwrap_or(&self.stderr).try_clone()
    }

    fn stderr(&self) -> io::Result<File> {
        self.stderr.try_clone()
    }

    /// The text of both streams.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for file in [Some(&mut self.stderr), self.stdout.as_mut()]
            .into_iter()
            .flatten()
        {
            file.rewind()?;
            io::Read::read_to_end(file, &mut text)?;
        }
        Ok(text)
    }

    /// Copies both streams to our own. Errors are ignored: a closed pipe does not make a compilation fail.
    fn show(&mut self) {
        self.show_stdout();
        let _ = self
            .stderr
            .rewind()
            .and_then(|()| io::copy(&mut self.stderr, &mut io::stderr()));
    }

    fn show_stdout(&mut self) {
        let Some(file) = &mut self.stdout else { return };
        let mut out = io::stdout();
        let _ = file
            .rewind()
            .and_then(|()| io::copy(file, &mut out))
            .and_then(|_| out.flush());
    }
}
