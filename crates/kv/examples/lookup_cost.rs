//! Nanoseconds per read and per write, one at a time and in batches with prefetching, at 10 thousand and 1 million items.
//!
//!     [STORE=URI] cargo run --release -p hikyaku-kv --example lookup_cost [items]…
//!
//! The store is `memory:?capacity=2GiB`, or what `STORE` names. One that survives is closed and opened at the end.

use std::hint::black_box;

use kv::{Answer, Decision, Engine, Key, New, Now, Store};

const NOW: Now = Now(1_000_000);
const OPERATIONS: usize = 1_000_000;
const KEY: usize = 100;
const VALUE: usize = 400;

fn main() {
    let mut sizes = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number of items"))
        .collect::<Vec<u64>>();
    if sizes.is_empty() {
        sizes = vec![10_000, 1_000_000];
    }
    for items in sizes {
        let uri = std::env::var("STORE").unwrap_or_else(|_| "memory:?capacity=2GiB".to_owned());
        let (store, _) = Store::open(&uri).expect("the name is right");
        let keys = (0..items)
            .map(|number| format!("{number:0KEY$}").into_bytes())
            .collect::<Vec<_>>();
        keys.iter().for_each(|key| set(&store, &store.key(key)));
        let order = order(items);
        println!("{items} items, key {KEY}, value {VALUE}");
        for batch in [1, 16, 64] {
            let frame = time(&store, &keys, &order, batch, false, |_, _| ());
            let read = time(&store, &keys, &order, batch, true, |key, out| {
                read(&store, key, out)
            }) - frame;
            let write = time(&store, &keys, &order, batch, true, |key, _| set(&store, key)) - frame;
            println!("    batches of {batch:2}: read {read:5.1} ns, write {write:5.1} ns");
        }
        if !store.is_cache() {
            reopen(store, &uri);
        }
    }
}

/// Measures opening the store, after it was closed and after it was only dropped.
fn reopen(store: Store, uri: &str) {
    store.close().expect("the device works");
    drop(store);
    for how in ["closed", "dropped"] {
        let began = std::time::Instant::now();
        let (store, _) = Store::open(uri).expect("the store is whole");
        let (items, took) = (store.statistics().items, began.elapsed());
        println!("    opened after it was {how}: {items} items in {took:.2?}");
    }
}

/// Keys in a random order that's the same every time.
fn order(items: u64) -> Vec<u32> {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..OPERATIONS).map(|_| (next() % items) as u32).collect()
}

/// Nanoseconds per operation. Keys are first copied to a buffer, as they'd come from a socket; what that costs is measured by
/// running without the store.
fn time(
    store: &Store,
    keys: &[Vec<u8>],
    order: &[u32],
    batch: usize,
    store_too: bool,
    operation: impl Fn(&Key<'_>, &mut Vec<u8>),
) -> f64 {
    let mut out = Vec::with_capacity(1 << 20);
    let mut input = [[0u8; KEY]; 64];
    let mut best = f64::MAX;
    for _ in 0..3 {
        let started = cpu_nanoseconds();
        for numbers in order.chunks(batch) {
            for (place, &number) in input.iter_mut().zip(numbers) {
                place.copy_from_slice(&keys[number as usize]);
            }
            black_box(&mut input);
            if !store_too {
                continue;
            }
            let mut hashed = [None; 64];
            for (place, bytes) in hashed.iter_mut().zip(&input[..numbers.len()]) {
                let key = store.key(bytes);
                if batch > 1 {
                    store.prefetch(&key);
                }
                *place = Some(key);
            }
            if batch > 1 {
                hashed.iter().flatten().for_each(|key| store.prefetch_item(key));
            }
            hashed.iter().flatten().for_each(|key| operation(key, &mut out));
            out.clear();
        }
        best = best.min((cpu_nanoseconds() - started) as f64 / order.len() as f64);
    }
    black_box(out);
    best
}

/// Time that this thread has had on a core: other programs don't count.
fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has schedstat");
    text.split(' ')
        .next()
        .and_then(|field| field.parse().ok())
        .expect("schedstat begins with a number")
}

#[inline(never)]
fn read(store: &Store, key: &Key<'_>, out: &mut Vec<u8>) {
    let found = store.read(key, NOW, |entry| {
        entry.map(|entry| {
            out.extend_from_slice(entry.bytes());
            entry.flags()
        })
    });
    assert_eq!(found, Ok(Answer::Ready(Some(0))));
}

#[inline(never)]
fn set(store: &Store, key: &Key<'_>) {
    static VALUE_BYTES: [u8; VALUE] = [7; VALUE];
    let parts = [&VALUE_BYTES[..]];
    let outcome = store.update(key, NOW, |_| (Decision::Put(New::new(&parts)), ()));
    assert!(outcome.is_ok_and(|outcome| outcome.ready().is_some()));
}
