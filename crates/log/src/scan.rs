//! Reading a log from an offset to its end, with all checks: how indexes that are built on a log are filled at start.

use std::sync::Arc;

use crate::batch::Batch;
use crate::cold::{answer, wait};
use crate::error::Error;
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
