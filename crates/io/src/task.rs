//! The tasks of one loop: a slab of futures, and the queue of those that are ready.
//!
//! ```text
//!   task   | loop 16 | generation 24 | index 24 |     one word, which wakers carry
//!                |           |              |
//!                v           |              v
//!      this thread's loop?   |      slots[index]: future, generation, queued?
//!      else: its mailbox     +----> must agree, or the wake-up is for a task long gone
//! ```
//!
//! **Invariant:** no borrow of the slab is held while a future is polled or dropped.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::pin::Pin;

/// A future that the loop owns.
pub(crate) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 24;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: usize = (1 << GENERATION_BITS) - 1;

/// The most tasks of one loop: the range of an index of 24 bits, less the one that names the main future.
pub(crate) const TASKS_MAX: usize = INDEX_MASK;

/// Identifies a task and its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskId(usize);

impl TaskId {
    fn new(loop_id: u16, generation: u32, index: u32) -> TaskId {
        const { assert!(usize::BITS == 64, "a task's identity fills a word of 64 bits") };
        let generation = generation as usize & GENERATION_MASK;
        TaskId(
            usize::from(loop_id) << (INDEX_BITS + GENERATION_BITS)
                | generation << INDEX_BITS
                | index as usize & INDEX_MASK,
        )
    }

    /// The future passed to [`Loop::run`](crate::Loop::run), which is not in the slab.
    pub(crate) fn main(loop_id: u16) -> TaskId {
        TaskId::new(loop_id, 0, INDEX_MASK as u32)
    }

    pub(crate) fn is_main(self) -> bool {
        self.0 & INDEX_MASK == INDEX_MASK
    }

    pub(crate) fn loop_id(self) -> u16 {
        (self.0 >> (INDEX_BITS + GENERATION_BITS)) as u16
    }

    fn index(self) -> usize {
        self.0 & INDEX_MASK
    }

    fn generation(self) -> usize {
        self.0 >> INDEX_BITS & GENERATION_MASK
    }

    /// The identity as one word, which [`from_word`](TaskId::from_word) takes.
    pub(crate) fn word(self) -> usize {
        self.0
    }

    pub(crate) fn from_word(word: usize) -> TaskId {
        TaskId(word)
    }
}

#[derive(Default)]
struct Slot {
    /// `None` while it is polled.
    future: Option<TaskFuture>,
    generation: u32,
    /// True if the slot is in the queue, where it must not be twice.
    queued: bool,
    /// The task was aborted while it was polled.
    aborted: bool,
}

/// The tasks of one loop.
#[derive(Default)]
pub(crate) struct Tasks {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

impl Tasks {
    /// Adds a task, ready to be polled.
    pub(crate) fn insert(&mut self, loop_id: u16, future: TaskFuture) -> TaskId {
        let index = self.free.pop().unwrap_or_else(|| {
            assert!(
                self.slots.len() < TASKS_MAX,
                "more than {TASKS_MAX} tasks on one loop"
            );
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.future = Some(future);
        if !mem::replace(&mut slot.queued, true) {
            self.ready.push_back(index);
        }
        TaskId::new(loop_id, slot.generation, index)
    }

    /// Queues a task, unless it has ended or is queued already.
    #[inline]
    pub(crate) fn wake(&mut self, id: TaskId) {
        let Some(slot) = self.slots.get_mut(id.index()) else {
            return;
        };
        if slot.generation as usize & GENERATION_MASK == id.generation() && !slot.queued {
            slot.queued = true;
            self.ready.push_back(id.index() as u32);
        }
    }

    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes out the next ready task to be polled; it must be [given back](Tasks::give_back) or
    /// [retired](Tasks::retire).
    pub(crate) fn next(&mut self, loop_id: u16) -> Option<(TaskId, TaskFuture)> {
        while let Some(index) = self.ready.pop_front() {
            let slot = &mut self.slots[index as usize];
            slot.queued = false;
            if let Some(future) = slot.future.take() {
                return Some((TaskId::new(loop_id, slot.generation, index), future));
            }
        }
        None
    }

    /// Puts a task back that is still pending. If it was aborted meanwhile, it is retired and returned instead.
    pub(crate) fn give_back(&mut self, id: TaskId, future: TaskFuture) -> Option<TaskFuture> {
        let slot = &mut self.slots[id.index()];
        if slot.aborted {
            self.retire(id);
            return Some(future);
        }
        slot.future = Some(future);
        None
    }

    /// Frees the slot of a task that has ended.
    pub(crate) fn retire(&mut self, id: TaskId) {
        let slot = &mut self.slots[id.index()];
        slot.generation = slot.generation.wrapping_add(1);
        slot.aborted = false;
        // A task that woke itself before it ended leaves the slot in the queue. There `next` skips it, unless the slot's next
        // task has taken it over.
        self.free.push(id.index() as u32);
    }

    /// Removes a task that has not ended and returns it to be dropped; one that is being polled is retired after that.
    pub(crate) fn abort(&mut self, id: TaskId) -> Option<TaskFuture> {
        let slot = &mut self.slots[id.index()];
        if slot.generation as usize & GENERATION_MASK != id.generation() {
            // It is being dropped with all others.
            return None;
        }
        let future = slot.future.take();
        match future {
            Some(_) => self.retire(id),
            None => slot.aborted = true,
        }
        future
    }

    /// Removes all tasks, to be dropped. None of them may be being polled.
    pub(crate) fn take_all(&mut self) -> Vec<TaskFuture> {
        let mut futures = Vec::new();
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if let Some(future) = slot.future.take() {
                slot.generation = slot.generation.wrapping_add(1);
                self.free.push(index as u32);
                futures.push(future);
            }
        }
        futures
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tasks_with_one() -> Tasks {
        let mut tasks = Tasks::default();
        tasks.insert(0, Box::pin(async {}));
        tasks
    }

    #[test]
    fn a_task_stands_in_the_queue_once() {
        let mut tasks = tasks_with_one();
        let (id, future) = tasks.next(3).unwrap();
        assert!(tasks.give_back(id, future).is_none());
        tasks.wake(id);
        tasks.wake(id);
        assert_eq!(tasks.ready(), 1);
        assert_eq!(id.loop_id(), 3);
        assert!(!id.is_main() && TaskId::main(3).is_main());
    }

    #[test]
    fn a_waker_of_a_task_that_ended_wakes_no_other() {
        let mut tasks = tasks_with_one();
        let (old, _) = tasks.next(0).unwrap();
        tasks.retire(old);
        tasks.insert(0, Box::pin(async {}));
        let (new, future) = tasks.next(0).unwrap();
        assert!(tasks.give_back(new, future).is_none());
        assert_eq!(old.index(), new.index());
        tasks.wake(old);
        assert_eq!(tasks.ready(), 0);
        tasks.wake(new);
        assert_eq!(tasks.ready(), 1);
    }
}
