//! The state of one loop, shared by everything that runs on its thread.
//!
//! ```text
//!   Core ── Scheduler (schedule.rs)   tasks, whose turn it is, what each may spend before it gives way
//!        ── Timers (timers.rs)        the clock, the wheel
//!        ── Sources (sources.rs)      readiness, and who waits for it
//!        ── Memory (memory.rs)        bytes that connections hold
//!        ── Outbox (outbox.rs)        small outputs that leave together
//!        ── buffers (buffers.rs)      what streams share
//! ```
//!
//! Its parts know nothing of each other, nor of what uses them: `turn.rs` runs the loop, `readiness.rs`, `eviction.rs` and
//! `flush.rs` do what concerns several parts.
//!
//! **Invariant:** a `Core` never leaves its thread; other threads reach it through its mailbox and see its counters.

mod buffers;
mod memory;
mod outbox;
mod schedule;
mod sources;
mod timers;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::mem;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use crate::counters::Counters;
use crate::mailbox::{self, Mailbox};
use crate::task::TaskId;
use crate::{Config, Error, sys};

pub(crate) use buffers::{Cipher, Hot, Spares};
use memory::Memory;
pub(crate) use outbox::{BATCHED_MAX, Batched, Outbox, Returned};
use schedule::Scheduler;
pub(crate) use sources::{
    ALWAYS, DISPLACED, EVICTED, EXPIRED, Entry, FAULTS, HALF_CLOSED, LATE, NOTIFIED, POSTED, READABLE,
    RETURNED, SPLIT, Sources, WRITABLE,
};
pub(crate) use timers::{Timer, Timers};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

pub(crate) struct Core {
    /// Which of the process's loops it is; what wakers carry.
    pub(crate) id: u16,
    /// Which of its siblings it is.
    pub(crate) index: usize,
    pub(crate) config: Config,
    pub(crate) epoll: OwnedFd,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) scheduler: Scheduler,
    pub(crate) timers: Timers,
    pub(crate) memory: Memory,
    pub(crate) sources: RefCell<Sources>,
    pub(crate) hot: RefCell<Hot>,
    pub(crate) cipher: RefCell<Cipher>,
    pub(crate) spares: RefCell<Spares>,
    pub(crate) outbox: RefCell<Outbox>,
    pub(crate) draining: Cell<bool>,
    /// Whether connections that have received nothing yet drain too.
    pub(crate) drains_new: Cell<bool>,
    /// True once the loop or one of its listeners drains.
    pub(crate) any_drain: Cell<bool>,
    turn_end: RefCell<Vec<Box<dyn FnOnce()>>>,
}

impl Core {
    pub(crate) fn new(config: Config, index: usize, counters: Arc<Counters>) -> Result<Rc<Core>, Error> {
        let epoll = sys::epoll().map_err(Error::system("epoll_create1"))?;
        let mailbox = Arc::new(Mailbox::new(config.mailbox_max)?);
        let id = mailbox::register(&mailbox);
        Ok(Rc::new(Core {
            id,
            index,
            epoll,
            mailbox,
            scheduler: Scheduler::new(id),
            timers: Timers::new(config.clock.clone()),
            memory: Memory::new(config.held_max, Arc::clone(&counters)),
            counters,
            sources: RefCell::default(),
            hot: RefCell::new(Hot::new(config.input_size, config.output_size)),
            cipher: RefCell::default(),
            spares: RefCell::default(),
            outbox: RefCell::default(),
            draining: Cell::new(false),
            drains_new: Cell::new(false),
            any_drain: Cell::new(false),
            turn_end: RefCell::default(),
            config,
        }))
    }

    // ── which loop this is ───────────────────────────────────────────────────────────────────────────────────────

    /// The loop that runs on this thread.
    ///
    /// # Panics
    /// When none does: spawning, sleeping and streams belong inside `Loop::run`.
    pub(crate) fn current() -> Rc<Core> {
        CURRENT
            .with_borrow(Option::clone)
            .expect("this must be called on a loop: inside Loop::run")
    }

    /// Calls `f` with the loop that runs on this thread.
    ///
    /// # Panics
    /// As [`current`](Core::current).
    pub(crate) fn with<R>(f: impl FnOnce(&Core) -> R) -> R {
        Core::try_current(f).expect("this must be called on a loop: inside Loop::run")
    }

    /// Calls `f` with this thread's loop, if there is one.
    pub(crate) fn try_current<R>(f: impl FnOnce(&Core) -> R) -> Option<R> {
        CURRENT
            .try_with(|current| current.borrow().as_deref().map(f))
            .ok()
            .flatten()
    }

    /// Makes it this thread's loop, or takes that back.
    pub(crate) fn set_current(core: Option<Rc<Core>>) {
        CURRENT.set(core);
    }

    // ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> TaskId {
        self.scheduler.insert(Box::pin(future))
    }

    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        self.scheduler.wake(id);
    }

    /// Drops a task that has not ended; one that is being polled, when it next waits.
    pub(crate) fn abort(&self, id: TaskId) {
        let future = self.scheduler.abort(id);
        self.guard("the end of a task", move || drop(future));
    }

    /// Ends all tasks, with all that they own.
    pub(crate) fn end_tasks(&self) {
        loop {
            let tasks = self.scheduler.take_all();
            if tasks.is_empty() {
                return;
            }
            // A task may spawn others when it is dropped: they end in the next round.
            for task in tasks {
                self.guard("the end of a task", move || drop(task));
            }
        }
    }

    /// Runs `f`; its panic is logged and counted, and does not reach the other tasks.
    pub(crate) fn guard<R>(&self, what: &'static str, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => Some(result),
            Err(panic) => {
                Counters::add(&self.counters.panics);
                let message = panic
                    .downcast_ref::<&str>()
                    .copied()
                    .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                    .unwrap_or("no message");
                tracing::error!(
                    loop_index = self.index,
                    message,
                    "{what} panicked; the loop goes on"
                );
                None
            }
        }
    }

    // ── the end of a turn ────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn at_turn_end(&self, f: Box<dyn FnOnce()>) {
        self.turn_end.borrow_mut().push(f);
    }

    pub(crate) fn has_turn_end(&self) -> bool {
        !self.turn_end.borrow().is_empty()
    }

    /// Runs the end-of-turn list; what that adds to it belongs to the next turn.
    pub(crate) fn run_turn_end(&self) {
        if !self.has_turn_end() {
            return;
        }
        let list = mem::take(&mut *self.turn_end.borrow_mut());
        for f in list {
            self.guard("an end-of-turn call", f);
        }
    }

    pub(crate) fn forget_turn_end(&self) {
        let list = mem::take(&mut *self.turn_end.borrow_mut());
        drop(list);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        mailbox::deregister(self.id);
    }
}
