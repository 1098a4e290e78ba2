//! The faults that a test asked for.

use std::io;

use rustix::io::Errno;

/// Faults by operation, and such as last.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Operations so far.
    pub(super) operations: u64,
    /// The operation from which on all fail.
    pub(super) stop_at: Option<u64>,
    /// The operation that fails alone, with its error.
    pub(super) fail_at: Option<(u64, i32)>,
    /// The write that takes only a part.
    pub(super) shorten_at: Option<u64>,
    /// The most bytes that one write takes.
    pub(super) write_max: Option<usize>,
    /// The most bytes that all files may have together.
    pub(super) capacity: Option<usize>,
    pub(super) sync_error: Option<i32>,
    pub(super) read_error: Option<i32>,
}

impl Plan {
    /// Returns true if the next operation is one that fails since everything has stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop_at.is_some_and(|stop| self.operations >= stop)
    }

    /// Counts an operation, which may have to fail.
    pub(super) fn count(&mut self) -> io::Result<()> {
        let (operation, stopped) = (self.operations, self.is_stopped());
        self.operations += 1;
        if stopped {
            return Err(Errno::IO.into());
        }
        match self.fail_at {
            Some((at, error)) if at == operation => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(()),
        }
    }

    /// Counts a write and returns how many of its bytes are written, and the error if it fails after them.
    pub(super) fn count_write(&mut self, bytes: usize) -> (usize, io::Result<()>) {
        let operation = self.operations;
        let result = self.count();
        // The process was killed, or the machine stopped, in the middle.
        let torn = self.stop_at == Some(operation) || self.shorten_at == Some(operation);
        let most = match &result {
            _ if torn => bytes / 2,
            Ok(()) => bytes,
            Err(_) => 0,
        };
        let write_max = self.write_max.unwrap_or(usize::MAX).max(1);
        (most.min(write_max), result)
    }

    /// Counts a sync, which fails as long as syncs do.
    pub(super) fn count_sync(&mut self) -> io::Result<()> {
        self.count()?;
        match self.sync_error {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(()),
        }
    }
}
