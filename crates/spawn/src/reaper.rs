//! Waits for processes that nobody else waits for any more: a thread that is there only while there are any.
//!
//! **Invariant:** a process given to us is reaped when it ends, and only then is dropped what it may still use.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::lent::Lent;
use crate::process::Process;
use crate::{Error, calls};

/// The thread needs little: it polls.
const STACK_SIZE: usize = 128 << 10;
#[derive(Debug)]
struct Orphan {
    process: Process,
    /// What the process may use while it is in our memory.
    _lent: Option<Box<Lent>>,
}

#[derive(Debug)]
struct State {
    orphans: Vec<Orphan>,
    /// Tells the thread of new ones; there while the thread is.
    wake: Option<OwnedFd>,
}

static STATE: Mutex<State> = Mutex::new(State {
    orphans: Vec::new(),
    wake: None,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills a process, if it has not ended, and reaps it, now or when it is dead.
pub(crate) fn end(mut process: Process, lent: Option<Box<Lent>>) {
    if is_over(process.wait(false)) {
        return;
    }
    // It fails only if the process has ended, or has other rights than we: then it ends when it likes.
    let _ = process.signal(libc::SIGKILL);
    adopt(process, lent);
}

/// Reaps a process when it ends. A zygote reaps its own.
pub(crate) fn adopt(mut process: Process, lent: Option<Box<Lent>>) {
    if process.is_remote() || is_over(process.wait(false)) {
        return;
    }
    let mut state = state();
    state.orphans.push(Orphan { process, _lent: lent });
    match &state.wake {
        Some(wake) => calls::notify(wake),
        None => start(&mut state),
    }
}

/// Starts the thread. Without one, what has ended is reaped when the next process comes to us.
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
        // While this thread is there, it alone drops pidfds, so those that it polls are open.
        // It fails only for want of memory, and then round it goes.
        let _ = calls::poll(&mut polls, None);
        calls::clear(wake);
    }
}

/// Reaps what has ended.
fn sweep(state: &mut State) {
    state
        .orphans
        .retain_mut(|orphan| !is_over(orphan.process.wait(false)));
}

/// Whether there is nothing left to wait for; an error means that somebody else has waited.
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
