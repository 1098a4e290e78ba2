//! Which arenas are open, sealed, free and unused.
//!
//! **Invariant:** the locks here are leaves: they may be taken while a bucket's lock is held, and nothing else is locked
//! under them but, under an open arena's, the lists'.
//! **Invariant:** open, sealed and free arenas are counted in the budget, unused ones aren't.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

use parking_lot::Mutex;

use super::arena::{Allocation, Arenas, Footprint};
use super::class::{self, QUEUES_A_CLASS, Queue};
use super::counters::thread_number;
use super::limits::Limits;
use super::room::COMPACT_SHARE;
use super::table::ITEM_LINES_MIN;
use crate::budget::Budget;
use crate::heap::Denied;
use crate::region::{HUGE_PAGES_FROM, PAGE};
use crate::time::Now;

/// Large stores have several open arenas for new items, so that threads don't wait for each other.
const LANES_MAX: usize = 8;
const ARENAS_FOR_LANES: usize = 2048;

/// The arenas of a store by state.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) arenas: Arenas,
    budget: Arc<Budget>,
    blocks_max: AtomicUsize,
    /// Cache lines that an item has, on average over the arena sealed last.
    item_lines: AtomicUsize,
    lanes: usize,
    opens: Vec<Open>,
    lists: Mutex<Lists>,
    /// Sealed arenas that became worth compacting, where nothing may be evicted.
    compactable: Mutex<Vec<u32>>,
    evict: bool,
}

/// Bytes of a cache line.
const LINE: u64 = 64;
/// So many lines of an item may be fetched ahead; where a value is longer the hardware sees a sequence.
const ITEM_LINES_MAX: usize = 8;

/// The number of an open arena; zero is none.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Open(Mutex<u32>);

/// Which open arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AppendPoint {
    pub(super) queue: Queue,
    lane: u8,
}

#[derive(Debug)]
struct Lists {
    /// Numbers of arenas that are not in use, small ones and large ones.
    numbers: [Numbers; 2],
    free: Vec<u32>,
    queues: Vec<List>,
    stamp: u64,
}

/// Numbers that aren't in use: those that were given back, and those from `fresh` on.
#[derive(Debug)]
struct Numbers {
    unused: Vec<u32>,
    fresh: u32,
    end: u32,
}

impl Numbers {
    fn take(&mut self) -> Option<u32> {
        self.unused.pop().or_else(|| {
            let number = self.fresh;
            (number < self.end).then(|| {
                self.fresh += 1;
                number
            })
        })
    }
}

/// The numbers of arenas that were ever used: those of small items, then those of large ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    small_end: u32,
    large: (u32, u32),
}

impl Known {
    /// How many there are.
    pub(super) fn count(self) -> u32 {
        self.small_end - 1 + (self.large.1 - self.large.0)
    }

    /// The numbers of arenas of large items.
    pub(super) fn large(self) -> std::ops::Range<u32> {
        self.large.0..self.large.1
    }

    /// One of them, counted from zero; the count wraps.
    pub(super) fn number(self, index: u32) -> u32 {
        let index = index % self.count().max(1);
        let small = self.small_end - 1;
        if index < small {
            1 + index
        } else {
            self.large.0 + (index - small)
        }
    }
}

/// Sealed arenas of a queue, the oldest first.
#[derive(Clone, Debug, Default)]
struct List {
    head: u32,
    tail: u32,
    length: usize,
}

/// The head of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) queue: Queue,
    pub(super) number: u32,
    pub(super) stamp: u64,
    /// Arenas of its queue.
    pub(super) length: usize,
}

impl Pool {
    pub(super) fn new(limits: &Limits, budget: Arc<Budget>) -> std::io::Result<Pool> {
        let queues = class::COUNT * QUEUES_A_CLASS;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes = if budget.capacity() >> limits.arena_shift >= ARENAS_FOR_LANES {
            cores.next_power_of_two().min(LANES_MAX)
        } else {
            1
        };
        let first_large = limits.arenas as u32 + 1;
        Ok(Pool {
            arenas: Arenas::new(limits.arenas + limits.large_arenas, limits.arena_shift)?,
            blocks_max: AtomicUsize::new(limits.blocks_max(budget.capacity())),
            item_lines: AtomicUsize::new(ITEM_LINES_MIN),
            budget,
            lanes,
            compactable: Mutex::default(),
            evict: limits.evict,
            opens: (0..queues * (lanes + 1)).map(|_| Open::default()).collect(),
            lists: Mutex::new(Lists {
                numbers: [
                    Numbers {
                        unused: Vec::new(),
                        fresh: 1,
                        end: first_large,
                    },
                    Numbers {
                        unused: Vec::new(),
                        fresh: first_large,
                        end: first_large + limits.large_arenas as u32,
                    },
                ],
                free: Vec::new(),
                queues: vec![List::default(); queues],
                stamp: 0,
            }),
        })
    }

    /// Adapts to another capacity.
    pub(super) fn resize(&self, blocks_max: usize) {
        self.blocks_max.store(blocks_max, Relaxed);
    }

    /// Where the calling thread writes items of a queue.
    #[inline]
    pub(super) fn point(&self, queue: Queue) -> AppendPoint {
        let lane = if queue.protected() {
            0
        } else {
            thread_number() & (self.lanes - 1)
        };
        AppendPoint {
            queue,
            lane: lane as u8,
        }
    }

    /// The append point of sweeps. Survivors alone go there, so that the spare arena is theirs.
    pub(super) fn survivors_point(&self, queue: Queue) -> AppendPoint {
        AppendPoint {
            queue,
            lane: self.lanes as u8,
        }
    }

    #[inline]
    fn open(&self, point: AppendPoint) -> &Mutex<u32> {
        &self.opens[usize::from(point.queue.0) * (self.lanes + 1) + usize::from(point.lane)].0
    }

    /// The cost of an arena. Those of large items hold little but addresses: a page is enough.
    pub(super) fn cost(&self, large: bool) -> usize {
        if large { PAGE } else { self.arenas.size() }
    }

    /// Takes space for an item; `None` if the open arena is full (it's sealed then) or there's none.
    #[inline]
    pub(super) fn allocate(&self, point: AppendPoint, footprint: &Footprint) -> Option<Allocation<'_>> {
        let mut open = self.open(point).lock();
        if *open == 0 {
            return None;
        }
        let fresh = self
            .arenas
            .allocate(*open, footprint, self.blocks_max.load(Relaxed));
        if fresh.is_none() {
            self.seal(std::mem::take(&mut *open));
        }
        fresh
    }

    /// Makes an arena the open one; if another thread was faster, it's given back.
    pub(super) fn install(&self, point: AppendPoint, number: u32, base: u64, now: Now) {
        let mut open = self.open(point).lock();
        if *open == 0 {
            self.arenas
                .open(number, point.queue, self.cost(point.queue.large()), base, now);
            *open = number;
        } else {
            drop(open);
            self.release(number, point.queue.large());
        }
    }

    /// Puts an arena at the end of its queue's list.
    pub(super) fn seal(&self, number: u32) {
        let mut lists = self.lists.lock();
        lists.stamp += 1;
        let stamp = lists.stamp;
        let header = self.arenas.header(number);
        let list = &mut lists.queues[usize::from(header.queue().0)];
        header.stamp.store(stamp, Relaxed);
        header.previous.store(list.tail, Relaxed);
        header.next.store(0, Relaxed);
        header.listed.store(true, SeqCst);
        match list.tail {
            0 => list.head = number,
            tail => self.arenas.header(tail).next.store(number, Relaxed),
        }
        list.tail = number;
        list.length += 1;
        if !header.queue().large() && header.items() > 0 {
            let lines = (header.live_bytes() / header.items()).div_ceil(LINE);
            let lines = (lines as usize).clamp(ITEM_LINES_MIN, ITEM_LINES_MAX);
            self.item_lines.store(lines, Relaxed);
        }
        drop(lists);
        if !self.evict {
            self.note_dead(number);
        }
    }

    /// How many lines of an item are worth fetching ahead. Fewer leave a reader waiting for the end of a value, more take
    /// the place of what is needed.
    #[inline]
    pub(super) fn item_lines(&self) -> usize {
        self.item_lines.load(Relaxed)
    }

    /// Takes an arena out of its list; false if it isn't in one (any more).
    pub(super) fn unlist(&self, number: u32) -> bool {
        let mut lists = self.lists.lock();
        let header = self.arenas.header(number);
        if !header.listed.swap(false, Relaxed) {
            return false;
        }
        let list = &mut lists.queues[usize::from(header.queue().0)];
        let (previous, next) = (header.previous.load(Relaxed), header.next.load(Relaxed));
        match previous {
            0 => list.head = next,
            previous => self.arenas.header(previous).next.store(next, Relaxed),
        }
        match next {
            0 => list.tail = previous,
            next => self.arenas.header(next).previous.store(previous, Relaxed),
        }
        list.length -= 1;
        true
    }

    /// Seals open arenas that `which` tells; answers how many.
    pub(super) fn seal_open(&self, which: impl Fn(u32) -> bool) -> usize {
        let mut sealed = 0;
        for open in &self.opens {
            let mut open = open.0.lock();
            if *open != 0 && which(*open) {
                self.seal(std::mem::take(&mut *open));
                sealed += 1;
            }
        }
        sealed
    }

    /// Takes back the open arenas without an item. One stays behind when a write for which it was opened goes to another queue
    /// in its next attempt. Returns their number.
    pub(super) fn release_empty(&self) -> usize {
        let mut released = 0;
        for open in &self.opens {
            let mut open = open.0.lock();
            if *open == 0 || self.arenas.header(*open).written() > 0 {
                continue;
            }
            let number = std::mem::take(&mut *open);
            drop(open);
            self.release(number, self.arenas.header(number).queue().large());
            released += 1;
        }
        released
    }

    /// The heads of all lists that have one.
    pub(super) fn heads(&self) -> Vec<Head> {
        let lists = self.lists.lock();
        let head = |(queue, list): (usize, &List)| {
            let stamp = self.arenas.header(list.head).stamp.load(Relaxed);
            Head {
                queue: Queue(queue as u8),
                number: list.head,
                stamp,
                length: list.length,
            }
        };
        lists
            .queues
            .iter()
            .enumerate()
            .filter(|(_, list)| list.head != 0)
            .map(head)
            .collect()
    }

    /// An arena that's paid for, if there's a free one or the budget has room.
    pub(super) fn take(&self, large: bool) -> Result<u32, Denied> {
        let mut lists = self.lists.lock();
        if !large && let Some(number) = lists.free.pop() {
            return Ok(number);
        }
        if !self.budget.take(self.cost(large)) {
            return Err(Denied::Budget);
        }
        let Some(number) = lists.numbers[usize::from(large)].take() else {
            self.budget.give(self.cost(large));
            return Err(if large { Denied::Arenas } else { Denied::Budget });
        };
        if !large && self.budget.used() >= HUGE_PAGES_FROM {
            self.arenas.prefer_huge(number);
        }
        Ok(number)
    }

    /// How many arenas are free.
    pub(super) fn free(&self) -> usize {
        self.lists.lock().free.len()
    }

    /// Notes a sealed arena once it is worth compacting, for stores that may not evict: they look only at those.
    pub(super) fn note_dead(&self, number: u32) {
        let header = self.arenas.header(number);
        let due = header.is_listed()
            && !header.queue().large()
            && header.dead_bytes() >= self.arenas.size() / COMPACT_SHARE;
        if due && !header.noted.swap(true, SeqCst) {
            self.compactable.lock().push(number);
        }
    }

    /// A sealed arena that is worth compacting. It is not answered again before it was filled again.
    pub(super) fn compactable(&self) -> Option<u32> {
        let mut noted = self.compactable.lock();
        let least = self.arenas.size() / COMPACT_SHARE;
        // Every pass takes one away, and only sealing and removing add some.
        while let Some(number) = noted.pop() {
            let header = self.arenas.header(number);
            if header.is_listed() && header.dead_bytes() >= least {
                return Some(number);
            }
        }
        None
    }

    /// Takes back an arena that nothing points into. A small one stays paid for, to be used again.
    pub(super) fn release(&self, number: u32, large: bool) {
        if large {
            self.arenas.discard(number);
            self.budget.give(PAGE);
            self.lists.lock().numbers[1].unused.push(number);
        } else {
            self.lists.lock().free.push(number);
        }
    }

    /// Gives free arenas back to the system until `bytes` came free or none are left. Returns the freed bytes.
    pub(super) fn shed(&self, bytes: usize) -> usize {
        let mut freed = 0;
        while freed < bytes {
            let Some(number) = self.lists.lock().free.pop() else {
                break;
            };
            self.arenas.discard(number);
            self.budget.give(self.arenas.size());
            self.lists.lock().numbers[0].unused.push(number);
            freed += self.arenas.size();
        }
        freed
    }

    /// Numbers of arenas that may hold items or did.
    pub(super) fn known(&self) -> Known {
        let lists = self.lists.lock();
        let [small, large] = &lists.numbers;
        Known {
            small_end: small.fresh,
            large: (small.end, large.fresh),
        }
    }

    /// Bytes of free arenas.
    pub(super) fn free_bytes(&self) -> usize {
        self.lists.lock().free.len() * self.arenas.size()
    }
}
