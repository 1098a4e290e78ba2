//! Helpers of the tests.

use kv::{Answer, Decision, Engine, Entry, New, Now, Pinned, Store, StoreError, Stored, Value};

/// A store from its name.
pub(crate) fn open(uri: &str) -> Store {
    Store::open(uri).expect("a store name written by a test").0
}

/// The answer of a read in memory.
pub(crate) fn ready<R>(answer: Result<Answer<R>, StoreError>) -> R {
    let answer = answer.expect("the memory engine can read everything");
    answer.ready().expect("the memory engine answers at once")
}

/// The answer of an update in memory, and the CAS afterwards.
pub(crate) fn stored<R>(stored: Result<Answer<Stored<R>>, StoreError>) -> Result<(R, u64), StoreError> {
    let stored = stored?.ready().expect("the memory engine answers at once");
    assert!(stored.commit.is_none(), "a cache promises nothing");
    Ok((stored.answer, stored.cas))
}

/// Stores a value that never expires.
pub(crate) fn set(store: &Store, key: &[u8], value: &[u8], now: Now) -> Result<u64, StoreError> {
    put(store, key, New::new(&[value]), now)
}

/// Stores an item.
pub(crate) fn put(store: &Store, key: &[u8], new: New<'_>, now: Now) -> Result<u64, StoreError> {
    stored(store.update(&store.key(key), now, |_| (Decision::Put(new), ()))).map(|((), cas)| cas)
}

/// Does something to an item; tells whether there was one, and its CAS afterwards.
pub(crate) fn apply(
    store: &Store,
    key: &[u8],
    decision: Decision<'_>,
    now: Now,
) -> Result<(bool, u64), StoreError> {
    stored(store.update(&store.key(key), now, |entry| (decision, entry.is_some())))
}

/// The value of a key.
pub(crate) fn get(store: &Store, key: &[u8], now: Now) -> Option<Vec<u8>> {
    ready(store.read(&store.key(key), now, |entry| {
        entry.map(|entry| entry.bytes().to_vec())
    }))
}

/// Something about an item, without counting as an access.
pub(crate) fn peek<R>(store: &Store, key: &[u8], now: Now, f: impl FnOnce(&Entry<'_>) -> R) -> Option<R> {
    ready(store.peek(&store.key(key), now, |entry| entry.map(f)))
}

/// The value of a key, held as a reply holds it; `None` if it is not there or not large.
pub(crate) fn hold(store: &Store, key: &[u8], now: Now) -> Option<Pinned> {
    ready(store.read(&store.key(key), now, |entry| {
        entry.and_then(|entry| match entry.value() {
            Value::Shared(pinned) => Some(pinned),
            _ => None,
        })
    }))
}

/// Small, fast, repeatable random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}
