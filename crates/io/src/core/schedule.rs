//! Tasks of a loop: which runs next, what it may spend, and which outputs leave together.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::task::Context;

use super::Core;
use crate::outbox;
use crate::task::{TaskId, Tasks};

/// Exchanges of its stream after which a task gives way to the others.
const EXCHANGES_MAX: u32 = 16;
/// Bytes that a task may read and write before it gives way to the others.
const BYTES_MAX: usize = 256 << 10;
/// Tasks whose small outputs leave together. More save nothing, and the first would wait for longer.
const GROUP: usize = 16;

/// The tasks, and the allowance of the one that runs.
pub(super) struct Scheduler {
    tasks: RefCell<Tasks>,
    /// True if the future that the loop drives, which is in no slab, can go on.
    main_ready: Cell<bool>,
    /// Tasks that will be polled before the outbox is emptied.
    followers: Cell<usize>,
    exchanges_left: Cell<u32>,
    bytes_left: Cell<usize>,
}

impl Scheduler {
    pub(super) fn new() -> Scheduler {
        Scheduler {
            tasks: RefCell::default(),
            main_ready: Cell::new(true),
            followers: Cell::new(0),
            exchanges_left: Cell::new(EXCHANGES_MAX),
            bytes_left: Cell::new(BYTES_MAX),
        }
    }

    /// True if any task can go on.
    pub(super) fn is_ready(&self) -> bool {
        self.main_ready.get() || self.tasks.borrow().ready() > 0
    }
}

impl Core {
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> TaskId {
        let mut tasks = self.scheduler.tasks.borrow_mut();
        tasks.insert(self.id, Box::pin(future))
    }

    /// Drops a task that has not ended; one that is being polled, when it next waits.
    pub(crate) fn abort(&self, id: TaskId) {
        let future = self.scheduler.tasks.borrow_mut().abort(id);
        self.guard("the end of a task", move || drop(future));
    }

    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        if id.is_main() {
            self.scheduler.main_ready.set(true);
        } else {
            self.scheduler.tasks.borrow_mut().wake(id);
        }
    }

    pub(crate) fn take_main_ready(&self) -> bool {
        self.scheduler.main_ready.replace(false)
    }

    /// Polls tasks that are ready now, `max` at most; those that they make ready have to wait for the next turn.
    pub(crate) fn run_tasks(&self, max: usize) {
        let scheduler = &self.scheduler;
        let mut ready = scheduler.tasks.borrow().ready().min(max);
        while ready > 0 {
            let group = ready.min(GROUP);
            ready -= group;
            for followers in (0..group).rev() {
                scheduler.followers.set(followers);
                self.run_task();
                // After a task that took long, the outputs of the others have waited long enough.
                if self.outbox.borrow().is_full() || scheduler.bytes_left.get() < BYTES_MAX / 2 {
                    self.empty_outbox();
                }
            }
            self.empty_outbox();
        }
    }

    fn run_task(&self) {
        let tasks = &self.scheduler.tasks;
        let next = tasks.borrow_mut().next(self.id);
        if let Some((id, mut future)) = next {
            let waker = id.waker();
            self.grant();
            let polled = self.guard("a task", || {
                future.as_mut().poll(&mut Context::from_waker(&waker))
            });
            if matches!(polled, Some(poll) if poll.is_pending()) {
                let aborted = tasks.borrow_mut().give_back(id, future);
                if aborted.is_some() {
                    self.guard("the end of a task", move || drop(aborted));
                }
            } else {
                tasks.borrow_mut().retire(id);
                self.guard("the end of a task", move || drop(future));
            }
        }
    }

    /// Ends all tasks, with all that they own.
    pub(crate) fn end_tasks(&self) {
        loop {
            let tasks = self.scheduler.tasks.borrow_mut().take_all();
            if tasks.is_empty() {
                return;
            }
            // A task may spawn others when it is dropped: they end in the next round.
            for task in tasks {
                self.guard("the end of a task", move || drop(task));
            }
        }
    }

    /// True if a small output may wait, since other tasks run before the outbox is emptied.
    #[inline]
    pub(crate) fn more_tasks_follow(&self) -> bool {
        self.scheduler.followers.get() > 0
    }

    /// Sends the outputs that wait.
    #[inline]
    pub(crate) fn empty_outbox(&self) {
        if !self.outbox.borrow().is_empty() {
            outbox::empty(self);
        }
    }

    // ── fairness ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// A task that is about to be polled gets its allowance.
    pub(crate) fn grant(&self) {
        self.scheduler.exchanges_left.set(EXCHANGES_MAX);
        self.scheduler.bytes_left.set(BYTES_MAX);
    }

    /// True if the running task may go on; if not, it is queued behind the others and must give way.
    #[inline]
    pub(crate) fn may_go_on(&self, context: &Context<'_>) -> bool {
        let go_on = self.scheduler.exchanges_left.get() > 0 && self.scheduler.bytes_left.get() > 0;
        if !go_on {
            context.waker().wake_by_ref();
        }
        go_on
    }

    #[inline]
    pub(crate) fn spend_exchange(&self) {
        let left = &self.scheduler.exchanges_left;
        left.set(left.get().saturating_sub(1));
    }

    #[inline]
    pub(crate) fn spend_bytes(&self, bytes: usize) {
        let left = &self.scheduler.bytes_left;
        left.set(left.get().saturating_sub(bytes));
    }
}
