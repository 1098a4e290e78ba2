//! Checking batches that come from the device, for indexes that are built on a log.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Batch, BatchError, BatchHeader, CHECKED_FROM, HEADER_BYTES};
use crate::checksum::Digest;
use crate::cold::{answer, wait};
use crate::error::{Doing, Error, Fault};
use crate::segment::Segment;
use crate::storage::{Advice, File, read_full};

/// Bytes that are read at once. A larger batch is checked piece by piece, so that memory stays bounded.
const CHUNK: usize = 256 << 10;

impl Segment {
    /// Reads the batches that have any byte of a range, and checks them. Returns their range. This waits for the device.
    ///
    /// # Errors
    /// The device failed, or a batch is damaged.
    pub fn check(self: &Arc<Self>, range: Range<u64>) -> Result<Range<u64>, Error> {
        let first = wait(|| answer(self.find_position(range.start)))?;
        let file = self.file()?;
        let end = self.bytes();
        let (begin, mut position, mut expected) = (first.position, first.position, first.header.base_offset);
        let until = range.end.min(end);
        let mut buffer = vec![0; CHUNK.min((end - begin) as usize)];
        while position < until {
            // The last batch may be longer than the range; what follows it is not needed.
            let want = (until - position).max(HEADER_BYTES as u64).min(end - position);
            let most = buffer.len().min(want as usize);
            file.advise(position, most as u64, Advice::WillNeed);
            let count = read_full(&*file, &mut buffer[..most], position).doing("read", self.path())?;
            let mut used = 0;
            while let Some(header) = self.whole(&buffer[used..count], position, expected, end)? {
                used += header.bytes as usize;
                position += header.bytes;
                expected = header.end_offset();
            }
            if used == 0 {
                let header = self.check_large(&*file, position, expected, &mut buffer)?;
                position += header.bytes;
                expected = header.end_offset();
            }
        }
        Ok(begin..position)
    }

    /// Checks the batch at the beginning of `bytes`; `None` if not all of it is there.
    fn whole(
        &self,
        bytes: &[u8],
        position: u64,
        expected: u64,
        end: u64,
    ) -> Result<Option<BatchHeader>, Error> {
        if bytes.len() < HEADER_BYTES {
            return Ok(None);
        }
        let header = BatchHeader::parse(bytes).map_err(|error| self.corrupt(position, error.into()))?;
        self.check_header(&header, position, expected, end)?;
        if header.bytes > bytes.len() as u64 {
            return Ok(None);
        }
        Batch::parse(bytes).map_err(|error| self.corrupt(position, error.into()))?;
        Ok(Some(header))
    }

    fn check_header(
        &self,
        header: &BatchHeader,
        position: u64,
        expected: u64,
        end: u64,
    ) -> Result<(), Error> {
        if header.base_offset != expected {
            let found = header.base_offset;
            return Err(self.corrupt(position, Fault::Offset { found, expected }));
        }
        if header.bytes > end - position {
            let (need, have) = (header.bytes, end - position);
            return Err(self.corrupt(position, BatchError::Incomplete { need, have }.into()));
        }
        Ok(())
    }

    /// Checks a batch piece by piece.
    fn check_large(
        &self,
        file: &dyn File,
        position: u64,
        expected: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<BatchHeader, Error> {
        let mut head = [0; HEADER_BYTES];
        self.read_exact(file, &mut head, position)?;
        let header = BatchHeader::parse(&head).map_err(|error| self.corrupt(position, error.into()))?;
        self.check_header(&header, position, expected, self.bytes())?;
        let mut digest = Digest::new();
        digest.update(&head[CHECKED_FROM..]);
        buffer.resize(CHUNK, 0);
        let (mut at, end) = (position + HEADER_BYTES as u64, position + header.bytes);
        while at < end {
            let piece = (end - at).min(CHUNK as u64) as usize;
            file.advise(at, piece as u64, Advice::WillNeed);
            self.read_exact(file, &mut buffer[..piece], at)?;
            digest.update(&buffer[..piece]);
            at += piece as u64;
        }
        let (found, computed) = (header.crc, digest.finish());
        if found != computed {
            return Err(self.corrupt(position, BatchError::Checksum { found, computed }.into()));
        }
        Ok(header)
    }

    fn read_exact(&self, file: &dyn File, buffer: &mut [u8], position: u64) -> Result<(), Error> {
        let count = read_full(file, buffer, position).doing("read", self.path())?;
        if count < buffer.len() {
            let expected = self.bytes();
            return Err(self.corrupt(position + count as u64, Fault::Short { expected }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::batch::{Builder, NewRecord};
    use crate::storage::Simulated;
    use crate::{Log, Options};

    /// A log with records of these lengths, a batch each, and the ranges of its batches.
    fn log_of(storage: &Simulated, lengths: &[usize]) -> (Log, Vec<Range<u64>>) {
        let (log, _) = Log::open_in(Arc::new(storage.clone()), Path::new("log"), Options::default()).unwrap();
        let mut ranges = Vec::new();
        for &length in lengths {
            let mut builder = Builder::new();
            let value = vec![7; length];
            let record = NewRecord {
                value: Some(&value),
                ..NewRecord::default()
            };
            builder.push(&record).unwrap();
            let batch = builder.finish();
            let bytes = batch.bytes().len() as u64;
            let position = log.append(&[batch], 0).unwrap().position;
            ranges.push(position..position + bytes);
        }
        (log, ranges)
    }

    #[test]
    fn the_batches_of_a_range_are_checked_and_no_others() {
        let storage = Simulated::new();
        let lengths = [100, 300_000, 20, 500, 1_000_000, 5];
        let (log, ranges) = log_of(&storage, &lengths);
        let segment = &log.segments()[0];
        let path = segment.path().to_owned();
        let whole = storage.files()[&path].clone();
        for (number, range) in ranges.iter().enumerate() {
            assert_eq!(segment.check(range.start..range.start + 1).unwrap(), *range);
            assert_eq!(segment.check(range.end - 1..range.end).unwrap(), *range);
            assert_eq!(segment.check(0..range.end).unwrap(), 0..range.end);
            let mut damaged = whole.clone();
            damaged[range.start as usize + 70] ^= 4;
            storage.put(&path, damaged);
            for (other, checked) in ranges.iter().enumerate() {
                let result = segment.check(checked.clone());
                assert_eq!(result.is_err(), other == number, "{number} {other} {result:?}");
            }
            let error = segment.check(0..ranges[5].end).unwrap_err().to_string();
            assert!(error.contains(&format!(":{}: ", range.start)), "{error}");
            storage.put(&path, whole.clone());
        }
    }

    #[test]
    fn a_device_that_fails_is_an_error() {
        let storage = Simulated::new();
        let (log, ranges) = log_of(&storage, &[100, 300_000]);
        storage.fail_reads(Some(5));
        for range in ranges {
            assert!(matches!(log.segments()[0].check(range), Err(Error::Io { .. })));
        }
    }
}
