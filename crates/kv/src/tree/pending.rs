//! Writes that are in the log and not yet in the pages.
//!
//! ```text
//!   write ──▶ active ──freeze──▶ frozen ──merge──▶ pages
//!   read  ──▶ active ─── or ───▶ frozen ─── or ──▶ pages
//! ```
//!
//! **Invariant:** a write is here before its log has a later one, so a freeze has exactly the writes before the offset that it
//! is given. A write leaves only when the pages have it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::RwLock;

use super::pages::Changes;
use crate::owned::OwnedEntry;

/// Bytes of memory that a write takes beside its key and its value, about.
const OVERHEAD: u64 = 160;

/// The pending writes of a store.
#[derive(Debug, Default)]
pub(super) struct Pending {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    active: Changes,
    figures: Figures,
    frozen: Option<Arc<Frozen>>,
}

/// Sums over a set of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    /// Memory.
    pub(super) bytes: u64,
    /// Items that the writes add to those of the pages. An estimate: a blind write may replace an item that only the pages have.
    pub(super) items: i64,
}

/// Writes that are being merged.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) changes: Changes,
    figures: Figures,
    /// The log's offset after the last of these writes.
    pub(super) offset: u64,
    /// The number of flushes before these writes.
    pub(super) generation: u64,
    pub(super) flush_at: Option<u32>,
}

/// The state of a key, as far as it is known without the pages.
pub(super) enum Found {
    Item(Arc<OwnedEntry>),
    Removed,
    /// The pages know.
    Unknown,
}

impl State {
    fn find(&self, key: &[u8]) -> Found {
        let active = self.active.get(key);
        let frozen = || self.frozen.as_ref()?.changes.get(key);
        match active.or_else(frozen) {
            Some(Some(item)) => Found::Item(item.clone()),
            Some(None) => Found::Removed,
            None => Found::Unknown,
        }
    }
}

impl Pending {
    /// Looks for the last write to a key.
    pub(super) fn find(&self, key: &[u8]) -> Found {
        self.state.read().find(key)
    }

    /// Adds a write. `existed` tells whether there was an item; `None` if that is not known.
    pub(super) fn put(&self, key: &[u8], item: Option<Arc<OwnedEntry>>, existed: Option<bool>) {
        let mut state = self.state.write();
        let existed = existed.unwrap_or_else(|| match state.find(key) {
            Found::Item(_) => true,
            Found::Removed => false,
            // A removal is seldom asked for if there is nothing, and most blind writes are new.
            Found::Unknown => item.is_none(),
        });
        let bytes = memory(key, item.as_deref());
        state.figures.items += i64::from(item.is_some()) - i64::from(existed);
        state.figures.bytes += bytes;
        if let Some(old) = state.active.insert(key.into(), item) {
            state.figures.bytes -= memory(key, old.as_deref());
        }
    }

    /// Freezes the active writes, unless there are frozen ones already, and returns the frozen ones.
    pub(super) fn freeze(&self, offset: u64, generation: u64, flush_at: Option<u32>) -> Arc<Frozen> {
        let mut state = self.state.write();
        if let Some(frozen) = &state.frozen {
            return frozen.clone();
        }
        let frozen = Arc::new(Frozen {
            changes: std::mem::take(&mut state.active),
            figures: std::mem::take(&mut state.figures),
            offset,
            generation,
            flush_at,
        });
        state.frozen = Some(frozen.clone());
        frozen
    }

    /// Drops frozen writes, which the pages have. `also` runs while no reader can look.
    pub(super) fn thaw(&self, frozen: &Arc<Frozen>, also: impl FnOnce()) {
        let mut state = self.state.write();
        let same = |held: &Arc<Frozen>| Arc::ptr_eq(held, frozen);
        let dropped = state.frozen.take_if(|held| same(held));
        also();
        drop(state);
        drop(dropped);
    }

    /// Drops everything. `also` runs while no reader can look.
    pub(super) fn clear(&self, also: impl FnOnce()) {
        let mut state = self.state.write();
        let dropped = std::mem::take(&mut *state);
        also();
        drop(state);
        drop(dropped);
    }

    /// The sums over the active writes, and over the frozen ones.
    pub(super) fn figures(&self) -> (Figures, Figures) {
        let state = self.state.read();
        let frozen = state.frozen.as_ref().map(|frozen| frozen.figures);
        (state.figures, frozen.unwrap_or_default())
    }

    /// Returns writes after a key, in order, up to a number and about a size of items. The flag is true at the end.
    pub(super) fn range(&self, after: Option<&[u8]>, items_max: usize, bytes_max: u64) -> (Changes, bool) {
        let state = self.state.read();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let none = BTreeMap::new();
        let frozen = state.frozen.as_ref().map_or(&none, |frozen| &frozen.changes);
        let mut active = state.active.range::<[u8], _>((from, Bound::Unbounded)).peekable();
        let mut frozen = frozen.range::<[u8], _>((from, Bound::Unbounded)).peekable();
        let (mut changes, mut bytes) = (Changes::new(), 0);
        loop {
            // Of two writes to one key, the active one is newer.
            let next = match (active.peek(), frozen.peek()) {
                (None, None) => return (changes, true),
                (Some((one, _)), Some((other, _))) if one == other => {
                    frozen.next();
                    active.next()
                }
                (Some((one, _)), Some((other, _))) if other < one => frozen.next(),
                (Some(_), _) => active.next(),
                (None, Some(_)) => frozen.next(),
            };
            if changes.len() >= items_max || bytes >= bytes_max {
                return (changes, false);
            }
            if let Some((key, item)) = next {
                bytes += memory(key, item.as_deref());
                changes.insert(key.clone(), item.clone());
            }
        }
    }
}

fn memory(key: &[u8], item: Option<&OwnedEntry>) -> u64 {
    OVERHEAD + 2 * key.len() as u64 + item.map_or(0, |item| item.value.len())
}
