//! The table of the article about Amazon's Elastic File System: one thread per file opens it, writes, syncs and closes.

use super::Slice;
use super::latency::failed;
use super::samples::Samples;
use crate::Error;
use crate::scratch::Scratch;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes per write.
pub(super) const SIZES: [usize; 3] = [1, 1024, 10 * 1024];
/// Numbers of files that are written at the same time.
pub(super) const COUNTS: [usize; 5] = [1, 4, 10, 20, 40];

pub(super) struct Row {
    pub(super) bytes: usize,
    pub(super) paths: Vec<PathBuf>,
    pub(super) samples: Samples,
}

impl Row {
    pub(super) fn new(scratch: &Scratch, bytes: usize, count: usize) -> Self {
        Self {
            bytes,
            paths: (0..count)
                .map(|number| scratch.path().join(format!("file-{number}")))
                .collect(),
            samples: Samples::new(),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{} B to each of {} files", self.bytes, self.paths.len())
    }

    pub(super) fn measure(&mut self, slice: Slice) -> Result<(), Error> {
        let start = Instant::now();
        let content = vec![b'x'; self.bytes];
        let content = &content;
        let found: Result<Vec<Vec<Duration>>, Error> = thread::scope(|scope| {
            let spawn = |path| scope.spawn(move || write(path, content, slice));
            let threads: Vec<_> = self.paths.iter().map(|path| spawn(path.as_path())).collect();
            // A thread panics only if this program is wrong.
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let latencies = found?;
        self.samples.add_time(start.elapsed());
        latencies
            .into_iter()
            .flatten()
            .for_each(|latency| self.samples.record(latency));
        Ok(())
    }
}

/// Writes the start of one file again and again, and returns how long each time took.
fn write(path: &Path, content: &[u8], slice: Slice) -> Result<Vec<Duration>, Error> {
    let mut latencies = Vec::new();
    loop {
        let start = Instant::now();
        write_once(path, content).map_err(|source| failed(path, source))?;
        latencies.push(start.elapsed());
        if slice.is_over() {
            return Ok(latencies);
        }
    }
}

/// The file is closed on return.
fn write_once(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.write_all_at(content, 0)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_file_is_written() {
        let scratch = Scratch::new().unwrap();
        let mut row = Row::new(&scratch, 10, 3);
        row.measure(Slice::new(Duration::from_millis(20))).unwrap();
        assert!(row.samples.count() >= 3);
        for path in &row.paths {
            assert_eq!(std::fs::read(path).unwrap(), [b'x'; 10]);
        }
    }
}
