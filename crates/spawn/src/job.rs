//! A request to a [`Spawner`](crate::Spawner): the input for its thread, and the result.
//!
//! **Invariant:** the code that takes a child out of a job owns it; a child of a cancelled job goes to the reaper.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::launch::Launch;
use crate::process::Process;
use crate::{Error, reaper};

/// A child that may still share our memory, or the error.
pub(crate) type Made = Result<(Process, Box<Launch>), Error>;

/// The thread's input for making a child.
#[derive(Debug)]
pub(crate) struct JobInput {
    pub(crate) launch: Box<Launch>,
    pub(crate) cgroup: Option<OwnedFd>,
    /// Closed by the thread once the result is stored; the child holds a copy while it shares our memory.
    pub(crate) notifier: OwnedFd,
}

#[derive(Debug)]
enum State {
    Waiting(JobInput),
    /// The thread is making it.
    Making,
    Made(Made),
    /// Cancelled, or taken.
    Over,
}

/// A job, which the thread and a [`PendingChild`](crate::PendingChild) share.
#[derive(Debug)]
pub(crate) struct Job {
    state: Mutex<State>,
    changed: Condvar,
}

impl Job {
    pub(crate) fn new(materials: JobInput) -> Job {
        Job {
            state: Mutex::new(State::Waiting(materials)),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the child, unless the job was cancelled.
    pub(crate) fn run(&self, batch: bool) {
        let waiting = std::mem::replace(&mut *self.state(), State::Making);
        let State::Waiting(mut materials) = waiting else {
            *self.state() = State::Over;
            return;
        };
        materials.launch.plan.block.batch = batch;
        let cgroup = materials.cgroup.as_ref().map(AsRawFd::as_raw_fd);
        let process = materials.launch.make(cgroup);
        materials.launch.streams.close_theirs();
        let made = process.map(|process| (process, materials.launch));
        let mut state = self.state();
        if matches!(*state, State::Making) {
            *state = State::Made(made);
            self.changed.notify_one();
        } else {
            drop(state);
            end(made);
        }
        // Last, so that the result is there when the pipe closes.
        drop(materials.notifier);
    }

    /// Takes the child once the thread has made it.
    pub(crate) fn take(&self) -> Option<Made> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Over) {
            State::Made(made) => Some(made),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Waits for the child and takes it. It must not have been taken before.
    pub(crate) fn wait(&self) -> Made {
        let mut state = self.state();
        loop {
            match std::mem::replace(&mut *state, State::Over) {
                State::Made(made) => return made,
                other => *state = other,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The process ID, until the child is taken.
    pub(crate) fn pid(&self) -> Option<u32> {
        match &*self.state() {
            State::Made(Ok((process, _))) => Some(process.pid()),
            _ => None,
        }
    }

    /// Gives the child up: it is not made, or killed.
    pub(crate) fn cancel(&self) {
        let state = std::mem::replace(&mut *self.state(), State::Over);
        if let State::Made(made) = state {
            end(made);
        }
    }
}

fn end(made: Made) {
    if let Ok((process, launch)) = made {
        reaper::end(process, Some(launch));
    }
}
