//! Parts of the logs that could not be read when the store was opened.
//!
//! Which keys had records there is not known. For each of them, the newest record may be among the lost ones:
//!
//! ```text
//!   log of a partition   ─── older ─── ░░ lost ░░ ─── newer ───▶
//!   a key whose newest known record is older, and a key without any: reading it is an error, since it may be wrong
//!   a key whose newest record is newer: it is what it was
//! ```
//!
//! So the store opens, serves what is certain, and takes writes, each of which makes its key certain. `hikyaku log repair` replaces
//! the lost records by empty batches; that is how an operator declares that the older ones count.
//!
//! **Invariant:** a snapshot of the index is not written, and no record that may hide or be hidden by a lost one is dropped, as long
//! as there is any damage: the next opening finds the same.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::index::{Found, Guard};
use super::partition::partition_of;
use crate::{Notice, StoreError};

/// Where the records of a partition are newer than everything that is lost: the base offset of a segment, and a position in it.
pub(super) type Newer = (u64, u64);

/// The damage of a store.
#[derive(Debug)]
pub(super) struct Damage {
    any: AtomicBool,
    by_partition: Mutex<Vec<Option<Newer>>>,
}

/// The damage of one partition, as reading its log finds it.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) newer: Option<Newer>,
    /// One line for each part that is lost.
    lines: Vec<String>,
    count: u64,
}

/// Lost parts that are described one by one.
const LINES_MAX: usize = 10;

impl Lost {
    pub(super) fn note(&mut self, part: &log::Unreadable) {
        self.newer = self.newer.max(Some(part.newer));
        self.count += 1;
        if self.lines.len() < LINES_MAX {
            let (from, to) = (part.offsets.start, part.offsets.end);
            self.lines.push(format!(
                "{}; the records from offset {from} up to {to} are lost",
                part.error
            ));
        }
    }

    /// What the user should know; nothing if nothing is lost.
    pub(super) fn notice(&self) -> Option<Notice> {
        let mut text = self.lines.join("; ");
        let more = self.count.saturating_sub(self.lines.len() as u64);
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        (self.count > 0).then_some(Notice::Damaged { text })
    }
}

impl Damage {
    pub(super) fn new(by_partition: Vec<Option<Newer>>) -> Damage {
        Damage {
            any: AtomicBool::new(by_partition.iter().any(Option::is_some)),
            by_partition: Mutex::new(by_partition),
        }
    }

    /// True if anything is lost.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Everything older is flushed, so nothing that counts is lost.
    pub(super) fn clear(&self) {
        self.by_partition.lock().fill(None);
        self.any.store(false, Ordering::Release);
    }

    /// Checks that no record of a key is lost which is newer than the one that was found, if any.
    ///
    /// # Errors
    /// One may be.
    #[inline]
    pub(super) fn check(
        &self,
        guard: &Guard<'_>,
        key: &[u8],
        found: Option<Found>,
    ) -> Result<(), StoreError> {
        if self.is_any() {
            return self.check_partition(guard, key, found);
        }
        Ok(())
    }

    #[cold]
    fn check_partition(&self, guard: &Guard<'_>, key: &[u8], found: Option<Found>) -> Result<(), StoreError> {
        let by_partition = self.by_partition.lock();
        let partition = partition_of(key, by_partition.len() as u32);
        let Some(newer) = by_partition[partition as usize] else {
            return Ok(());
        };
        let record = found.and_then(|found| guard.record_of(found.slot));
        match record {
            Some((map, position)) if (map.segment.base(), position) >= newer => Ok(()),
            _ => Err(StoreError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::PathBuf;

    use super::super::tests::{Scratch, access, fetching, get, set, small, try_get, update};
    use super::super::*;
    use crate::New;

    const NOW: Now = Now(1_700_000_000);

    fn settings(partitions: u32) -> Settings {
        Settings {
            partitions: Some(partitions),
            segment_bytes: 2 << 10,
            ..small()
        }
    }

    fn value(key: u8, round: u8) -> Vec<u8> {
        vec![key ^ round; 10 + usize::from(round)]
    }

    /// A store whose keys were each written three times, closed, without the snapshot of its index.
    fn written(partitions: u32) -> Scratch {
        let scratch = Scratch::new();
        let hash = scratch.open(settings(partitions));
        for round in 0..3 {
            (0..20).for_each(|key| assert!(set(&hash, &[key], &value(key, round)) > 0));
        }
        // These have only old records, and a tombstone.
        set(&hash, b"deleted", b"v");
        update(&hash, b"deleted", Decision::Remove, NOW).unwrap();
        hash.close().unwrap();
        drop(hash);
        std::fs::remove_file(scratch.0.join("index")).unwrap();
        scratch
    }

    fn segments(scratch: &Scratch, partition: u32) -> Vec<PathBuf> {
        let names = std::fs::read_dir(scratch.0.join(partition.to_string())).unwrap();
        let paths = names.map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "log"))
            .collect();
        paths.sort();
        paths
    }

    /// The number of keys that can be read. None is read wrongly.
    fn readable(hash: &Hash) -> usize {
        let read = |key: u8| match try_get(hash, &[key], NOW) {
            Ok(read) => {
                assert_eq!(read, Some(value(key, 2)), "key {key}");
                true
            }
            Err(error) => {
                assert_eq!(error, StoreError::Damaged);
                false
            }
        };
        for absent in [&b"deleted"[..], b"never"] {
            assert!(matches!(
                try_get(hash, absent, NOW),
                Ok(None) | Err(StoreError::Damaged)
            ));
        }
        (0..20).filter(|key| read(*key)).count()
    }

    #[test]
    fn no_damaged_byte_makes_a_read_wrong_after_opening() {
        let scratch = written(1);
        let paths = segments(&scratch, 0);
        assert!(paths.len() > 2, "{paths:?}");
        let (mut damaged, mut whole) = (0, 0);
        for path in &paths {
            let bytes = std::fs::read(path).unwrap();
            for at in (0..bytes.len()).step_by(61) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                std::fs::write(path, changed).unwrap();
                let (hash, notices) = Hash::open(&scratch.0, settings(1)).unwrap();
                let count = readable(&hash);
                let told = notices.iter().any(|notice| {
                    let text = notice.to_string();
                    let name = format!("{}:", path.display());
                    matches!(notice, Notice::Damaged { .. })
                        && text.contains(&name)
                        && text.contains("hikyaku log repair")
                });
                assert_eq!(told, hash.shared.damage.is_any());
                assert!(told || count == 20, "{count} without a notice, byte {at}");
                damaged += usize::from(told);
                whole += usize::from(count > 0);
                drop(hash);
                let _ = std::fs::remove_file(scratch.0.join("index"));
                std::fs::write(path, &bytes).unwrap();
            }
        }
        assert!(
            damaged > 25 && whole > 10,
            "{damaged} damaged, {whole} with whole items"
        );
    }

    fn damage(path: &PathBuf) {
        let mut bytes = std::fs::read(path).unwrap();
        // In the last batch.
        let at = bytes.len() - 20;
        bytes[at] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn writes_make_keys_certain_and_other_partitions_go_on() {
        let scratch = written(2);
        let last = segments(&scratch, 1).pop().unwrap();
        damage(&last);
        let hash = scratch.open(settings(2));
        let certain = readable(&hash);
        assert!((5..15).contains(&certain), "{certain}");
        let uncertain = (0..20).find(|key| try_get(&hash, &[*key], NOW).is_err()).unwrap();
        let bytes = [uncertain];
        let key = hash.key(&bytes);
        for decision in [Decision::Keep, Decision::Remove] {
            for need in [Need::Nothing, Need::Facts] {
                let refused = fetching(&hash, |warm| {
                    hash.update(&key, access(NOW, need, warm), |_| (decision, ()))
                });
                assert!(matches!(refused, Err(StoreError::Damaged)));
            }
        }
        let scan = hash.scan(&Cursor::Start, 10, NOW, |_| ());
        assert_eq!(scan, Err(StoreError::Damaged));
        let put = |_: Option<&Entry<'_>>| (Decision::Put(New::new(&[b"new"])), ());
        let _ = hash.update(&key, access(NOW, Need::Nothing, None), put).unwrap();
        assert_eq!(get(&hash, &[uncertain], NOW).unwrap(), b"new");
        hash.close().unwrap();
        drop(hash);
        // The next opening finds the same.
        let hash = scratch.open(settings(2));
        assert_eq!(get(&hash, &[uncertain], NOW).unwrap(), b"new");
        assert!(try_get(&hash, b"never", NOW).is_err() || try_get(&hash, b"nor this", NOW).is_err());
        let _ = hash.flush(None, NOW).unwrap();
        assert_eq!(get(&hash, &[uncertain], NOW), None);
        drop(hash);
        let (hash, notices) = Hash::open(&scratch.0, settings(2)).unwrap();
        assert!(
            !notices
                .iter()
                .any(|notice| matches!(notice, Notice::Damaged { .. })),
            "{notices:?}"
        );
        assert_eq!(get(&hash, b"never", NOW), None);
    }

    #[test]
    fn a_lost_segment_is_damage_and_a_repair_gives_it_up() {
        let scratch = written(1);
        let paths = segments(&scratch, 0);
        std::fs::remove_file(&paths[1]).unwrap();
        let (hash, notices) = Hash::open(&scratch.0, settings(1)).unwrap();
        assert!(
            notices
                .iter()
                .any(|notice| matches!(notice, Notice::Damaged { .. })),
            "{notices:?}"
        );
        let certain = readable(&hash);
        assert!((1..=20).contains(&certain), "{certain}");
        assert_eq!(try_get(&hash, b"never", NOW), Err(StoreError::Damaged));
        hash.close().unwrap();
        drop(hash);
        let storage: Arc<dyn Storage> = Arc::new(Disk);
        assert!(!log::repair(&storage, &scratch.0.join("0")).unwrap().is_empty());
        let hash = scratch.open(settings(1));
        assert_eq!(get(&hash, b"never", NOW), None);
        (0..20).for_each(|key| assert!(get(&hash, &[key], NOW).is_some()));
    }
}
