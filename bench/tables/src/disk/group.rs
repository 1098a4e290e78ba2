//! Group commit: many threads append records to one file, and one fdatasync serves all that wait.
//!
//! ```text
//!   writer: write at the end of the file ──► a sync is running: wait for it ──► my record is synced: done
//!                                        └─► none is running: sync for everyone who has written ──► wake them
//! ```

use super::Slice;
use super::latency::{failed, preallocate};
use super::samples::Samples;
use crate::Error;
use crate::scratch::Scratch;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Numbers of threads.
pub(super) const WRITERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The size of a record: a small item of a store.
const RECORD: usize = 512;
/// The file is written from its start again when it reaches this length.
const LENGTH_MAX: u64 = 32 << 20;

pub(super) struct Row {
    pub(super) writers: usize,
    pub(super) samples: Samples,
    pub(super) syncs: u64,
    log: Log,
    path: PathBuf,
}

/// The file and what is known about its records.
struct Log {
    file: File,
    state: Mutex<State>,
    synced: Condvar,
}

#[derive(Default)]
struct State {
    /// Records that have a place in the file.
    placed: u64,
    /// Records that are written, in any order.
    written: u64,
    /// Records that the last fdatasync covered.
    synced: u64,
    syncing: bool,
    syncs: u64,
    /// The system's error number after a write or a sync failed, which ends all waiting.
    failed: Option<i32>,
}

impl Row {
    pub(super) fn new(scratch: &Scratch, writers: usize) -> Result<Self, Error> {
        // All rows share one file, since only one is measured at a time.
        let path = scratch.path().join("group");
        let open = || -> io::Result<File> {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            match preallocate(&file, LENGTH_MAX) {
                Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
                _ => file.sync_all()?,
            }
            Ok(file)
        };
        let file = open().map_err(|source| failed(&path, source))?;
        Ok(Self {
            writers,
            samples: Samples::new(),
            syncs: 0,
            log: Log {
                file,
                state: Mutex::default(),
                synced: Condvar::new(),
            },
            path,
        })
    }

    pub(super) fn name(&self) -> String {
        format!("group commit, {} writers", self.writers)
    }

    /// The number of records that one fdatasync made durable, on average.
    pub(super) fn commits_per_sync(&self) -> f64 {
        self.samples.count() as f64 / self.syncs.max(1) as f64
    }

    pub(super) fn measure(&mut self, slice: Slice) -> Result<(), Error> {
        let start = Instant::now();
        let log = &self.log;
        let found: io::Result<Vec<Vec<Duration>>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.writers)
                .map(|_| scope.spawn(move || log.write(slice)))
                .collect();
            // A thread panics only if this program is wrong.
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let latencies = found.map_err(|source| failed(&self.path, source))?;
        self.samples.add_time(start.elapsed());
        latencies
            .into_iter()
            .flatten()
            .for_each(|latency| self.samples.record(latency));
        self.syncs = self.log.lock().syncs;
        Ok(())
    }
}

impl Log {
    /// One writer: returns how long each of its records took to be durable.
    fn write(&self, slice: Slice) -> io::Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        loop {
            let start = Instant::now();
            self.commit()?;
            latencies.push(start.elapsed());
            if slice.is_over() {
                return Ok(latencies);
            }
        }
    }

    /// Appends a record and waits until it is durable.
    fn commit(&self) -> io::Result<()> {
        let position = {
            let mut state = self.lock();
            state.placed += 1;
            state.placed * RECORD as u64 % LENGTH_MAX
        };
        let result = self.file.write_all_at(&[b'x'; RECORD], position);
        let mut state = self.lock();
        self.note(&mut state, result)?;
        state.written += 1;
        let mine = state.written;
        while state.synced < mine {
            if let Some(number) = state.failed {
                return Err(io::Error::from_raw_os_error(number));
            }
            state = if state.syncing {
                self.synced.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.sync(state)?
            };
        }
        Ok(())
    }

    /// Syncs the file for everyone who has written.
    fn sync<'a>(&'a self, mut state: MutexGuard<'a, State>) -> io::Result<MutexGuard<'a, State>> {
        state.syncing = true;
        let covered = state.written;
        drop(state);
        let result = self.file.sync_data();
        let mut state = self.lock();
        state.syncing = false;
        state.syncs += 1;
        self.synced.notify_all();
        self.note(&mut state, result)?;
        state.synced = covered;
        Ok(state)
    }

    /// Ends all waiting if a write or a sync failed.
    fn note(&self, state: &mut State, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            state.failed = Some(error.raw_os_error().unwrap_or(libc::EIO));
            self.synced.notify_all();
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_sync_serves_many_writers() {
        let scratch = Scratch::new().unwrap();
        let mut row = Row::new(&scratch, 8).unwrap();
        row.measure(Slice::new(Duration::from_millis(50))).unwrap();
        let commits = row.samples.count();
        assert!(commits >= 8, "each writer commits at least once: {commits}");
        assert!((1..=commits).contains(&row.syncs), "{} syncs", row.syncs);
        let state = row.log.lock();
        assert_eq!(
            (state.placed, state.written, state.synced),
            (commits, commits, commits)
        );
    }
}
