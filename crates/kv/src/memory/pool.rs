//! Which segments are open, sealed, free and unused.
//!
//! **Invariant:** the locks here are leaves: they may be taken while a bucket's lock is held, and nothing else is locked
//! under them but, under an open segment's, the lists'.
//! **Invariant:** open, sealed and free segments are counted in the budget, unused ones aren't.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::budget::Budget;
use super::class::{self, QUEUES_A_CLASS, Queue};
use super::counters::thread_number;
use super::limits::Limits;
use super::map::{HUGE_PAGES_FROM, PAGE};
use super::segment::{Burden, Fresh, Segments};
use super::table::ITEM_LINES_MIN;

/// Large stores have several open segments for new items, so that threads don't wait for each other.
const LANES_MAX: usize = 8;
const SEGMENTS_FOR_LANES: usize = 2048;

/// The segments of a store by state.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) segments: Segments,
    budget: Arc<Budget>,
    blocks_max: AtomicUsize,
    /// Cache lines that an item has, on average over the segment sealed last.
    item_lines: AtomicUsize,
    lanes: usize,
    opens: Vec<Open>,
    lists: Mutex<Lists>,
}

/// Bytes of a cache line.
const LINE: u64 = 64;
/// So many lines of an item may be fetched ahead; where a value is longer the hardware sees a sequence.
const ITEM_LINES_MAX: usize = 8;

/// The number of an open segment; zero is none.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Open(Mutex<u32>);

/// Which open segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Door {
    pub(super) queue: Queue,
    lane: u8,
}

#[derive(Debug)]
struct Lists {
    /// What of either kind, small and large, was ever used and is now unused.
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

/// The numbers of segments that were ever used: those of small items, then those of large ones.
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

/// Sealed segments of a queue, the oldest first.
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
    /// Segments of its queue.
    pub(super) length: usize,
}

impl Pool {
    pub(super) fn new(limits: &Limits, budget: Arc<Budget>) -> std::io::Result<Pool> {
        let queues = class::COUNT * QUEUES_A_CLASS;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes = if budget.capacity() >> limits.segment_shift >= SEGMENTS_FOR_LANES {
            cores.next_power_of_two().min(LANES_MAX)
        } else {
            1
        };
        let first_large = limits.segments as u32 + 1;
        Ok(Pool {
            segments: Segments::new(limits.segments + limits.large_segments, limits.segment_shift)?,
            blocks_max: AtomicUsize::new(limits.blocks_max(budget.capacity())),
            item_lines: AtomicUsize::new(ITEM_LINES_MIN),
            budget,
            lanes,
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
                        end: first_large + limits.large_segments as u32,
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
    pub(super) fn door(&self, queue: Queue) -> Door {
        let lane = if queue.proven() {
            0
        } else {
            thread_number() & (self.lanes - 1)
        };
        Door {
            queue,
            lane: lane as u8,
        }
    }

    /// Where whoever sweeps writes, and nobody else: what's provided there for survivors, survivors get.
    pub(super) fn sweeping_door(&self, queue: Queue) -> Door {
        Door {
            queue,
            lane: self.lanes as u8,
        }
    }

    #[inline]
    fn open(&self, door: Door) -> &Mutex<u32> {
        &self.opens[usize::from(door.queue.0) * (self.lanes + 1) + usize::from(door.lane)].0
    }

    /// What a segment of a queue takes of the budget. Those of large items hold little but addresses: a page is enough.
    fn cost(&self, large: bool) -> usize {
        if large { PAGE } else { self.segments.size() }
    }

    /// Takes space for an item; `None` if the open segment is full (it's sealed then) or there's none.
    #[inline]
    pub(super) fn allocate(&self, door: Door, burden: &Burden) -> Option<Fresh<'_>> {
        let mut open = self.open(door).lock();
        if *open == 0 {
            return None;
        }
        let fresh = self
            .segments
            .allocate(*open, burden, self.blocks_max.load(Relaxed));
        if fresh.is_none() {
            self.seal(std::mem::take(&mut *open));
        }
        fresh
    }

    /// Makes a segment the open one; if somebody was faster, it's given back.
    pub(super) fn install(&self, door: Door, number: u32, base: u64) {
        let mut open = self.open(door).lock();
        if *open == 0 {
            self.segments
                .open(number, door.queue, self.cost(door.queue.large()), base);
            *open = number;
        } else {
            drop(open);
            self.release(number, door.queue.large());
        }
    }

    /// Puts a segment at the end of its queue's list.
    pub(super) fn seal(&self, number: u32) {
        let mut lists = self.lists.lock();
        lists.stamp += 1;
        let stamp = lists.stamp;
        let header = self.segments.header(number);
        let list = &mut lists.queues[usize::from(header.queue().0)];
        header.stamp.store(stamp, Relaxed);
        header.previous.store(list.tail, Relaxed);
        header.next.store(0, Relaxed);
        header.listed.store(1, Relaxed);
        match list.tail {
            0 => list.head = number,
            tail => self.segments.header(tail).next.store(number, Relaxed),
        }
        list.tail = number;
        list.length += 1;
        if !header.queue().large() && header.items() > 0 {
            let lines = (header.live_bytes() / header.items()).div_ceil(LINE);
            let lines = (lines as usize).clamp(ITEM_LINES_MIN, ITEM_LINES_MAX);
            self.item_lines.store(lines, Relaxed);
        }
    }

    /// How many lines of an item are worth fetching ahead. Fewer leave a reader waiting for the end of a value, more take
    /// the place of what is needed.
    #[inline]
    pub(super) fn item_lines(&self) -> usize {
        self.item_lines.load(Relaxed)
    }

    /// Takes a segment out of its list; false if it isn't in one (any more).
    pub(super) fn unlist(&self, number: u32) -> bool {
        let mut lists = self.lists.lock();
        let header = self.segments.header(number);
        if header.listed.swap(0, Relaxed) == 0 {
            return false;
        }
        let list = &mut lists.queues[usize::from(header.queue().0)];
        let (previous, next) = (header.previous.load(Relaxed), header.next.load(Relaxed));
        match previous {
            0 => list.head = next,
            previous => self.segments.header(previous).next.store(next, Relaxed),
        }
        match next {
            0 => list.tail = previous,
            next => self.segments.header(next).previous.store(previous, Relaxed),
        }
        list.length -= 1;
        true
    }

    /// Seals open segments that `which` tells; answers how many.
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

    /// The heads of all lists that have one.
    pub(super) fn heads(&self) -> Vec<Head> {
        let lists = self.lists.lock();
        let head = |(queue, list): (usize, &List)| {
            let stamp = self.segments.header(list.head).stamp.load(Relaxed);
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

    /// A segment that's paid for, if there's a free one or the budget has room.
    pub(super) fn take(&self, large: bool) -> Option<u32> {
        let mut lists = self.lists.lock();
        if !large && let Some(number) = lists.free.pop() {
            return Some(number);
        }
        if !self.budget.take(self.cost(large)) {
            return None;
        }
        let Some(number) = lists.numbers[usize::from(large)].take() else {
            self.budget.give(self.cost(large));
            return None;
        };
        if !large && self.budget.used() >= HUGE_PAGES_FROM {
            self.segments.prefer_huge(number);
        }
        Some(number)
    }

    /// Takes back a segment that nothing points into. A small one stays paid for, to be used again.
    pub(super) fn release(&self, number: u32, large: bool) {
        if large {
            self.segments.discard(number);
            self.budget.give(PAGE);
            self.lists.lock().numbers[1].unused.push(number);
        } else {
            self.lists.lock().free.push(number);
        }
    }

    /// Gives free segments back to the system until so many bytes came free or none are left; answers how many did.
    pub(super) fn shed(&self, bytes: usize) -> usize {
        let mut freed = 0;
        while freed < bytes {
            let Some(number) = self.lists.lock().free.pop() else {
                break;
            };
            self.segments.discard(number);
            self.budget.give(self.segments.size());
            self.lists.lock().numbers[0].unused.push(number);
            freed += self.segments.size();
        }
        freed
    }

    /// Numbers of segments that may hold items or did.
    pub(super) fn known(&self) -> Known {
        let lists = self.lists.lock();
        let [small, large] = &lists.numbers;
        Known {
            small_end: small.fresh,
            large: (small.end, large.fresh),
        }
    }

    /// Bytes of free segments.
    pub(super) fn free_bytes(&self) -> usize {
        self.lists.lock().free.len() * self.segments.size()
    }
}
