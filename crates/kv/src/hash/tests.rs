//! The engine against a map, through restarts.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::decision::Cas;
use crate::{Change, Edit, Expiry, New, Payload, Pinned, Value};

/// A folder that is removed when the test ends.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hikyaku-hash-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    pub(super) fn open(&self, settings: Settings) -> Hash {
        Hash::open(&self.0, settings).unwrap().0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const NOW: Now = Now(1_700_000_000);

pub(super) fn small() -> Settings {
    Settings {
        segment_bytes: 16 << 10,
        preallocate: false,
        compact: false,
        ..Settings::default()
    }
}

/// Repeats a call until it was carried out, and fetches in between.
pub(super) fn fetching<R>(
    hash: &Hash,
    mut call: impl FnMut(Option<&Warm>) -> Result<Answer<R>, StoreError>,
) -> Result<R, StoreError> {
    let mut warm = None;
    for _ in 0..10 {
        if let Answer::Ready(answer) = call(warm.as_ref())? {
            return Ok(answer);
        }
        warm = Some(wait(hash.fetch(warm.take().unwrap_or_default())));
    }
    panic!("the call stays cold");
}

pub(super) fn access(now: Now, need: Need, warm: Option<&Warm>) -> Access<'_> {
    Access { now, need, warm }
}

pub(super) fn update(
    hash: &Hash,
    key: &[u8],
    decision: Decision<'_>,
    now: Now,
) -> Result<(bool, u64), StoreError> {
    let stored = fetching(hash, |warm| {
        hash.update(&hash.key(key), access(now, Need::Facts, warm), |entry| {
            (decision, entry.is_some())
        })
    })?;
    Ok((stored.answer, stored.cas))
}

pub(super) fn set(hash: &Hash, key: &[u8], value: &[u8]) -> u64 {
    update(hash, key, Decision::Put(New::new(&[value])), NOW)
        .unwrap()
        .1
}

/// The bytes of a value, wherever they are.
pub(super) fn bytes_of(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Shared(pinned) => pinned.as_ref().to_vec(),
        Value::File(range) => {
            let mut bytes = vec![0; range.length as usize];
            range.file.read_exact_at(&mut bytes, range.offset).unwrap();
            bytes
        }
    }
}

pub(super) fn try_get(hash: &Hash, key: &[u8], now: Now) -> Result<Option<Vec<u8>>, StoreError> {
    fetching(hash, |warm| {
        hash.read(&hash.key(key), access(now, Need::Value, warm), |entry| {
            entry.map(|entry| bytes_of(entry.value()))
        })
    })
}

pub(super) fn get(hash: &Hash, key: &[u8], now: Now) -> Option<Vec<u8>> {
    try_get(hash, key, now).unwrap()
}

/// Bytes of all segments.
fn log_bytes(hash: &Hash) -> u64 {
    hash.statistics().log.unwrap().bytes
}

/// Compacts until nothing is left to do, and returns how many runs were rewritten.
pub(super) fn compact(hash: &Hash) -> usize {
    let mut compactor = compaction::Compactor::new(&hash.shared);
    let mut runs = 0;
    for (partition, log) in hash.shared.journals.logs().enumerate() {
        while compactor.compact(partition as u32, &log, true).unwrap() == ControlFlow::Continue(true) {
            runs += 1;
        }
    }
    runs
}

/// Writes a snapshot of the index if anything has changed since the last one.
pub(super) fn snapshot(hash: &Hash) {
    let logs: Vec<Log> = hash.shared.journals.logs().collect();
    let sync = |log: &Log| log.sync().map(drop);
    hash.shared
        .snapshots
        .write(&hash.shared, u64::MAX, &logs, sync)
        .unwrap();
}

/// Waits for a future on this thread.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    use std::task::{Context, Poll, Wake};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(60)),
        }
    }
}

#[test]
fn items_survive_a_restart_in_order_and_a_crash() {
    let scratch = Scratch::new();
    let large = vec![7; 300_000];
    for close in [true, false] {
        let hash = scratch.open(small());
        set(&hash, b"a", b"old");
        set(&hash, b"a", b"new");
        set(&hash, b"gone", b"x");
        assert_eq!(update(&hash, b"gone", Decision::Remove, NOW), Ok((true, 0)));
        set(&hash, b"large", &large);
        if close {
            hash.close().unwrap();
            assert_eq!(
                update(&hash, b"a", Decision::Remove, NOW),
                Err(StoreError::Unavailable)
            );
        }
        drop(hash);
        let hash = scratch.open(small());
        assert_eq!(get(&hash, b"a", NOW).unwrap(), b"new");
        assert_eq!(get(&hash, b"gone", NOW), None);
        assert_eq!(get(&hash, b"large", NOW).unwrap(), large);
        assert_eq!(hash.statistics().items, 2);
    }
}

#[test]
fn everything_about_an_item_survives_but_the_marks_of_reading() {
    let scratch = Scratch::new();
    let hash = scratch.open(small());
    let new = New {
        flags: 77,
        expiry: Expiry::At(NOW.0 + 100),
        stale: true,
        won: true,
        ..New::new(&[b"one", b"two"])
    };
    let (_, cas) = update(&hash, b"k", Decision::Put(new), NOW).unwrap();
    let facts = |hash: &Hash| {
        let peeked = hash.peek(&hash.key(b"k"), NOW, |entry| {
            let entry = entry.unwrap();
            (
                entry.flags(),
                entry.expiry(),
                entry.cas(),
                entry.stale(),
                entry.won(),
                entry.bytes().to_vec(),
            )
        });
        peeked.unwrap().ready().unwrap()
    };
    let end = Expiry::At(NOW.0 + 100);
    assert_eq!(facts(&hash), (77, end, cas, true, true, b"onetwo".to_vec()));
    drop(hash);
    let hash = scratch.open(small());
    assert_eq!(facts(&hash), (77, end, cas, true, false, b"onetwo".to_vec()));
    assert_eq!(get(&hash, b"k", Now(NOW.0 + 100)), None, "expired");
    let figures = hash.statistics();
    assert_eq!(
        (figures.expired, figures.read_expired, figures.reclaimed),
        (1, 1, 1)
    );
    drop(hash);
    let hash = scratch.open(small());
    assert_eq!(get(&hash, b"k", Now(NOW.0 + 100)), None, "expired as before");
}

#[test]
fn a_cas_is_never_given_out_twice() {
    let scratch = Scratch::new();
    let mut last = 0;
    for _ in 0..3 {
        let hash = scratch.open(small());
        for _ in 0..10 {
            let cas = set(&hash, b"k", b"v");
            assert!(cas > last);
            last = cas;
        }
        update(&hash, b"k", Decision::Remove, NOW).unwrap();
        hash.close().unwrap();
    }
}

#[test]
fn a_second_owner_of_the_folder_is_refused() {
    let scratch = Scratch::new();
    let hash = scratch.open(small());
    let error = Hash::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    hash.close().unwrap();
    scratch.open(small());
    // The first one is still there, and closed.
    assert!(hash.peek(&hash.key(b"k"), NOW, |_| ()).is_err());
}

#[test]
fn foreign_folders_are_left_alone() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(&scratch.0).unwrap();
    std::fs::write(scratch.0.join("precious.txt"), "data").unwrap();
    let error = Hash::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(error.contains("precious.txt"), "{error}");
}

#[test]
fn a_commit_ends_when_the_logs_are_synced() {
    let scratch = Scratch::new();
    let settings = Settings {
        sync: Sync::Commit,
        ..small()
    };
    let hash = scratch.open(settings);
    let mut commits = Vec::new();
    for number in 0..100_u32 {
        let key = number.to_be_bytes();
        let stored = hash.update(&hash.key(&key), NOW, |_| (Decision::Put(New::new(&[b"v"])), ()));
        commits.push(stored.unwrap().ready().unwrap().commit);
    }
    assert!(commits.windows(2).all(|pair| pair[0] < pair[1]));
    hash.begin_commit();
    wait(hash.committed(*commits.last().unwrap())).unwrap();
    assert!(hash.shared.journals.logs().all(|log| log.synced() == log.end()));
    assert!(
        hash.statistics()
            .durability
            .is_some_and(|figures| figures.syncs <= 2),
        "one round serves all"
    );
    hash.close().unwrap();
    wait(hash.committed(*commits.last().unwrap())).unwrap();
    assert_eq!(
        wait(hash.committed(Commit(u64::MAX))),
        Err(StoreError::Unavailable)
    );
}

#[test]
fn a_pending_flush_survives_and_is_carried_out_once() {
    let scratch = Scratch::new();
    let hash = scratch.open(small());
    set(&hash, b"before", b"v");
    let _ = hash.flush(Some(NOW.0 + 10), NOW).unwrap();
    drop(hash);
    let hash = scratch.open(small());
    assert_eq!(get(&hash, b"before", Now(NOW.0 + 9)).unwrap(), b"v");
    assert_eq!(get(&hash, b"before", Now(NOW.0 + 10)), None);
    set(&hash, b"after", b"v");
    drop(hash);
    let hash = scratch.open(small());
    let later = Now(NOW.0 + 100);
    assert_eq!(
        (get(&hash, b"before", later), get(&hash, b"after", later)),
        (None, Some(b"v".to_vec()))
    );
}

#[test]
fn a_refused_write_leaves_the_old_value() {
    let scratch = Scratch::new();
    let settings = Settings {
        item_size_max: 1000,
        ..small()
    };
    let hash = scratch.open(settings);
    set(&hash, b"k", b"old");
    let long = [0; 1000];
    let refused = update(&hash, b"k", Decision::Put(New::new(&[&long])), NOW);
    assert!(matches!(refused, Err(StoreError::TooLarge { max: 1000, .. })));
    assert_eq!(get(&hash, b"k", NOW).unwrap(), b"old");
}

/// An item of the model.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Vec<u8>,
    flags: u32,
    expiry: Expiry,
    cas: u64,
    stale: bool,
}

struct World {
    scratch: Scratch,
    settings: Settings,
    hash: Hash,
    items: BTreeMap<Vec<u8>, Item>,
    flush_at: Option<u32>,
    now: Now,
    state: u64,
}

impl World {
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(20) {
            0 => self.below(40_000),
            _ => self.below(200),
        };
        let byte = self.below(256) as u8;
        vec![byte; length as usize]
    }

    fn expiry(&mut self) -> Expiry {
        match self.below(4) {
            0 => Expiry::At(self.now.0 + self.below(20) as u32),
            _ => Expiry::Never,
        }
    }

    fn age(&mut self) {
        let now = self.now;
        if self.flush_at.is_some_and(|at| at <= now.0) {
            self.flush_at = None;
            self.items.clear();
        }
        self.items.retain(|_, item| !item.expiry.passed(now));
    }

    fn step(&mut self) {
        let key = format!("key-{}", self.below(60)).into_bytes();
        match self.below(40) {
            0..12 => self.put(&key),
            12..15 => {
                let removed = update(&self.hash, &key, Decision::Remove, self.now).unwrap();
                assert_eq!(removed.0, self.items.remove(&key).is_some());
            }
            15..20 => self.edit(&key),
            20..24 => self.change(&key),
            24..26 => self.now.0 += self.below(4) as u32,
            26 if self.below(10) == 0 => self.flush(),
            27 if self.below(3) == 0 => self.reopen(),
            28 if self.below(3) == 0 => self.compact(),
            29 if self.below(2) == 0 => snapshot(&self.hash),
            _ => self.check(&key),
        }
        self.age();
    }

    fn put(&mut self, key: &[u8]) {
        let (value, expiry, flags) = (self.value(), self.expiry(), self.below(3) as u32);
        let stale = self.below(5) == 0;
        let need = if self.below(2) == 0 {
            Need::Nothing
        } else {
            Need::Value
        };
        let middle = value.len() / 3;
        let (parts, pinned) = ([&value[..middle], &value[middle..]], Pinned::from(value.clone()));
        let new = New {
            value: if self.below(2) == 0 {
                Payload::Parts(&parts)
            } else {
                Payload::Pinned(&pinned)
            },
            flags,
            expiry,
            stale,
            ..New::new(&[])
        };
        let stored = fetching(&self.hash, |warm| {
            let access = access(self.now, need, warm);
            self.hash.update(&self.hash.key(key), access, |entry| {
                assert!(entry.is_none() || need != Need::Nothing);
                (Decision::Put(new), ())
            })
        });
        let cas = stored.unwrap().cas;
        self.items.insert(
            key.to_vec(),
            Item {
                value,
                flags,
                expiry,
                cas,
                stale,
            },
        );
    }

    fn edit(&mut self, key: &[u8]) {
        let new = self.value();
        let parts = [&new[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let kind = self.below(3);
        let decision = [
            Decision::Append(edit),
            Decision::Prepend(edit),
            Decision::Rewrite(edit),
        ][kind as usize];
        let (there, cas) = update(&self.hash, key, decision, self.now).unwrap();
        let item = self.items.get_mut(key);
        assert_eq!(there, item.is_some());
        let Some(item) = item else { return };
        item.cas = cas;
        item.value = match kind {
            0 => [&item.value[..], &new].concat(),
            1 => [&new[..], &item.value].concat(),
            _ => new,
        };
    }

    fn change(&mut self, key: &[u8]) {
        let change = Change {
            expiry: (self.below(2) == 0).then(|| self.expiry()),
            stale: (self.below(2) == 0).then(|| self.below(2) == 0),
            accessed: self.below(2) == 0,
            cas: [Cas::Same, Cas::Next, Cas::Exactly(5)][self.below(3) as usize],
            won: None,
        };
        let (there, cas) = update(&self.hash, key, Decision::Change(change), self.now).unwrap();
        let item = self.items.get_mut(key);
        assert_eq!(there, item.is_some());
        let Some(item) = item else { return };
        if change.cas == Cas::Same {
            assert_eq!(item.cas, cas);
        }
        item.cas = cas;
        item.expiry = change.expiry.unwrap_or(item.expiry);
        item.stale = change.stale.unwrap_or(item.stale);
    }

    fn flush(&mut self) {
        let at = (self.below(2) == 0).then(|| self.now.0 + self.below(30) as u32);
        let _ = self.hash.flush(at, self.now).unwrap();
        match at.filter(|at| *at > self.now.0) {
            Some(at) => self.flush_at = Some(at),
            None => {
                self.items.clear();
                self.flush_at = None;
            }
        }
    }

    /// Ends the store in one of three ways, and opens it again.
    fn reopen(&mut self) {
        match self.below(3) {
            0 => self.hash.close().unwrap(),
            1 => self
                .hash
                .shared
                .durability
                .round(&self.hash.shared.journals)
                .unwrap(),
            _ => {}
        }
        let empty = Scratch::new();
        // The folder is locked until the old store is gone.
        drop(std::mem::replace(&mut self.hash, empty.open(self.settings)));
        self.hash = self.scratch.open(self.settings);
        for key in self.items.keys().cloned().collect::<Vec<_>>() {
            self.check(&key);
        }
        self.scan();
    }

    fn compact(&mut self) {
        compact(&self.hash);
        for key in self.items.keys().cloned().collect::<Vec<_>>() {
            self.check(&key);
        }
    }

    fn check(&mut self, key: &[u8]) {
        let read = |entry: Option<&Entry<'_>>| {
            entry.map(|entry| {
                let value = bytes_of(entry.value());
                Item {
                    value,
                    flags: entry.flags(),
                    expiry: entry.expiry(),
                    cas: entry.cas(),
                    stale: entry.stale(),
                }
            })
        };
        let seen = fetching(&self.hash, |warm| {
            let access = access(self.now, Need::Value, warm);
            self.hash.read(&self.hash.key(key), access, read)
        });
        assert_eq!(seen.unwrap().as_ref(), self.items.get(key));
    }

    fn scan(&mut self) {
        let mut keys = Vec::new();
        let mut cursor = Some(Cursor::Start);
        while let Some(from) = cursor {
            let next = fetching(&self.hash, |warm| {
                let access = access(self.now, Need::Facts, warm);
                self.hash
                    .scan(&from, 50, access, |entry| keys.push(entry.key().to_vec()))
            });
            cursor = next.unwrap();
        }
        keys.sort();
        assert!(keys.iter().eq(self.items.keys()));
    }
}

#[test]
fn a_store_is_a_map_through_restarts() {
    for seed in 1..6 {
        let scratch = Scratch::new();
        let settings = Settings {
            partitions: Some(1 + seed as u32 % 4),
            ..small()
        };
        let mut world = World {
            hash: scratch.open(settings),
            scratch,
            settings,
            items: BTreeMap::new(),
            flush_at: None,
            now: NOW,
            state: seed,
        };
        for _ in 0..800 {
            world.step();
        }
        world.reopen();
    }
}

#[test]
fn compaction_gives_space_back() {
    let scratch = Scratch::new();
    let settings = Settings {
        partitions: Some(2),
        segment_bytes: 64 << 10,
        ..small()
    };
    let hash = scratch.open(settings);
    let value = [1; 400];
    for round in 0..10_u32 {
        for number in 0..500_u32 {
            set(
                &hash,
                &number.to_be_bytes(),
                &[&round.to_be_bytes(), &value[..]].concat(),
            );
        }
    }
    let live = 500 * (4 + 404);
    compact(&hash);
    let bytes = log_bytes(&hash);
    assert!(bytes * 10 <= live * 13, "{bytes} bytes for {live}");
    let check = |hash: &Hash| {
        for number in 0..500_u32 {
            let read = get(hash, &number.to_be_bytes(), NOW).unwrap();
            assert_eq!(read[..4], 9_u32.to_be_bytes());
        }
    };
    check(&hash);
    drop(hash);
    check(&scratch.open(settings));
}

/// The tombstone is in a newer segment than the value that it deletes.
#[test]
fn compaction_does_not_bring_back_what_was_deleted_or_has_expired() {
    let scratch = Scratch::new();
    let settings = Settings {
        partitions: Some(1),
        ..small()
    };
    let hash = scratch.open(settings);
    let fill = |hash: &Hash, round: u32| {
        for number in 0..60_u32 {
            set(hash, &number.to_be_bytes(), &[round as u8; 400]);
        }
    };
    set(&hash, b"deleted", b"old");
    set(&hash, b"expired", b"old");
    // Items that stay keep the oldest segment from being rewritten.
    for number in 1000..1030_u32 {
        set(&hash, &number.to_be_bytes(), &[9; 400]);
    }
    fill(&hash, 1);
    update(&hash, b"deleted", Decision::Remove, NOW).unwrap();
    let new = New {
        expiry: Expiry::At(NOW.0 + 1),
        ..New::new(&[b"new"])
    };
    update(&hash, b"expired", Decision::Put(new), NOW).unwrap();
    let later = Now(NOW.0 + 5);
    assert_eq!(get(&hash, b"expired", later), None);
    (2..6).for_each(|round| fill(&hash, round));
    compact(&hash);
    drop(hash);
    let hash = scratch.open(settings);
    assert_eq!(get(&hash, b"deleted", later), None);
    assert_eq!(get(&hash, b"expired", later), None);
}

/// They were kept until the next start, since nothing counted them any more.
#[test]
fn tombstones_go_once_they_hide_nothing() {
    let scratch = Scratch::new();
    let settings = Settings {
        partitions: Some(1),
        ..small()
    };
    let hash = scratch.open(settings);
    let key = |kind: u32, number: u32| [kind.to_be_bytes(), number.to_be_bytes()].concat();
    let fill = |kind: u32, count: u32| {
        for number in 0..count {
            set(&hash, &key(kind, number), &[kind as u8; 100]);
        }
    };
    fill(1, 500);
    fill(2, 1000);
    for number in 0..1000 {
        update(&hash, &key(2, number), Decision::Remove, NOW).unwrap();
    }
    fill(3, 10);
    let tombstones = |hash: &Hash| {
        let mut count = 0;
        let log = hash.shared.journals.logs().next().unwrap();
        log.scan(log.start(), |_, batch: &log::batch::Batch<'_>| {
            let records = batch.records().into_iter().flatten();
            count += records.flatten().filter(|one| one.value.is_none()).count();
            Ok::<(), log::Error>(())
        })
        .unwrap();
        count
    };
    assert_eq!(tombstones(&hash), 1000);
    compact(&hash);
    let left = tombstones(&hash);
    assert!(left < 50, "{left} tombstones: as many bytes as may be dead");
    drop(hash);
    let hash = scratch.open(settings);
    for number in 0..1000 {
        assert_eq!(get(&hash, &key(2, number), NOW), None);
    }
    assert!(get(&hash, &key(1, 7), NOW).is_some() && get(&hash, &key(3, 7), NOW).is_some());
}

#[test]
fn items_stay_what_they_are_while_segments_are_rewritten() {
    let scratch = Scratch::new();
    let settings = Settings {
        partitions: Some(2),
        ..small()
    };
    let hash = scratch.open(settings);
    let writing = AtomicU32::new(2);
    let key = |thread: u32, number: u32| [thread.to_be_bytes(), number.to_be_bytes()].concat();
    std::thread::scope(|scope| {
        for thread in 0..2_u32 {
            let (hash, writing) = (&hash, &writing);
            scope.spawn(move || {
                for round in 0..200_u32 {
                    for number in 0..50 {
                        let key = key(thread, number);
                        if round > 0 {
                            assert_eq!(get(hash, &key, NOW).unwrap()[..4], (round - 1).to_be_bytes());
                        }
                        set(hash, &key, &[&round.to_be_bytes()[..], &[7; 200]].concat());
                    }
                }
                writing.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let mut runs = 0;
        while writing.load(Ordering::Relaxed) > 0 || runs == 0 {
            runs += compact(&hash);
        }
    });
    drop(hash);
    let hash = scratch.open(settings);
    for thread in 0..2 {
        for number in 0..50 {
            assert_eq!(
                get(&hash, &key(thread, number), NOW).unwrap()[..4],
                199_u32.to_be_bytes()
            );
        }
    }
}

#[test]
fn compaction_gives_back_the_space_of_what_was_flushed() {
    let scratch = Scratch::new();
    let settings = Settings {
        partitions: Some(2),
        ..small()
    };
    let fill = |hash: &Hash| {
        for number in 0..500_u32 {
            set(hash, &number.to_be_bytes(), &[7; 400]);
        }
    };
    let hash = scratch.open(settings);
    fill(&hash);
    let _ = hash.flush(None, NOW).unwrap();
    compact(&hash);
    assert!(log_bytes(&hash) < 10_000, "{} bytes", log_bytes(&hash));
    fill(&hash);
    let _ = hash.flush(None, NOW).unwrap();
    drop(hash);
    // The flush is in the log, and is counted as it was when it happened.
    let hash = scratch.open(settings);
    compact(&hash);
    assert!(log_bytes(&hash) < 10_000, "{} bytes", log_bytes(&hash));
}
