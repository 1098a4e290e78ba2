//! The checkpoint: what recovery need not look at again, and the facts of a log that its segments do not tell.
//!
//! It is a text of lines, replaced as a whole, whose last line has the checksum of the others:
//!
//! ```text
//!   hikyaku-log 1                                format version
//!   clean yes                                    the log was closed in order
//!   start 1200                                   the first offset; those before it were deleted
//!   recover 1000 65536 1800                      all before this segment, position and offset is durable and was checked
//!   segment 0 2 1048571 1700000000000            a complete segment: base, generation, bytes, greatest timestamp
//!   replace 0 1000 4711                          a compaction is replacing these offsets by a segment of 4711 bytes
//!   crc 1f2e3d4c
//! ```
//!
//! **Invariant:** a checkpoint never promises what is not durable: segments and folder are synced before it is written, and a
//! truncation lowers it first.

use std::fmt::Write;
use std::path::Path;

use crate::checksum;
use crate::error::{Doing, Error};
use crate::storage::{self, Storage};

/// The newest version of the format that this program reads.
const VERSION: u32 = 1;
/// The first word of the file.
const MAGIC: &str = "hikyaku-log";
/// No checkpoint of a sane log is larger.
const BYTES_MAX: u64 = 64 << 20;

/// The name of the file.
pub(crate) const NAME: &str = "checkpoint";

/// A complete segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    pub(crate) base: u64,
    /// How often the segment was rewritten by compaction.
    pub(crate) generation: u32,
    pub(crate) bytes: u64,
    pub(crate) max_timestamp: i64,
}

/// The point before which everything is durable and was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recover {
    /// The segment's base offset.
    pub(crate) base: u64,
    pub(crate) position: u64,
    pub(crate) offset: u64,
}

/// A compaction that is being installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replace {
    /// The segments with these base offsets become one.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The bytes of the new one.
    pub(crate) bytes: u64,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) clean: bool,
    pub(crate) start: u64,
    pub(crate) recover: Recover,
    pub(crate) segments: Vec<Complete>,
    pub(crate) replace: Option<Replace>,
}

/// The result of reading a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    /// It cannot be trusted, for this reason.
    Damaged(&'static str),
    Intact(Checkpoint),
}

impl Checkpoint {
    pub(crate) fn encode(&self) -> String {
        let clean = if self.clean { "yes" } else { "no" };
        let Recover {
            base,
            position,
            offset,
        } = self.recover;
        let mut text = format!(
            "{MAGIC} {VERSION}\nclean {clean}\nstart {}\nrecover {base} {position} {offset}\n",
            self.start
        );
        for one in &self.segments {
            let Complete {
                base,
                generation,
                bytes,
                max_timestamp,
            } = one;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "segment {base} {generation} {bytes} {max_timestamp}");
        }
        if let Some(Replace { from, to, bytes }) = self.replace {
            let _ = writeln!(text, "replace {from} {to} {bytes}");
        }
        let crc = checksum::of(text.as_bytes());
        let _ = writeln!(text, "crc {crc:08x}");
        text
    }

    /// Reads the text; the reason if it is damaged.
    fn decode(text: &str) -> Result<Checkpoint, &'static str> {
        let (content, crc) = text
            .strip_suffix('\n')
            .and_then(|text| text.rsplit_once("\ncrc "))
            .ok_or("it has no checksum")?;
        let content = &text[..=content.len()];
        if crc.len() != 8 || u32::from_str_radix(crc, 16) != Ok(checksum::of(content.as_bytes())) {
            return Err("its checksum is wrong");
        }
        let mut checkpoint = Checkpoint::default();
        for line in content.lines().skip(1) {
            checkpoint
                .decode_line(line)
                .ok_or("it has a line without meaning")?;
        }
        Ok(checkpoint)
    }

    fn decode_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let name = words.next()?;
        if name == "clean" {
            self.clean = words.next()? == "yes";
            return Some(());
        }
        let mut number = || words.next()?.parse::<i128>().ok();
        match name {
            "start" => self.start = number()?.try_into().ok()?,
            "recover" => {
                self.recover = Recover {
                    base: number()?.try_into().ok()?,
                    position: number()?.try_into().ok()?,
                    offset: number()?.try_into().ok()?,
                }
            }
            "segment" => self.segments.push(Complete {
                base: number()?.try_into().ok()?,
                generation: number()?.try_into().ok()?,
                bytes: number()?.try_into().ok()?,
                max_timestamp: number()?.try_into().ok()?,
            }),
            "replace" => {
                self.replace = Some(Replace {
                    from: number()?.try_into().ok()?,
                    to: number()?.try_into().ok()?,
                    bytes: number()?.try_into().ok()?,
                })
            }
            _ => return None,
        }
        Some(())
    }

    /// Replaces the entries of segments that compaction made into one.
    pub(crate) fn install(&mut self, replace: Replace) {
        let Replace { from, to, bytes } = replace;
        let replaced = self.segments.iter().filter(|one| (from..to).contains(&one.base));
        let generation = replaced.clone().map(|one| one.generation).max().unwrap_or(0) + 1;
        let max_timestamp = replaced.map(|one| one.max_timestamp).max().unwrap_or(i64::MIN);
        self.segments.retain(|one| !(from..to).contains(&one.base));
        let at = self.segments.partition_point(|one| one.base < from);
        self.segments.insert(
            at,
            Complete {
                base: from,
                generation,
                bytes,
                max_timestamp,
            },
        );
        self.replace = None;
    }

    /// Returns true for a segment that the log no longer has: all complete ones are listed.
    pub(crate) fn has_replaced(&self, base: u64) -> bool {
        base < self.recover.base && !self.segments.iter().any(|one| one.base == base)
    }

    /// Writes the file and makes it durable.
    pub(crate) fn write(&self, storage: &dyn Storage, folder: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        storage::write_whole(storage, &path, self.encode().as_bytes()).doing("write", &path)?;
        storage.sync_folder(folder).doing("sync the folder", folder)
    }

    /// Reads the file of a folder.
    ///
    /// # Errors
    /// It cannot be read, or a newer version wrote it.
    pub(crate) fn read(storage: &dyn Storage, folder: &Path) -> Result<Found, Error> {
        let path = folder.join(NAME);
        let bytes = match storage::read_whole(storage, &path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Ok(Found::Damaged("it is too large"));
            }
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Ok(Found::Damaged("it is not text"));
        };
        if let Some(found) = future_version(text) {
            return Err(Error::FutureVersion {
                path,
                found,
                supported: VERSION,
            });
        }
        Ok(Checkpoint::decode(text).map_or_else(Found::Damaged, Found::Intact))
    }
}

/// The version, if it is newer than this program's. A flipped bit in the version of an old file does not count: with the old
/// version in its place, the checksum is right.
fn future_version(text: &str) -> Option<u32> {
    let first = text.lines().next()?;
    let version: u32 = first.strip_prefix(MAGIC)?.strip_prefix(' ')?.parse().ok()?;
    if version <= VERSION {
        return None;
    }
    let as_ours = text.replacen(first, &format!("{MAGIC} {VERSION}"), 1);
    Checkpoint::decode(&as_ours).is_err().then_some(version)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::storage::Simulated;

    fn example() -> Checkpoint {
        Checkpoint {
            clean: true,
            start: 1200,
            recover: Recover {
                base: 1000,
                position: 65536,
                offset: 1800,
            },
            segments: vec![Complete {
                base: 0,
                generation: 2,
                bytes: 1_048_571,
                max_timestamp: -1,
            }],
            replace: Some(Replace {
                from: 0,
                to: 1000,
                bytes: 4711,
            }),
        }
    }

    fn read(bytes: Vec<u8>) -> Result<Found, Error> {
        let storage = Simulated::new();
        storage.put(Path::new("/log/checkpoint"), bytes);
        Checkpoint::read(&storage, Path::new("/log"))
    }

    #[test]
    fn it_survives() {
        let text = example().encode();
        assert!(
            text.starts_with("hikyaku-log 1\nclean yes\nstart 1200\nrecover 1000 65536 1800\nsegment 0 2"),
            "{text}"
        );
        assert_eq!(read(text.into_bytes()).unwrap(), Found::Intact(example()));
        let storage = Simulated::new();
        assert_eq!(
            Checkpoint::read(&storage, Path::new("/log")).unwrap(),
            Found::Absent
        );
    }

    #[test]
    fn every_bit_flip_and_every_cut_is_damage() {
        let bytes = example().encode().into_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match read(flipped) {
                Ok(Found::Damaged(_)) => {}
                // Upper and lower case of a hexadecimal digit mean the same.
                Ok(Found::Intact(checkpoint)) => assert_eq!(checkpoint, example(), "bit {bit}"),
                other => panic!("bit {bit}: {other:?}"),
            }
        }
        for length in 0..bytes.len() {
            assert!(
                matches!(read(bytes[..length].to_vec()), Ok(Found::Damaged(_))),
                "{length}"
            );
        }
    }

    #[test]
    fn a_newer_format_is_not_damage() {
        let newer = "hikyaku-log 2\nanything\n".as_bytes().to_vec();
        let error = read(newer).unwrap_err();
        assert!(
            matches!(
                error,
                Error::FutureVersion {
                    found: 2,
                    supported: 1,
                    ..
                }
            ),
            "{error}"
        );
        assert!(matches!(read(b"# my notes\n".to_vec()), Ok(Found::Damaged(_))));
    }
}
