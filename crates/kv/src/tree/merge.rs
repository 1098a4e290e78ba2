//! Merges: pending writes become pages, and the log begins behind them.
//!
//! ```text
//!   freeze ─▶ sync the log ─▶ merge into pages (durable) ─▶ drop the frozen writes ─▶ remove the log's old segments
//! ```
//!
//! **Invariant:** the log is durable up to an offset before the pages name it, so the log never ends before it.
//! **Invariant:** a merge that fails changes nothing, and is tried again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Shared;
use super::pages::{Changes, Facts, Held, Plan};
use crate::owned::OwnedEntry;
use crate::warm::Page;
use crate::{Commit, Committed, Cursor, StoreError, Work};

/// Pending writes take at most this often what starts a merge, in memory; a merge and as many new writes.
const PENDING_MAX: u64 = 2;
/// The time after which a merge that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// The time between two looks for pages whose items have expired.
const PURGE: Duration = Duration::from_secs(10);
/// Pages that are rewritten at a time because their items have expired.
const PURGES_MAX: usize = 1024;

/// The merging thread's orders, and how it goes.
#[derive(Debug, Default)]
pub(super) struct Merging {
    state: Mutex<State>,
    asked: Condvar,
    /// Held during a merge.
    one_at_a_time: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    asked: bool,
    stop: bool,
    /// Merges that have ended, well or not.
    ended: u64,
    failed: Option<StoreError>,
}

impl Merging {
    /// Begins a merge, or makes another one follow that is under way.
    pub(super) fn request(&self) {
        let mut state = self.state.lock();
        if !state.asked {
            state.asked = true;
            drop(state);
            self.asked.notify_one();
        }
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.state.lock().stop = true;
        self.asked.notify_all();
    }

    /// Waits for the next order, or some time; false if there will be none.
    fn wait(&self, time: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.asked && !state.stop {
            self.asked.wait_for(&mut state, time);
        }
        state.asked = false;
        !state.stop
    }

    /// True if writes must wait for the end of a merge.
    ///
    /// # Errors
    /// They need not wait, since the last merge has failed.
    #[inline]
    pub(super) fn must_wait(&self, shared: &Shared) -> Result<bool, StoreError> {
        let (active, _) = shared.pending.figures();
        if active.bytes < shared.settings.merge_bytes {
            return Ok(false);
        }
        self.overfull(shared, active.bytes)
    }

    #[cold]
    fn overfull(&self, shared: &Shared, bytes: u64) -> Result<bool, StoreError> {
        self.request();
        if bytes < shared.settings.merge_bytes * PENDING_MAX {
            return Ok(false);
        }
        match self.state.lock().failed {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    /// Waits until there is room for writes, or a merge has failed.
    pub(super) fn room(&self, shared: &Arc<Shared>) -> Committed {
        match self.must_wait(shared) {
            Ok(true) => shared.room.wait(Commit(self.state.lock().ended + 1)),
            Ok(false) | Err(_) => Committed::done(),
        }
    }
}

/// The thread's work, until it is stopped.
pub(super) fn run(shared: &Shared) {
    let mut purged = Instant::now();
    let mut failed = false;
    while shared.merging.wait(if failed || shared.is_readable_only() {
        RETRY
    } else {
        PURGE
    }) {
        shared.save();
        let (active, frozen) = shared.pending.figures();
        let is_full = active.bytes >= shared.settings.merge_bytes;
        let due = is_full || frozen.bytes > 0 || !shared.pages_are_current();
        let purge = purged.elapsed() >= PURGE;
        if !due && !purge {
            continue;
        }
        purged = Instant::now();
        failed = merge(shared, due).is_err();
    }
}

/// Merges the pending writes, or only drops what has expired.
///
/// # Errors
/// Nothing was merged.
pub(super) fn merge(shared: &Shared, writes: bool) -> Result<(), StoreError> {
    let merging = &shared.merging;
    let _one_at_a_time = merging.one_at_a_time.lock();
    let result = match writes {
        true => merge_writes(shared),
        false => purge(shared),
    };
    match &result {
        Ok(()) => shared.durability.health.succeeded(Work::Merge),
        Err(error) => shared.durability.health.failed(Work::Merge, error),
    }
    let mut state = merging.state.lock();
    state.ended += 1;
    state.failed = result.err();
    let ended = state.ended;
    drop(state);
    shared.room.reach(ended);
    result
}

fn merge_writes(shared: &Shared) -> Result<(), StoreError> {
    let frozen = shared.journal.between(|offset| {
        let generation = shared.generation.load(Ordering::Acquire);
        let flush_at = shared.flush_at.load(Ordering::Relaxed);
        let flush_at = (flush_at != super::NEVER).then_some(flush_at);
        shared.pending.freeze(offset, generation, flush_at)
    })?;
    let log = shared.journal.log().ok_or(StoreError::Unavailable)?;
    if let Err(error) = log.sync() {
        shared.durability.refuse(&error);
        return Err(StoreError::from(&error));
    }
    let plan = Plan {
        wipe: shared.pages_generation.load(Ordering::Acquire) != frozen.generation,
        facts: Facts {
            offset: frozen.offset,
            flush_at: frozen.flush_at,
        },
        now: shared.now(),
        purges_max: PURGES_MAX,
    };
    let merged = shared.pages.merge(&frozen.changes, plan)?;
    shared.note(merged);
    shared.pending.thaw(&frozen, || {
        shared
            .pages_generation
            .store(frozen.generation, Ordering::Release);
        if shared.pages_are_current() {
            shared.hold(merged.held);
        }
    });
    // If this fails, the next start replays records that the pages already have, which changes nothing.
    let _ = log.remove_before(frozen.offset);
    Ok(())
}

/// Drops what has expired.
fn purge(shared: &Shared) -> Result<(), StoreError> {
    if !shared.pages_have_items() || !shared.pages.has_expired(shared.now())? {
        return Ok(());
    }
    let plan = Plan {
        wipe: false,
        facts: shared.pages.facts()?,
        now: shared.now(),
        purges_max: PURGES_MAX,
    };
    let merged = shared.pages.merge(&Changes::new(), plan)?;
    shared.note(merged);
    // A flush may have come meanwhile, which has its own number of items.
    if shared.pages_are_current() {
        shared.hold(merged.held);
    }
    Ok(())
}

impl Shared {
    fn is_readable_only(&self) -> bool {
        self.is_readable_only.load(Ordering::Acquire)
    }

    /// True if the log has writes that the pages do not have.
    pub(super) fn has_pending(&self) -> bool {
        let (active, frozen) = self.pending.figures();
        active.bytes + frozen.bytes > 0 || !self.pages_are_current()
    }

    /// Writes the folder's own file, if there was no room for it when the store was opened.
    fn save(&self) {
        let mut unsaved = self.unsaved.lock();
        let (Some(meta), Some(folder)) = (*unsaved, &*self.folder.lock()) else {
            return;
        };
        if folder.write(meta).is_ok() {
            *unsaved = None;
            self.is_readable_only.store(false, Ordering::Release);
        }
    }

    /// Notes what the pages have now.
    fn hold(&self, held: Held) {
        self.pages_bytes.store(held.bytes, Ordering::Relaxed);
        self.pages_items.store(held.items, Ordering::Release);
    }

    fn note(&self, merged: super::pages::Merged) {
        let counters = &self.counters;
        counters.merges.fetch_add(1, Ordering::Relaxed);
        counters.expired.fetch_add(merged.expired, Ordering::Relaxed);
        counters.pages_bytes.fetch_add(merged.bytes, Ordering::Relaxed);
    }
}

/// Joins pending writes and items of pages, both in order, to a part of a scan. A flag is true if its list is complete to the
/// end; otherwise what lies behind its last key is not known.
pub(super) fn page(changes: Changes, changes_end: bool, old: Vec<Arc<OwnedEntry>>, old_end: bool) -> Page {
    let last = |end: bool, key: Option<&Box<[u8]>>| if end { None } else { key.cloned() };
    let changes_last = last(changes_end, changes.keys().next_back());
    let old_last = last(old_end, old.last().map(|item| &item.key));
    let end = match (changes_last, old_last) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let mut items = Changes::new();
    for item in old {
        items.insert(item.key.clone(), Some(item));
    }
    items.extend(changes);
    let within = |key: &[u8]| end.as_ref().is_none_or(|end| key <= &**end);
    let items = items.into_iter().filter(|(key, _)| within(key));
    Page {
        items: items.filter_map(|(_, item)| item).collect(),
        next: end.map(Cursor::After),
    }
}
