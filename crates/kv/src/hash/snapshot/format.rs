//! The bytes of a snapshot. `docs/formats/store.md` draws them.
//!
//! **Invariant:** what is decoded was encoded here: every byte is under a checksum, and no number of the file is trusted before.

use super::super::index::{SHARDS, Slot};
use super::super::partition::PARTITIONS_MAX;

const MAGIC: &[u8; 8] = b"HKSLOTS\0";
/// The newest version that this program reads.
const VERSION: u32 = 1;

/// Bytes before the slots.
pub(super) const HEAD_BYTES: usize = 32;
pub(super) const SLOT_BYTES: usize = 24;
/// The bytes of a directory with as many segments and partitions as there can be.
pub(super) const DIRECTORY_BYTES_MAX: u64 = 4 << 20;

const FIXED_BYTES: usize = 32;
const PARTITION_BYTES: usize = 48;
const SEGMENT_BYTES: usize = 56;
const SHARD_BYTES: usize = 8;

/// The beginning of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Where the directory is, behind the slots.
    pub(super) position: u64,
    pub(super) length: u32,
    pub(super) crc: u32,
}

/// Everything but the slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    /// The store's random number.
    pub(super) store: u64,
    /// The seed of the hashes.
    pub(super) seed: u64,
    /// The second of a pending flush.
    pub(super) flush_at: u32,
    pub(super) partitions: Vec<Part>,
    pub(super) segments: Vec<Known>,
    pub(super) shards: Vec<Extent>,
}

/// A partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Slots have all records before this point.
    pub(super) point: Point,
    /// No slot has a record from this offset on.
    pub(super) end: u64,
    /// Records before this offset are flushed.
    pub(super) flushed: u64,
}

/// A point in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Point {
    pub(in super::super) offset: u64,
    /// The base offset of the segment that the point lies in or at the end of, and the position there.
    pub(in super::super) base: u64,
    pub(in super::super) position: u64,
    /// The records of that segment before the point.
    pub(in super::super) records: u64,
}

/// A segment that slots name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The number that slots have for it.
    pub(super) number: u32,
    pub(super) partition: u32,
    pub(super) generation: u32,
    pub(super) base: u64,
    pub(super) bytes: u64,
    /// The counts of compaction, with the meanings that [`Map`](super::super::maps::Map) gives them.
    pub(super) records: u64,
    pub(super) held: u64,
    pub(super) cleaned: u64,
}

/// The slots of one shard, which follow those of the shard before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) slots: u32,
    pub(super) crc: u32,
}

impl Head {
    pub(super) fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(MAGIC);
        put(&VERSION.to_be_bytes());
        put(&self.position.to_be_bytes());
        put(&self.length.to_be_bytes());
        put(&self.crc.to_be_bytes());
        let crc = log::crc32c(&bytes[..HEAD_BYTES - 4]);
        bytes[HEAD_BYTES - 4..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// # Errors
    /// The reason, if the bytes are not a valid head.
    pub(super) fn decode(bytes: &[u8]) -> Result<Head, String> {
        let Some(bytes) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Err("it is truncated".to_owned());
        };
        let mut fields = Fields(bytes);
        if fields.take() != Some(*MAGIC) {
            return Err("it is another program's".to_owned());
        }
        match fields.u32() {
            Some(VERSION) => {}
            Some(version) if version > VERSION => {
                return Err(format!(
                    "it has format version {version}; this version reads {VERSION}"
                ));
            }
            _ => return Err("its head is damaged".to_owned()),
        }
        let crc = bytes.last_chunk().map(|crc| u32::from_be_bytes(*crc));
        if crc != Some(log::crc32c(&bytes[..HEAD_BYTES - 4])) {
            return Err("its head is damaged".to_owned());
        }
        Head::fields(fields).ok_or_else(|| "its head is damaged".to_owned())
    }

    fn fields(mut fields: Fields<'_>) -> Option<Head> {
        Some(Head {
            position: fields.u64()?,
            length: fields.u32()?,
            crc: fields.u32()?,
        })
    }
}

impl Directory {
    /// Where the slots end.
    pub(super) fn slots_end(&self) -> u64 {
        let slots: u64 = self.shards.iter().map(|extent| u64::from(extent.slots)).sum();
        HEAD_BYTES as u64 + slots * SLOT_BYTES as u64
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.store.to_be_bytes());
        out.extend(self.seed.to_be_bytes());
        for number in [
            self.flush_at,
            self.partitions.len() as u32,
            self.segments.len() as u32,
            self.shards.len() as u32,
        ] {
            out.extend(number.to_be_bytes());
        }
        for Part { point, end, flushed } in &self.partitions {
            let Point {
                offset,
                base,
                position,
                records,
            } = *point;
            for number in [offset, base, position, records, *end, *flushed] {
                out.extend(number.to_be_bytes());
            }
        }
        for known in &self.segments {
            for number in [known.number, known.partition, known.generation, 0] {
                out.extend(number.to_be_bytes());
            }
            for number in [known.base, known.bytes, known.records, known.held, known.cleaned] {
                out.extend(number.to_be_bytes());
            }
        }
        for Extent { slots, crc } in &self.shards {
            out.extend(slots.to_be_bytes());
            out.extend(crc.to_be_bytes());
        }
        out
    }

    /// Decodes bytes whose checksum was right.
    pub(super) fn decode(bytes: &[u8]) -> Option<Directory> {
        let mut fields = Fields(bytes);
        let (store, seed, flush_at) = (fields.u64()?, fields.u64()?, fields.u32()?);
        let [partitions, segments, shards] =
            [fields.u32()?, fields.u32()?, fields.u32()?].map(|count| count as usize);
        let expected = FIXED_BYTES
            + partitions.checked_mul(PARTITION_BYTES)?
            + segments.checked_mul(SEGMENT_BYTES)?
            + shards.checked_mul(SHARD_BYTES)?;
        if bytes.len() != expected || shards != SHARDS || partitions > PARTITIONS_MAX as usize {
            return None;
        }
        let mut directory = Directory {
            store,
            seed,
            flush_at,
            ..Directory::default()
        };
        for _ in 0..partitions {
            directory.partitions.push(Part {
                point: Point {
                    offset: fields.u64()?,
                    base: fields.u64()?,
                    position: fields.u64()?,
                    records: fields.u64()?,
                },
                end: fields.u64()?,
                flushed: fields.u64()?,
            });
        }
        for _ in 0..segments {
            let (number, partition, generation, _) =
                (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
            directory.segments.push(Known {
                number: u16::try_from(number).ok()?.into(),
                partition,
                generation,
                base: fields.u64()?,
                bytes: fields.u64()?,
                records: fields.u64()?,
                held: fields.u64()?,
                cleaned: fields.u64()?,
            });
        }
        for _ in 0..shards {
            directory.shards.push(Extent {
                slots: fields.u32()?,
                crc: fields.u32()?,
            });
        }
        Some(directory)
    }
}

/// Adds a slot to a shard's bytes. Marks are not kept.
pub(super) fn push_slot(out: &mut Vec<u8>, slot: Slot) {
    let (place, tag, last_access, fingerprint) = slot.fields();
    let mut bytes = [0; SLOT_BYTES];
    bytes[..8].copy_from_slice(&place.to_be_bytes());
    bytes[7] = 0;
    bytes[8..12].copy_from_slice(&tag.to_be_bytes());
    bytes[12..16].copy_from_slice(&last_access.to_be_bytes());
    bytes[16..].copy_from_slice(&fingerprint.to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// Reads a slot, whose location still has the number of a map of the process that wrote it.
pub(super) fn slot_of(bytes: &[u8; SLOT_BYTES]) -> Slot {
    let mut fields = Fields(bytes);
    let (place, tag) = (fields.u64(), fields.u32());
    let (last_access, fingerprint) = (fields.u32(), fields.u64());
    Slot::of_fields(
        place.unwrap_or_default(),
        tag.unwrap_or_default(),
        last_access.unwrap_or_default(),
        fingerprint.unwrap_or_default(),
    )
}

/// Big-endian numbers, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    #[inline]
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}
