//! Looking ahead in a batch of lookups.

use kv::{Engine, Key, Store};

/// So many items are on their way while one is executed: enough to hide a memory access behind the copying of the others,
/// and no burst that is more than a core can have under way at a time.
const AHEAD: usize = 6;

/// Goes through a batch whose buckets were prefetched, and fetches the items of those which come next.
#[inline]
pub(crate) fn ahead<'b, 'k: 'b, T>(
    store: &'b Store,
    batch: &'b [T],
    key: impl Fn(&T) -> Option<Key<'k>> + 'b,
) -> impl Iterator<Item = &'b T> {
    let fetch = move |entry: &T| {
        if let Some(key) = key(entry) {
            store.prefetch_item(&key);
        }
    };
    batch.iter().take(AHEAD).for_each(&fetch);
    batch.iter().enumerate().map(move |(index, entry)| {
        if let Some(later) = batch.get(index + AHEAD) {
            fetch(later);
        }
        entry
    })
}
