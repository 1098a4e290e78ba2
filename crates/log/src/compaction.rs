//! Compaction by key: of the records with one key, the newest stays.
//!
//! Two passes: the first notes the newest offset of each key in the segments that were not compacted before; the second rewrites
//! the complete segments without the records that are older. A tombstone stays for a delay after the first compaction that
//! has seen it, so that a reader who is behind learns of it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cold::{answer, wait};
use crate::error::Error;
use crate::log::Log;
use crate::rewrite::{Candidate, Judge, PLAIN_BYTES_MAX, Verdict};
use crate::scan::scan_segment;
use crate::segment::Segment;

/// Bytes that are read between two calls of the caller's `pause`.
const STEP_BYTES: u64 = 1 << 20;
/// Approximate memory for an entry of the map, in addition to its key.
const ENTRY_BYTES: u64 = 64;

/// The newest offset of each key.
type Keys = HashMap<Box<[u8]>, u64>;

/// Options of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// The time in milliseconds since 1970.
    pub now: i64,
    /// How long tombstones stay after their first compaction, in milliseconds. The default is a day.
    pub tombstone_delay_ms: u64,
    /// Memory for the keys. Segments whose keys do not fit are left for the next time. The default is 128 MiB.
    pub memory_bytes_max: u64,
}

impl Compaction {
    /// A compaction with defaults at this time.
    pub fn at(now: i64) -> Compaction {
        Compaction {
            now,
            tombstone_delay_ms: 24 * 60 * 60 * 1000,
            memory_bytes_max: 128 << 20,
        }
    }
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Bytes of the segments that were rewritten, before and after.
    pub bytes_before: u64,
    /// See `bytes_before`.
    pub bytes_after: u64,
    /// Records that were removed.
    pub removed: u64,
    /// Segments that were not compacted for lack of memory.
    pub left: usize,
}

impl Log {
    /// Removes records from complete segments whose key has a newer record in a complete segment, and tombstones whose time has
    /// come. Records without a key stay, and so do compressed batches that cannot be decompressed or have more than 64 MiB of records.
    ///
    /// `pause` is called after about each MiB that was read, with the number of bytes: a caller that sleeps there bounds the
    /// share of the processor and the device. This waits for the device.
    ///
    /// # Errors
    /// A segment is damaged, the log refuses writes, or the system refuses. Segments that were rewritten by then stay rewritten.
    pub fn compact(&self, options: Compaction, pause: &mut dyn FnMut(u64)) -> Result<Compacted, Error> {
        let mut complete = self.segments();
        complete.pop();
        let dirty = complete.iter().position(|segment| segment.generation() == 0);
        let dirty = dirty.unwrap_or(complete.len());
        let (keys, covered) = self.newest(&complete[dirty..], options.memory_bytes_max, pause)?;
        let covered = dirty + covered;
        let mut compacted = Compacted {
            left: complete.len() - covered,
            ..Compacted::default()
        };
        complete.truncate(covered);
        let mut newest = Newest {
            keys,
            now: options.now,
            removed: 0,
        };
        let delay = i64::try_from(options.tombstone_delay_ms).unwrap_or(i64::MAX);
        let horizon = options.now.saturating_add(delay);
        for run in runs(&complete, self.shared.options.segment_bytes) {
            newest.removed = 0;
            let mut rewrite = self.rewrite(run, horizon)?;
            while !rewrite.step(STEP_BYTES, &mut newest)? {
                pause(STEP_BYTES);
            }
            let before: u64 = run.iter().map(|segment| segment.bytes()).sum();
            if let Some(replaced) = rewrite.install()? {
                compacted.bytes_before += before;
                compacted.bytes_after += replaced.new.bytes();
                compacted.removed += newest.removed;
            }
        }
        Ok(compacted)
    }

    /// The newest offset of each key in the first of these segments, as many as fit into memory; and how many these are.
    fn newest(
        &self,
        segments: &[Arc<Segment>],
        bytes_max: u64,
        pause: &mut dyn FnMut(u64),
    ) -> Result<(Keys, usize), Error> {
        let mut keys = Keys::new();
        let mut bytes = 0;
        let mut memory = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let mut read = 0;
            wait(|| answer(segment.find(segment.base())))?;
            scan_segment::<Error>(segment, 0, segment.base(), &mut |location, batch| {
                read += location.bytes;
                if read >= STEP_BYTES {
                    pause(std::mem::take(&mut read));
                }
                let plain = batch.decompressed(PLAIN_BYTES_MAX, &mut memory);
                let (batch, is_compressed) = plain.map_or((*batch, false), |(plain, _)| (plain, true));
                let Ok(records) = batch.records() else {
                    return Ok(());
                };
                for record in records {
                    let record = match record {
                        Ok(record) => record,
                        // The batch stays as it is.
                        Err(_) if is_compressed => break,
                        Err(error) => return Err(segment.corrupt(location.position, error.into())),
                    };
                    let Some(key) = record.key else { continue };
                    if let Some(newest) = keys.get_mut(key) {
                        *newest = record.offset;
                    } else {
                        bytes += key.len() as u64 + ENTRY_BYTES;
                        keys.insert(key.into(), record.offset);
                    }
                }
                Ok(())
            })?;
            // One segment is always taken, or there would be no progress.
            if bytes > bytes_max {
                return Ok((keys, number + 1));
            }
        }
        Ok((keys, segments.len()))
    }
}

/// Keeps the newest record of each key.
struct Newest {
    keys: Keys,
    now: i64,
    removed: u64,
}

impl Judge for Newest {
    fn judges_compressed(&self) -> bool {
        true
    }

    fn judge(&mut self, candidate: &Candidate<'_>) -> Verdict {
        let record = candidate.record;
        let Some(key) = record.key else {
            return Verdict::Keep;
        };
        let superseded = self.keys.get(key).is_some_and(|&newest| newest > record.offset);
        let expired = record.value.is_none()
            && candidate
                .delete_horizon
                .is_some_and(|horizon| horizon <= self.now);
        if superseded || expired {
            self.removed += 1;
            return Verdict::Drop;
        }
        Verdict::Keep
    }
}

/// Groups adjacent segments that are not larger than one segment together.
fn runs(segments: &[Arc<Segment>], bytes_max: u64) -> Vec<&[Arc<Segment>]> {
    let mut runs = Vec::new();
    let mut from = 0;
    let mut bytes = 0;
    for (at, segment) in segments.iter().enumerate() {
        let offsets = segment.end() - segments[from].base();
        if at > from && (bytes + segment.bytes() > bytes_max || offsets > u64::from(u32::MAX)) {
            runs.push(&segments[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += segment.bytes();
    }
    if from < segments.len() {
        runs.push(&segments[from..]);
    }
    runs
}
