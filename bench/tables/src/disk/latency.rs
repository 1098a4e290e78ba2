//! One thread writes 4 KiB and waits until they are on the disk.

use super::samples::Samples;
use super::{SPACE, Slice};
use crate::Error;
use crate::scratch::Scratch;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The size of a write.
const BLOCK: usize = 4096;
/// A file that reaches this length is emptied, or written from its start again.
const LENGTH_MAX: u64 = 32 << 20;

/// The place of a write in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    AppendPreallocated,
    Append,
    Overwrite,
}

impl Way {
    pub(super) const ALL: [Way; 3] = [Way::AppendPreallocated, Way::Append, Way::Overwrite];

    pub(super) fn key(self) -> &'static str {
        match self {
            Way::AppendPreallocated => "append-preallocated",
            Way::Append => "append",
            Way::Overwrite => "overwrite",
        }
    }

    pub(super) fn what(self) -> &'static str {
        match self {
            Way::AppendPreallocated => "append to preallocated space",
            Way::Append => "append",
            Way::Overwrite => "overwrite",
        }
    }
}

pub(super) struct Row {
    pub(super) way: Way,
    pub(super) samples: Samples,
    /// The reason why this way cannot be measured.
    pub(super) reason: Option<String>,
    file: File,
    path: PathBuf,
    position: u64,
}

impl Row {
    pub(super) fn new(scratch: &Scratch, way: Way) -> Result<Self, Error> {
        let path = scratch.path().join(way.key());
        let create = || {
            File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)
        };
        let file = create().map_err(|source| failed(&path, source))?;
        let mut row = Self {
            way,
            samples: Samples::new(),
            reason: None,
            file,
            path,
            position: 0,
        };
        match row.prepare() {
            Err(source) if source.kind() == io::ErrorKind::Unsupported => {
                row.reason = Some(format!("the file system cannot preallocate: {source}"));
                Ok(row)
            }
            Err(source) => Err(failed(&row.path, source)),
            Ok(()) => Ok(row),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("fdatasync, {}", self.way.what())
    }

    /// Writes for a while, each time followed by fdatasync.
    pub(super) fn measure(&mut self, slice: Slice) -> Result<(), Error> {
        if self.reason.is_some() {
            return Ok(());
        }
        loop {
            self.write_one().map_err(|source| failed(&self.path, source))?;
            if slice.is_over() {
                return Ok(());
            }
        }
    }

    /// Makes the file as this way needs it, and durable.
    fn prepare(&mut self) -> io::Result<()> {
        match self.way {
            Way::Append => self.file.set_len(0)?,
            Way::AppendPreallocated => {
                self.file.set_len(0)?;
                preallocate(&self.file, LENGTH_MAX)?;
            }
            Way::Overwrite => {
                let zeroes = vec![0; 1 << 20];
                for position in (0..LENGTH_MAX).step_by(zeroes.len()) {
                    self.file.write_all_at(&zeroes, position)?;
                }
            }
        }
        self.position = 0;
        self.file.sync_all()
    }

    fn write_one(&mut self) -> io::Result<()> {
        if self.position == LENGTH_MAX {
            match self.way {
                Way::Overwrite => self.position = 0,
                Way::Append | Way::AppendPreallocated => self.prepare()?,
            }
        }
        let start = Instant::now();
        self.file.write_all_at(&[b'x'; BLOCK], self.position)?;
        self.file.sync_data()?;
        let latency = start.elapsed();
        self.samples.record(latency);
        self.samples.add_time(latency);
        self.position += BLOCK as u64;
        Ok(())
    }
}

/// Allocates the space of a file as stores do: its length stays.
pub(super) fn preallocate(file: &File, length: u64) -> io::Result<()> {
    fallocate(file, FallocateFlags::KEEP_SIZE, 0, length).map_err(Into::into)
}

/// The error of a file that cannot be written.
pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full {
            path,
            needed: SPACE,
            source,
        },
        _ => Error::File { path, source },
    }
}
