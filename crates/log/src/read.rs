//! Reading: by offset and by time, as ranges of files.
//!
//! **Invariant:** nothing here waits for the device, but for the methods that say so.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Batch, Batches};
use crate::cold::{Answer, Cold, Interrupted, answer, fetch, wait};
use crate::error::{Doing, Error, Fault};
use crate::log::Log;
use crate::segment::{Segment, SegmentId};
use crate::storage::{File, Mapped, read_full};

/// A range of one segment: bytes of whole batches, or any other range that a [`Location`] names.
///
/// It stays readable as long as it is held, also when the log removes or replaces the segment.
#[derive(Clone, Debug)]
pub struct Extent {
    segment: Arc<Segment>,
    position: u64,
    bytes: u64,
}

/// Where some bytes are in a log, for indexes that are built on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The segment's number.
    pub segment: SegmentId,
    /// The position in its file.
    pub position: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// A record that was found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The record's offset. In a compressed batch, it is the batch's first one.
    pub offset: u64,
    /// The record's timestamp. Of a compressed batch, it is the greatest one.
    pub timestamp: i64,
}

impl Log {
    /// Returns the batches with these offsets, whole and in order, as ranges of files: all that fit into `bytes_max`, but at
    /// least the first one. The first batch may begin before the first offset. Ranges end a little before `bytes_max` where
    /// the index has no entry.
    ///
    /// At the log's end, the result is empty. This does not wait for the device; the batches are not checked.
    ///
    /// # Errors
    /// The log does not have the first offset, or has lost it, or its files are damaged or cannot be opened.
    pub fn read(&self, offsets: Range<u64>, bytes_max: u64) -> Result<Answer<Vec<Extent>>, Error> {
        answer(self.extents(offsets, bytes_max))
    }

    /// The same, waiting for the device.
    ///
    /// # Errors
    /// As for [`Log::read`], and those of the device.
    pub fn read_blocking(&self, offsets: Range<u64>, bytes_max: u64) -> Result<Vec<Extent>, Error> {
        wait(|| self.read(offsets.clone(), bytes_max))
    }

    /// The first record, in order of offsets, whose timestamp is at or after the given one.
    ///
    /// # Errors
    /// The log's files are damaged or cannot be opened.
    pub fn find_time(&self, timestamp: i64) -> Result<Answer<Option<Timed>>, Error> {
        answer(self.timed(timestamp))
    }

    /// The same, waiting for the device.
    ///
    /// # Errors
    /// As for [`Log::find_time`], and those of the device.
    pub fn find_time_blocking(&self, timestamp: i64) -> Result<Option<Timed>, Error> {
        wait(|| self.find_time(timestamp))
    }

    /// The range of a location.
    ///
    /// # Errors
    /// The segment no longer exists.
    pub fn extent(&self, location: Location) -> Result<Extent, Error> {
        let segment = self.segment(location.segment)?;
        Ok(Extent {
            segment,
            position: location.position,
            bytes: location.bytes,
        })
    }

    fn extents(&self, offsets: Range<u64>, bytes_max: u64) -> Result<Vec<Extent>, Interrupted> {
        // The end first: it only grows, so an offset before it is there.
        let (end, start) = (self.end(), self.start());
        let Range {
            start: from,
            end: until,
        } = offsets;
        if from < start || from > end {
            return Err(Error::OutOfRange {
                offset: from,
                start,
                end,
            }
            .into());
        }
        let until = until.min(end);
        let mut extents: Vec<Extent> = Vec::new();
        let (mut from, mut left) = (from, bytes_max);
        while from < until {
            let segment = self.segment_at(from)?;
            let first = extents.is_empty();
            let extent = match range_within(&segment, from, until, left, first) {
                // The extents found so far are a result.
                Err(Interrupted::Cold(_)) if !first => break,
                range => range?,
            };
            let Some(range) = extent else { break };
            let bytes = range.end - range.start;
            let whole = range.end == segment.bytes() || until <= segment.end();
            from = segment.end();
            left = left.saturating_sub(bytes);
            extents.push(Extent {
                segment,
                position: range.start,
                bytes,
            });
            if !whole || left == 0 {
                break;
            }
        }
        Ok(extents)
    }

    /// The segment that has an offset.
    pub(crate) fn segment_at(&self, offset: u64) -> Result<Arc<Segment>, Error> {
        let segments = self.shared.segments.read();
        let at = segments.at(offset);
        let segment = segments.live[at].clone();
        if (segment.base()..segment.end()).contains(&offset) {
            return Ok(segment);
        }
        let next = segments.live.get(at + 1).map_or(self.end(), |next| next.base());
        Err(Error::Missing {
            from: segment.end().min(offset),
            to: next,
        })
    }

    fn timed(&self, timestamp: i64) -> Result<Option<Timed>, Interrupted> {
        let start = self.start();
        for segment in self.segments() {
            if segment.max_timestamp() < timestamp || segment.end() <= start {
                continue;
            }
            let mut from = segment.before_time(timestamp)?.max(start);
            while from < segment.end() {
                let located = segment.find(from)?;
                from = located.header.end_offset();
                if located.header.max_timestamp < timestamp {
                    continue;
                }
                let range = Extent::new(&segment, located.position, located.header.bytes);
                if let Some(found) = range.first_since(timestamp, start)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

/// The positions of the batches with offsets of a segment; nothing if they would be too large and need not be taken.
fn range_within(
    segment: &Arc<Segment>,
    from: u64,
    until: u64,
    bytes_max: u64,
    take_first: bool,
) -> Result<Option<Range<u64>>, Interrupted> {
    let bytes = segment.bytes();
    let (start, first_end) = if from == segment.base() && !take_first {
        (0, 0)
    } else {
        let first = segment.find(from)?;
        (first.position, first.position + first.header.bytes)
    };
    let until_position = if until >= segment.end() {
        bytes
    } else {
        let last = segment.find(until - 1)?;
        last.position + last.header.bytes
    };
    let limit = start.saturating_add(bytes_max);
    let end = if until_position <= limit {
        until_position
    } else {
        segment
            .boundary(limit)?
            .max(if take_first { first_end } else { 0 })
    };
    Ok((end > start).then_some(start..end))
}

impl Extent {
    pub(crate) fn new(segment: &Arc<Segment>, position: u64, bytes: u64) -> Extent {
        Extent {
            segment: segment.clone(),
            position,
            bytes,
        }
    }

    /// The segment.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Where the range begins in the segment's file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where this range is.
    pub fn location(&self) -> Location {
        Location {
            segment: self.segment.id(),
            position: self.position,
            bytes: self.bytes,
        }
    }

    /// The file, for `sendfile` and the like; `None` if the storage is simulated.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn system_file(&self) -> Result<Option<Arc<std::fs::File>>, Error> {
        Ok(self.segment.file()?.system_file().cloned())
    }

    /// Maps the range into memory. See [`Mapped`] for what happens when the device fails.
    ///
    /// # Errors
    /// Those of the system.
    pub fn map(&self) -> Result<Mapped, Error> {
        self.segment
            .file()?
            .map(self.position, self.bytes as usize)
            .doing("map", self.segment.path())
    }

    /// Appends the range to a buffer if all of it is in the page cache.
    ///
    /// # Errors
    /// The segment is shorter than the range, or cannot be read.
    pub fn read_into(&self, out: &mut Vec<u8>) -> Result<Answer<()>, Error> {
        let from = out.len();
        let result = self.fill(out, |file, buffer, position| {
            let mut done = 0;
            while done < buffer.len() {
                match file.read_resident_at(&mut buffer[done..], position + done as u64)? {
                    0 => break,
                    count => done += count,
                }
            }
            Ok(done)
        });
        match result {
            Ok(()) => Ok(Answer::Ready(())),
            Err(error) => {
                out.truncate(from);
                match error {
                    Error::Io { source, .. } if source.kind() == std::io::ErrorKind::WouldBlock => {
                        Ok(Answer::Cold(self.cold()))
                    }
                    error => Err(error),
                }
            }
        }
    }

    /// Appends the range to a buffer. This waits for the device.
    ///
    /// # Errors
    /// As for [`Extent::read_into`], and those of the device. The buffer may have grown by then.
    pub fn read_into_blocking(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.fill(out, |file, buffer, position| read_full(file, buffer, position))
    }

    fn fill(
        &self,
        out: &mut Vec<u8>,
        read: impl FnOnce(&dyn File, &mut [u8], u64) -> std::io::Result<usize>,
    ) -> Result<(), Error> {
        let file = self.segment.file()?;
        let from = out.len();
        out.resize(from + self.bytes as usize, 0);
        let count = read(&*file, &mut out[from..], self.position).doing("read", self.segment.path())?;
        if (count as u64) < self.bytes {
            let expected = self.position + self.bytes;
            return Err(self
                .segment
                .corrupt(self.position + count as u64, Fault::Short { expected }));
        }
        Ok(())
    }

    /// Returns true if the range's pages are in the page cache, as far as can be told from some of them: the first, the last,
    /// and one of each 64 KiB.
    pub fn is_resident(&self) -> bool {
        const STEP: u64 = 64 << 10;
        let Ok(file) = self.segment.file() else {
            return false;
        };
        let last = self.position + self.bytes.max(1) - 1;
        let mut probes = (self.position..last).step_by(STEP as usize).chain([last]);
        probes.all(|position| file.read_resident_at(&mut [0], position).is_ok())
    }

    /// The work of reading the range into the page cache, for another thread.
    pub fn cold(&self) -> Cold {
        Cold::range(&self.segment, self.position, self.bytes)
    }

    /// Reads the range into the page cache, and checks the batches that it lies in. This waits for the device.
    ///
    /// Ranges that are sent without a look at their bytes should be fetched so when they are found to be cold: pages that the
    /// device damaged are noticed when they are read from it.
    ///
    /// # Errors
    /// The device failed, or a batch is damaged.
    pub fn fetch_checked(&self) -> Result<(), Error> {
        let end = self.position + self.bytes;
        let mut position = self.position;
        let mut buffer = Vec::new();
        while position < end {
            let located = wait(|| answer(self.segment.find_position(position)))?;
            let batch = Extent::new(&self.segment, located.position, located.header.bytes);
            buffer.clear();
            batch.read_into_blocking(&mut buffer)?;
            Batch::parse(&buffer).map_err(|error| self.segment.corrupt(located.position, error.into()))?;
            position = located.position + located.header.bytes;
        }
        Ok(())
    }

    /// Reads the range into the page cache. This waits for the device.
    ///
    /// # Errors
    /// The device failed.
    pub fn fetch(&self) -> Result<(), Error> {
        fetch(&self.segment, self.position, self.bytes)
    }

    /// The first record of these batches at or after a timestamp and an offset.
    fn first_since(&self, timestamp: i64, start: u64) -> Result<Option<Timed>, Interrupted> {
        let mut bytes = Vec::new();
        if let Answer::Cold(cold) = self.read_into(&mut bytes)? {
            return Err(cold.into());
        }
        for batch in Batches::new(&bytes) {
            let batch = batch.map_err(|error| self.segment.corrupt(self.position, error.into()))?;
            let header = batch.header();
            let Ok(records) = batch.records() else {
                return Ok(Some(Timed {
                    offset: header.base_offset.max(start),
                    timestamp: header.max_timestamp,
                }));
            };
            for record in records {
                let record = record.map_err(|error| self.segment.corrupt(self.position, error.into()))?;
                if record.timestamp >= timestamp && record.offset >= start {
                    return Ok(Some(Timed {
                        offset: record.offset,
                        timestamp: record.timestamp,
                    }));
                }
            }
        }
        Ok(None)
    }
}
