//! A system that gives no more address space is not a full store. In a process of its own, since the limit is the process's.

#![allow(unsafe_code)]

use kv::{Decision, Engine, New, Now, Store, StoreError};

const NOW: Now = Now(1_000_000);

#[test]
fn a_failed_reservation_evicts_nothing() {
    let store = Store::open("memory:?capacity=64MiB&item_size_max=8MiB")
        .expect("the name is right")
        .0;
    for number in 0..20_000u64 {
        set(&store, &number.to_le_bytes(), &[1; 400]).expect("there is room");
    }
    let items = store.statistics().items;
    limit_address_space();
    // The lane of this size has no address space yet.
    let large = vec![2; 4 << 20];
    for _ in 0..3 {
        assert_eq!(set(&store, b"large", &large), Err(StoreError::OutOfMemory));
    }
    let figures = store.statistics();
    assert_eq!((figures.items, figures.evictions), (items, 0), "{figures:?}");
    set(&store, b"small", &[3; 400]).expect("small values need no further address space");
}

fn set(store: &Store, key: &[u8], value: &[u8]) -> Result<u64, StoreError> {
    let parts = [value];
    let outcome = store.update(&store.key(key), NOW, |_| (Decision::Put(New::new(&parts)), ()));
    outcome.map(|stored| stored.ready().expect("memory answers at once").cas)
}

/// Allows this process what it has and 16 MiB more, as `ulimit -v` does.
fn limit_address_space() {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    let pages = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
    let bytes = pages.expect("statm has numbers") * 4096 + (16 << 20);
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the call reads a structure that lives until it returns.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(set, 0);
}
