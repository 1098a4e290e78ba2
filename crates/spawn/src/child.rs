//! A child as its owner sees it.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::stdio::{End, Streams};
use crate::{Error, reaper};

/// A process that was started.
///
/// It is a descriptor ([`AsFd`]), which becomes readable when the process ends, for `poll` or an event loop; signals go to
/// this process and never to one that has its number later.
///
/// **Dropping it kills the process** (`SIGKILL`), if it has not ended and was not [detached](Child::detach). The drop does
/// not wait; what cannot be reaped at once is reaped by a thread that lives as long as there is something to reap. So no
/// zombie is ever left, whatever becomes of a `Child`.
#[derive(Debug)]
pub struct Child {
    /// The other end of standard input, if that is a pipe.
    pub stdin: Option<PipeWriter>,
    /// The other end of standard output, if that is a pipe.
    pub stdout: Option<PipeReader>,
    /// The other end of standard error, if that is a pipe.
    pub stderr: Option<PipeReader>,
    /// Ends of other descriptors.
    ends: Vec<(i32, End)>,
    /// Taken when the child is detached.
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

    /// The process's number. It is the process's for as long as it has not been waited for.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.peek().pid()
    }

    /// The pidfd, by which `pidfd_send_signal`, `setns` and others name the process.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.peek().pidfd()
    }

    /// Our end of a descriptor that is a pipe or a file in memory, and not one of the three pipes that have fields.
    pub fn take(&mut self, target: i32) -> Option<End> {
        let index = self.ends.iter().position(|(other, _)| *other == target)?;
        Some(self.ends.swap_remove(index).1)
    }

    /// Waits for the end. Standard input is closed first, so that who reads it to its end does not wait for us.
    ///
    /// # Errors
    /// [`Error::StatusTaken`], on kernels before 6.15, when another wait of this program took the status.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        drop(self.stdin.take());
        self.process().wait_for_end()
    }

    /// The status, if it has ended.
    ///
    /// # Errors
    /// As [`wait`](Child::wait).
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.process().wait(false)
    }

    /// Waits for the end, for so long at most. It goes on running then, and standard input stays open.
    ///
    /// # Errors
    /// As [`wait`](Child::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, Error> {
        self.process().wait_until(Instant::now() + timeout)
    }

    /// Sends a signal. To a process that has ended it does nothing.
    ///
    /// # Errors
    /// When there is no such signal, or the process belongs to somebody else by now (`EPERM`).
    pub fn signal(&self, signal: i32) -> Result<(), Error> {
        self.peek().signal(signal)
    }

    /// Kills it (`SIGKILL`). Its status is still to be waited for, or reaped when this is dropped.
    ///
    /// # Errors
    /// As [`signal`](Child::signal).
    pub fn kill(&self) -> Result<(), Error> {
        self.signal(libc::SIGKILL)
    }

    /// Asks it to end by `SIGTERM`, kills it if it has not done so within `grace`, and answers its status.
    ///
    /// # Errors
    /// As [`signal`](Child::signal) and [`wait`](Child::wait).
    pub fn terminate(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        self.process().terminate(grace)
    }

    /// Lets it run on by itself. When it ends it is reaped, as long as this process lives.
    pub fn detach(mut self) {
        if let Some(process) = self.process.take() {
            reaper::adopt(process, None);
        }
    }
}

impl AsFd for Child {
    /// Readable when the process has ended: its pidfd, or the socket over which a zygote tells of its end.
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
