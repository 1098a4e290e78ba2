//! A thread that reaps processes whose owners have dropped them. It exists only while there are such processes.
//!
//! **Invariant:** each process is reaped when it ends, and memory that it may use is dropped only then.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::launch::Launch;
use crate::process::Process;
use crate::{Error, calls};

/// The thread needs little: it polls.
const STACK_SIZE: usize = 128 << 10;
#[derive(Debug)]
struct Orphan {
    process: Process,
    /// The memory that the process may still use.
    _lent: Option<Box<Launch>>,
}

#[derive(Debug)]
struct State {
    orphans: Vec<Orphan>,
    /// Notifies the thread of new processes; exists while the thread does.
    wake: Option<OwnedFd>,
}

static STATE: Mutex<State> = Mutex::new(State {
    orphans: Vec::new(),
    wake: None,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills a process, if it has not ended, and reaps it, now or when it has died.
pub(crate) fn end(mut process: Process, launch: Option<Box<Launch>>) {
    if is_over(process.wait(false)) {
        return;
    }
    // This fails only if the process has ended or has other privileges; in that case it runs to its own end.
    let _ = process.signal(libc::SIGKILL);
    adopt(process, launch);
}

/// Reaps a process when it ends. A zygote reaps its own children.
pub(crate) fn adopt(mut process: Process, launch: Option<Box<Launch>>) {
    if process.is_remote() || is_over(process.wait(false)) {
        return;
    }
    let mut state = state();
    state.orphans.push(Orphan {
        process,
        _lent: launch,
    });
    match &state.wake {
        Some(wake) => calls::notify(wake),
        None => start(&mut state),
    }
}

/// Starts the thread. If that fails, ended processes are reaped when the next one is adopted.
fn start(state: &mut State) {
    let Ok(wake) = calls::event_fd() else { return };
    let Ok(ours) = wake.try_clone() else { return };
    let builder = thread::Builder::new()
        .name("spawn-reaper".into())
        .stack_size(STACK_SIZE);
    match builder.spawn(move || run(&ours)) {
        Ok(_) => state.wake = Some(wake),
        Err(_) => sweep(state),
    }
}

fn run(wake: &OwnedFd) {
    loop {
        let mut polls = {
            let mut state = state();
            sweep(&mut state);
            if state.orphans.is_empty() {
                state.wake = None;
                return;
            }
            let pidfds = state.orphans.iter().map(|orphan| orphan.process.as_fd());
            let mut polls: Vec<_> = pidfds.map(|fd| calls::poll_for(fd, libc::POLLIN)).collect();
            polls.push(calls::poll_for(wake.as_fd(), libc::POLLIN));
            polls
        };
        // Only this thread drops pidfds while it runs, so those that it polls are open. poll fails only for lack of memory, and is
        // repeated then.
        let _ = calls::poll(&mut polls, None);
        calls::clear(wake);
    }
}

/// Reaps the processes that have ended.
fn sweep(state: &mut State) {
    state
        .orphans
        .retain_mut(|orphan| !is_over(orphan.process.wait(false)));
}

/// Returns whether the process is reaped. An error means that other code of the program has reaped it.
fn is_over(waited: Result<Option<std::process::ExitStatus>, Error>) -> bool {
    !matches!(waited, Ok(None))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Command;

    #[test]
    fn what_is_dropped_dies_and_what_is_detached_ends() {
        let killed = Command::new("sleep").arg("1000").spawn().unwrap();
        let detached = Command::new("true").spawn().unwrap();
        let numbers = [killed.id(), detached.id()];
        drop(killed);
        detached.detach();
        for number in numbers {
            let path = format!("/proc/{number}");
            while std::path::Path::new(&path).exists() {
                thread::yield_now();
            }
        }
    }
}
