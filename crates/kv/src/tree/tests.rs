//! The engine: restarts, folders, limits, cold reads, commits.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use super::*;
use crate::{Expiry, Marks, New};

/// A folder that is removed when the test ends.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hikyaku-tree-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    pub(super) fn open(&self, settings: Settings) -> Tree {
        Tree::open(&self.0, settings).unwrap().0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) const NOW: Now = Now(1_700_000_000);

pub(super) fn small() -> Settings {
    Settings {
        preallocate: false,
        cache: 1 << 20,
        merge_bytes: 1 << 30,
        ..Settings::default()
    }
}

/// Waits for a future on this thread.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
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

/// Repeats a call until nothing that it needs is cold.
pub(super) fn waiting<R>(
    tree: &Tree,
    mut call: impl FnMut(&Warm) -> Result<Answer<R>, StoreError>,
) -> Result<R, StoreError> {
    let mut warm = Warm::new();
    loop {
        match call(&warm)? {
            Answer::Ready(answer) => return Ok(answer),
            Answer::Cold => warm = wait(tree.fetch(warm)),
        }
    }
}

fn access(now: Now, warm: &Warm) -> Access<'_> {
    Access {
        now,
        need: Need::Value,
        warm: Some(warm),
    }
}

pub(super) fn update(tree: &Tree, key: &[u8], decision: Decision<'_>) -> Result<(bool, u64), StoreError> {
    let stored = waiting(tree, |warm| {
        tree.update(&tree.key(key), access(NOW, warm), |entry| {
            (decision, entry.is_some())
        })
    })?;
    Ok((stored.answer, stored.cas))
}

pub(super) fn set(tree: &Tree, key: &[u8], value: &[u8]) -> u64 {
    update(tree, key, Decision::Put(New::new(&[value]))).unwrap().1
}

pub(super) fn get(tree: &Tree, key: &[u8], now: Now) -> Result<Option<Vec<u8>>, StoreError> {
    waiting(tree, |warm| {
        tree.read(&tree.key(key), access(now, warm), |entry| {
            entry.map(|entry| entry.bytes().to_vec())
        })
    })
}

/// Moves everything to the pages, and forgets what was read.
fn make_cold(tree: &Tree) {
    merge::merge(&tree.shared, true).unwrap();
    let _ = tree.cache.flush(None, NOW).unwrap();
}

#[test]
fn items_survive_a_restart_in_order_and_a_crash() {
    let scratch = Scratch::new();
    let large = vec![7; 300_000];
    for close in [true, false] {
        let tree = scratch.open(small());
        set(&tree, b"a", b"old");
        set(&tree, b"a", b"new");
        set(&tree, b"gone", b"x");
        assert_eq!(update(&tree, b"gone", Decision::Remove), Ok((true, 0)));
        set(&tree, b"large", &large);
        if close {
            tree.close().unwrap();
            assert_eq!(
                update(&tree, b"a", Decision::Remove),
                Err(StoreError::Unavailable)
            );
        }
        drop(tree);
        let tree = scratch.open(small());
        assert_eq!(get(&tree, b"a", NOW).unwrap().unwrap(), b"new");
        assert_eq!(get(&tree, b"gone", NOW).unwrap(), None);
        assert_eq!(get(&tree, b"large", NOW).unwrap().unwrap(), large);
        merge::merge(&tree.shared, true).unwrap();
        assert_eq!(tree.statistics().items, 2);
    }
}

#[test]
fn a_cold_item_is_read_from_its_page_once() {
    let scratch = Scratch::new();
    let tree = scratch.open(small());
    for number in 0..1000_u32 {
        set(
            &tree,
            &number.to_be_bytes(),
            &[b"value ", &number.to_be_bytes()[..]].concat(),
        );
    }
    make_cold(&tree);
    let key = 500_u32.to_be_bytes();
    let looked = tree.read(&tree.key(&key), NOW, |_| ()).unwrap();
    assert_eq!(looked, Answer::Cold, "no call reads a page");
    for _ in 0..3 {
        assert!(get(&tree, &key, NOW).unwrap().is_some());
    }
    assert_eq!(tree.statistics().cold_reads, Some(1), "then the cache has it");
    assert_eq!(get(&tree, b"absent", NOW).unwrap(), None);
}

/// A fetched item that another caller has replaced since would be an old answer to a new question.
#[test]
fn a_fetched_item_that_was_replaced_is_not_used() {
    let scratch = Scratch::new();
    let tree = scratch.open(small());
    set(&tree, b"k", b"old");
    make_cold(&tree);
    let warm = Warm::new();
    tree.want(&tree.key(b"k"), Need::Value, &warm);
    let warm = wait(tree.fetch(warm));
    set(&tree, b"k", b"new");
    make_cold(&tree);
    let looked = tree.read(&tree.key(b"k"), access(NOW, &warm), |_| ()).unwrap();
    assert_eq!(looked, Answer::Cold);
    assert_eq!(get(&tree, b"k", NOW).unwrap().unwrap(), b"new");
}

#[test]
fn everything_about_an_item_survives() {
    let scratch = Scratch::new();
    let end = Expiry::At(NOW.0 + 100);
    let new = New {
        flags: 77,
        expiry: end,
        stale: true,
        ..New::new(&[b"one", b"two"])
    };
    let tree = scratch.open(small());
    let (_, cas) = update(&tree, b"k", Decision::Put(new)).unwrap();
    let facts = |tree: &Tree| {
        waiting(tree, |warm| {
            tree.peek(&tree.key(b"k"), access(NOW, warm), |entry| {
                let entry = entry.unwrap();
                let bytes = entry.bytes().to_vec();
                (entry.flags(), entry.expiry(), entry.cas(), entry.marks(), bytes)
            })
        })
    };
    let marks = Marks {
        stale: true,
        ..Marks::default()
    };
    let expected = (77, end, cas, marks, b"onetwo".to_vec());
    assert_eq!(facts(&tree).unwrap(), expected);
    make_cold(&tree);
    assert_eq!(facts(&tree).unwrap(), expected, "from its page");
    drop(tree);
    let tree = scratch.open(small());
    assert_eq!(facts(&tree).unwrap(), expected, "after a restart");
    assert_eq!(get(&tree, b"k", Now(NOW.0 + 100)).unwrap(), None, "expired");
}

#[test]
fn a_cas_is_never_given_out_twice() {
    let scratch = Scratch::new();
    let mut last = 0;
    for _ in 0..3 {
        let tree = scratch.open(small());
        for _ in 0..10 {
            let cas = set(&tree, b"k", b"v");
            assert!(cas > last);
            last = cas;
        }
        update(&tree, b"k", Decision::Remove).unwrap();
        tree.close().unwrap();
    }
}

#[test]
fn expired_items_leave_the_pages_by_themselves() {
    let scratch = Scratch::new();
    let tree = scratch.open(small());
    for number in 0..3000_u32 {
        let new = New {
            expiry: Expiry::At(NOW.0 + 10 + number % 2 * 1000),
            ..New::new(&[&[b'v'; 100]])
        };
        update(&tree, &number.to_be_bytes(), Decision::Put(new)).unwrap();
    }
    make_cold(&tree);
    tree.tick(Now(NOW.0 + 9), 100);
    merge::merge(&tree.shared, false).unwrap();
    assert_eq!(tree.statistics().items, 3000);
    tree.tick(Now(NOW.0 + 10), 100);
    merge::merge(&tree.shared, false).unwrap();
    let figures = tree.statistics();
    assert_eq!((figures.items, figures.expired), (1500, 1500));
}

#[test]
fn a_second_owner_of_the_folder_is_refused() {
    let scratch = Scratch::new();
    let tree = scratch.open(small());
    let error = Tree::open(&scratch.0, small()).unwrap_err().to_string();
    let pid = format!("process {}", std::process::id());
    assert!(error.contains(&pid), "{error}");
    tree.close().unwrap();
    scratch.open(small());
}

#[test]
fn folders_of_others_are_left_alone() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(&scratch.0).unwrap();
    std::fs::write(scratch.0.join("precious.txt"), "data").unwrap();
    let error = Tree::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(error.contains("precious.txt"), "{error}");

    let scratch = Scratch::new();
    drop(scratch.open(small()));
    let error = crate::hash::Hash::open(&scratch.0, crate::hash::Settings::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("it is a tree store"), "{error}");

    std::fs::write(scratch.0.join("pages"), "some other file").unwrap();
    let error = Tree::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(error.contains("pages: it is not a file of pages"), "{error}");

    let scratch = Scratch::new();
    drop(scratch.open(small()));
    std::fs::write(scratch.0.join("store"), "hikyaku-tree 9\n").unwrap();
    let error = Tree::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(error.contains("format version 9"), "{error}");
}

/// A log that was replaced by an older copy would silently lack what the pages were told to have.
#[test]
fn a_log_that_ends_before_the_pages_is_refused() {
    let scratch = Scratch::new();
    let tree = scratch.open(small());
    set(&tree, b"k", b"v");
    tree.close().unwrap();
    drop(tree);
    std::fs::remove_dir_all(scratch.0.join("log")).unwrap();
    let error = Tree::open(&scratch.0, small()).unwrap_err().to_string();
    assert!(error.contains("the pages end at 1"), "{error}");
}

#[test]
fn a_commit_ends_when_the_log_is_synced() {
    let scratch = Scratch::new();
    let settings = Settings {
        sync: Sync::Commit,
        ..small()
    };
    let tree = scratch.open(settings);
    let mut commits = Vec::new();
    for number in 0..100_u32 {
        let key = number.to_be_bytes();
        let stored = tree.update(&tree.key(&key), NOW, |_| (Decision::Put(New::new(&[b"v"])), ()));
        commits.push(stored.unwrap().ready().unwrap().commit);
    }
    assert!(commits.windows(2).all(|pair| pair[0] < pair[1]));
    tree.begin_commit();
    wait(tree.committed(*commits.last().unwrap())).unwrap();
    let log = tree.shared.journal.log().unwrap();
    assert_eq!(log.synced(), log.end());
    assert!(log.activity().syncs <= 2, "one sync serves all");
    drop(log);
    tree.close().unwrap();
    assert_eq!(
        wait(tree.committed(Commit(u64::MAX))),
        Err(StoreError::Unavailable)
    );
}

#[test]
fn a_refused_write_leaves_the_old_value() {
    let scratch = Scratch::new();
    let settings = Settings {
        item_size_max: 1000,
        ..small()
    };
    let tree = scratch.open(settings);
    set(&tree, b"k", b"old");
    let long = [0; 1000];
    let refused = update(&tree, b"k", Decision::Put(New::new(&[&long])));
    assert!(matches!(refused, Err(StoreError::TooLarge { max: 1000, .. })));
    assert_eq!(get(&tree, b"k", NOW).unwrap().unwrap(), b"old");
    make_cold(&tree);
    assert_eq!(get(&tree, b"k", NOW).unwrap().unwrap(), b"old");
    let long = [0; KEY_LENGTH_MAX + 1];
    assert!(matches!(
        update(&tree, &long, Decision::Put(New::new(&[b"v"]))),
        Err(StoreError::KeyTooLong { .. })
    ));
    set(&tree, &long[1..], b"a key of 255 bytes");
    set(&tree, b"", b"a key of none");
    make_cold(&tree);
    assert!(get(&tree, &long[1..], NOW).unwrap().is_some() && get(&tree, b"", NOW).unwrap().is_some());
}

/// Values that the cache never takes come from pending writes and pages.
#[test]
fn values_larger_than_the_cache_are_kept() {
    let scratch = Scratch::new();
    let settings = Settings {
        item_size_max: 64 << 20,
        ..small()
    };
    let large: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let tree = scratch.open(settings);
    set(&tree, b"large", &large);
    assert!(get(&tree, b"large", NOW).unwrap().unwrap() == large);
    make_cold(&tree);
    assert!(get(&tree, b"large", NOW).unwrap().unwrap() == large);
    drop(tree);
    let tree = scratch.open(settings);
    assert!(get(&tree, b"large", NOW).unwrap().unwrap() == large);
}

/// Writers are held up while the merging thread is behind, and not refused.
#[test]
fn writes_wait_for_room() {
    let storage: Arc<dyn Storage> = Arc::new(log::storage::Simulated::new());
    let settings = Settings {
        merge_bytes: 64 << 10,
        cache: 64 << 10,
        ..small()
    };
    let tree = super::model::open(&storage, settings);
    let mut bytes_max = 0;
    for number in 0..20_000_u32 {
        set(&tree, &number.to_be_bytes(), &[b'v'; 100]);
        bytes_max = bytes_max.max(tree.shared.pending.figures().0.bytes);
    }
    assert!(bytes_max < 2 * settings.merge_bytes + 1000, "{bytes_max}");
    for number in (0..20_000_u32).step_by(97) {
        let value = get(&tree, &number.to_be_bytes(), NOW).unwrap();
        assert_eq!(value.unwrap(), [b'v'; 100]);
    }
    merge::merge(&tree.shared, true).unwrap();
    assert_eq!(tree.statistics().items, 20_000);
}
