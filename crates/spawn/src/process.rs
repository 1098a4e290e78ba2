//! A running process, held by its pidfd, which refers to this process for as long as it is open.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::zygote::{News, ask_signal, hear};
use crate::{Error, calls};

/// How long to wait, if the zygote has ended, until the new parent has reaped its child.
const INHERITANCE: Duration = Duration::from_secs(1);

/// A process that we own, or its status.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    pidfd: OwnedFd,
    /// The channel to the zygote that started it; `None` for our own child.
    channel: Option<OwnedFd>,
    status: Option<ExitStatus>,
}

impl Process {
    /// A child of ours.
    pub(crate) fn new(pid: i32, pidfd: OwnedFd) -> Process {
        Process {
            pid: pid as u32,
            pidfd,
            channel: None,
            status: None,
        }
    }

    /// A child of the zygote's.
    pub(crate) fn remote(pid: i32, pidfd: OwnedFd, channel: OwnedFd) -> Process {
        Process {
            channel: Some(channel),
            ..Process::new(pid, pidfd)
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.channel.is_some()
    }

    /// Waits for the end if `block` is set; otherwise checks for it.
    pub(crate) fn wait(&mut self, block: bool) -> Result<Option<ExitStatus>, Error> {
        if self.status.is_none() {
            let raw = match &self.channel {
                None => self.wait_for_child(block)?,
                Some(channel) => self.wait_for_line(channel, block)?,
            };
            self.status = raw.map(ExitStatus::from_raw);
        }
        Ok(self.status)
    }

    fn wait_for_child(&self, block: bool) -> Result<Option<i32>, Error> {
        match calls::wait(self.pidfd(), block) {
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                let taken = Error::StatusTaken { pid: self.pid };
                calls::status_after_all(self.pidfd()).map(Some).ok_or(taken)
            }
            result => result.map_err(|source| self.failed("waitid", source)),
        }
    }

    fn wait_for_line(&self, channel: &OwnedFd, block: bool) -> Result<Option<i32>, Error> {
        loop {
            match hear(channel) {
                Ok(News::Ended { status }) => return Ok(Some(status)),
                Err(error) if error.kind() == ErrorKind::WouldBlock && !block => return Ok(None),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.poll(channel.as_fd(), libc::POLLIN, None)?;
                }
                _ => return self.wait_for_orphan(block).map(Some),
            }
        }
    }

    /// The status of a child whose zygote has ended. Only Linux 6.15 and later provide it, once the child was reaped.
    fn wait_for_orphan(&self, block: bool) -> Result<i32, Error> {
        if block {
            self.poll(self.pidfd(), libc::POLLIN, None)?;
            // The pidfd of a reaped process reports POLLHUP, which need not be requested.
            self.poll(self.pidfd(), 0, Some(Instant::now() + INHERITANCE))?;
        }
        calls::status_after_all(self.pidfd()).ok_or(Error::ZygoteGone)
    }

    /// Waits for the end, until a deadline.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> Result<Option<ExitStatus>, Error> {
        if self.status.is_none() {
            self.poll(self.as_fd(), libc::POLLIN, Some(deadline))?;
        }
        self.wait(false)
    }

    fn poll(&self, fd: BorrowedFd<'_>, events: i16, deadline: Option<Instant>) -> Result<bool, Error> {
        let mut poll = [calls::poll_for(fd, events)];
        calls::poll(&mut poll, deadline).map_err(|source| self.failed("poll", source))
    }

    /// Sends a signal. Succeeds if the process has ended.
    pub(crate) fn signal(&self, signal: i32) -> Result<(), Error> {
        if self.status.is_some() {
            return Ok(());
        }
        // The zygote has the child's privileges, so it may send signals that we may not.
        if let Some(channel) = &self.channel
            && ask_signal(channel, signal).is_ok()
        {
            return Ok(());
        }
        match calls::send_signal(self.pidfd(), signal) {
            Err(source) if source.raw_os_error() != Some(libc::ESRCH) => {
                Err(self.failed("pidfd_send_signal", source))
            }
            _ => Ok(()),
        }
    }

    /// Sends `SIGTERM`, and `SIGKILL` after a grace period.
    pub(crate) fn terminate(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        self.signal(libc::SIGTERM)?;
        let deadline = Instant::now() + grace;
        if let Some(status) = self.wait_until(deadline)? {
            return Ok(status);
        }
        self.signal(libc::SIGKILL)?;
        self.wait_for_end()
    }

    pub(crate) fn wait_for_end(&mut self) -> Result<ExitStatus, Error> {
        match self.wait(true)? {
            Some(status) => Ok(status),
            // A blocking wait returns only with a status.
            None => Err(self.failed("waitid", io::Error::from_raw_os_error(libc::EINVAL))),
        }
    }

    pub(crate) fn failed(&self, operation: &'static str, source: io::Error) -> Error {
        Error::Process {
            pid: self.pid,
            operation,
            source,
        }
    }
}

impl AsFd for Process {
    /// Becomes readable when the process has ended and [`wait`](Process::wait) can return its status.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_ref().map_or(self.pidfd.as_fd(), AsFd::as_fd)
    }
}
