//! Making room: what happens when a segment, a page or a large value is needed.
//!
//! Cheap sources come first: free segments, cached blocks. Then segments are swept, one after the other, until there's enough:
//! those whose items are all over, those that are mostly dead, and at last the oldest ones.
//!
//! **Invariant:** whoever sweeps holds the sweeper's lock and no bucket's.

use super::Memory;
use super::bucket::SLOTS;
use super::class::Queue;
use super::extent::{Block, Heap};
use super::map::PAGE;
use super::pool::{Door, Head, Known, Pool};
use super::sweep::Mercy;
use super::table::Split;
use crate::{Now, StoreError};

/// Items that two buckets have on average before the table grows. More would save little memory, since overflow buckets make
/// up for the saved ones, and fewer would cost a byte an item.
pub(super) const ITEMS_IN_TWO_BUCKETS: u64 = 11;
/// After so many inserts on a stripe somebody looks whether the table should grow.
const INSERTS_A_LOOK: u64 = 32;
/// New items may take one part in so many of the segments before proven ones have to go.
const YOUNG_SHARE: usize = 10;
/// So many bytes may be moved without freeing anything before what was asked for a few times has to go, too.
const GENTLE_BYTES: usize = 1 << 20;
/// After so many rounds more, whoever needs room looks whether there's some, though others may have taken what was freed.
const STRICT_ROUNDS: u32 = 16;
/// Segments looked at when a mostly dead one is sought.
const WINDOW: u32 = 64;
/// Before anything is evicted, segments are compacted of which one part in so many is dead.
const DEAD_SHARE: usize = 6;
/// Where nothing may be evicted, a segment is worth compacting from one part in so many dead.
const COMPACT_SHARE: usize = 16;
/// Versions count from so far before the one at which their segment was opened, so that older items can move there.
const BASE_BEHIND: u64 = 1 << 31;

/// What only whoever sweeps may use.
#[derive(Debug)]
pub(super) struct Sweeper {
    /// Segments, one for small items and one for large ones, that are kept for what survives a sweep.
    pub(super) spares: [Option<u32>; 2],
    /// Where the search for dead or expired segments goes on.
    cursor: u32,
    /// Segments that the round of housekeeping under way has still to look at.
    unseen: u32,
    /// The chain from which on overflow buckets are gathered next.
    pub(super) chain: u64,
}

impl Sweeper {
    /// `None` if the capacity is too small even for this.
    pub(super) fn new(pool: &Pool) -> Option<Sweeper> {
        Some(Sweeper {
            spares: [Some(pool.take(false)?), Some(pool.take(true)?)],
            cursor: 0,
            unseen: 0,
            chain: 0,
        })
    }

    /// Replaces spares that were used up.
    fn restock(&mut self, pool: &Pool) {
        for (spare, large) in self.spares.iter_mut().zip([false, true]) {
            *spare = spare.take().or_else(|| pool.take(large));
        }
    }

    /// The next segment to look at.
    fn advance(&mut self, known: Known) -> u32 {
        self.cursor = self.cursor.wrapping_add(1);
        known.number(self.cursor)
    }
}

impl Memory {
    /// The base that versions in a segment opened now count from.
    pub(super) fn base_now(&self) -> u64 {
        self.latest_version().saturating_sub(BASE_BEHIND)
    }

    /// Provides an open segment.
    pub(super) fn open_segment(&self, door: Door, now: Now) -> Result<(), StoreError> {
        let large = door.queue.large();
        let number = self.provide_from(now, || self.pool.take(large))?;
        self.pool.install(door, number, self.base_now());
        Ok(())
    }

    /// Provides the memory for a large value.
    pub(super) fn make_block(&self, length: usize, now: Now) -> Result<Block, StoreError> {
        if Heap::cost(length) > self.budget.capacity() {
            return Err(StoreError::OutOfMemory);
        }
        self.provide_from(now, || self.heap.allocate(length))
    }

    /// Makes a page available to the table. Somebody else may take it; then the caller comes again.
    pub(super) fn make_page(&self, now: Now) -> Result<(), StoreError> {
        self.provide_from(now, || self.budget.take(PAGE).then(|| self.budget.give(PAGE)))
    }

    /// Tries `attempt` again and again, making room in between.
    fn provide_from<T>(&self, now: Now, attempt: impl Fn() -> Option<T>) -> Result<T, StoreError> {
        let size = self.pool.segments.size();
        loop {
            if let Some(provided) = attempt() {
                return Ok(provided);
            }
            if self.heap.trim(size) > 0 || self.pool.shed(1) > 0 {
                continue;
            }
            let mut sweeper = self.sweeper.lock();
            // Whoever held the lock before may have made the room.
            if let Some(provided) = attempt() {
                return Ok(provided);
            }
            self.sweep_some(&mut sweeper, now)?;
        }
    }

    /// Sweeps until something came free.
    pub(super) fn sweep_some(&self, sweeper: &mut Sweeper, now: Now) -> Result<(), StoreError> {
        let held = || {
            self.budget
                .used()
                .saturating_sub(self.pool.free_bytes() + self.heap.cached())
        };
        let before = held();
        // Every round judges harder than the one before, so that one frees something before long.
        for harshness in 0..self.gentle_rounds() + STRICT_ROUNDS {
            if !self.round(sweeper, now, harshness) {
                return Err(StoreError::OutOfMemory);
            }
            if held() < before {
                break;
            }
        }
        Ok(())
    }

    fn gentle_rounds(&self) -> u32 {
        (GENTLE_BYTES / self.pool.segments.size()) as u32
    }

    /// Sweeps one segment, the cheapest to lose; false if there's none.
    fn round(&self, sweeper: &mut Sweeper, now: Now, harshness: u32) -> bool {
        let heads = self.pool.heads();
        sweeper.restock(&self.pool);
        let over = heads
            .iter()
            .find(|head| self.is_over(head.number, now))
            .map(|head| head.number);
        if let Some(number) = over.or_else(|| self.mostly_dead(sweeper))
            && self.sweep(sweeper, number, now, Mercy::All)
        {
            return true;
        }
        if self.limits.evict
            && let Some(victim) = victim(&heads)
        {
            let strict = harshness.saturating_sub(self.gentle_rounds());
            self.sweep(
                sweeper,
                victim.number,
                now,
                Mercy::WorthAtLeast(1 << strict.min(8)),
            );
            return true;
        }
        let empty = |number: u32| self.pool.segments.header(number).written() == 0;
        self.pool.seal_open(|number| {
            let header = self.pool.segments.header(number);
            !empty(number) && (self.limits.evict || header.live_bytes() < u64::from(header.written()))
        }) > 0
    }

    /// Whether nothing in a segment will ever be seen again.
    pub(super) fn is_over(&self, number: u32, now: Now) -> bool {
        let header = self.pool.segments.header(number);
        let watermark = self.watermark.load(std::sync::atomic::Ordering::Relaxed);
        header.expire_max() <= now.0 || header.version_max() <= watermark || header.items() == 0
    }

    /// A sealed segment of small items worth compacting.
    fn mostly_dead(&self, sweeper: &mut Sweeper) -> Option<u32> {
        let (known, size) = (self.pool.known(), self.pool.segments.size());
        let (window, least) = match self.limits.evict {
            true => (WINDOW.min(known.count()), size / DEAD_SHARE),
            false => (known.count(), size / COMPACT_SHARE),
        };
        let mut best = None;
        for _ in 0..window {
            let number = sweeper.advance(known);
            let header = self.pool.segments.header(number);
            if !header.is_listed() || header.queue().large() {
                continue;
            }
            let dead = (u64::from(header.written()).saturating_sub(header.live_bytes())) as usize;
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
        while items * 2 > self.table.count() * ITEMS_IN_TWO_BUCKETS {
            match self.table.split(|key| self.hash(key)) {
                Split::Done => {}
                Split::NoMemory if self.make_page(now).is_ok() => {}
                _ => break,
            }
        }
    }

    /// Drops segments whose items are all over. Looks at `budget` segments at most; true while its round has segments left.
    pub(super) fn housekeep(&self, now: Now, budget: usize) -> bool {
        self.pass_time(now);
        // Whoever makes room right now does the same work, so there is nothing to wait for.
        let Some(mut sweeper) = self.sweeper.try_lock() else {
            return false;
        };
        let known = self.pool.known();
        if sweeper.unseen == 0 {
            sweeper.unseen = known.count();
            self.pool.seal_open(|number| {
                self.pool.segments.header(number).written() > 0 && self.is_over(number, now)
            });
        }
        let mut sweeps = budget / 64 + 1;
        for _ in 0..budget.max(1) {
            if sweeper.unseen == 0 || sweeps == 0 {
                break;
            }
            sweeper.unseen -= 1;
            let number = sweeper.advance(known);
            if self.pool.segments.header(number).is_listed() && self.is_over(number, now) {
                self.sweep(&mut sweeper, number, now, Mercy::All);
                sweeps -= 1;
            }
        }
        sweeper.unseen > 0
    }
}

/// The segment to evict from: of the kind (small or large) whose oldest segment is the oldest, the new items' if they take more
/// than their share, else the proven ones'.
fn victim(heads: &[Head]) -> Option<Head> {
    let oldest = heads.iter().min_by_key(|head| head.stamp)?;
    let kin = |proven: bool| {
        let large = oldest.queue.large();
        heads
            .iter()
            .filter(move |head| head.queue.large() == large && head.queue.proven() == proven)
    };
    let lengths = |proven: bool| kin(proven).map(|head| head.length).sum::<usize>();
    let (young, proven) = (lengths(false), lengths(true));
    let from_proven = young * YOUNG_SHARE <= young + proven;
    let first = |proven: bool| kin(proven).min_by_key(|head| head.stamp).copied();
    first(from_proven).or_else(|| first(!from_proven))
}

/// Where survivors of a sweep go.
pub(super) fn refuge(queue: Queue, mercy: Mercy) -> Queue {
    match mercy {
        Mercy::All => queue,
        Mercy::WorthAtLeast(_) => queue.promoted(),
    }
}
