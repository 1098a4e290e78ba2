//! Reading a segment's batches from its file, one after the other, with all checks.

use std::io;

use crate::batch::{Batch, BatchError, BatchHeader, HEADER_BYTES};
use crate::error::Fault;
use crate::storage::{File, read_full};

/// Bytes that one read asks for, if no batch needs more.
const CHUNK: usize = 1 << 20;

/// Bytes that are read at once when zeros are looked for.
const UNUSED_CHUNK: usize = 64 << 10;

/// Why a scan stopped before the end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The file cannot be read.
    Io(io::Error),
    /// The bytes at the scanner's position are not what should be there.
    Fault(Fault),
}

/// Reads batches in order. The scanner is at the position of the next batch, and stays there if that one is not whole.
#[derive(Debug)]
pub(crate) struct Scanner<'f> {
    file: &'f dyn File,
    /// The position of the next batch, the offset it must have, and where the segment ends.
    position: u64,
    expected: u64,
    end: u64,
    /// Bytes of the file from `position` on are at `buffer[start..filled]`.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
}

impl<'f> Scanner<'f> {
    /// Reads from a batch's position, where `expected` is that batch's offset, up to `end`.
    pub(crate) fn new(file: &'f dyn File, position: u64, expected: u64, end: u64) -> Scanner<'f> {
        Scanner {
            file,
            position,
            expected,
            end,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
        }
    }

    /// The position after the batches that were returned.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The offset after the batches that were returned.
    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns the next batch, or `None` at the end. The records are not checked.
    pub(crate) fn next(&mut self) -> Result<Option<Batch<'_>>, Stop> {
        let left = self.end.saturating_sub(self.position);
        if left == 0 {
            return Ok(None);
        }
        self.fill((HEADER_BYTES as u64).min(left))?;
        let header = BatchHeader::parse(&self.buffer[self.start..self.filled])?;
        if header.bytes > left {
            return Err(BatchError::Incomplete {
                need: header.bytes,
                have: left,
            }
            .into());
        }
        self.fill(header.bytes)?;
        let from = self.start;
        let expected = self.expected;
        let batch = Batch::parse(&self.buffer[from..self.filled])?;
        if header.base_offset != expected {
            return Err(Stop::Fault(Fault::Offset {
                found: header.base_offset,
                expected,
            }));
        }
        self.start += header.bytes as usize;
        self.position += header.bytes;
        self.expected = header.end_offset();
        Ok(Some(batch))
    }

    /// Makes sure that `need` bytes are in the buffer, which the file has according to `end`.
    fn fill(&mut self, need: u64) -> Result<(), Stop> {
        let have = (self.filled - self.start) as u64;
        if have >= need {
            return Ok(());
        }
        let left = self.end - self.position;
        let want = need.max(left.min(CHUNK as u64)) as usize;
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        let at = self.position + self.filled as u64;
        self.filled += read_full(self.file, &mut self.buffer[self.filled..want], at).map_err(Stop::Io)?;
        if (self.filled as u64) < need {
            let have = self.filled as u64;
            return Err(BatchError::Incomplete { need, have }.into());
        }
        Ok(())
    }
}

/// Returns true if a file has only zeros from a position on, up to `end`: space for appends that were not made.
pub(crate) fn is_unused(file: &dyn File, mut position: u64, end: u64) -> io::Result<bool> {
    let mut buffer = vec![0; UNUSED_CHUNK];
    while position < end {
        let most = (end - position).min(UNUSED_CHUNK as u64) as usize;
        let count = read_full(file, &mut buffer[..most], position)?;
        if buffer[..count].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        if count < most {
            break;
        }
        position += count as u64;
    }
    Ok(true)
}

impl From<BatchError> for Stop {
    fn from(error: BatchError) -> Stop {
        Stop::Fault(Fault::Batch(error))
    }
}
