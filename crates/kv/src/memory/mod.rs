//! The memory engine: an index of cache-line buckets over arenas of anonymous memory.
//!
//! ```text
//!   Table ── slots ──▶ Arenas: items of similar expiry, back to back      Heap: values too long for an arena
//!     │ a lock in       ▲ allocate            │ sweep                          ▲
//!     │ every bucket    Pool: open, sealed, free arenas                      └─ items hold their address
//! ```
//! The lock order is: sweeper → bucket → open arena → lists. Room is made only while no bucket is locked.
//!
//! **Invariant:** index, arenas and large values together never take more than the capacity, nor while the store shrinks
//! more than they took before.
//! **Invariant:** an item is touched only under the lock of its bucket; values in arenas are copied there, never kept.

mod arena;
mod bucket;
#[cfg(test)]
mod bucket_tests;
mod chain;
mod class;
mod counters;
mod draft;
#[cfg(test)]
mod exhaustive;
mod item;
mod limits;
mod merge;
mod numbers;
mod place;
mod pool;
mod resize;
mod room;
mod scan;
mod slot;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

use crate::budget::Budget;
use crate::entry;
use crate::heap::{Heap, Prefix};
use crate::machine::memory_allowed;
use crate::observer::Observers;
use crate::{
    Access, Answer, Commit, Cursor, Decision, Engine, Entry, Error, Expiry, Extent, Key, Marks, Now,
    Observation, Observer, Statistics, StoreError, Stored,
};
use chain::{Guard, SlotRef};
use class::Classes;
use counters::{Counters, count};
use item::{EXPIRY, FETCHED, Item, LARGE, STALE, WON};
pub use limits::CAPACITY_MAX;
use limits::Limits;
pub(crate) use limits::{CAPACITY_MIN, ITEM_SIZE_DEFAULT, ITEM_SIZE_MAX, ITEM_SIZE_MIN};
use pool::Pool;
use room::Sweeper;
use slot::Location;
use table::Table;
pub(crate) use table::prefetch;

/// Up to this worth every access counts; beyond, one in `worth` does.
const FREQUENCY_EXACT: u8 = 16;

/// A store in memory that evicts, unless told not to, when it's full.
#[derive(Debug)]
pub struct Memory {
    table: Table,
    pool: Pool,
    heap: Arc<Heap>,
    budget: Arc<Budget>,
    secrets: RapidSecrets,
    classes: Classes,
    limits: Limits,
    /// Items up to this version are flushed.
    watermark: AtomicU64,
    /// When everything shall be flushed; `u32::MAX` is never.
    flush_at: AtomicU32,
    /// Held while making room.
    sweeper: Mutex<Sweeper>,
    counters: Counters,
    observers: Arc<Observers>,
    version: Version,
}

/// The write counter, alone on its lines.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Version(AtomicU64);

/// The item of a key in a locked chain.
#[derive(Clone, Copy)]
struct Found<'g> {
    slot: SlotRef<'g>,
    location: Location,
}

/// Why an item that lies there isn't to be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Expired,
    Flushed,
}

impl Memory {
    /// A store of this capacity.
    pub(crate) fn new(capacity: usize, item_size_max: u64, evict: bool) -> Result<Memory, Error> {
        let machine = usize::try_from(memory_allowed()).unwrap_or(usize::MAX);
        let limits = Limits::new(capacity, machine, item_size_max, evict);
        // Where address space is rationed, a store that can't grow is better than none.
        let fixed = Limits::new(capacity, capacity, item_size_max, evict);
        Memory::within(capacity, limits)
            .or_else(|_| Memory::within(capacity, fixed))
            .map_err(|source| Error::Memory {
                bytes: capacity as u64,
                source,
            })
    }

    fn within(capacity: usize, limits: Limits) -> io::Result<Memory> {
        let budget = Arc::new(Budget::new(capacity));
        let pool = Pool::new(&limits, budget.clone())?;
        let table = Table::new(pool.arenas.region().base(), budget.clone(), limits.ceiling)?;
        let sweeper = Sweeper::new(&pool).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory {
            table,
            pool,
            heap: Heap::new(budget.clone(), limits.item_size_max, limits.ceiling),
            budget,
            secrets: secrets(),
            classes: Classes::for_arenas(capacity >> limits.arena_shift),
            limits,
            watermark: AtomicU64::new(0),
            flush_at: AtomicU32::new(u32::MAX),
            sweeper: Mutex::new(sweeper),
            counters: Counters::new(),
            observers: Arc::default(),
            version: Version::default(),
        })
    }

    /// The limit of an item's size, counted as memcached counts it.
    pub fn item_size_max(&self) -> u64 {
        self.limits.item_size_max
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_inline::<true, false, true>(key, &self.secrets)
    }

    #[inline]
    fn next_version(&self) -> u64 {
        self.version.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[inline]
    fn latest_version(&self) -> u64 {
        self.version.0.load(Ordering::Relaxed)
    }

    /// Carries out a flush whose second has come.
    #[inline]
    fn pass_time(&self, now: Now) {
        if now.0 >= self.flush_at.load(Ordering::Relaxed) {
            self.flush_due(now);
        }
    }

    #[cold]
    fn flush_due(&self, now: Now) {
        let _one_at_a_time = self.sweeper.lock();
        let at = self.flush_at.load(Ordering::Relaxed);
        if now.0 >= at && at != u32::MAX {
            self.watermark.fetch_max(self.latest_version(), Ordering::Relaxed);
            self.flush_at.store(u32::MAX, Ordering::Relaxed);
        }
    }

    #[inline]
    fn version_of(&self, location: Location, item: &Item<'_>) -> u64 {
        self.pool.arenas.base(location) + u64::from(item.delta())
    }

    /// Tells if an item has expired or was flushed.
    #[inline]
    fn gone(&self, location: Location, item: &Item<'_>, now: Now) -> Option<Gone> {
        if item.shape().has(EXPIRY) {
            let expiry = item.expiry();
            if expiry != 0 && expiry <= now.0 {
                return Some(Gone::Expired);
            }
        }
        let watermark = self.watermark.load(Ordering::Relaxed);
        (watermark != 0 && self.version_of(location, item) <= watermark).then_some(Gone::Flushed)
    }

    // Always inlined: a caller that looks at key, flags and value then pays for no other field.
    #[inline(always)]
    fn entry<'a>(&self, location: Location, item: Item<'a>) -> Entry<'a> {
        let shape = item.shape();
        Entry {
            key: item.key(),
            stored: if shape.has(LARGE) {
                entry::Stored::Block(item.block())
            } else {
                entry::Stored::Bytes(item.tail())
            },
            flags: item.flags(),
            cas: item
                .explicit_cas()
                .unwrap_or_else(|| self.version_of(location, &item)),
            expiry: match item.expiry() {
                0 => Expiry::Never,
                second => Expiry::At(second),
            },
            last_access: item.last_access(),
            marks: Marks {
                fetched: shape.has(FETCHED),
                stale: shape.has(STALE),
                won: shape.has(WON),
            },
        }
    }

    /// Finds what a key has; what is gone is removed on the way.
    #[inline]
    fn find<'t>(&self, guard: &Guard<'t>, key: &Key<'_>, now: Now) -> (Option<Found<'t>>, Option<Gone>) {
        let Some((slot, location)) = guard.find(key.hash, key.bytes) else {
            return (None, None);
        };
        match self.gone(location, &guard.item(location), now) {
            None => (Some(Found { slot, location }), None),
            gone => {
                drop(self.remove_gone(guard, Found { slot, location }, gone));
                (None, gone)
            }
        }
    }

    #[cold]
    fn remove_gone(&self, guard: &Guard<'_>, found: Found<'_>, gone: Option<Gone>) -> Option<Prefix> {
        let stripe = self.counters.mine();
        let class = self.counters.of(self.pool.arenas.queue(found.location));
        count(&class.reclaimed);
        match gone {
            Some(Gone::Flushed) => count(&stripe.flushed),
            _ => {
                count(&stripe.expired);
                if !guard.item(found.location).shape().has(FETCHED) {
                    count(&stripe.expired_unfetched);
                    count(&class.expired_unfetched);
                }
            }
        }
        self.remove(guard, found, false)
    }

    /// Unlinks an item. A block that it owned is given to the caller, who had better drop it after unlocking.
    fn remove(&self, guard: &Guard<'_>, found: Found<'_>, remember: bool) -> Option<Prefix> {
        let item = guard.item(found.location);
        let block = item.shape().has(LARGE).then(|| item.take_block());
        self.mark_dead(
            found.location,
            &item,
            block.as_ref().map_or(0, |block| block.cost()),
        );
        guard.vacate(found.slot, remember);
        let items = &self.counters.mine().items;
        items.fetch_sub(1, Ordering::Relaxed);
        block
    }

    /// Marks an item's bytes as no longer used.
    fn mark_dead(&self, location: Location, item: &Item<'_>, block: usize) {
        let shape = item.shape();
        let number = self.pool.arenas.number(location);
        self.pool.arenas.header(number).remove(shape, block);
        item.set_shape(item::Shape {
            bits: shape.bits | item::DEAD,
            ..shape
        });
        if !self.limits.evict {
            self.pool.note_dead(number);
        }
    }

    /// Notes an access: the item gains worth.
    #[inline]
    fn access(&self, guard: &Guard<'_>, found: Found<'_>, now: Now) {
        let item = guard.item(found.location);
        let shape = item.shape();
        if !shape.has(FETCHED) {
            item.set_shape(item::Shape {
                bits: shape.bits | FETCHED,
                ..shape
            });
        }
        if item.last_access() != now.0 {
            item.set_last_access(now.0);
        }
        let slot = found.slot.load();
        let frequency = slot.frequency();
        if frequency < FREQUENCY_EXACT || (frequency < u8::MAX && guard.once_in(frequency)) {
            found.slot.set(slot.with_frequency(frequency + 1));
        }
    }

    #[inline]
    fn look<R>(
        &self,
        key: &Key<'_>,
        now: Now,
        access: bool,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.pass_time(now);
        let guard = self.table.lock(key.hash);
        match self.find(&guard, key, now) {
            (Some(found), _) => {
                let answer = f(Some(&self.entry(found.location, guard.item(found.location))));
                if access {
                    self.access(&guard, found, now);
                }
                Ok(Answer::Ready(answer))
            }
            (None, gone) => {
                match gone {
                    Some(Gone::Expired) => count(&self.counters.mine().read_expired),
                    Some(Gone::Flushed) => count(&self.counters.mine().read_flushed),
                    None => {}
                }
                Ok(Answer::Ready(f(None)))
            }
        }
    }
}

impl Drop for Memory {
    /// Items own their blocks by address alone, and only arenas of large items have such.
    fn drop(&mut self) {
        let known = self.pool.known();
        for number in known.large() {
            self.pool.arenas.drop_blocks(number);
        }
    }
}

/// A fresh seed: the standard library's per-process randomness.
pub(crate) fn secrets() -> RapidSecrets {
    use std::hash::{BuildHasher, RandomState};
    RapidSecrets::seed(RandomState::new().hash_one(std::process::id()))
}

impl Engine for Memory {
    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key {
            bytes,
            hash: self.hash(bytes),
        }
    }

    #[inline]
    fn prefetch(&self, key: &Key<'_>) {
        self.table.prefetch(key.hash);
    }

    #[inline]
    fn prefetch_item(&self, key: &Key<'_>) {
        self.table.prefetch_item(key.hash, self.pool.item_lines());
    }

    #[inline]
    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into().now, true, f)
    }

    #[inline]
    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into().now, false, f)
    }

    #[inline]
    fn update<'v, 'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let Access { now, need, .. } = access.into();
        let (answer, cas) = self.write(key, now, need, f)?;
        Ok(Answer::Ready(Stored {
            answer,
            cas,
            commit: Commit::NONE,
        }))
    }

    fn is_cache(&self) -> bool {
        true
    }

    fn large_value(&self) -> u64 {
        self.limits.small_max as u64 + 1
    }

    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError> {
        self.limits.check(key_length, value_length)
    }

    fn reserve(&self, length: u64, now: Now) -> Result<Extent, StoreError> {
        self.limits.check(0, length)?;
        let length = length as usize;
        if !self.heap.begin_upload(length) {
            return Err(StoreError::UploadsFull);
        }
        match self.make_block(length, now) {
            Ok(block) => Ok(Extent::new(block, length)),
            Err(error) => {
                self.heap.end_upload(length);
                Err(error)
            }
        }
    }

    fn flush(&self, at: Option<u32>, now: Now) -> Result<Commit, StoreError> {
        self.pass_time(now);
        match at {
            Some(second) if second > now.0 => self.flush_at.store(second, Ordering::Relaxed),
            _ => {
                self.flush_at.store(u32::MAX, Ordering::Relaxed);
                self.watermark.fetch_max(self.latest_version(), Ordering::Relaxed);
            }
        }
        Ok(Commit::NONE)
    }

    fn scan<'w>(
        &self,
        from: &Cursor,
        steps: usize,
        access: impl Into<Access<'w>>,
        f: impl FnMut(&Entry<'_>),
    ) -> Result<Answer<Option<Cursor>>, StoreError> {
        Ok(Answer::Ready(self.visit(from, steps, access.into().now, f)))
    }

    fn tick(&self, now: Now, budget: usize) -> bool {
        let shrinking = self.shrink(now, budget);
        self.housekeep(now, budget) || shrinking
    }

    fn resize(&self, capacity: u64) -> Result<(), StoreError> {
        self.change_capacity(capacity)
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        self.observers.add(observer)
    }

    fn statistics(&self) -> Statistics {
        self.figures()
    }
}
