//! Appending to large values: in place where that is possible, and never seen by those who hold the shorter value.

use std::thread::scope;

use crate::common::{apply, get, hold, open, put, set};
use kv::{Decision, Edit, Engine, New, Now, Payload, Store, StoreError};

const NOW: Now = Now(1_000_000);

fn edit<'v>(parts: &'v [&'v [u8]]) -> Edit<'v> {
    Edit {
        value: Payload::Parts(parts),
        cas: None,
    }
}

fn append(store: &Store, key: &[u8], bytes: &[u8]) -> Result<(bool, u64), StoreError> {
    apply(store, key, Decision::Append(edit(&[bytes])), NOW)
}

#[test]
fn appending_to_a_large_value_moves_only_what_is_new() {
    let store = open("memory:?capacity=256MiB&item_size_max=128MiB");
    let mut value = vec![1; 40 << 20];
    set(&store, b"k", &value, NOW).expect("there is room");
    let before = kv::bytes_moved();
    for number in 0..20_000_u32 {
        append(&store, b"k", &number.to_le_bytes()).expect("there is room");
        value.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(kv::bytes_moved() - before, 80_000);
    assert_eq!(get(&store, b"k", NOW), Some(value));
}

/// The slot doubles whenever it is full, so that many appends copy each byte about once.
#[test]
fn a_value_that_grows_from_nothing_is_copied_seldom() {
    let store = open("memory:?capacity=64MiB&item_size_max=16MiB");
    set(&store, b"k", b"", NOW).expect("there is room");
    let before = kv::bytes_moved();
    let piece = [3; 10_000];
    for _ in 0..800 {
        append(&store, b"k", &piece).expect("there is room");
    }
    assert_eq!(
        get(&store, b"k", NOW).map(|value| value == [3; 8_000_000]),
        Some(true)
    );
    let moved = kv::bytes_moved() - before;
    assert!(moved < 3 * 8_000_000, "{moved} bytes were moved");
}

#[test]
fn whoever_holds_a_value_keeps_what_it_was() {
    let store = open("memory:?capacity=16MiB&item_size_max=4MiB");
    set(&store, b"k", &[1; 100_000], NOW).expect("there is room");
    let short = hold(&store, b"k", NOW).expect("it is large");
    append(&store, b"k", &[2; 10_000]).expect("there is room");
    let long = hold(&store, b"k", NOW).expect("it is large");
    assert_eq!(
        short.as_ref().as_ptr(),
        long.as_ref().as_ptr(),
        "nothing was copied"
    );
    assert_eq!((short.len(), long.len()), (100_000, 110_000));
    assert!(short.as_ref().iter().all(|&byte| byte == 1));
    // A held value may be stored again, and continued there: the longer one under the first key stays what it is.
    let old = New {
        value: Payload::Pinned(&short),
        ..New::new(&[])
    };
    put(&store, b"other", old, NOW).expect("there is room");
    append(&store, b"other", &[3; 10_000]).expect("there is room");
    append(&store, b"k", &[4; 10]).expect("there is room");
    let expected = |third: u8, rest: &[u8]| [&[1; 100_000], &[third; 10_000][..], rest].concat();
    assert_eq!(get(&store, b"other", NOW), Some(expected(3, &[])));
    assert_eq!(get(&store, b"k", NOW), Some(expected(2, &[4; 10])));
    assert_eq!(long.as_ref(), expected(2, &[]));
}

/// Growing in place is paid for like everything else.
#[test]
fn appended_bytes_count_against_the_capacity() {
    let store = open("memory:?capacity=4MiB&item_size_max=2MiB&evict=false");
    set(&store, b"k", &[1; 1_100_000], NOW).expect("there is room");
    let before = store.statistics().used;
    for _ in 0..80 {
        append(&store, b"k", &[2; 10_000]).expect("there is room");
    }
    let used = store.statistics().used;
    assert!((790_000..820_000).contains(&(used - before)), "{before} {used}");
    // Nothing is evicted, so the store fills up, and the value stays as it was.
    for number in 0..10_u8 {
        let _ = set(&store, &[number], &[0; 500_000], NOW);
    }
    let figures = store.statistics();
    let mut length = 1_900_000;
    while append(&store, b"k", &[3; 1000]).is_ok() {
        length += 1000;
    }
    assert_eq!(get(&store, b"k", NOW).map(|value| value.len()), Some(length));
    assert!(figures.used <= figures.capacity && store.statistics().used <= figures.capacity);
    // Items and their blocks add up however they grew.
    apply(&store, b"k", Decision::Remove, NOW).expect("removing needs no room");
    for number in 0..10_u8 {
        apply(&store, &[number], Decision::Remove, NOW).expect("removing needs no room");
    }
    let figures = store.statistics();
    assert_eq!((figures.items, figures.bytes), (0, 0), "{figures:?}");
}

/// Threads append and prepend to a few values, each thread its own letter, and every byte arrives once.
#[test]
fn appends_of_many_threads_are_all_there() {
    let store = open("memory:?capacity=64MiB&item_size_max=4MiB");
    let keys = [b"one", b"two"];
    for key in keys {
        set(&store, key, &[b'.'; 200_000], NOW).expect("there is room");
    }
    scope(|threads| {
        for letter in [b'a', b'b', b'c'] {
            let store = &store;
            threads.spawn(move || {
                for number in 0..600 {
                    let bytes = [letter; 97];
                    let parts = [&bytes[..]];
                    let decision = match number % 20 {
                        0 => Decision::Prepend(edit(&parts)),
                        _ => Decision::Append(edit(&parts)),
                    };
                    let key = keys[number % 2];
                    assert!(apply(store, key, decision, NOW).expect("there is room").0);
                    drop(hold(store, key, NOW));
                }
            });
        }
    });
    for key in keys {
        let value = get(&store, key, NOW).expect("it is there");
        assert_eq!(value.len(), 200_000 + 3 * 300 * 97);
        for letter in [b'a', b'b', b'c'] {
            let found = value.iter().filter(|&&byte| byte == letter).count();
            assert_eq!(found, 300 * 97);
        }
    }
}
