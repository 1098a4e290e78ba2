//! Bytes that a thread has copied for large values: a measure of how long it kept its other clients waiting.

use std::cell::Cell;

thread_local! {
    static MOVED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of large values that this thread has copied within stores, ever. Commands differ in this by a factor of millions; a
/// loop that serves many clients compares two readings to know how long it has kept the others waiting.
///
/// ```
/// use kv::{Decision, Engine, New, Now, Store};
///
/// let (store, _) = Store::open("memory:?capacity=16MiB")?;
/// let before = kv::bytes_moved();
/// let value = vec![7; 500_000];
/// let parts = [&value[..]];
/// let stored = store.update(&store.key(b"large"), Now(1), |_| (Decision::Put(New::new(&parts)), ()));
/// assert!(stored.is_ok_and(|stored| stored.ready().is_some()));
/// assert!(kv::bytes_moved() - before >= 500_000);
/// # Ok::<(), kv::Error>(())
/// ```
#[inline]
pub fn bytes_moved() -> u64 {
    MOVED.get()
}

/// Counts bytes that were copied.
pub(crate) fn add(bytes: usize) {
    MOVED.set(MOVED.get() + bytes as u64);
}
