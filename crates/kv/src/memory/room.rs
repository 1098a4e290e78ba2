//! Making room: what happens when an arena, a page or a block is needed and the budget is used up.
//!
//! Cheap sources come first: cached blocks and free arenas. Then arenas are swept one after the other until there is enough:
//! those whose items have all expired, those that are mostly dead, and at last the oldest ones.
//!
//! **Invariant:** a thread that sweeps holds the sweeper's lock and no bucket's.
//! **Invariant:** nothing is evicted for a request that evicting everything could not serve ([`Memory::attainable`]).
//!
//! # Why it ends
//! [`Memory::provide_from`] makes at most [`Memory::provisions_max`] attempts, and between two of them it trims blocks, sheds
//! arenas, or sweeps. [`Memory::sweep_some`] sweeps at most [`GENTLE_BYTES`] worth of arenas plus [`STRICT_ROUNDS`], one arena a
//! round; a sweep visits the items of one arena once. No step waits for anything but locks, and a lock's holder never makes
//! room. So every call ends, whatever other threads do.
//!
//! Nor is the bound reached in vain: a round of strictness 8 or more keeps no item, so 9 strict rounds free an arena unless
//! nothing is left to evict. Alone, a thread frees every arena in two provisions each, one to sweep it and one to shed it, and
//! has then all that `attainable` promised.

use super::Memory;
use super::bucket::SLOTS;
use super::class::Queue;
use super::pool::{AppendPoint, Head, Known, Pool};
use super::sweep::Retention;
use super::table::Split;
use crate::budget::Reservation;
use crate::heap::{Block, Denied, Heap};
use crate::region::PAGE;
use crate::{Now, StoreError};

/// Items that two buckets have on average before the table grows. More would save little memory, since overflow buckets make
/// up for the saved ones, and fewer would cost a byte an item.
pub(super) const ITEMS_IN_TWO_BUCKETS: u64 = 11;
/// Inserts on a stripe between two looks at the size of the table.
const INSERTS_A_LOOK: u64 = 32;
/// New items may take this part of the arenas before protected ones have to go.
const PROBATION_SHARE: usize = 10;
/// The bytes that may be moved without freeing anything before items that were read a few times have to go, too.
const GENTLE_BYTES: usize = 1 << 20;
/// Rounds after the gentle ones until a thread that needs room looks whether there is some: other threads may have taken what
/// was freed, or freed something.
const STRICT_ROUNDS: u32 = 16;
/// Arenas looked at when a mostly dead one is sought.
const WINDOW: u32 = 64;
/// Before anything is evicted, arenas of which this part is dead are compacted.
const DEAD_SHARE: usize = 6;
/// Where nothing may be evicted, an arena is worth compacting if this part is dead.
pub(super) const COMPACT_SHARE: usize = 16;
/// Attempts to provide something, beside those that the number of arenas accounts for.
const PROVISIONS_MIN: u32 = 64;
/// Attempts per arena: it is swept, then shed; and the same again for one that was refilled meanwhile.
const PROVISIONS_PER_ARENA: u32 = 4;
/// The memory that a write needs beside its block: an arena of large items and an overflow bucket.
const BESIDE_A_BLOCK: usize = 2 * PAGE;
/// An evicting store keeps this part of its arenas free, so that most writes find one without sweeping.
const RESERVE_SHARE: usize = 128;
/// The most arenas that are kept free.
const RESERVE_MAX: usize = 8;
/// Arenas that one write sweeps to refill the reserve.
const RESERVE_SWEEPS: usize = 2;
/// Buckets that one look at the table adds. Inserts between two looks need six; more are due after a store had shrunk.
const SPLITS_PER_LOOK: u32 = 64;
/// Versions count from so far before the one at which their arena was opened, so that older items can move there.
const BASE_BEHIND: u64 = 1 << 31;

/// The state of sweeping.
#[derive(Debug)]
pub(super) struct Sweeper {
    /// Arenas, one for small items and one for large ones, that are kept for what survives a sweep.
    pub(super) spares: [Option<u32>; 2],
    /// Where the search for dead or expired arenas goes on.
    cursor: u32,
    /// Arenas that the round of housekeeping under way has still to look at.
    unseen: u32,
    /// Rounds since a sweep for the reserve freed something.
    fruitless: u32,
    /// Arenas swept, ever.
    pub(super) sweeps: u64,
    /// The chain from which on overflow buckets are gathered next.
    pub(super) chain: u64,
}

impl Sweeper {
    /// `None` if the capacity is too small even for this.
    pub(super) fn new(pool: &Pool) -> Option<Sweeper> {
        Some(Sweeper {
            spares: [Some(pool.take(false).ok()?), Some(pool.take(true).ok()?)],
            cursor: 0,
            unseen: 0,
            fruitless: 0,
            sweeps: 0,
            chain: 0,
        })
    }

    /// Replaces spares that were used up.
    fn restock(&mut self, pool: &Pool) {
        for (spare, large) in self.spares.iter_mut().zip([false, true]) {
            *spare = spare.take().or_else(|| pool.take(large).ok());
        }
    }

    /// Where the search for dead or expired arenas has got to.
    #[cfg(test)]
    pub(super) fn position(&self) -> u32 {
        self.cursor
    }

    /// The next arena to look at.
    fn advance(&mut self, known: Known) -> u32 {
        self.cursor = self.cursor.wrapping_add(1);
        known.number(self.cursor)
    }
}

impl Memory {
    /// The base that versions in an arena opened now count from.
    pub(super) fn base_now(&self) -> u64 {
        self.latest_version().saturating_sub(BASE_BEHIND)
    }

    /// Provides an open arena.
    pub(super) fn open_arena(&self, point: AppendPoint, now: Now) -> Result<(), StoreError> {
        let large = point.queue.large();
        let number = self.provide_from(now, self.pool.cost(large), PAGE, || self.pool.take(large))?;
        self.pool.install(point, number, self.base_now(), now);
        if !large {
            self.refill_reserve(now, RESERVE_SWEEPS);
        }
        Ok(())
    }

    /// Provides the memory for a large value.
    pub(super) fn make_block(&self, length: usize, now: Now) -> Result<Block, StoreError> {
        self.provide_from(now, Heap::cost(length), BESIDE_A_BLOCK, || {
            self.heap.allocate(length)
        })
    }

    /// Provides bytes, which are the caller's until it has spent them.
    pub(super) fn reserve_room(
        &self,
        bytes: usize,
        beside: usize,
        now: Now,
    ) -> Result<Reservation, StoreError> {
        self.provide_from(now, bytes, beside, || {
            self.budget.reserve(bytes).ok_or(Denied::Budget)
        })
    }

    /// True if evicting everything that can be evicted would free these bytes.
    fn attainable(&self, bytes: usize) -> bool {
        // The spares stay, so that the next sweep has somewhere to move what survives.
        let spares = self.pool.cost(false) + self.pool.cost(true);
        let fixed = self.heap.pinned() + self.table.bytes() + spares;
        fixed.saturating_add(bytes) <= self.budget.limit()
    }

    /// The bound of attempts to provide something.
    fn provisions_max(&self) -> u32 {
        PROVISIONS_MIN.saturating_add(self.pool.known().count().saturating_mul(PROVISIONS_PER_ARENA))
    }

    /// Tries `attempt` again and again, making room for `bytes` in between. The write will need `beside` more: nothing is
    /// evicted for the one if both cannot be had.
    fn provide_from<T>(
        &self,
        now: Now,
        bytes: usize,
        beside: usize,
        attempt: impl Fn() -> Result<T, Denied>,
    ) -> Result<T, StoreError> {
        let mut denied = match attempt() {
            Ok(provided) => return Ok(provided),
            Err(denied) => denied,
        };
        for _ in 0..self.provisions_max() {
            let cheap = denied == Denied::Budget && (self.heap.trim(bytes) > 0 || self.pool.shed(bytes) > 0);
            // The lock is waited for first: the thread that held it may have made the room.
            let sweeper = (!cheap).then(|| self.sweeper.lock());
            denied = match attempt() {
                Ok(provided) => return Ok(provided),
                Err(denied) => denied,
            };
            let Some(mut sweeper) = sweeper else { continue };
            if denied == Denied::AddressSpace || !self.attainable(bytes + beside) {
                break;
            }
            self.sweep_some(&mut sweeper, now, denied)?;
        }
        Err(StoreError::OutOfMemory)
    }

    /// Sweeps until something came free, or the rounds are used up.
    pub(super) fn sweep_some(
        &self,
        sweeper: &mut Sweeper,
        now: Now,
        denied: Denied,
    ) -> Result<(), StoreError> {
        let before = self.occupied();
        // Every round judges harder than the one before, so that one frees something before long.
        for harshness in 0..self.gentle_rounds() + STRICT_ROUNDS {
            if !self.round(sweeper, now, harshness, denied) {
                return Err(StoreError::OutOfMemory);
            }
            if self.occupied() < before {
                break;
            }
        }
        Ok(())
    }

    /// Bytes that are neither free nor cached.
    fn occupied(&self) -> usize {
        self.budget
            .used()
            .saturating_sub(self.pool.free_bytes() + self.heap.cached())
    }

    /// How many arenas an evicting store keeps free.
    fn reserve(&self) -> usize {
        ((self.budget.capacity() >> self.limits.arena_shift) / RESERVE_SHARE).min(RESERVE_MAX)
    }

    /// Frees arenas for future writes, by `sweeps` sweeps at most, if the budget is used up and no other thread does so.
    /// A write that finds the reserve empty sweeps for itself; one that finds it filled does not wait.
    pub(super) fn refill_reserve(&self, now: Now, sweeps: usize) {
        let size = self.pool.arenas.size();
        let filled = || self.pool.free() >= self.reserve() || self.budget.left() >= size;
        if !self.limits.evict || self.budget.excess() > 0 || filled() {
            return;
        }
        let Some(mut sweeper) = self.sweeper.try_lock() else {
            return;
        };
        for _ in 0..sweeps {
            let before = self.occupied();
            let harshness = sweeper.fruitless;
            if filled() || !self.attainable(size) || !self.round(&mut sweeper, now, harshness, Denied::Budget)
            {
                break;
            }
            sweeper.fruitless = if self.occupied() < before {
                0
            } else {
                harshness + 1
            };
        }
    }

    fn gentle_rounds(&self) -> u32 {
        (GENTLE_BYTES / self.pool.arenas.size()) as u32
    }

    /// Sweeps one arena, the cheapest to lose; false if there's none.
    fn round(&self, sweeper: &mut Sweeper, now: Now, harshness: u32, denied: Denied) -> bool {
        let heads = self.pool.heads();
        sweeper.restock(&self.pool);
        let over = heads
            .iter()
            .find(|head| self.is_over(head.number, now))
            .map(|head| head.number);
        if let Some(number) = over.or_else(|| self.mostly_dead(sweeper))
            && self.sweep(sweeper, number, now, Retention::All)
        {
            return true;
        }
        if self.limits.evict
            && let Some(victim) = victim(&heads, denied == Denied::Arenas)
        {
            let strict = harshness.saturating_sub(self.gentle_rounds());
            self.sweep(
                sweeper,
                victim.number,
                now,
                Retention::FrequencyAtLeast(1 << strict.min(8)),
            );
            return true;
        }
        let least = self.pool.arenas.size() / COMPACT_SHARE;
        let sealed = self.pool.seal_open(|number| {
            let header = self.pool.arenas.header(number);
            header.written() > 0 && (self.limits.evict || header.dead_bytes() >= least)
        });
        // Last, since another thread may be about to use one.
        sealed > 0 || self.pool.release_empty() > 0
    }

    /// True if all items of an arena have expired or were flushed or removed.
    pub(super) fn is_over(&self, number: u32, now: Now) -> bool {
        let header = self.pool.arenas.header(number);
        let watermark = self.watermark.load(std::sync::atomic::Ordering::Relaxed);
        header.expire_max() <= now.0 || header.version_max() <= watermark || header.items() == 0
    }

    /// A sealed arena of small items that is worth compacting.
    fn mostly_dead(&self, sweeper: &mut Sweeper) -> Option<u32> {
        if !self.limits.evict {
            return self.pool.compactable();
        }
        let known = self.pool.known();
        let least = self.pool.arenas.size() / DEAD_SHARE;
        let mut best = None;
        for _ in 0..WINDOW.min(known.count()) {
            let number = sweeper.advance(known);
            let header = self.pool.arenas.header(number);
            if !header.is_listed() || header.queue().large() {
                continue;
            }
            let dead = header.dead_bytes();
            if dead >= least && best.is_none_or(|(most, _)| dead > most) {
                best = Some((dead, number));
            }
        }
        best.map(|(_, number)| number)
    }

    /// Lets the table grow if it's due.
    #[inline]
    pub(super) fn grow(&self, now: Now) {
        let mine = self
            .counters
            .mine()
            .items
            .load(std::sync::atomic::Ordering::Relaxed);
        if mine.is_multiple_of(INSERTS_A_LOOK) {
            self.grow_due(now);
        }
    }

    /// How many items there are.
    pub(super) fn items(&self) -> u64 {
        // The sum may be a little below zero while other threads count.
        (self.counters.sum(|stripe| &stripe.items) as i64).max(0) as u64
    }

    #[cold]
    fn grow_due(&self, now: Now) {
        const _: () = assert!(ITEMS_IN_TWO_BUCKETS < 2 * SLOTS as u64);
        let items = self.items();
        let mut page = None;
        for _ in 0..SPLITS_PER_LOOK {
            if items * 2 <= self.table.count() * ITEMS_IN_TWO_BUCKETS {
                break;
            }
            match self.table.split(|key| self.hash(key), &mut page) {
                Split::Done => {}
                // The page that is reserved here is the next split's, whatever other threads take.
                Split::NoMemory => match self.reserve_room(PAGE, 0, now) {
                    Ok(reserved) => page = Some(reserved),
                    Err(_) => break,
                },
                Split::Busy | Split::Full => break,
            }
        }
    }

    /// Drops arenas whose items are all over. Looks at `budget` arenas at most; true while its round has arenas left.
    pub(super) fn housekeep(&self, now: Now, budget: usize) -> bool {
        self.pass_time(now);
        self.refill_reserve(now, budget / 64 + 1);
        // A thread that makes room right now does the same work.
        let Some(mut sweeper) = self.sweeper.try_lock() else {
            return false;
        };
        let known = self.pool.known();
        if sweeper.unseen == 0 {
            sweeper.unseen = known.count();
            self.pool.seal_open(|number| {
                self.pool.arenas.header(number).written() > 0 && self.is_over(number, now)
            });
        }
        let mut sweeps = budget / 64 + 1;
        for _ in 0..budget.max(1) {
            if sweeper.unseen == 0 || sweeps == 0 {
                break;
            }
            sweeper.unseen -= 1;
            let number = sweeper.advance(known);
            if self.pool.arenas.header(number).is_listed() && self.is_over(number, now) {
                self.sweep(&mut sweeper, number, now, Retention::All);
                sweeps -= 1;
            }
        }
        sweeper.unseen > 0
    }
}

/// The arena to evict from: of the kind (small or large) whose oldest arena is the oldest, the new items' if they take more
/// than their share, else the protected ones'.
fn victim(heads: &[Head], only_large: bool) -> Option<Head> {
    let oldest = heads
        .iter()
        .filter(|head| head.queue.large() || !only_large)
        .min_by_key(|head| head.stamp)?;
    let of_kind = |protected: bool| {
        let large = oldest.queue.large();
        heads
            .iter()
            .filter(move |head| head.queue.large() == large && head.queue.protected() == protected)
    };
    let lengths = |protected: bool| of_kind(protected).map(|head| head.length).sum::<usize>();
    let (probation, protected) = (lengths(false), lengths(true));
    let from_protected = probation * PROBATION_SHARE <= probation + protected;
    let first = |protected: bool| of_kind(protected).min_by_key(|head| head.stamp).copied();
    first(from_protected).or_else(|| first(!from_protected))
}

/// Where survivors of a sweep go.
pub(super) fn survivor_queue(queue: Queue, retention: Retention) -> Queue {
    match retention {
        Retention::All => queue,
        Retention::FrequencyAtLeast(_) => queue.promoted(),
    }
}
