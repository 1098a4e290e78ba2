//! A child that was requested but may not have executed its program yet.

use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::job::{Job, Made};
use crate::launch::Launch;
use crate::process::Process;
use crate::{Child, Error, reaper};

/// A child that may not have executed its program yet.
///
/// Its descriptor ([`AsFd`]) becomes readable when the outcome is known; then [`poll`](PendingChild::poll) returns it. A process
/// that other code forks at the same time may delay the descriptor, though not the outcome.
///
/// Dropping it kills the child, as dropping a [`Child`] does.
#[derive(Debug)]
pub struct PendingChild {
    state: State,
    known: PipeReader,
}

#[derive(Debug)]
enum State {
    /// A spawner's thread makes it.
    Queued(Arc<Job>),
    Made(Process, Box<Launch>),
    /// The outcome has been returned.
    Answered,
}

impl PendingChild {
    pub(crate) fn made(process: Process, launch: Box<Launch>, known: PipeReader) -> PendingChild {
        PendingChild {
            state: State::Made(process, launch),
            known,
        }
    }

    pub(crate) fn queued(job: Arc<Job>, known: PipeReader) -> PendingChild {
        PendingChild {
            state: State::Queued(job),
            known,
        }
    }

    /// The process ID, from when the process exists until the outcome is returned.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Queued(job) => job.pid(),
            State::Made(process, _) => Some(process.pid()),
            State::Answered => None,
        }
    }

    /// Returns the child or the error; `None` while the outcome is unknown and after it was returned. A child that failed may
    /// still be exiting, with its descriptors open, when this returns; [`wait`](PendingChild::wait) waits for its end.
    pub fn poll(&mut self) -> Option<Result<Child, Error>> {
        if let State::Queued(job) = &self.state {
            let made = job.take()?;
            if let Some(error) = self.accept(made) {
                return Some(Err(error));
            }
        }
        self.answer(|process| reaper::adopt(process, None))
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// As [`Command::spawn`](crate::Command::spawn).
    ///
    /// # Panics
    /// If [`poll`](PendingChild::poll) has returned the outcome already.
    pub fn wait(mut self) -> Result<Child, Error> {
        if let State::Queued(job) = &self.state {
            let made = job.wait();
            if let Some(error) = self.accept(made) {
                return Err(error);
            }
        }
        loop {
            if let Some(known) = self.answer(reap) {
                return known;
            }
            let State::Made(_, launch) = &self.state else {
                panic!("`poll` has returned the outcome already");
            };
            launch.await_leaving();
        }
    }

    /// Takes the child that a spawner has made, or returns its error.
    fn accept(&mut self, made: Made) -> Option<Error> {
        match made {
            Ok((process, launch)) => {
                self.state = State::Made(process, launch);
                None
            }
            Err(error) => {
                self.state = State::Answered;
                Some(error)
            }
        }
    }

    fn answer(&mut self, end: impl FnOnce(Process)) -> Option<Result<Child, Error>> {
        if matches!(&self.state, State::Made(_, launch) if launch.is_used()) {
            return None;
        }
        let State::Made(process, mut launch) = std::mem::replace(&mut self.state, State::Answered) else {
            return None;
        };
        match launch.plan.failure() {
            None => Some(Ok(Child::new(process, std::mem::take(&mut launch.streams)))),
            Some(error) => {
                drop(launch);
                end(process);
                Some(Err(error))
            }
        }
    }
}

impl AsFd for PendingChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.known.as_fd()
    }
}

impl Drop for PendingChild {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Answered) {
            State::Queued(job) => job.cancel(),
            State::Made(process, launch) => reaper::end(process, Some(launch)),
            State::Answered => {}
        }
    }
}

/// Reaps a child that has reported a failure and is exiting.
pub(crate) fn reap(mut process: Process) {
    // An error means that other code of the program has reaped it.
    let _ = process.wait(true);
}
