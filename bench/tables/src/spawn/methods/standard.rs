//! Rust's own `std::process::Command`.
#![allow(unsafe_code)]

use super::{Context, raw::said};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// `Command::status`, whose wait does not count as blocked.
pub(super) fn status(context: &Context) -> Result<Duration, String> {
    start_and_wait(&mut Command::new(&context.child))
}

/// `Command::output`, which blocks its caller until the child has ended.
pub(super) fn output(context: &Context) -> Result<Duration, String> {
    let began = Instant::now();
    let output = Command::new(&context.child)
        .output()
        .map_err(|error| error.to_string())?;
    let blocked = began.elapsed();
    said(&output.stdout)?;
    Ok(blocked)
}

/// A `Command` with an empty `pre_exec`, which std needs for limits and control groups: it makes std fork.
pub(super) fn pre_exec(context: &Context) -> Result<Duration, String> {
    let mut command = Command::new(&context.child);
    // SAFETY: the closure does nothing.
    unsafe { command.pre_exec(|| Ok(())) };
    start_and_wait(&mut command)
}

/// Starts a command and waits for its success.
pub(super) fn start_and_wait(command: &mut Command) -> Result<Duration, String> {
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let blocked = began.elapsed();
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() {
        Ok(blocked)
    } else {
        Err(format!("the child ended with {status}"))
    }
}
