//! Stores at their limits.

use crate::common::{Random, apply, get, open, put, ready, set};
use kv::{Decision, Edit, Engine, New, Now, Payload, StoreError, Value};

const NOW: Now = Now(1_000_000);

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

#[test]
fn the_smallest_stores_work() {
    for capacity in ["64KiB", "100000", "256KiB", "1MiB"] {
        let store = open(&format!("memory:?capacity={capacity}"));
        let mut random = Random::new(5);
        for number in 0..20_000 {
            let value = random.bytes(random_length(number));
            set(&store, &key(number), &value, NOW)
                .unwrap_or_else(|error| panic!("{capacity}, {number}: {error}"));
            assert_eq!(
                get(&store, &key(number), NOW),
                Some(value),
                "what was just stored is there"
            );
        }
        let figures = store.statistics();
        assert!(figures.used <= figures.capacity && figures.evictions > 0);
        assert!(
            figures.bytes * 3 > figures.capacity,
            "most of the memory holds items: {figures:?}"
        );
    }
}

fn random_length(number: u64) -> usize {
    (number * 37 % 700) as usize
}

#[test]
fn a_store_that_must_not_evict_says_when_it_is_full() {
    let store = open("memory:?capacity=2MiB&evict=false");
    let value = [3; 1000];
    let stored = (0..)
        .take_while(|&number| set(&store, &key(number), &value, NOW).is_ok())
        .count() as u64;
    assert!(stored * 1024 > (2 << 20) * 85 / 100, "only {stored} items fit");
    assert_eq!(
        set(&store, &key(stored), &value, NOW),
        Err(StoreError::OutOfMemory)
    );
    assert!(store.statistics().out_of_memory >= 2);
    assert_eq!(store.statistics().evictions, 0);
    for number in 0..stored {
        assert_eq!(
            get(&store, &key(number), NOW).as_deref(),
            Some(&value[..]),
            "item {number}"
        );
    }
    // A failed append leaves the value as it was.
    let more = [4u8; 60_000];
    let parts = [&more[..]];
    let edit = Edit {
        value: Payload::Parts(&parts),
        cas: None,
    };
    assert_eq!(
        apply(&store, &key(0), Decision::Append(edit), NOW),
        Err(StoreError::OutOfMemory)
    );
    assert_eq!(get(&store, &key(0), NOW).as_deref(), Some(&value[..]));
    // What's removed can be used again, wherever it lay.
    for number in (0..stored).step_by(2) {
        apply(&store, &key(number), Decision::Remove, NOW).expect("removing needs no memory");
    }
    for number in 0..stored / 3 {
        set(&store, &key(1_000_000 + number), &value, NOW).expect("removed items make room");
    }
}

#[test]
fn item_size_max_is_exact() {
    let store = open("memory:?capacity=64MiB&item_size_max=100000");
    let overhead = 48 + 8 + 1 + 2 + 8;
    let value = vec![1; 100_000 - overhead];
    assert!(set(&store, &key(1), &value, NOW).is_ok());
    let more = vec![1; value.len() + 1];
    assert_eq!(
        set(&store, &key(1), &more, NOW),
        Err(StoreError::TooLarge {
            size: 100_001,
            max: 100_000
        })
    );
    assert_eq!(store.fits(8, value.len() as u64), Ok(()));
    assert!(store.fits(8, more.len() as u64).is_err());
    assert!(store.reserve(100_001, NOW).is_err());
    let edit = Edit {
        value: Payload::Parts(&[b"x"]),
        cas: None,
    };
    assert!(matches!(
        apply(&store, &key(1), Decision::Append(edit), NOW),
        Err(StoreError::TooLarge { .. })
    ));
    assert_eq!(
        get(&store, &key(1), NOW).map(|value| value.len()),
        Some(value.len())
    );
    assert_eq!(
        set(&store, &[b'k'; 256], b"v", NOW),
        Err(StoreError::KeyTooLong { length: 256 })
    );
    assert!(set(&store, &[b'k'; 255], b"v", NOW).is_ok());
}

#[test]
fn a_megabyte_is_refused_by_default_as_by_memcached() {
    let store = open("memory:?capacity=64MiB");
    assert!(set(&store, b"k", &vec![0; (1 << 20) - 1024], NOW).is_ok());
    assert!(matches!(
        set(&store, b"k", &vec![0; 1 << 20], NOW),
        Err(StoreError::TooLarge { .. })
    ));
}

#[test]
fn large_values_are_adopted_without_a_copy() {
    let store = open("memory:?capacity=64MiB");
    let mut extent = store.reserve(500_000, NOW).expect("there's room");
    extent.as_mut_slice().fill(9);
    let address = extent.as_mut_slice().as_ptr();
    let pinned = extent.freeze();
    put(
        &store,
        b"k",
        New {
            value: Payload::Pinned(&pinned),
            ..New::new(&[])
        },
        NOW,
    )
    .expect("there's room");
    drop(pinned);
    let value = ready(store.read(&store.key(b"k"), NOW, |entry| {
        entry.map(|entry| entry.value()).and_then(|value| match value {
            Value::Shared(pinned) => Some(pinned),
            _ => None,
        })
    }));
    let value = value.expect("a large value is shared");
    assert_eq!(value.as_ref().as_ptr(), address);
    assert_eq!(value.as_ref(), vec![9; 500_000]);
}

#[test]
fn held_values_count_until_the_last_clone_is_gone() {
    let store = open("memory:?capacity=8MiB&item_size_max=2MiB");
    let mut held = Vec::new();
    let outcome = loop {
        let outcome = set(&store, b"k", &vec![held.len() as u8; 1 << 20], NOW);
        if outcome.is_err() {
            break outcome;
        }
        held.extend(ready(store.read(&store.key(b"k"), NOW, |entry| {
            entry.and_then(|entry| match entry.value() {
                Value::Shared(pinned) => Some(pinned),
                _ => None,
            })
        })));
    };
    assert_eq!(outcome, Err(StoreError::OutOfMemory));
    assert!(
        (6..=7).contains(&held.len()),
        "{} of a megabyte in eight",
        held.len()
    );
    for (number, pinned) in held.iter().enumerate() {
        assert!(
            pinned.as_ref().iter().all(|&byte| byte == number as u8),
            "a held value changed"
        );
    }
    held.clear();
    assert!(set(&store, b"k", &vec![1; 1 << 20], NOW).is_ok());
}

#[test]
fn uploads_in_flight_are_bounded() {
    let store = open("memory:?capacity=8MiB");
    let uploads = (0..)
        .map_while(|_| store.reserve(500_000, NOW).ok())
        .collect::<Vec<_>>();
    assert_eq!(uploads.len(), 4, "a quarter of the capacity");
    assert!(matches!(
        store.reserve(500_000, NOW),
        Err(StoreError::UploadsFull)
    ));
    drop(uploads);
    assert!(store.reserve(500_000, NOW).is_ok());
}

#[test]
fn large_and_small_values_make_room_for_each_other() {
    let store = open("memory:?capacity=16MiB");
    for number in 0..60_000 {
        set(&store, &key(number), &[1; 300], NOW).expect("evicting makes room");
    }
    for number in 0..100 {
        set(&store, &key(100_000 + number), &vec![2; 400_000], NOW).expect("small values make room");
    }
    assert!(
        store.statistics().extent_bytes > 4 << 20,
        "{:?}",
        store.statistics()
    );
    for number in 200_000..300_000 {
        set(&store, &key(number), &[3; 300], NOW).expect("large values make room");
    }
    assert!(
        store.statistics().extent_bytes < 8 << 20,
        "{:?}",
        store.statistics()
    );
    let huge = vec![4; 1_000_000];
    set(&store, b"huge", &huge, NOW).expect("everything makes room");
    assert_eq!(get(&store, b"huge", NOW), Some(huge));
}
