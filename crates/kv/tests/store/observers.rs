//! Observers and their lifetime.

use std::sync::{Arc, Mutex};

use crate::common::{Random, apply, get, open, put, set};
use kv::{Decision, Engine, Entry, Expiry, New, Now, Observer};

const NOW: Now = Now(1_000_000);

/// An eviction as an observer sees it.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    key: Vec<u8>,
    flags: u32,
    length: u64,
    fetched: bool,
    expiry: Expiry,
}

#[derive(Default)]
struct Notebook(Mutex<Vec<Told>>);

impl Observer for Notebook {
    fn evicted(&self, item: &Entry<'_>) {
        self.0.lock().expect("no observer panics").push(Told {
            key: item.key().to_vec(),
            flags: item.flags(),
            length: item.len(),
            fetched: item.fetched(),
            expiry: item.expiry(),
        });
    }
}

impl Notebook {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().expect("no observer panics"))
    }
}

#[test]
fn every_eviction_is_told_once_and_nothing_else() {
    let store = open("memory:?capacity=4MiB&item_size_max=1MiB");
    let notebook = Arc::new(Notebook::default());
    let observation = store.observe(notebook.clone());
    let mut random = Random::new(7);
    let mut told = Vec::new();
    for number in 0..20_000u32 {
        let key = number.to_le_bytes();
        let length = if number % 500 == 0 {
            100_000
        } else {
            random.below(900) as usize
        };
        let value = vec![1; length];
        let parts = [&value[..]];
        // Items that expire or are removed are not evictions.
        let now = Now(NOW.0 + number / 4000);
        let expiry = match number % 3 {
            0 => Expiry::At(now.0 + 1 + number % 4),
            _ => Expiry::Never,
        };
        let new = New {
            flags: number,
            expiry,
            ..New::new(&parts)
        };
        put(&store, &key, new, now).expect("evicting makes room");
        if number % 5 == 0 {
            assert!(get(&store, &key, now).is_some());
        }
        if number % 11 == 0 {
            apply(&store, &key, Decision::Remove, now).expect("removing needs no memory");
        }
        for item in notebook.take() {
            assert!(
                !item.expiry.passed(now),
                "an expired item isn't evicted: {item:?}"
            );
            assert_eq!(get(&store, &item.key, now), None, "told and still there");
            told.push(item);
        }
    }
    let figures = store.statistics();
    assert!(figures.expired > 100, "nothing expired: {figures:?}");
    assert_eq!(told.len() as u64, figures.evictions);
    assert_eq!(
        told.iter().filter(|item| !item.fetched).count() as u64,
        figures.evicted_unfetched
    );
    assert!(told.iter().any(|item| item.length == 100_000));
    for item in &told {
        assert_eq!(item.key, item.flags.to_le_bytes(), "facts of another item");
        assert_ne!(item.flags % 11, 0, "a removed item isn't evicted");
    }
    told.sort_by(|one, other| one.key.cmp(&other.key));
    told.dedup_by(|one, other| one.key == other.key);
    assert_eq!(told.len() as u64, figures.evictions, "an item was told twice");
    drop(observation);
}

#[test]
fn an_observation_ends_when_it_is_dropped() {
    let store = open("memory:?capacity=1MiB");
    let fill = |from: u32| {
        for number in from..from + 5000 {
            set(&store, &number.to_le_bytes(), &[1; 500], NOW).expect("evicting makes room");
        }
    };
    let (first, second) = (Arc::new(Notebook::default()), Arc::new(Notebook::default()));
    let one = store.observe(first.clone());
    let other = store.observe(second.clone());
    fill(0);
    let told = first.take();
    assert!(told.len() > 1000);
    assert_eq!(told, second.take());
    drop(one);
    fill(10_000);
    assert!(first.take().is_empty() && !second.take().is_empty());
    drop(other);
    fill(20_000);
    assert!(second.take().is_empty());
}
