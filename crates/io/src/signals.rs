//! Signals received by a task instead of a handler.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::task::Poll;

use crate::core::{Core, READABLE};
use crate::source::Source;
use crate::{Error, sys};

/// Signals that come through the loop.
pub struct Signals {
    source: Source,
    fd: OwnedFd,
}

impl Signals {
    /// Keeps the signals from killing the process, in this thread and in those that it starts from now on. A program
    /// calls this first, and starts its threads thereafter.
    ///
    /// # Errors
    /// If one is not a signal number.
    pub fn block(signals: &[i32]) -> Result<(), Error> {
        sys::block_signals(signals).map_err(Error::system("pthread_sigmask"))
    }

    /// Takes the signals from now on, and those that came since they were [blocked](Signals::block), which this thread
    /// does here at the latest.
    ///
    /// # Errors
    /// If one is not a signal number, or the process has no free descriptors.
    ///
    /// # Panics
    /// If no loop runs on this thread.
    pub fn new(signals: &[i32]) -> Result<Signals, Error> {
        Signals::block(signals)?;
        let fd = sys::signal_fd(signals).map_err(Error::system("signalfd"))?;
        let source = Source::register(&Core::current(), &fd)?;
        Ok(Signals { source, fd })
    }

    /// The number of the next signal.
    pub async fn next(&mut self) -> i32 {
        poll_fn(|context| {
            match sys::signal_read(&self.fd) {
                Ok(signal) => return Poll::Ready(signal),
                Err(error) => debug_assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            self.source.wait(context, READABLE);
            Poll::Pending
        })
        .await
    }
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signals").finish_non_exhaustive()
    }
}
