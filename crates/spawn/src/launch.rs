//! The memory that a child uses while no thread waits for it.
//!
//! **Invariant:** a launch is dropped only before its child exists or after the child has left our memory.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clone::{self, Made, Wait};
use crate::plan::Plan;
use crate::process::Process;
use crate::stack::Stack;
use crate::stage::Stage;
use crate::stdio::Streams;
use crate::{Error, calls, dumpable};

/// The plan and the stack of a child, and the streams for its owner.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) plan: Plan,
    pub(crate) streams: Streams,
    stack: Option<Stack>,
    dumpable: Option<dumpable::Guard>,
}

// SAFETY: the pointers in a plan lead to memory that it owns; it shares nothing with the thread that made it.
unsafe impl Send for Launch {}

impl Launch {
    pub(crate) fn new(mut plan: Plan) -> Launch {
        Launch {
            streams: std::mem::take(&mut plan.streams),
            plan,
            stack: None,
            dumpable: None,
        }
    }

    /// Makes the child without waiting for it.
    pub(crate) fn make(&mut self, cgroup: Option<i32>) -> Result<Process, Error> {
        let stack = Stack::take().map_err(|source| self.plan.failed(Stage::Stack, String::new(), source))?;
        let stack = self.stack.insert(stack);
        self.dumpable = self.plan.changes_credentials.then(dumpable::Guard::new);
        // SAFETY: all of it stays where it is until this is dropped, which is not before the child has left our memory.
        let made = unsafe { clone::make(&mut self.plan.block, stack, cgroup, Wait::NotAtAll) };
        process(&self.plan, made)
    }

    /// Returns whether the child may still use our memory.
    pub(crate) fn is_used(&self) -> bool {
        self.plan.block.is_present()
    }

    /// Waits for the child to leave; may return early.
    pub(crate) fn await_leaving(&self) {
        self.plan.block.await_answer();
        calls::futex_wait(&self.plan.block.present, 1);
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if let Some(stack) = self.stack.take() {
            stack.give_back();
        }
    }
}

/// The process, or the error of making it.
pub(crate) fn process(plan: &Plan, made: Result<Made, (Stage, i32)>) -> Result<Process, Error> {
    match made {
        Ok(made) => Ok(Process::new(made.pid, aside(made.pidfd))),
        Err((stage, errno)) => {
            let source = io::Error::from_raw_os_error(errno);
            Err(plan.failed(stage, String::new(), source))
        }
    }
}

/// Moves a pidfd away from the number of a standard stream that this process has closed, if another number is free.
fn aside(pidfd: OwnedFd) -> OwnedFd {
    if pidfd.as_raw_fd() > 2 {
        return pidfd;
    }
    pidfd.try_clone().unwrap_or(pidfd)
}
