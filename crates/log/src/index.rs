//! The sparse indexes of a segment: from offset to position, and from time to offset.
//!
//! An entry is made for the first batch, and for each batch that begins at least [`INTERVAL`] bytes after the last entry's.
//! A lookup finds the last entry before its target and walks the batch headers from there.
//!
//! **Invariant:** indexes are derived data. One that is missing, damaged or stale is rebuilt from the segment; each lookup
//! compares the batch that it arrives at with the entry.

use crate::batch::BatchHeader;
use crate::checksum;

/// The least distance between the batches of two entries.
pub(crate) const INTERVAL: u64 = 4096;

const VERSION: u32 = 1;
const HEADER_BYTES: usize = 48;
const OFFSET_ENTRY_BYTES: usize = 8;
const TIME_ENTRY_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// The beginning of an index file, which tells the two kinds apart.
const OFFSET_MAGIC: &[u8; 8] = b"HKOFFSET";
const TIME_MAGIC: &[u8; 8] = b"HKTIMES\0";

/// Where a batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetEntry {
    /// The batch's base offset minus the segment's.
    offset: u32,
    position: u32,
}

/// All records before the batch with this offset are older than the timestamp, or as old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeEntry {
    timestamp: i64,
    offset: u32,
}

/// Both indexes of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    base: u64,
    offsets: Vec<OffsetEntry>,
    times: Vec<TimeEntry>,
    /// Bytes of the segment that the index describes.
    covered: u64,
    /// The offset after the batches that the index describes.
    end: u64,
    max_timestamp: i64,
}

impl Index {
    /// The index of an empty segment.
    pub(crate) fn new(base: u64) -> Index {
        Index {
            base,
            offsets: Vec::new(),
            times: Vec::new(),
            covered: 0,
            end: base,
            max_timestamp: i64::MIN,
        }
    }

    /// The segment's base offset.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Bytes of the segment that the index describes.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    /// The offset after the batches that the index describes.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The greatest timestamp of all records; `i64::MIN` if there are none.
    pub(crate) fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Describes the batch that begins where the index ends. Its offset may differ from the one in the header, which is what
    /// a log has assigned.
    pub(crate) fn push(&mut self, offset: u64, header: &BatchHeader) {
        let (relative, position) = (offset - self.base, self.covered);
        let due = self
            .offsets
            .last()
            .is_none_or(|last| position - u64::from(last.position) >= INTERVAL);
        // The segment is rolled before either number leaves 32 bits.
        if let (true, Ok(offset), Ok(position)) = (due, u32::try_from(relative), u32::try_from(position)) {
            self.offsets.push(OffsetEntry { offset, position });
            if self
                .times
                .last()
                .is_none_or(|last| last.timestamp < self.max_timestamp)
                && position > 0
            {
                self.times.push(TimeEntry {
                    timestamp: self.max_timestamp,
                    offset,
                });
            }
        }
        self.covered += header.bytes;
        self.end = offset + header.offsets();
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp);
    }

    /// The base offset and the position of the last indexed batch that begins at or before an offset. An empty index knows
    /// only the segment's beginning.
    pub(crate) fn before_offset(&self, offset: u64) -> (u64, u64) {
        let relative = offset.saturating_sub(self.base);
        let after = self
            .offsets
            .partition_point(|entry| u64::from(entry.offset) <= relative);
        self.entry(after)
    }

    /// The same for a position.
    pub(crate) fn before_position(&self, position: u64) -> (u64, u64) {
        let after = self
            .offsets
            .partition_point(|entry| u64::from(entry.position) <= position);
        self.entry(after)
    }

    /// The entry before the one with this number.
    fn entry(&self, after: usize) -> (u64, u64) {
        match after.checked_sub(1).and_then(|at| self.offsets.get(at)) {
            Some(entry) => (self.base + u64::from(entry.offset), u64::from(entry.position)),
            None => (self.base, 0),
        }
    }

    /// An offset such that all records before it are older than the timestamp.
    pub(crate) fn before_time(&self, timestamp: i64) -> u64 {
        let after = self.times.partition_point(|entry| entry.timestamp < timestamp);
        let entry = after.checked_sub(1).and_then(|at| self.times.get(at));
        self.base + entry.map_or(0, |entry| u64::from(entry.offset))
    }

    /// The two files, offsets first.
    pub(crate) fn encode(&self) -> [Vec<u8>; 2] {
        let mut offsets = self.encode_header(OFFSET_MAGIC, self.offsets.len());
        for entry in &self.offsets {
            offsets.extend(entry.offset.to_be_bytes());
            offsets.extend(entry.position.to_be_bytes());
        }
        let mut times = self.encode_header(TIME_MAGIC, self.times.len());
        for entry in &self.times {
            times.extend(entry.timestamp.to_be_bytes());
            times.extend(entry.offset.to_be_bytes());
        }
        for file in [&mut offsets, &mut times] {
            let crc = checksum::of(file);
            file.extend(crc.to_be_bytes());
        }
        [offsets, times]
    }

    fn encode_header(&self, magic: &[u8; 8], count: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + count * TIME_ENTRY_BYTES + CHECKSUM_BYTES);
        out.extend(magic);
        out.extend(VERSION.to_be_bytes());
        out.extend((count as u32).to_be_bytes());
        out.extend(self.base.to_be_bytes());
        out.extend(self.covered.to_be_bytes());
        out.extend(self.end.to_be_bytes());
        out.extend(self.max_timestamp.to_be_bytes());
        out
    }

    /// Reads the two files; `None` if they are not the intact indexes of one state of this segment.
    pub(crate) fn decode(base: u64, offsets: &[u8], times: &[u8]) -> Option<Index> {
        let (state, entries) = decode_file(base, OFFSET_MAGIC, OFFSET_ENTRY_BYTES, offsets)?;
        let (time_state, time_entries) = decode_file(base, TIME_MAGIC, TIME_ENTRY_BYTES, times)?;
        if time_state != state {
            return None;
        }
        let State {
            covered,
            end,
            max_timestamp,
        } = state;
        let offsets: Vec<OffsetEntry> = entries
            .chunks_exact(OFFSET_ENTRY_BYTES)
            .filter_map(|entry| {
                Some(OffsetEntry {
                    offset: u32_at(entry, 0)?,
                    position: u32_at(entry, 4)?,
                })
            })
            .collect();
        let times: Vec<TimeEntry> = time_entries
            .chunks_exact(TIME_ENTRY_BYTES)
            .filter_map(|entry| {
                Some(TimeEntry {
                    timestamp: i64_at(entry, 0)?,
                    offset: u32_at(entry, 8)?,
                })
            })
            .collect();
        let ordered = offsets.is_sorted_by(|a, b| a.offset < b.offset && a.position < b.position)
            && times.is_sorted_by(|a, b| a.offset < b.offset && a.timestamp < b.timestamp)
            && offsets
                .first()
                .is_none_or(|first| first.offset == 0 && first.position == 0);
        ordered.then_some(Index {
            base,
            offsets,
            times,
            covered,
            end,
            max_timestamp,
        })
    }

    /// Bytes of both files, for limits.
    pub(crate) fn bytes_max(segment_bytes: u64) -> u64 {
        let entries = segment_bytes / INTERVAL + 2;
        entries * TIME_ENTRY_BYTES as u64 + (HEADER_BYTES + CHECKSUM_BYTES) as u64
    }
}

/// The state of a segment that an index file describes.
#[derive(PartialEq)]
struct State {
    covered: u64,
    end: u64,
    max_timestamp: i64,
}

/// The state that an index file describes, and its entries.
fn decode_file<'a>(
    base: u64,
    magic: &[u8; 8],
    entry_bytes: usize,
    file: &'a [u8],
) -> Option<(State, &'a [u8])> {
    let (content, crc) = file.split_last_chunk::<CHECKSUM_BYTES>()?;
    let (header, entries) = content.split_at_checked(HEADER_BYTES)?;
    let intact = checksum::of(content) == u32::from_be_bytes(*crc)
        && header.starts_with(magic)
        && u32_at(header, 8)? == VERSION
        && u64::from(u32_at(header, 12)?) * entry_bytes as u64 == entries.len() as u64
        && i64_at(header, 16)? as u64 == base;
    let state = State {
        covered: i64_at(header, 24)? as u64,
        end: i64_at(header, 32)? as u64,
        max_timestamp: i64_at(header, 40)?,
    };
    intact.then_some((state, entries))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::{Builder, NewRecord};

    /// Batches of about 1 KiB; the timestamps rise and fall.
    fn index() -> (Index, Vec<(u64, u64, i64)>) {
        let (mut index, mut batches) = (Index::new(100), Vec::new());
        let mut builder = Builder::new();
        for number in 0..40u64 {
            builder.clear();
            let timestamp = (number * 10) as i64 - if number % 7 == 0 { 35 } else { 0 };
            for _ in 0..3 {
                let value = Some(&[7; 300][..]);
                builder
                    .push(&NewRecord {
                        timestamp,
                        value,
                        ..NewRecord::default()
                    })
                    .unwrap();
            }
            let offset = 100 + number * 3;
            batches.push((offset, index.covered(), timestamp));
            index.push(offset, builder.finish().header());
        }
        (index, batches)
    }

    #[test]
    fn lookups_arrive_before_their_target() {
        let (index, batches) = index();
        assert!(index.offsets.len() > 5 && index.times.len() > 5);
        for &(offset, position, timestamp) in &batches {
            let (found, at) = index.before_offset(offset + 1);
            assert!(found <= offset && at <= position && position - at < INTERVAL + 1024);
            assert!(batches.iter().any(|batch| (batch.0, batch.1) == (found, at)));
            assert_eq!(index.before_position(position + 5), (found, at));
            let from = index.before_time(timestamp);
            assert!(
                batches
                    .iter()
                    .filter(|batch| batch.0 < from)
                    .all(|batch| batch.2 < timestamp)
            );
        }
    }

    #[test]
    fn files_survive_and_every_bit_flip_is_found() {
        let (index, _) = index();
        let [offsets, times] = index.encode();
        assert_eq!(Index::decode(100, &offsets, &times), Some(index.clone()));
        assert_eq!(Index::decode(101, &offsets, &times), None);
        for bit in 0..offsets.len() * 8 {
            let mut flipped = offsets.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Index::decode(100, &flipped, &times), None, "bit {bit}");
        }
        for bit in 0..times.len() * 8 {
            let mut flipped = times.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Index::decode(100, &offsets, &flipped), None, "bit {bit}");
        }
        for length in 0..offsets.len() {
            assert_eq!(Index::decode(100, &offsets[..length], &times), None);
        }
        let (mut other, builder) = (Index::new(100), &mut Builder::new());
        other.push(100, builder.finish().header());
        assert_eq!(Index::decode(100, &offsets, &other.encode()[1]), None);
    }
}
