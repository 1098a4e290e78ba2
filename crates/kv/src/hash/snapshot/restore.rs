//! Filling the index from a snapshot.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::storage::{File, Open, Storage, read_full};
use log::{Error, Segment};

use super::super::NEVER;
use super::super::index::{Index, Location};
use super::super::recovery::{Flushes, Partition, in_parallel};
use super::format::{
    DIRECTORY_BYTES_MAX, Directory, HEAD_BYTES, Head, Known, Part, Point, SLOT_BYTES, slot_of,
};

/// A snapshot on the device.
#[derive(Debug)]
pub(in super::super) struct Saved {
    file: Arc<dyn File>,
    directory: Directory,
}

/// The facts of a snapshot other than its slots.
#[derive(Debug)]
pub(in super::super) struct Restored {
    pub(in super::super) flushes: Flushes,
    /// The sum of the offsets of all points, if nothing before them has to be replayed.
    pub(in super::super) records: Option<u64>,
}

/// The treatment of the slots that name a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The snapshot does not know the number.
    Unknown,
    /// They are dropped, since their records are going to be replayed.
    Dropped,
    /// They get the number of another map.
    Kept { partition: usize, segment: usize },
}

impl Saved {
    /// Opens a snapshot and reads its directory. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// The reason, if the file cannot be used.
    pub(super) fn read(storage: &dyn Storage, path: &Path, store: u64) -> Result<Option<Saved>, String> {
        let file = match storage.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let read = |position, length| read_exactly(&*file, position, length);
        let length = file.length().map_err(|error| error.to_string())?;
        let head = Head::decode(&read(0, length.min(HEAD_BYTES as u64))?)?;
        let bytes = u64::from(head.length);
        if head.position.checked_add(bytes).is_none_or(|end| end > length) {
            return Err("it is truncated".to_owned());
        }
        if bytes > DIRECTORY_BYTES_MAX {
            return Err("its directory is damaged".to_owned());
        }
        let directory = read(head.position, bytes)?;
        let directory = Directory::decode(&directory).filter(|_| log::crc32c(&directory) == head.crc);
        let directory = directory
            .filter(|directory| directory.slots_end() == head.position)
            .ok_or("its directory is damaged")?;
        if directory.store != store {
            return Err("it is of another store".to_owned());
        }
        Ok(Some(Saved { file, directory }))
    }

    pub(super) fn seed(&self) -> u64 {
        self.directory.seed
    }

    /// Fills the index with the slots whose records the logs still have, and lets the partitions begin behind them.
    ///
    /// # Errors
    /// The reason, if the snapshot cannot be used. The index may have some of its slots then.
    pub(in super::super) fn fill(
        &self,
        index: &Index,
        partitions: &mut [Partition],
    ) -> Result<Restored, String> {
        if self.directory.partitions.len() != partitions.len() {
            return Err("it has another number of partitions".to_owned());
        }
        let starts: Vec<u64> = partitions
            .iter()
            .enumerate()
            .map(|(number, partition)| self.start(number, partition))
            .collect::<Result<_, _>>()?;
        let fates = self.fates(partitions, &starts);
        self.fill_shards(index, partitions, &fates)?;
        for (part, (partition, start)) in self
            .directory
            .partitions
            .iter()
            .zip(partitions.iter_mut().zip(&starts))
        {
            // Records before a flush are not replayed, and a flush before the point is known.
            partition.from = part.flushed.max(*start);
            partition.known = part.point.offset;
        }
        let parts = &self.directory.partitions;
        let done: Vec<u64> = parts.iter().map(|part| part.flushed).collect();
        Ok(Restored {
            flushes: Flushes {
                done: if done.iter().all(|offset| *offset == 0) {
                    Vec::new()
                } else {
                    done
                },
                at: Some(self.directory.flush_at).filter(|second| *second != NEVER),
            },
            records: parts
                .iter()
                .zip(starts)
                .map(|(part, start)| Some(start).filter(|_| start == part.point.offset))
                .sum(),
        })
    }

    /// The offset from which a log has to be replayed: the snapshot's point, or the first segment that the snapshot does not know.
    fn start(&self, number: usize, partition: &Partition) -> Result<u64, String> {
        let Part { point, end, .. } = self.directory.partitions[number];
        if partition.log.end() < end {
            return Err(format!("the log of partition {number} ends before it"));
        }
        let segments = partition.segments.iter().map(|active| &active.map.segment);
        // Slots that point into a lost segment would be misses, and a key's older record would be its newest.
        let mut next = partition.log.start();
        for segment in segments.clone() {
            if segment.base() > next {
                return Err(format!(
                    "the log of partition {number} lacks the records from offset {next} on"
                ));
            }
            next = next.max(segment.end());
        }
        let unknown = segments
            .filter(|segment| segment.base() < point.offset)
            .find(|segment| {
                let known = self
                    .known_segments(number)
                    .find(|known| known.base == segment.base());
                !known.is_some_and(|known| is_known(partition, segment, known, &point))
            });
        Ok(unknown.map_or(point.offset, |segment| segment.base()))
    }

    fn known_segments(&self, partition: usize) -> impl Iterator<Item = &Known> {
        let segments = self.directory.segments.iter();
        segments.filter(move |known| known.partition as usize == partition)
    }

    /// The treatment of slots, by the number of their segment. Sets the counts of the segments that the replay does not read wholly.
    fn fates(&self, partitions: &[Partition], starts: &[u64]) -> Vec<Fate> {
        let numbers = self
            .directory
            .segments
            .iter()
            .map(|known| known.number as usize + 1);
        let mut fates = vec![Fate::Unknown; numbers.max().unwrap_or(0)];
        for known in &self.directory.segments {
            let number = known.partition as usize;
            let same =
                |segment: &Segment| segment.base() == known.base && segment.generation() == known.generation;
            let kept = partitions.get(number).filter(|_| known.base < starts[number]);
            let at = kept.and_then(|partition| {
                partition
                    .segments
                    .iter()
                    .position(|active| same(&active.map.segment))
            });
            fates[known.number as usize] = at.map_or(Fate::Dropped, |segment| Fate::Kept {
                partition: number,
                segment,
            });
            if let Some(at) = at {
                let point = self.directory.partitions[number].point;
                let records = if known.base == point.base {
                    point.records
                } else {
                    known.records
                };
                let map = &partitions[number].segments[at].map;
                map.records.store(records, Relaxed);
                map.held.store(known.held, Relaxed);
                map.cleaned.store(known.cleaned, Relaxed);
            }
        }
        fates
    }

    fn fill_shards(&self, index: &Index, partitions: &[Partition], fates: &[Fate]) -> Result<(), String> {
        let mut position = HEAD_BYTES as u64;
        let mut positions = Vec::with_capacity(self.directory.shards.len());
        for shard in &self.directory.shards {
            positions.push(position);
            position += u64::from(shard.slots) * SLOT_BYTES as u64;
        }
        in_parallel(positions.len(), |number| {
            let extent = self.directory.shards[number];
            let bytes = read_exactly(
                &*self.file,
                positions[number],
                u64::from(extent.slots) * SLOT_BYTES as u64,
            )?;
            if log::crc32c(&bytes) != extent.crc {
                return Err(format!(
                    "its slots from byte {} on are damaged",
                    positions[number]
                ));
            }
            let mut live = vec![0; fates.len()];
            let mut slots = Vec::with_capacity(extent.slots as usize);
            for bytes in bytes.as_chunks().0 {
                let slot = slot_of(bytes);
                let Location { map, position } = slot.location();
                match fates.get(usize::from(map)) {
                    Some(Fate::Kept { partition, segment }) => {
                        live[usize::from(map)] += 1;
                        let map = partitions[*partition].segments[*segment].number;
                        let mut slot = slot;
                        slot.set_location(Location { map, position });
                        slots.push(slot);
                    }
                    Some(Fate::Dropped) => {}
                    Some(Fate::Unknown) | None => return Err("a slot has no segment".to_owned()),
                }
            }
            index.fill(number, &slots);
            for (fate, count) in fates.iter().zip(live).filter(|(_, count)| *count > 0) {
                if let Fate::Kept { partition, segment } = fate {
                    partitions[*partition].segments[*segment]
                        .map
                        .live
                        .fetch_add(count, Relaxed);
                }
            }
            Ok(())
        })
    }
}

/// Returns true if a segment has the same bytes as when the snapshot was written.
fn is_known(partition: &Partition, segment: &Segment, known: &Known, point: &Point) -> bool {
    if segment.generation() != known.generation {
        return false;
    }
    if known.base != point.base {
        // It was complete.
        return segment.bytes() == known.bytes;
    }
    // It may have grown.
    segment.bytes() >= known.bytes && has_point(partition, segment, point)
}

/// Returns true if a batch begins or the segment ends at the point.
fn has_point(partition: &Partition, segment: &Segment, point: &Point) -> bool {
    if point.offset >= segment.end() {
        return point.offset == segment.end() && point.position == segment.bytes();
    }
    let batches: Result<_, Error> = partition.log.read_blocking(point.offset..point.offset + 1, 1);
    batches.is_ok_and(|batches| {
        batches
            .first()
            .is_some_and(|first| first.segment().base() == point.base && first.position() == point.position)
    })
}

fn read_exactly(file: &dyn File, position: u64, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; length as usize];
    match read_full(file, &mut bytes, position) {
        Ok(count) if count == bytes.len() => Ok(bytes),
        Ok(_) => Err("it is truncated".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
