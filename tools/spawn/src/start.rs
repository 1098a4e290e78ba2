//! Starting a process: waiting until it is known to run the program, or not waiting at all.
//!
//! **Invariant:** block and stack of a child live until it has left our memory, whoever drops what.
#![allow(unsafe_code)]

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::clone::{self, Made, Wait};
use crate::plan::{Defaults, Plan};
use crate::process::Process;
use crate::stack::Stack;
use crate::stdio::Streams;
use crate::step::Step;
use crate::{Child, Command, Error, calls, dumpable, reaper};

impl Command {
    /// Starts the process and waits until it runs the program, some 50 µs on an idle machine; the calling thread is
    /// stopped for that time. An event loop calls [`start`](Command::start) instead.
    ///
    /// # Errors
    /// [`Error::Start`] with the step that failed, in this process or in the child. There is no child then.
    pub fn spawn(&self) -> Result<Child, Error> {
        self.spawn_with(Defaults::INHERIT)
    }

    pub(crate) fn spawn_with(&self, defaults: Defaults) -> Result<Child, Error> {
        let mut plan = Plan::new(self, defaults, false)?;
        let stack = self.stack()?;
        let dumpable = plan.changes_credentials.then(dumpable::Guard::new);
        // SAFETY: the child has left our memory when this returns, and until then plan and stack are here. Nobody changes
        // the environment meanwhile, see `environment`.
        let made = unsafe { clone::make(&mut plan.block, &stack, self.cgroup_fd(), Wait::UntilExec) };
        drop(dumpable);
        stack.give_back();
        let process = self.process(made)?;
        match plan.failure() {
            None => Ok(Child::new(process, plan.streams)),
            Some(error) => {
                reap(process);
                Err(error)
            }
        }
    }

    /// Starts the process and does not wait, not even for the child to be scheduled: some 20 µs. Whether the program runs
    /// is not known then; [`Starting`] comes to know it.
    ///
    /// # Errors
    /// [`Error::Start`] for what failed in this process.
    pub fn start(&self) -> Result<Starting, Error> {
        let mut plan = Plan::new(self, Defaults::INHERIT, true)?;
        let (known, tie) = self.tie(&plan.streams)?;
        let mut lent = Box::new(Lent {
            streams: std::mem::take(&mut plan.streams),
            stack: Some(self.stack()?),
            dumpable: plan.changes_credentials.then(dumpable::Guard::new),
            plan,
        });
        let Lent { plan, stack, .. } = &mut *lent;
        let stack = stack.as_ref().expect("it is taken when the child has gone");
        // SAFETY: `lent` goes to a `Starting`, which gives nothing of it back before the child has left our memory.
        let made = unsafe { clone::make(&mut plan.block, stack, self.cgroup_fd(), Wait::NotAtAll) };
        drop(tie);
        let process = match self.process(made) {
            Ok(process) => process,
            Err(error) => {
                lent.return_stack();
                return Err(error);
            }
        };
        lent.streams.close_theirs();
        Ok(Starting {
            process: Some(process),
            lent: Some(lent),
            known,
        })
    }

    /// A pipe whose writing end the child has until it runs the program or ends, under a number that is no other descriptor's
    /// of the child.
    fn tie(&self, streams: &Streams) -> Result<(PipeReader, OwnedFd), Error> {
        let failed = |source| self.failed(Step::Stream, String::new(), source);
        let (known, tie) = io::pipe().map_err(failed)?;
        let mut tie = OwnedFd::from(tie);
        let is_target = |fd: &OwnedFd| {
            let number = fd.as_raw_fd();
            streams.places.iter().any(|place| place.target == number)
        };
        while is_target(&tie) {
            let next = tie.as_raw_fd() + 1;
            tie = calls::copy_from(tie.as_fd(), next).map_err(failed)?;
        }
        Ok((known, tie))
    }

    fn stack(&self) -> Result<Stack, Error> {
        Stack::take().map_err(|source| self.failed(Step::Stack, String::new(), source))
    }

    fn cgroup_fd(&self) -> Option<i32> {
        self.options.cgroup.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn process(&self, made: Result<Made, (Step, i32)>) -> Result<Process, Error> {
        match made {
            Ok(made) => Ok(Process::new(made.pid, aside(made.pidfd))),
            Err((step, errno)) => {
                let source = io::Error::from_raw_os_error(errno);
                Err(self.failed(step, String::new(), source))
            }
        }
    }
}

/// Keeps a pidfd from being taken for a standard stream that this process has closed, if there is another number.
fn aside(pidfd: OwnedFd) -> OwnedFd {
    if pidfd.as_raw_fd() > 2 {
        return pidfd;
    }
    pidfd.try_clone().unwrap_or(pidfd)
}

/// Reaps a child that has reported a failure, and so has nothing left to do but end.
fn reap(mut process: Process) {
    // An error means that somebody else reaped it.
    let _ = process.wait(true);
}

/// What a child uses that is still in our memory.
#[derive(Debug)]
pub(crate) struct Lent {
    plan: Plan,
    stack: Option<Stack>,
    streams: Streams,
    dumpable: Option<dumpable::Guard>,
}

// SAFETY: the pointers in a plan lead to what it owns; it was made to share nothing with the thread that made it.
unsafe impl Send for Lent {}

impl Lent {
    fn return_stack(&mut self) {
        if let Some(stack) = self.stack.take() {
            stack.give_back();
        }
    }
}

/// A child of which is not known yet whether it runs the program.
///
/// It is a descriptor ([`AsFd`]), which becomes readable when that is known; then [`poll`](Starting::poll) answers. A
/// process that other code forks at the same time may delay the descriptor, though not the answer.
///
/// Dropping it kills the child, as dropping a [`Child`] does.
#[derive(Debug)]
pub struct Starting {
    /// Taken when it is a child, or has failed.
    process: Option<Process>,
    lent: Option<Box<Lent>>,
    known: PipeReader,
}

impl Starting {
    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// The child, or what failed; `None` when that is not known yet, and after it was answered. A child that failed may
    /// still be about to end, and have its descriptors open, when this answers; [`wait`](Starting::wait) waits for that.
    pub fn poll(&mut self) -> Option<Result<Child, Error>> {
        self.answer(|process| reaper::adopt(process, None))
    }

    fn answer(&mut self, end: impl FnOnce(Process)) -> Option<Result<Child, Error>> {
        if self.lent.as_ref()?.plan.block.is_present() {
            return None;
        }
        let mut lent = self.lent.take()?;
        let process = self.process.take()?;
        lent.return_stack();
        drop(lent.dumpable.take());
        match lent.plan.failure() {
            None => Some(Ok(Child::new(process, std::mem::take(&mut lent.streams)))),
            Some(error) => {
                end(process);
                Some(Err(error))
            }
        }
    }

    /// Waits until it is known.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    ///
    /// # Panics
    /// When [`poll`](Starting::poll) has answered already.
    pub fn wait(mut self) -> Result<Child, Error> {
        loop {
            if let Some(known) = self.answer(reap) {
                return known;
            }
            let lent = self.lent.as_ref().expect("`poll` has not answered yet");
            calls::futex_wait(&lent.plan.block.present, 1);
        }
    }
}

impl AsFd for Starting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.known.as_fd()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            reaper::end(process, self.lent.take());
        }
    }
}
