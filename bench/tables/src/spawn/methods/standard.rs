//! Rust's own `std::process::Command`.
#![allow(unsafe_code)]

use super::{Context, raw::said, succeeded, timed};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// `Command::status`, whose wait does not count as blocked.
pub(super) fn status(context: &Context) -> Result<Duration, String> {
    start_and_wait(&mut Command::new(&context.child))
}

/// `Command::output`, which blocks its caller until the child has ended.
pub(super) fn output(context: &Context) -> Result<Duration, String> {
    let (output, blocked) = timed(|| Command::new(&context.child).output())?;
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
    let (mut child, blocked) = timed(|| command.spawn())?;
    succeeded(child.wait().map_err(|error| error.to_string())?)?;
    Ok(blocked)
}
