//! PendingChild a process: waiting until it is known to run the program, or not waiting at all.
#![allow(unsafe_code)]

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitStatus;

use crate::clone::{self, Wait};
use crate::launch::{self, Launch};
use crate::pending::{self, PendingChild};
use crate::plan::{Defaults, Pace, Plan};
use crate::stack::Stack;
use crate::stage::Stage;
use crate::stdio::Streams;
use crate::{Child, Command, Error, calls, dumpable};

impl Command {
    /// Starts the process and waits until it executes the program, which blocks the calling thread for some 50 µs on an idle
    /// machine. An event loop should use a [`Spawner`](crate::Spawner) or [`start`](Command::start).
    ///
    /// # Errors
    /// [`Error::Start`] with the stage that failed, in this process or in the child. No child exists then.
    pub fn spawn(&self) -> Result<Child, Error> {
        self.spawn_with(Defaults::INHERIT)
    }

    pub(crate) fn spawn_with(&self, defaults: Defaults) -> Result<Child, Error> {
        let mut plan = Plan::new(self, defaults, Pace::Waits)?;
        let stack = Stack::take().map_err(|source| self.failed(Stage::Stack, String::new(), source))?;
        let dumpable = plan.changes_credentials.then(dumpable::Guard::new);
        // SAFETY: the child has left our memory when this returns; plan and stack live until then. No thread changes the
        // environment meanwhile, see `environment`.
        let made = unsafe { clone::make(&mut plan.block, &stack, self.cgroup_fd(), Wait::UntilExec) };
        drop(dumpable);
        stack.give_back();
        let process = launch::process(&plan, made)?;
        match plan.failure() {
            None => Ok(Child::new(process, plan.streams)),
            Some(error) => {
                pending::reap(process);
                Err(error)
            }
        }
    }

    /// Runs the program to its end. By default, it inherits the standard streams.
    ///
    /// This wakes the calling thread once, whereas [`spawn`](Command::spawn) and [`Child::wait`] together wake it twice.
    ///
    /// # Errors
    /// As [`spawn`](Command::spawn) and [`Child::wait`].
    pub fn status(&self) -> Result<ExitStatus, Error> {
        // A change of credentials clears our dumpable flag, which must be restored soon and not only at the end.
        if self.options.changes_credentials() {
            return self.spawn()?.wait();
        }
        let mut launch = Launch::new(Plan::new(self, Defaults::INHERIT, Pace::Waits)?);
        let process = launch.make(self.cgroup_fd())?;
        // The child may not have its own descriptors yet, so those that are for it stay open.
        let mut child = Child::new(process, launch.streams.take_ends());
        let ended = child.wait();
        // It has left or is about to: an error means that other code of the program has waited for its end.
        while launch.is_used() {
            launch.await_leaving();
        }
        match launch.plan.failure() {
            None => ended,
            Some(error) => Err(error),
        }
    }

    /// Starts the process and returns without waiting for it to be scheduled, after some 20 µs. The [`PendingChild`] returns the
    /// child once it has executed the program.
    ///
    /// One call in a hundred takes 150 µs, because the kernel runs deferred work, such as freeing ended processes, while it makes a
    /// new one. A loop that cannot afford that should use a [`Spawner`](crate::Spawner).
    ///
    /// # Errors
    /// [`Error::Start`] for what failed in this process.
    pub fn start(&self) -> Result<PendingChild, Error> {
        let (mut launch, known, notifier) = self.prepare(Pace::GoesOn)?;
        let process = launch.make(self.cgroup_fd())?;
        launch.streams.close_theirs();
        drop(notifier);
        Ok(PendingChild::made(process, launch, known))
    }

    /// The launch of a child that no thread waits for, and both ends of a pipe. The child holds the writing end until it
    /// executes the program or ends.
    pub(crate) fn prepare(&self, pace: Pace) -> Result<(Box<Launch>, PipeReader, OwnedFd), Error> {
        let plan = Plan::new(self, Defaults::INHERIT, pace)?;
        let (known, notifier) = self.notifier(&plan.streams)?;
        Ok((Box::new(Launch::new(plan)), known, notifier))
    }

    /// A pipe whose writing end has a number that no other descriptor of the child gets.
    fn notifier(&self, streams: &Streams) -> Result<(PipeReader, OwnedFd), Error> {
        let failed = |source| self.failed(Stage::Stream, String::new(), source);
        let (known, notifier) = io::pipe().map_err(failed)?;
        let mut notifier = OwnedFd::from(notifier);
        let is_target = |fd: &OwnedFd| {
            let number = fd.as_raw_fd();
            streams.mappings.iter().any(|mapping| mapping.target == number)
        };
        while is_target(&notifier) {
            let next = notifier.as_raw_fd() + 1;
            notifier = calls::copy_from(notifier.as_fd(), next).map_err(failed)?;
        }
        Ok((known, notifier))
    }

    fn cgroup_fd(&self) -> Option<i32> {
        self.options.cgroup.as_ref().map(AsRawFd::as_raw_fd)
    }
}
