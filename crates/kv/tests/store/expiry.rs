//! Time: expiry, flushing, and what they count.

use crate::common::{apply, get, open, peek, put, set};
use kv::{Cas, Change, Decision, Engine, Expiry, New, Now, Store};

const START: u32 = 1_000_000;

fn put_until(store: &Store, key: &[u8], second: u32, now: Now) {
    put(
        store,
        key,
        New {
            expiry: Expiry::At(second),
            ..New::new(&[b"value"])
        },
        now,
    )
    .expect("there's room");
}

#[test]
fn items_end_at_their_second() {
    let store = open("memory:?capacity=64MiB");
    for ttl in [1, 2, 7, 8, 60, 3600, 86_400, 2_592_000] {
        let key = format!("ttl {ttl}");
        put_until(&store, key.as_bytes(), START + ttl, Now(START));
        assert!(
            get(&store, key.as_bytes(), Now(START + ttl - 1)).is_some(),
            "{ttl} seconds"
        );
        assert!(
            get(&store, key.as_bytes(), Now(START + ttl)).is_none(),
            "{ttl} seconds"
        );
    }
    put_until(&store, b"past", START - 1, Now(START));
    assert!(get(&store, b"past", Now(START)).is_none());
}

#[test]
fn touching_moves_the_end_both_ways() {
    let store = open("memory:?capacity=64MiB");
    let now = Now(START);
    let cas = set(&store, b"k", b"v", now).expect("there's room");
    for expiry in [
        Expiry::At(START + 10),
        Expiry::At(START + 100_000),
        Expiry::Never,
        Expiry::At(START + 3),
    ] {
        let (there, after) = apply(&store, b"k", Decision::touch(expiry), now).expect("there's room");
        assert_eq!((there, after), (true, cas), "touching keeps the cas");
        assert_eq!(peek(&store, b"k", now, |entry| entry.expiry()), Some(expiry));
        store.tick(now, 1000);
    }
    assert!(get(&store, b"k", Now(START + 3)).is_none());
}

#[test]
fn whole_arenas_are_dropped_when_their_time_is_over() {
    let store = open("memory:?capacity=64MiB");
    for number in 0..50_000u32 {
        put_until(
            &store,
            &number.to_le_bytes(),
            START + 100 + number % 20,
            Now(START),
        );
    }
    for number in 50_000..60_000u32 {
        set(&store, &number.to_le_bytes(), b"stays", Now(START)).expect("there's room");
    }
    get(&store, &7u32.to_le_bytes(), Now(START));
    while store.tick(Now(START + 99), 100) {}
    assert_eq!(store.statistics().items, 60_000);
    while store.tick(Now(START + 120), 100) {}
    let figures = store.statistics();
    assert_eq!(
        (figures.items, figures.expired, figures.expired_unfetched),
        (10_000, 50_000, 49_999)
    );
    assert_eq!((figures.reclaimed, figures.evictions), (50_000, 0));
    let left: Vec<_> = figures.classes.iter().filter(|class| class.items > 0).collect();
    assert_eq!(left.len(), 1, "only items that never expire are left");
    assert_eq!(left[0].ttl_min, None);
}

/// A store of many arenas once kept its daemon busy for good: each call said that there was more to do.
#[test]
fn a_round_of_housekeeping_ends() {
    let store = open("memory:?capacity=64MiB");
    let value = vec![b'v'; 8000];
    for number in 0..4000u32 {
        set(&store, &number.to_be_bytes(), &value, Now(START)).expect("there's room");
    }
    let rounds = (0..2).map(|_| (0..10_000).take_while(|_| store.tick(Now(START), 8)).count());
    for calls in rounds {
        assert!(calls > 0, "there are more arenas than the budget");
        assert!(calls < 1000, "{calls} calls did not end a round");
    }
}

#[test]
fn expired_items_go_before_living_ones() {
    let store = open("memory:?capacity=4MiB");
    let value = [1; 400];
    let mut number = 0u32;
    while store.statistics().used + (256 << 10) < store.statistics().capacity {
        let expiry = if number < 3000 {
            Expiry::At(START + 5)
        } else {
            Expiry::Never
        };
        put(
            &store,
            &number.to_le_bytes(),
            New {
                expiry,
                ..New::new(&[&value])
            },
            Now(START),
        )
        .expect("there's room");
        number += 1;
    }
    for number in number..number + 2500 {
        set(&store, &number.to_le_bytes(), &value, Now(START + 6)).expect("the expired ones make room");
    }
    assert_eq!(store.statistics().evictions, 0);
    assert!(store.statistics().expired > 1000);
}

#[test]
fn a_flush_hides_what_was_and_not_what_comes() {
    let store = open("memory:?capacity=64MiB");
    let now = Now(START);
    set(&store, b"old", b"v", now).expect("there's room");
    // A cas that a client names must not make an item look newer than it is.
    put(
        &store,
        b"named",
        New {
            cas: Some(u64::MAX),
            ..New::new(&[b"v"])
        },
        now,
    )
    .expect("there's room");
    store.flush(None, now).expect("a cache can be flushed");
    put(
        &store,
        b"new",
        New {
            cas: Some(1),
            ..New::new(&[b"v"])
        },
        now,
    )
    .expect("there's room");
    assert!(get(&store, b"old", now).is_none() && get(&store, b"named", now).is_none());
    assert!(
        get(&store, b"new", now).is_some(),
        "stored within the same second"
    );
    assert_eq!(
        (store.statistics().flushed, store.statistics().read_flushed),
        (2, 2)
    );
}

#[test]
fn a_flush_can_wait_for_its_second() {
    let store = open("memory:?capacity=64MiB");
    set(&store, b"before", b"v", Now(START)).expect("there's room");
    store
        .flush(Some(START + 5), Now(START))
        .expect("a cache can be flushed");
    set(&store, b"between", b"v", Now(START + 4)).expect("there's room");
    assert!(get(&store, b"before", Now(START + 4)).is_some());
    set(&store, b"after", b"v", Now(START + 5)).expect("there's room");
    for (key, there) in [("before", false), ("between", false), ("after", true)] {
        assert_eq!(
            get(&store, key.as_bytes(), Now(START + 5)).is_some(),
            there,
            "{key}"
        );
    }
    // A later flush replaces one that still waits.
    store
        .flush(Some(START + 10), Now(START + 6))
        .expect("a cache can be flushed");
    store
        .flush(Some(START + 20), Now(START + 6))
        .expect("a cache can be flushed");
    assert!(get(&store, b"after", Now(START + 12)).is_some());
    assert!(get(&store, b"after", Now(START + 20)).is_none());
}

#[test]
fn flushed_memory_comes_back() {
    let store = open("memory:?capacity=8MiB&evict=false");
    for round in 0..5u32 {
        let stored = (0..30_000u32)
            .take_while(|number| {
                set(
                    &store,
                    &(round * 100_000 + number).to_le_bytes(),
                    &[1; 300],
                    Now(START),
                )
                .is_ok()
            })
            .count();
        assert!(
            (22_000..30_000).contains(&stored),
            "{stored} items in round {round}"
        );
        store.flush(None, Now(START)).expect("a cache can be flushed");
    }
}

#[test]
fn marks_and_access_times_are_told() {
    let store = open("memory:?capacity=64MiB");
    set(&store, b"k", b"v", Now(START)).expect("there's room");
    let seen = |now: u32| {
        peek(&store, b"k", Now(now), |entry| {
            (entry.fetched(), entry.last_access())
        })
    };
    assert_eq!(seen(START + 1), Some((false, START)));
    get(&store, b"k", Now(START + 5));
    assert_eq!(seen(START + 9), Some((true, START + 5)));
    let change = Change {
        stale: Some(true),
        won: Some(true),
        cas: Cas::Exactly(77),
        ..Change::default()
    };
    apply(&store, b"k", Decision::Change(change), Now(START + 6)).expect("there's room");
    let marks = peek(&store, b"k", Now(START + 6), |entry| (entry.marks(), entry.cas())).expect("it's there");
    assert!(marks.0.stale && marks.0.won && marks.0.fetched && marks.1 == 77);
    set(&store, b"k", b"v", Now(START + 7)).expect("there's room");
    assert_eq!(
        peek(&store, b"k", Now(START + 7), |entry| entry.marks()),
        Some(kv::Marks::default())
    );
}
