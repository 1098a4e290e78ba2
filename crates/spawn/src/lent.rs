//! What a child uses that is still in our memory, while nobody waits for it.
//!
//! **Invariant:** it is dropped only when there is no child yet, or when the child has left our memory.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clone::{self, Made, Wait};
use crate::plan::Plan;
use crate::process::Process;
use crate::stack::Stack;
use crate::stdio::Streams;
use crate::step::Step;
use crate::{Error, calls, dumpable};

/// The plan, the stack, and what the child's owner will get.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) plan: Plan,
    pub(crate) streams: Streams,
    stack: Option<Stack>,
    dumpable: Option<dumpable::Guard>,
}

// SAFETY: the pointers in a plan lead to what it owns; it was made to share nothing with the thread that made it.
unsafe impl Send for Lent {}

impl Lent {
    pub(crate) fn new(mut plan: Plan) -> Lent {
        Lent {
            streams: std::mem::take(&mut plan.streams),
            plan,
            stack: None,
            dumpable: None,
        }
    }

    /// Makes the child and does not wait for it.
    pub(crate) fn make(&mut self, cgroup: Option<i32>) -> Result<Process, Error> {
        let stack = Stack::take().map_err(|source| self.plan.failed(Step::Stack, String::new(), source))?;
        let stack = self.stack.insert(stack);
        self.dumpable = self.plan.changes_credentials.then(dumpable::Guard::new);
        // SAFETY: all of it stays where it is until this is dropped, which is not before the child has left our memory.
        let made = unsafe { clone::make(&mut self.plan.block, stack, cgroup, Wait::NotAtAll) };
        process(&self.plan, made)
    }

    /// Whether the child may still be in our memory.
    pub(crate) fn is_used(&self) -> bool {
        self.plan.block.is_present()
    }

    /// Waits until it has left, or for a while.
    pub(crate) fn await_leaving(&self) {
        self.plan.block.await_answer();
        calls::futex_wait(&self.plan.block.present, 1);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(stack) = self.stack.take() {
            stack.give_back();
        }
    }
}

/// The process that was made, or why none was.
pub(crate) fn process(plan: &Plan, made: Result<Made, (Step, i32)>) -> Result<Process, Error> {
    match made {
        Ok(made) => Ok(Process::new(made.pid, aside(made.pidfd))),
        Err((step, errno)) => {
            let source = io::Error::from_raw_os_error(errno);
            Err(plan.failed(step, String::new(), source))
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
