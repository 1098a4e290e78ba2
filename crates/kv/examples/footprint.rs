//! Memory per item beyond key and value: 1 million items with keys of 20 and values of 80 bytes, by the store's own account
//! and by the process's resident memory; then the same for a store that is full and evicting, and the bound on resident memory.
//!
//!     cargo run --release -p hikyaku-kv --example footprint

use kv::{Decision, Engine, New, Now, Store};

const ITEMS: u64 = 1_000_000;
const KEY: usize = 20;
const VALUE: usize = 80;
const NOW: Now = Now(1_000_000);

fn main() {
    let before = resident();
    let store = fill("memory:?capacity=1GiB", 0..ITEMS);
    report("1 million items", &store, ITEMS, before);
    drop(store);

    let before = resident();
    let store = fill("memory:?capacity=64MiB", 0..4 * ITEMS);
    let items = store.statistics().items;
    report("full and evicting", &store, items, before);
    overwrite(&store, 0..4 * ITEMS);
    let items = store.statistics().items;
    report("… after other sizes", &store, items, before);
    bound(&store, before);
    drop(store);

    // Large enough for huge pages.
    let before = resident();
    let store = fill("memory:?capacity=512MiB", 0..6 * ITEMS);
    let items = store.statistics().items;
    report("large, full and evicting", &store, items, before);
    bound(&store, before);
}

/// Holds the resident memory against the promise.
fn bound(store: &Store, before: u64) {
    let (grown, capacity) = (resident() - before, store.statistics().capacity);
    let bound = capacity + capacity / 10 + (64 << 20);
    println!("    resident {} MiB of at most {} MiB", grown >> 20, bound >> 20);
    assert!(grown <= bound, "more memory than promised");
}

fn fill(uri: &str, keys: std::ops::Range<u64>) -> Store {
    let (store, _) = Store::open(uri).expect("the name is right");
    keys.for_each(|number| set(&store, number, VALUE));
    store
}

/// Overwrites more keys than fit, in no order, with values of mixed sizes, which leaves holes.
fn overwrite(store: &Store, keys: std::ops::Range<u64>) {
    let scattered = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    keys.for_each(|number| {
        set(
            store,
            scattered(number) % ITEMS,
            40 + (scattered(number) / ITEMS % 81) as usize,
        )
    });
}

fn set(store: &Store, number: u64, length: usize) {
    let key = format!("{number:0KEY$}");
    let value = [number as u8; 256];
    let parts = [&value[..length]];
    let outcome = store.update(&store.key(key.as_bytes()), NOW, |_| {
        (Decision::Put(New::new(&parts)), ())
    });
    outcome
        .expect("evicting makes room")
        .ready()
        .expect("memory answers at once");
}

fn report(what: &str, store: &Store, items: u64, before: u64) {
    let figures = store.statistics();
    let payload = (KEY + VALUE) as f64;
    let account = figures.used as f64 / items as f64 - payload;
    let resident = (resident() - before) as f64 / items as f64 - payload;
    println!(
        "{what}: {items} items; beyond key and value {account:.1} B by account, {resident:.1} B resident"
    );
    println!(
        "    table {} MiB, arenas {} MiB, {} buckets",
        figures.table_bytes >> 20,
        figures.arena_bytes >> 20,
        figures.buckets
    );
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|field| field.parse().ok())
        .expect("statm has numbers");
    pages * 4096
}
