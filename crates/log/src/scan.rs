//! Reading a log from an offset to its end, with all checks: how indexes that are built on a log are filled at start.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::Batch;
use crate::cold::{answer, wait};
use crate::error::Error;
use crate::inspect::Walk;
use crate::log::Log;
use crate::read::Location;
use crate::scanner::Scanner;
use crate::segment::Segment;
use crate::storage::File;

impl Log {
    /// Calls `visit` for each batch from the one with offset `from` on, with its location. Every checksum is checked. The scan
    /// ends where the log ended when it began, and waits for the device.
    ///
    /// # Errors
    /// The log does not have the offset, a batch is damaged, or offsets are missing. `visit`'s own error ends the scan, too.
    pub fn scan<E: From<Error>>(
        &self,
        from: u64,
        mut visit: impl FnMut(Location, &Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (end, start) = (self.end(), self.start());
        if from < start || from > end {
            return Err(Error::OutOfRange {
                offset: from,
                start,
                end,
            }
            .into());
        }
        let mut from = from;
        while from < end {
            let segment = self.segment_at(from)?;
            let first = wait(|| answer(segment.find(from)))?;
            scan_segment(&segment, first.position, first.header.base_offset, &mut visit)?;
            from = segment.end();
        }
        Ok(())
    }
}

/// A part of a log that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The offsets of the records that are lost.
    pub offsets: Range<u64>,
    /// The offset at which their segment begins, or that of the next one if a segment is missing, and the position in it from
    /// which on records are newer than those that are lost.
    pub newer: (u64, u64),
    /// The fault, with file and position.
    pub error: Error,
}

impl Log {
    /// As [`scan`](Log::scan), but goes on behind what cannot be read, and reports it by `unreadable`. Batches before the one with
    /// offset `from` may be visited, too.
    ///
    /// # Errors
    /// The log does not have the offset. The error of a callback ends the scan, too.
    pub fn scan_around<E: From<Error>>(
        &self,
        from: u64,
        mut visit: impl FnMut(Location, &Batch<'_>) -> Result<(), E>,
        mut unreadable: impl FnMut(Unreadable) -> Result<(), E>,
    ) -> Result<(), E> {
        let (end, start) = (self.end(), self.start());
        if from < start || from > end {
            let offset = from;
            return Err(Error::OutOfRange { offset, start, end }.into());
        }
        let mut from = from;
        while from < end {
            let segment = match self.segment_at(from) {
                Ok(segment) => segment,
                Err(Error::Missing { from: lost, to }) => {
                    unreadable(Unreadable {
                        offsets: lost..to,
                        newer: (to, 0),
                        error: Error::Missing { from: lost, to },
                    })?;
                    from = to;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let first = wait(|| answer(segment.find(from)));
            let first = first.map_or((0, segment.base()), |first| {
                (first.position, first.header.base_offset)
            });
            scan_segment_around(&segment, first, &mut visit, &mut unreadable)?;
            from = segment.end();
        }
        Ok(())
    }
}

/// Visits the batches of one segment from a position and its offset on, and goes on behind what cannot be read.
fn scan_segment_around<E: From<Error>>(
    segment: &Arc<Segment>,
    (mut position, mut offset): (u64, u64),
    visit: &mut impl FnMut(Location, &Batch<'_>) -> Result<(), E>,
    unreadable: &mut impl FnMut(Unreadable) -> Result<(), E>,
) -> Result<(), E> {
    let file: Arc<dyn File> = segment.file()?;
    let (bytes, end) = (segment.bytes(), segment.end());
    loop {
        let mut scanner = Scanner::new(&*file, position, offset, bytes);
        let stop = loop {
            let position = scanner.position();
            match scanner.next() {
                Ok(None) => return Ok(()),
                Ok(Some(batch)) => {
                    let location = Location {
                        segment: segment.id(),
                        position,
                        bytes: batch.header().bytes,
                    };
                    visit(location, &batch)?;
                }
                Err(stop) => break stop,
            }
        };
        let (lost, expected) = (scanner.position(), scanner.expected());
        // What cannot be searched is lost as a whole.
        let next = Walk::behind(&*file, lost, expected, bytes, end).ok().flatten();
        (position, offset) = next.unwrap_or((bytes, end));
        unreadable(Unreadable {
            offsets: expected..offset,
            newer: (segment.base(), position),
            error: segment.stopped(lost, stop),
        })?;
        if next.is_none() {
            return Ok(());
        }
    }
}

/// Visits the batches of one segment.
pub(crate) fn scan_segment<E: From<Error>>(
    segment: &Arc<Segment>,
    position: u64,
    offset: u64,
    visit: &mut impl FnMut(Location, &Batch<'_>) -> Result<(), E>,
) -> Result<(), E> {
    scan_segment_from(segment, position, offset, u64::MAX, visit).map(|_| ())
}

/// Visits batches of one segment until about `bytes` bytes were read, and returns the position and the offset after them.
pub(crate) fn scan_segment_from<E: From<Error>>(
    segment: &Arc<Segment>,
    position: u64,
    offset: u64,
    bytes: u64,
    mut visit: impl FnMut(Location, &Batch<'_>) -> Result<(), E>,
) -> Result<(u64, u64), E> {
    let file: Arc<dyn File> = segment.file()?;
    let mut scanner = Scanner::new(&*file, position, offset, segment.bytes());
    let until = position.saturating_add(bytes);
    while scanner.position() < until {
        let position = scanner.position();
        match scanner.next() {
            Ok(None) => break,
            Ok(Some(batch)) => {
                let bytes = batch.header().bytes;
                visit(
                    Location {
                        segment: segment.id(),
                        position,
                        bytes,
                    },
                    &batch,
                )?;
            }
            Err(stop) => return Err(segment.stopped(position, stop).into()),
        }
    }
    Ok((scanner.position(), scanner.expected()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::batch::{Builder, NewRecord};
    use crate::storage::Simulated;
    use crate::{Options, SegmentId};

    /// Lost offsets, and where newer records begin.
    type Lost = (Range<u64>, (u64, u64));

    fn scan(log: &Log) -> (Vec<u64>, Vec<Lost>) {
        let (mut offsets, mut lost) = (Vec::new(), Vec::new());
        let visit = |_, batch: &Batch<'_>| {
            offsets.push(batch.header().base_offset);
            Ok::<(), Error>(())
        };
        let unreadable = |part: Unreadable| {
            lost.push((part.offsets, part.newer));
            Ok(())
        };
        log.scan_around(log.start(), visit, unreadable).unwrap();
        (offsets, lost)
    }

    #[test]
    fn a_scan_goes_on_behind_every_damaged_byte() {
        let storage = Simulated::new();
        let options = Options {
            segment_bytes: 400,
            ..Options::default()
        };
        let (log, _) = Log::open_in(Arc::new(storage.clone()), Path::new("log"), options).unwrap();
        let mut places = Vec::new();
        for number in 0..15_u8 {
            let mut builder = Builder::new();
            let record = NewRecord {
                value: Some(&[number; 20]),
                ..NewRecord::default()
            };
            builder.push(&record).unwrap();
            let appended = log.append(&[builder.finish()], 0).unwrap();
            places.push((
                appended.segment,
                appended.position..appended.position + appended.bytes,
            ));
        }
        let all: Vec<u64> = (0..15).collect();
        assert_eq!(scan(&log), (all, Vec::new()));
        for segment in log.segments() {
            let whole = storage.files()[segment.path()].clone();
            for at in 0..segment.bytes() {
                let mut damaged = whole.clone();
                damaged[at as usize] ^= 0x10;
                storage.put(segment.path(), damaged);
                let hit = |(id, range): &(SegmentId, Range<u64>)| *id == segment.id() && range.contains(&at);
                let hit = places.iter().position(hit).unwrap();
                let (offsets, lost) = scan(&log);
                // The leader's epoch is not checked.
                let epoch = places[hit].1.start + 12..places[hit].1.start + 16;
                if epoch.contains(&at) {
                    assert_eq!((offsets.len(), lost.len()), (15, 0));
                    continue;
                }
                assert!(
                    offsets
                        .iter()
                        .copied()
                        .eq((0..15).filter(|offset| *offset != hit as u64))
                );
                let newer = (segment.base(), places[hit].1.end);
                assert_eq!(lost, [(hit as u64..hit as u64 + 1, newer)], "byte {at}");
            }
            storage.put(segment.path(), whole);
        }
    }
}
