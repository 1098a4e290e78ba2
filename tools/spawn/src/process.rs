//! A process that runs: held by its pidfd, which names it and nothing else for as long as it is open.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::{Error, calls};

/// A process of ours, not yet waited for, or its status.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    pidfd: OwnedFd,
    status: Option<ExitStatus>,
}

impl Process {
    pub(crate) fn new(pid: i32, pidfd: OwnedFd) -> Process {
        Process {
            pid: pid as u32,
            pidfd,
            status: None,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the end, or looks whether it has come.
    pub(crate) fn wait(&mut self, block: bool) -> Result<Option<ExitStatus>, Error> {
        if self.status.is_some() {
            return Ok(self.status);
        }
        let raw = match calls::wait(self.pidfd.as_fd(), block) {
            Ok(raw) => raw,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                let taken = Error::StatusTaken { pid: self.pid };
                Some(calls::status_after_all(self.pidfd.as_fd()).ok_or(taken)?)
            }
            Err(source) => return Err(self.failed("waitid", source)),
        };
        self.status = raw.map(ExitStatus::from_raw);
        Ok(self.status)
    }

    /// Waits for the end until a deadline.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> Result<Option<ExitStatus>, Error> {
        if self.status.is_none() {
            let mut poll = [calls::poll_for(self.pidfd.as_fd(), libc::POLLIN)];
            calls::poll(&mut poll, Some(deadline)).map_err(|source| self.failed("poll", source))?;
        }
        self.wait(false)
    }

    /// Sends a signal; a process that has ended takes any.
    pub(crate) fn signal(&self, signal: i32) -> Result<(), Error> {
        if self.status.is_some() {
            return Ok(());
        }
        match calls::send_signal(self.pidfd.as_fd(), signal) {
            Err(source) if source.raw_os_error() != Some(libc::ESRCH) => {
                Err(self.failed("pidfd_send_signal", source))
            }
            _ => Ok(()),
        }
    }

    /// Asks it to end, and after a grace makes it.
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
            // A wait that blocks answers only with a status.
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
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
