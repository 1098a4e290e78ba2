//! Record batches in Kafka's format v2 (magic 2), read without copying and written back unchanged.
//!
//! ```text
//!   0         8      12     16 17   21    23     27         35         43         51  53     57     61
//!   ┌─────────┬──────┬──────┬──┬────┬─────┬──────┬──────────┬──────────┬──────────┬───┬──────┬──────┬─────────┐
//!   │ base    │length│leader│2 │crc │attri│last  │base      │max       │producer  │ep.│base  │record│ records │
//!   │ offset  │      │epoch │  │    │butes│delta │timestamp │timestamp │id        │   │seq.  │count │         │
//!   └─────────┴──────┴──────┴──┴────┴─────┴──────┴──────────┴──────────┴──────────┴───┴──────┴──────┴─────────┘
//!   └──── the log writes these ────┘    └──────────────── CRC-32C covers these ─────────────────────────────┘
//! ```
//!
//! All numbers are big-endian. `docs/formats/segment.md` describes every byte.
//!
//! **Invariant:** a [`Batch`] has a correct checksum; [`Batch::parse`] and [`Builder::finish`] are the only ways to one.
//! **Invariant:** no input causes a panic or an allocation that depends on a number in the input.

mod builder;
mod codec;
mod record;
mod varint;

pub use builder::{Builder, NewHeader, NewRecord};
pub use record::{Header, Headers, Record, Records};

use crate::checksum;
pub(crate) use codec::Codec;

/// Bytes of a batch before its records.
pub const HEADER_BYTES: usize = 61;

/// The largest batch: its length field is a signed 32-bit number and does not count the first 12 bytes.
pub const BATCH_BYTES_MAX: u64 = i32::MAX as u64 + PREFIX_BYTES as u64;

/// Bytes that the length field does not count.
const PREFIX_BYTES: usize = 12;
/// The bytes that a log rewrites: base offset, length and leader epoch.
pub(crate) const PATCHED_BYTES: usize = 16;
/// The first byte that the checksum covers.
pub(crate) const CHECKED_FROM: usize = 21;
/// The format's version.
const MAGIC: i8 = 2;

/// Why bytes are not a record batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The bytes end before the batch does.
    #[error("the batch needs {need} bytes and {have} are there")]
    Incomplete {
        /// Bytes that the batch needs, as far as is known.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// Another version of the format.
    #[error("the batch has format version {found}; this version reads 2")]
    Magic {
        /// The version.
        found: i8,
    },
    /// The length field has an impossible value.
    #[error("the batch's length field is {found}; the least is 49")]
    Length {
        /// The value.
        found: i32,
    },
    /// A field of the header contradicts another one, or is negative where that means nothing.
    #[error("the batch's {field} is {found}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        found: i64,
    },
    /// The checksum does not match.
    #[error("the batch's CRC-32C is {found:08x}; its bytes have {computed:08x}")]
    Checksum {
        /// The value of the field.
        found: u32,
        /// The value that the bytes have.
        computed: u32,
    },
    /// The records are compressed, and reading them needs a decoder.
    #[error("the batch is compressed with {0:?}")]
    Compressed(Compression),
    /// The records do not follow their format, or contradict the header.
    #[error("record {index} of the batch: {reason}")]
    Record {
        /// The record's number within the batch.
        index: u32,
        /// The fault.
        reason: &'static str,
    },
}

/// The compression of a batch's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// Gzip.
    Gzip,
    /// Snappy, raw or with Java's framing.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
    /// A number that the format does not define.
    Unknown(u8),
}

impl Compression {
    fn of(bits: u8) -> Compression {
        match bits {
            0 => Compression::None,
            1 => Compression::Gzip,
            2 => Compression::Snappy,
            3 => Compression::Lz4,
            4 => Compression::Zstd,
            other => Compression::Unknown(other),
        }
    }

    /// Its bits among the attributes.
    pub(crate) fn bits(self) -> u16 {
        match self {
            Compression::None => 0,
            Compression::Gzip => 1,
            Compression::Snappy => 2,
            Compression::Lz4 => 3,
            Compression::Zstd => 4,
            Compression::Unknown(bits) => bits.into(),
        }
    }
}

/// The attribute bits of a batch. Bits that the format does not define are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub u16);

impl Attributes {
    /// The bits of the compression.
    const COMPRESSION: u16 = 7;
    /// Timestamps are the time of appending, not of creation.
    pub const LOG_APPEND_TIME: u16 = 1 << 3;
    /// The batch belongs to a transaction.
    pub const TRANSACTIONAL: u16 = 1 << 4;
    /// The batch has one control record, which consumers do not see.
    pub const CONTROL: u16 = 1 << 5;
    /// The base timestamp is the time from which compaction may remove the batch's tombstones.
    pub const DELETE_HORIZON: u16 = 1 << 6;

    /// How the records are compressed.
    pub fn compression(self) -> Compression {
        Compression::of((self.0 & 7) as u8)
    }

    /// Returns true for a control batch.
    pub fn is_control(self) -> bool {
        self.0 & Attributes::CONTROL != 0
    }

    /// Returns true if the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.0 & Attributes::TRANSACTIONAL != 0
    }

    /// Returns true if the base timestamp is a delete horizon.
    pub fn has_delete_horizon(self) -> bool {
        self.0 & Attributes::DELETE_HORIZON != 0
    }
}

/// The fields of a batch before its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the batch's first record when it was produced. Compaction may have removed that record.
    pub base_offset: u64,
    /// Bytes of the whole batch.
    pub bytes: u64,
    /// The leader epoch, which the checksum does not cover.
    pub leader_epoch: i32,
    /// CRC-32C of all bytes from the attributes on.
    pub crc: u32,
    /// Compression and flags.
    pub attributes: Attributes,
    /// The last record's offset minus the base offset.
    pub last_offset_delta: u32,
    /// The time that the records' timestamps are relative to, in milliseconds since 1970.
    pub base_timestamp: i64,
    /// The greatest timestamp of the records; -1 if there is none.
    pub max_timestamp: i64,
    /// The producer; -1 if it is not idempotent.
    pub producer_id: i64,
    /// The producer's epoch; -1 if it is not idempotent.
    pub producer_epoch: i16,
    /// The sequence number of the first record; -1 if the producer is not idempotent.
    pub base_sequence: i32,
    /// The number of records.
    pub count: u32,
}

impl BatchHeader {
    /// Reads a header at the start of `bytes`. Neither the records nor the checksum are looked at, and they may be missing.
    ///
    /// # Errors
    /// The bytes are too few, or their fields are impossible.
    pub fn parse(bytes: &[u8]) -> Result<BatchHeader, BatchError> {
        let have = bytes.len() as u64;
        let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
            // The version decides what the rest means, so it is judged as soon as it is there.
            if let Some(&magic) = bytes.get(PATCHED_BYTES) {
                check_magic(magic as i8)?;
            }
            return Err(BatchError::Incomplete {
                need: HEADER_BYTES as u64,
                have,
            });
        };
        check_magic(head[PATCHED_BYTES] as i8)?;
        let length = i32_at(head, 8);
        let bytes = match u64::try_from(length) {
            Ok(length) if length as usize >= HEADER_BYTES - PREFIX_BYTES => length + PREFIX_BYTES as u64,
            _ => return Err(BatchError::Length { found: length }),
        };
        let count = natural_32("record count", i32_at(head, 57))?;
        let last_offset_delta = natural_32("last offset delta", i32_at(head, 23))?;
        if u64::from(count) > u64::from(last_offset_delta) + 1 {
            return Err(BatchError::Field {
                field: "record count",
                found: i64::from(count),
            });
        }
        Ok(BatchHeader {
            base_offset: natural("base offset", i64_at(head, 0))?,
            bytes,
            leader_epoch: i32_at(head, 12),
            crc: i32_at(head, 17) as u32,
            attributes: Attributes(u16::from_be_bytes([head[21], head[22]])),
            last_offset_delta,
            base_timestamp: i64_at(head, 27),
            max_timestamp: i64_at(head, 35),
            producer_id: i64_at(head, 43),
            producer_epoch: i16::from_be_bytes([head[51], head[52]]),
            base_sequence: i32_at(head, 53),
            count,
        })
    }

    /// The offset after the batch's last one.
    pub fn end_offset(&self) -> u64 {
        self.base_offset + u64::from(self.last_offset_delta) + 1
    }

    /// The number of offsets that the batch takes, which is the number of records unless the batch was compacted.
    pub fn offsets(&self) -> u64 {
        u64::from(self.last_offset_delta) + 1
    }
}

fn check_magic(found: i8) -> Result<(), BatchError> {
    if found == MAGIC {
        Ok(())
    } else {
        Err(BatchError::Magic { found })
    }
}

/// Offsets stay below this bound, so that adding a batch's length to one never overflows.
const OFFSET_MAX: i64 = i64::MAX - (1 << 32);

fn natural(field: &'static str, found: i64) -> Result<u64, BatchError> {
    match u64::try_from(found) {
        Ok(number) if found < OFFSET_MAX => Ok(number),
        _ => Err(BatchError::Field { field, found }),
    }
}

fn natural_32(field: &'static str, found: i32) -> Result<u32, BatchError> {
    u32::try_from(found).map_err(|_| BatchError::Field {
        field,
        found: i64::from(found),
    })
}

fn i32_at(head: &[u8; HEADER_BYTES], at: usize) -> i32 {
    i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

fn i64_at(head: &[u8; HEADER_BYTES], at: usize) -> i64 {
    let (high, low) = (i32_at(head, at), i32_at(head, at + 4));
    (i64::from(high) << 32) | i64::from(low as u32)
}

/// A whole batch with a correct checksum, as bytes that stay where they are.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Reads the batch at the start of `bytes`; other bytes may follow it.
    ///
    /// The header is checked, and the checksum, but not the records: see [`Batch::records`].
    ///
    /// # Errors
    /// The bytes do not begin with a whole batch of format 2.
    pub fn parse(bytes: &'a [u8]) -> Result<Batch<'a>, BatchError> {
        let header = BatchHeader::parse(bytes)?;
        let have = bytes.len() as u64;
        let whole = usize::try_from(header.bytes)
            .ok()
            .and_then(|length| bytes.get(..length));
        let Some(bytes) = whole else {
            return Err(BatchError::Incomplete {
                need: header.bytes,
                have,
            });
        };
        let computed = checksum::of(&bytes[CHECKED_FROM..]);
        if computed != header.crc {
            return Err(BatchError::Checksum {
                found: header.crc,
                computed,
            });
        }
        Ok(Batch { header, bytes })
    }

    /// The fields before the records.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// All bytes of the batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records, in order. Each is checked as it is read; the first fault ends the iteration.
    ///
    /// # Errors
    /// The records are compressed.
    pub fn records(&self) -> Result<Records<'a>, BatchError> {
        match self.header.attributes.compression() {
            Compression::None => Ok(Records::new(&self.header, &self.bytes[HEADER_BYTES..])),
            other => Err(BatchError::Compressed(other)),
        }
    }

    /// The same batch with its records decompressed into `out`, and the codec; `None` if they are not compressed, cannot be
    /// decompressed, or are more than `max` bytes. The result has no valid checksum.
    pub(crate) fn decompressed<'o>(&self, max: usize, out: &'o mut Vec<u8>) -> Option<(Batch<'o>, Codec)> {
        let compressed = &self.bytes[HEADER_BYTES..];
        let codec = Codec::of(self.header.attributes.compression(), compressed)?;
        out.clear();
        out.extend_from_slice(&self.bytes[..HEADER_BYTES]);
        codec.decompress(compressed, max, out).ok()?;
        let mut header = self.header;
        header.attributes.0 &= !Attributes::COMPRESSION;
        header.bytes = out.len() as u64;
        Some((Batch { header, bytes: out }, codec))
    }

    /// The first bytes of the batch with another base offset and leader epoch. The checksum covers neither.
    pub(crate) fn patched(&self, base_offset: u64, leader_epoch: i32) -> [u8; PATCHED_BYTES] {
        let mut head = [0; PATCHED_BYTES];
        head[..8].copy_from_slice(&base_offset.to_be_bytes());
        head[8..12].copy_from_slice(&self.bytes[8..12]);
        head[12..].copy_from_slice(&leader_epoch.to_be_bytes());
        head
    }
}

/// The batches of a slice, one after the other.
///
/// The iteration ends after the first fault. Check [`Batches::used`] for the bytes of whole batches.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    bytes: &'a [u8],
    used: usize,
    failed: bool,
}

impl<'a> Batches<'a> {
    /// The batches of these bytes.
    pub fn new(bytes: &'a [u8]) -> Batches<'a> {
        Batches {
            bytes,
            used: 0,
            failed: false,
        }
    }

    /// Bytes of the batches that were returned.
    pub fn used(&self) -> usize {
        self.used
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.used..];
        if rest.is_empty() || self.failed {
            return None;
        }
        let batch = Batch::parse(rest);
        match &batch {
            Ok(batch) => self.used += batch.bytes.len(),
            Err(_) => self.failed = true,
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests;
