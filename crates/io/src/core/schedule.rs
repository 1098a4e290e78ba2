//! Tasks of a loop: which runs next, and what it may spend before it gives way.

use std::cell::{Cell, RefCell};
use std::task::Context;

use crate::task::{TaskFuture, TaskId, Tasks};

/// Exchanges of its stream after which a task gives way to the others.
const EXCHANGES_MAX: u32 = 16;
/// Bytes that a task may read and write before it gives way to the others.
const BYTES_MAX: usize = 256 << 10;

/// The tasks, and the allowance of the one that runs.
pub(crate) struct Scheduler {
    loop_id: u16,
    tasks: RefCell<Tasks>,
    /// True if the future that the loop drives, which is in no slab, can go on.
    main_ready: Cell<bool>,
    /// Tasks that will be polled before the outbox is emptied.
    followers: Cell<usize>,
    exchanges_left: Cell<u32>,
    bytes_left: Cell<usize>,
}

impl Scheduler {
    pub(super) fn new(loop_id: u16) -> Scheduler {
        Scheduler {
            loop_id,
            tasks: RefCell::default(),
            main_ready: Cell::new(true),
            followers: Cell::new(0),
            exchanges_left: Cell::new(EXCHANGES_MAX),
            bytes_left: Cell::new(BYTES_MAX),
        }
    }

    /// True if any task can go on.
    pub(crate) fn is_ready(&self) -> bool {
        self.main_ready.get() || self.ready() > 0
    }

    /// How many tasks can go on, the main one not counted.
    pub(crate) fn ready(&self) -> usize {
        self.tasks.borrow().ready()
    }

    pub(super) fn insert(&self, future: TaskFuture) -> TaskId {
        self.tasks.borrow_mut().insert(self.loop_id, future)
    }

    pub(super) fn abort(&self, id: TaskId) -> Option<TaskFuture> {
        self.tasks.borrow_mut().abort(id)
    }

    pub(super) fn take_all(&self) -> Vec<TaskFuture> {
        self.tasks.borrow_mut().take_all()
    }

    #[inline]
    pub(super) fn wake(&self, id: TaskId) {
        if id.is_main() {
            self.main_ready.set(true);
        } else {
            self.tasks.borrow_mut().wake(id);
        }
    }

    pub(crate) fn take_main_ready(&self) -> bool {
        self.main_ready.replace(false)
    }

    /// Takes out the next ready task to be polled, with its whole allowance.
    pub(crate) fn next(&self) -> Option<(TaskId, TaskFuture)> {
        let next = self.tasks.borrow_mut().next(self.loop_id);
        if next.is_some() {
            self.grant();
        }
        next
    }

    /// Puts a task back that is still pending, or returns it if it was aborted meanwhile.
    pub(crate) fn give_back(&self, id: TaskId, future: TaskFuture) -> Option<TaskFuture> {
        self.tasks.borrow_mut().give_back(id, future)
    }

    /// Frees the slot of a task that has ended.
    pub(crate) fn retire(&self, id: TaskId) {
        self.tasks.borrow_mut().retire(id);
    }

    // ── outputs that leave together ──────────────────────────────────────────────────────────────────────────────

    pub(crate) fn set_followers(&self, followers: usize) {
        self.followers.set(followers);
    }

    /// True if a small output may wait, since other tasks run before the outbox is emptied.
    #[inline]
    pub(crate) fn more_tasks_follow(&self) -> bool {
        self.followers.get() > 0
    }

    // ── fairness ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// A task that is about to be polled gets its allowance.
    pub(crate) fn grant(&self) {
        self.exchanges_left.set(EXCHANGES_MAX);
        self.bytes_left.set(BYTES_MAX);
    }

    /// True if the running task may go on; if not, it is queued behind the others and must give way.
    #[inline]
    pub(crate) fn may_go_on(&self, context: &Context<'_>) -> bool {
        let go_on = self.exchanges_left.get() > 0 && self.bytes_left.get() > 0;
        if !go_on {
            context.waker().wake_by_ref();
        }
        go_on
    }

    /// True if the task that was polled last has moved many bytes.
    pub(crate) fn took_long(&self) -> bool {
        self.bytes_left.get() < BYTES_MAX / 2
    }

    #[inline]
    pub(crate) fn spend_exchange(&self) {
        let left = &self.exchanges_left;
        left.set(left.get().saturating_sub(1));
    }

    #[inline]
    pub(crate) fn spend_bytes(&self, bytes: usize) {
        let left = &self.bytes_left;
        left.set(left.get().saturating_sub(bytes));
    }
}
