//! Starting a process: waiting until it is known to run the program, or not waiting at all.
#![allow(unsafe_code)]

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitStatus;

use crate::clone::{self, Wait};
use crate::lent::{self, Lent};
use crate::plan::{Defaults, Pace, Plan};
use crate::stack::Stack;
use crate::starting::{self, Starting};
use crate::stdio::Streams;
use crate::step::Step;
use crate::{Child, Command, Error, calls, dumpable};

impl Command {
    /// Starts the process and waits until it runs the program, some 50 µs on an idle machine; the calling thread is
    /// stopped for that time. An event loop has a [`Starter`](crate::Starter), or calls [`start`](Command::start).
    ///
    /// # Errors
    /// [`Error::Start`] with the step that failed, in this process or in the child. There is no child then.
    pub fn spawn(&self) -> Result<Child, Error> {
        self.spawn_with(Defaults::INHERIT)
    }

    pub(crate) fn spawn_with(&self, defaults: Defaults) -> Result<Child, Error> {
        let mut plan = Plan::new(self, defaults, Pace::Waits)?;
        let stack = Stack::take().map_err(|source| self.failed(Step::Stack, String::new(), source))?;
        let dumpable = plan.changes_credentials.then(dumpable::Guard::new);
        // SAFETY: the child has left our memory when this returns, and until then plan and stack are here. Nobody changes
        // the environment meanwhile, see `environment`.
        let made = unsafe { clone::make(&mut plan.block, &stack, self.cgroup_fd(), Wait::UntilExec) };
        drop(dumpable);
        stack.give_back();
        let process = lent::process(&plan, made)?;
        match plan.failure() {
            None => Ok(Child::new(process, plan.streams)),
            Some(error) => {
                starting::reap(process);
                Err(error)
            }
        }
    }

    /// Runs it to its end. Standard streams are inherited, unless said otherwise.
    ///
    /// This thread is woken once, when it is over, where [`spawn`](Command::spawn) and [`Child::wait`] are woken twice.
    ///
    /// # Errors
    /// As [`spawn`](Command::spawn) and [`Child::wait`].
    pub fn status(&self) -> Result<ExitStatus, Error> {
        // What a change of credentials does to our memory is to be put right as soon as it can be, not in the end.
        if self.options.changes_credentials() {
            return self.spawn()?.wait();
        }
        let mut lent = Lent::new(Plan::new(self, Defaults::INHERIT, Pace::Waits)?);
        let process = lent.make(self.cgroup_fd())?;
        // The child may not have its own descriptors yet, so those that are for it stay open.
        let mut child = Child::new(process, lent.streams.take_ends());
        let ended = child.wait();
        // It has left, or is about to: an error says that somebody else has waited for its end.
        while lent.is_used() {
            lent.await_leaving();
        }
        match lent.plan.failure() {
            None => ended,
            Some(error) => Err(error),
        }
    }

    /// Starts the process and does not wait, not even for the child to be scheduled: some 20 µs. Whether the program runs
    /// is not known then; [`Starting`] comes to know it.
    ///
    /// Once in a while it takes longer than that, 0.15 ms: the kernel likes to tidy up what ended processes have left while
    /// it makes a new one. A loop that cannot spare so much has a [`Starter`](crate::Starter) make its processes.
    ///
    /// # Errors
    /// [`Error::Start`] for what failed in this process.
    pub fn start(&self) -> Result<Starting, Error> {
        let (mut lent, known, tie) = self.lend(Pace::GoesOn)?;
        let process = lent.make(self.cgroup_fd())?;
        lent.streams.close_theirs();
        drop(tie);
        Ok(Starting::made(process, lent, known))
    }

    /// What a child needs who is not waited for; both ends of a pipe, of which the writing one is the child's until it runs
    /// the program or ends.
    pub(crate) fn lend(&self, pace: Pace) -> Result<(Box<Lent>, PipeReader, OwnedFd), Error> {
        let plan = Plan::new(self, Defaults::INHERIT, pace)?;
        let (known, tie) = self.tie(&plan.streams)?;
        Ok((Box::new(Lent::new(plan)), known, tie))
    }

    /// A pipe of which the writing end has a number that is no other descriptor's of the child.
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

    fn cgroup_fd(&self) -> Option<i32> {
        self.options.cgroup.as_ref().map(AsRawFd::as_raw_fd)
    }
}
