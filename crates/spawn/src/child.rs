//! The owner's handle of a child.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::stdio::{End, Streams};
use crate::{Error, reaper};

/// A handle of a started process.
///
/// Its descriptor ([`AsFd`]) becomes readable when the process ends, for `poll` or an event loop. Signals reach this process and
/// never a later one with the same ID.
///
/// **Dropping the handle kills the process** (`SIGKILL`), unless it has ended or was [detached](Child::detach). The drop does not
/// wait: a background thread reaps a process that cannot be reaped at once. So a `Child` never leaves a zombie.
#[derive(Debug)]
pub struct Child {
    /// The other end of standard input, if that is a pipe.
    pub stdin: Option<PipeWriter>,
    /// The other end of standard output, if that is a pipe.
    pub stdout: Option<PipeReader>,
    /// The other end of standard error, if that is a pipe.
    pub stderr: Option<PipeReader>,
    /// Our ends of other descriptors.
    ends: Vec<(i32, End)>,
    /// `None` once the child is detached.
    process: Option<Process>,
}

impl Child {
    pub(crate) fn new(process: Process, streams: Streams) -> Child {
        let mut child = Child {
            stdin: None,
            stdout: None,
            stderr: None,
            ends: Vec::new(),
            process: Some(process),
        };
        for (target, end) in streams.ends {
            match (target, end) {
                (0, End::Writer(writer)) => child.stdin = Some(writer),
                (1, End::Reader(reader)) => child.stdout = Some(reader),
                (2, End::Reader(reader)) => child.stderr = Some(reader),
                other => child.ends.push(other),
            }
        }
        child
    }

    /// The process without its streams, which are closed.
    pub(crate) fn into_process(mut self) -> Process {
        self.process
            .take()
            .expect("only `detach` takes it, and the child with it")
    }

    pub(crate) fn process(&mut self) -> &mut Process {
        self.process
            .as_mut()
            .expect("only `detach` takes it, and the child with it")
    }

    fn peek(&self) -> &Process {
        self.process
            .as_ref()
            .expect("only `detach` takes it, and the child with it")
    }

    /// The process ID. It stays the process's until it has been waited for.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.peek().pid()
    }

    /// The pidfd, for system calls such as `pidfd_send_signal` and `setns`.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.peek().pidfd()
    }

    /// Takes our end of a descriptor that is a pipe or a file in memory and has no field of its own.
    pub fn take(&mut self, target: i32) -> Option<End> {
        let index = self.ends.iter().position(|(other, _)| *other == target)?;
        Some(self.ends.swap_remove(index).1)
    }

    /// Waits for the end. Closes standard input first, so that a child that reads it to its end does not block.
    ///
    /// # Errors
    /// [`Error::StatusTaken`], on kernels before 6.15, if other code of this program has taken the status.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        drop(self.stdin.take());
        self.process().wait_for_end()
    }

    /// The status, if the process has ended.
    ///
    /// # Errors
    /// As [`wait`](Child::wait).
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.process().wait(false)
    }

    /// Waits for the end, at most for a time. `None` if the process still runs; standard input stays open.
    ///
    /// # Errors
    /// As [`wait`](Child::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, Error> {
        self.process().wait_until(Instant::now() + timeout)
    }

    /// Sends a signal. Does nothing if the process has ended.
    ///
    /// # Errors
    /// If the signal is invalid (`EINVAL`), or if the process now belongs to another user (`EPERM`).
    pub fn signal(&self, signal: i32) -> Result<(), Error> {
        self.peek().signal(signal)
    }

    /// Kills the process (`SIGKILL`). It is reaped by [`wait`](Child::wait) or by the drop.
    ///
    /// # Errors
    /// As [`signal`](Child::signal).
    pub fn kill(&self) -> Result<(), Error> {
        self.signal(libc::SIGKILL)
    }

    /// Sends `SIGTERM`, kills the process if it has not ended within `grace`, and returns its status.
    ///
    /// # Errors
    /// As [`signal`](Child::signal) and [`wait`](Child::wait).
    pub fn terminate(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        self.process().terminate(grace)
    }

    /// Lets the process run on without a handle. It is reaped when it ends, if this process still runs.
    pub fn detach(mut self) {
        if let Some(process) = self.process.take() {
            reaper::adopt(process, None);
        }
    }
}

impl AsFd for Child {
    /// Becomes readable when the process has ended: its pidfd, or the zygote's channel.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.peek().as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            reaper::end(process, None);
        }
    }
}
