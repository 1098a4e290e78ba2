//! Figures per class.

use crate::common::{get, open, put, set};
use kv::{Engine, Expiry, New, Now};

const NOW: Now = Now(1_000_000);

#[test]
fn classes_tell_what_they_hold_and_what_went() {
    let store = open("memory:?capacity=64MiB");
    assert!(store.statistics().classes.is_empty());
    for number in 0..1000_u32 {
        set(&store, &number.to_le_bytes(), &[1; 100], NOW).expect("there is room");
    }
    let later = Now(NOW.0 + 50);
    set(&store, b"large", &[2; 100_000], later).expect("there is room");
    let value = [&[3; 100][..]];
    let ending = New {
        expiry: Expiry::At(later.0 + 300),
        ..New::new(&value)
    };
    put(&store, b"ending", ending, later).expect("there is room");
    let figures = store.statistics();
    let [small, large, ending] = &figures.classes[..] else {
        panic!("{figures:?}")
    };
    assert_eq!((small.ttl_min, small.large, small.items), (None, false, 1000));
    assert_eq!((small.oldest, large.oldest), (Some(NOW.0), Some(later.0)));
    assert_eq!((large.large, large.items), (true, 1));
    assert!((100_000..110_000).contains(&large.block_bytes));
    assert_eq!((ending.ttl_min, ending.items), (Some(256), 1));
    for class in &figures.classes {
        let parts = class.bytes - class.block_bytes + class.free_bytes + class.dead_bytes;
        assert_eq!(parts, class.arena_bytes, "{class:?}");
    }
    // Expired, never read.
    assert_eq!(get(&store, b"ending", Now(later.0 + 300)), None);
    let figures = store.statistics();
    let ended = figures.classes.iter().find(|class| class.ttl_min == Some(256));
    let ended = ended.expect("a class with a history is told");
    assert_eq!((ended.items, ended.reclaimed, ended.expired_unfetched), (0, 1, 1));
}

#[test]
fn evictions_are_told_by_class() {
    let store = open("memory:?capacity=1MiB");
    let value = [&[3; 100][..]];
    for number in 0..20_000_u32 {
        let ending = New {
            expiry: Expiry::At(NOW.0 + number + 300),
            ..New::new(&value)
        };
        put(&store, &number.to_le_bytes(), ending, Now(NOW.0 + number / 100)).expect("evicting makes room");
    }
    let figures = store.statistics();
    let sum = |of: fn(&kv::ClassStatistics) -> u64| figures.classes.iter().map(of).sum::<u64>();
    assert!(figures.evictions > 10_000);
    assert_eq!(sum(|class| class.evicted), figures.evictions);
    assert_eq!(sum(|class| class.evicted_expiring), figures.evictions);
    assert_eq!(sum(|class| class.evicted_unfetched), figures.evicted_unfetched);
    assert!(figures.classes.iter().any(|class| class.evicted_idle > 10));
}
