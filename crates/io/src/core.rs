//! The state of one loop, shared by everything that runs on its thread.
//!
//! ```text
//!   Core ── Scheduler (schedule.rs)   tasks, whose turn it is, what each may spend before it gives way
//!        ── Timers (timers.rs)        the clock, the wheel
//!        ── Memory (memory.rs)        bytes that connections hold
//!        ── sources, outbox, buffers  what streams share
//! ```
//!
//! **Invariant:** a `Core` never leaves its thread; other threads reach it through its mailbox and see its counters.

mod memory;
mod schedule;
mod timers;

use std::cell::{Cell, RefCell};
use std::mem;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::mailbox::{self, Mail, Mailbox};
use crate::outbox::Outbox;
use crate::output::Output;
use crate::replies::Spares;
use crate::source::{self, Sources};
use crate::{Config, Error, sys};

use memory::Memory;
use schedule::Scheduler;
pub(crate) use timers::Timer;
use timers::Timers;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

/// The one input and the one output buffer, which streams lend to protocol code.
pub(crate) struct Hot {
    pub(crate) input: Box<[u8]>,
    pub(crate) output: Output,
}

/// Counters of a loop, readable from any thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections placed on the loop, some of them perhaps still in its mailbox.
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) held: AtomicU64,
    pub(crate) held_refused: AtomicU64,
    pub(crate) idle_ended: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) cold_reads: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
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
    pub(crate) sources: RefCell<Sources>,
    pub(crate) hot: RefCell<Hot>,
    /// Buffers for the encrypted side of TLS streams; empty until there is one.
    pub(crate) cipher: RefCell<crate::tls::Buffers>,
    /// Emptied outputs of parked replies, for reuse.
    pub(crate) spares: RefCell<Spares>,
    /// Small outputs that leave together.
    pub(crate) outbox: RefCell<Outbox>,
    pub(crate) draining: Cell<bool>,
    /// Whether connections that have received nothing yet drain too.
    pub(crate) drains_new: Cell<bool>,
    /// True once the loop or one of its listeners drains.
    pub(crate) any_drain: Cell<bool>,
    scheduler: Scheduler,
    timers: Timers,
    memory: Memory,
    turn_end: RefCell<Vec<Box<dyn FnOnce()>>>,
}

impl Core {
    pub(crate) fn new(config: Config, index: usize, counters: Arc<Counters>) -> Result<Rc<Core>, Error> {
        let epoll = sys::epoll().map_err(Error::system("epoll_create1"))?;
        let mailbox = Arc::new(Mailbox::new(config.mailbox_max)?);
        let hot = Hot {
            input: vec![0; config.input_size.max(1024)].into_boxed_slice(),
            output: Output::new(config.output_size.max(1024)),
        };
        Ok(Rc::new(Core {
            id: mailbox::register(&mailbox),
            index,
            epoll,
            mailbox,
            counters,
            sources: RefCell::default(),
            hot: RefCell::new(hot),
            cipher: RefCell::default(),
            spares: RefCell::default(),
            outbox: RefCell::default(),
            draining: Cell::new(false),
            drains_new: Cell::new(false),
            any_drain: Cell::new(false),
            scheduler: Scheduler::new(),
            timers: Timers::new(config.clock.read()),
            memory: Memory::default(),
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

    /// Runs `f`; its panic is logged and counted, and does not reach the other tasks.
    fn guard<R>(&self, what: &'static str, f: impl FnOnce() -> R) -> Option<R> {
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

    // ── the rest of a turn ───────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn at_turn_end(&self, f: Box<dyn FnOnce()>) {
        self.turn_end.borrow_mut().push(f);
    }

    /// Runs the end-of-turn list; what that adds to it belongs to the next turn.
    pub(crate) fn run_turn_end(&self) {
        if self.turn_end.borrow().is_empty() {
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

    /// Runs the mail.
    pub(crate) fn take_mail(&self, mails: &mut Vec<Mail>) {
        self.mailbox.take(mails);
        for mail in mails.drain(..) {
            match mail {
                Mail::Wake(id) => self.wake(id),
                Mail::Run(f) => {
                    self.guard("a mail", f);
                }
            }
        }
    }

    /// Waits for events, if nothing is left to do, and notes them.
    pub(crate) fn poll(&self, events: &mut [sys::Event]) -> Result<(), Error> {
        let timeout = self.time_to_wait();
        let result = sys::epoll_wait(&self.epoll, events, timeout);
        if timeout != Some(Duration::ZERO) {
            self.mailbox.unpark();
        }
        self.read_clock();
        let count = result.map_err(Error::system("epoll_wait"))?;
        for event in &events[..count] {
            // The mailbox's own event has done its work by ending the wait. It is edge-triggered: nothing is read from it.
            if event.u64 != MAILBOX_TOKEN {
                source::dispatch(self, event);
            }
        }
        Ok(())
    }

    /// How long the poll may wait: `None` is until something happens.
    fn time_to_wait(&self) -> Option<Duration> {
        let busy = self.scheduler.is_ready() || !self.turn_end.borrow().is_empty();
        if busy || !self.mailbox.park() {
            return Some(Duration::ZERO);
        }
        self.time_to_next_timer()
    }
}

/// The token of the mailbox's event, which no source has: there are fewer than 2³² − 1 of them.
pub(crate) const MAILBOX_TOKEN: u64 = u64::MAX;

impl Drop for Core {
    fn drop(&mut self) {
        mailbox::deregister(self.id);
    }
}
