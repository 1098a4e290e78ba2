//! The state of one loop, shared by everything that runs on its thread.
//!
//! **Invariant:** a `Core` never leaves its thread; other threads reach it through its mailbox and see its counters.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::mem;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::mailbox::{self, Mail, Mailbox};
use crate::outbox::{self, Outbox};
use crate::output::Output;
use crate::replies::Spares;
use crate::source::{self, Sources};
use crate::task::{TaskId, Tasks};
use crate::wheel::{self, Wheel};
use crate::{Config, Error, sys};

/// Turns of its stream after which a task gives way to the others.
const TURNS_MAX: u32 = 16;
/// Bytes that a task may read and write before it gives way to the others.
const BYTES_MAX: usize = 256 << 10;
/// Tasks whose small outputs leave together. More save nothing, and the first would wait for longer.
const GROUP: usize = 16;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

/// Who is told when a timer fires.
pub(crate) enum Timer {
    Wake(Waker),
    /// The source with this token may have been idle for too long.
    Idle(u64),
}

/// The one input and the one output buffer, which streams lend to protocol code.
pub(crate) struct Hot {
    pub(crate) input: Box<[u8]>,
    pub(crate) output: Output,
}

/// What a loop counts, readable from any thread.
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
    /// What parked replies were written to, to be used again.
    pub(crate) spares: RefCell<Spares>,
    /// Small outputs that leave together.
    pub(crate) outbox: RefCell<Outbox>,
    /// Tasks that will be polled before the outbox is emptied.
    company: Cell<usize>,
    pub(crate) draining: Cell<bool>,
    tasks: RefCell<Tasks>,
    main_ready: Cell<bool>,
    wheel: RefCell<Wheel<Timer>>,
    turn_end: RefCell<Vec<Box<dyn FnOnce()>>>,
    start: Instant,
    now: Cell<Instant>,
    tick: Cell<u64>,
    turns_left: Cell<u32>,
    bytes_left: Cell<usize>,
    held: Cell<usize>,
}

impl Core {
    pub(crate) fn new(config: Config, index: usize, counters: Arc<Counters>) -> Result<Rc<Core>, Error> {
        let epoll = sys::epoll().map_err(Error::system("epoll_create1"))?;
        let mailbox = Arc::new(Mailbox::new(config.mailbox_max)?);
        let now = config.clock.read();
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
            company: Cell::new(0),
            draining: Cell::new(false),
            tasks: RefCell::default(),
            main_ready: Cell::new(true),
            wheel: RefCell::new(Wheel::new()),
            turn_end: RefCell::default(),
            start: now,
            now: Cell::new(now),
            tick: Cell::new(0),
            turns_left: Cell::new(TURNS_MAX),
            bytes_left: Cell::new(BYTES_MAX),
            held: Cell::new(0),
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

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().insert(Box::pin(future));
    }

    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        if id.is_main() {
            self.main_ready.set(true);
        } else {
            self.tasks.borrow_mut().wake(id);
        }
    }

    pub(crate) fn take_main_ready(&self) -> bool {
        self.main_ready.replace(false)
    }

    /// Polls tasks that are ready now, `max` at most; those that they make ready have to wait for the next turn.
    pub(crate) fn run_tasks(&self, max: usize) {
        let mut ready = self.tasks.borrow().ready().min(max);
        while ready > 0 {
            let group = ready.min(GROUP);
            ready -= group;
            for others in (0..group).rev() {
                self.company.set(others);
                self.run_task();
                // What waits has waited long enough when somebody took his time.
                if self.outbox.borrow().is_full() || self.bytes_left.get() < BYTES_MAX / 2 {
                    self.empty_outbox();
                }
            }
            self.empty_outbox();
        }
    }

    fn run_task(&self) {
        let next = self.tasks.borrow_mut().next(self.id);
        if let Some((id, mut future)) = next {
            let waker = id.waker();
            self.grant();
            let polled = self.guard("a task", || {
                future.as_mut().poll(&mut Context::from_waker(&waker))
            });
            if matches!(polled, Some(poll) if poll.is_pending()) {
                self.tasks.borrow_mut().give_back(id, future);
            } else {
                self.tasks.borrow_mut().retire(id);
                self.guard("the end of a task", move || drop(future));
            }
        }
    }

    /// Whether a small output may wait, since other tasks are about to run.
    #[inline]
    pub(crate) fn is_in_company(&self) -> bool {
        self.company.get() > 0
    }

    /// Sends the outputs that wait.
    #[inline]
    pub(crate) fn empty_outbox(&self) {
        if !self.outbox.borrow().is_empty() {
            outbox::empty(self);
        }
    }

    /// Runs `f`; its panic is logged and counted, and is no business of the other tasks.
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

    /// Ends all tasks, with all that they own.
    pub(crate) fn end_tasks(&self) {
        loop {
            let task = self.tasks.borrow_mut().take_any();
            let Some(task) = task else { return };
            self.guard("the end of a task", move || drop(task));
        }
    }

    // ── fairness ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// A task that is about to be polled gets its allowance.
    pub(crate) fn grant(&self) {
        self.turns_left.set(TURNS_MAX);
        self.bytes_left.set(BYTES_MAX);
    }

    /// Whether the running task may go on; if not, it is queued behind the others and must give way.
    #[inline]
    pub(crate) fn may_go_on(&self, context: &Context<'_>) -> bool {
        let go_on = self.turns_left.get() > 0 && self.bytes_left.get() > 0;
        if !go_on {
            context.waker().wake_by_ref();
        }
        go_on
    }

    #[inline]
    pub(crate) fn spend_turn(&self) {
        self.turns_left.set(self.turns_left.get().saturating_sub(1));
    }

    #[inline]
    pub(crate) fn spend_bytes(&self, bytes: usize) {
        self.bytes_left.set(self.bytes_left.get().saturating_sub(bytes));
    }

    // ── what connections hold ────────────────────────────────────────────────────────────────────────────────────

    /// Changes what a connection holds from `before` to `after` bytes, unless that were too much for the loop.
    pub(crate) fn hold(&self, before: usize, after: usize) -> Result<(), Error> {
        let held = self.held.get();
        let max = self.config.held_max;
        if after > before && held - before + after > max {
            Counters::add(&self.counters.held_refused);
            return Err(Error::HeldLimit {
                held,
                asked: after - before,
                max,
            });
        }
        self.held.set(held - before + after);
        self.counters
            .held
            .store(self.held.get() as u64, Ordering::Relaxed);
        Ok(())
    }

    // ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now.get()
    }

    /// Milliseconds since the loop began, going round in 49 days.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.get() as u32
    }

    fn read_clock(&self) {
        let now = self.config.clock.read();
        self.now.set(now);
        self.tick.set(now.duration_since(self.start).as_millis() as u64);
    }

    /// A timer so many ticks from now.
    pub(crate) fn insert_timer(&self, ticks: u64, timer: Timer) -> wheel::Key {
        self.wheel
            .borrow_mut()
            .insert(self.tick.get().saturating_add(ticks), timer)
    }

    /// A timer that does not fire before `deadline`.
    pub(crate) fn insert_timer_at(&self, deadline: Instant, timer: Timer) -> wheel::Key {
        let since = deadline
            .saturating_duration_since(self.start)
            .as_nanos()
            .div_ceil(1_000_000);
        self.wheel
            .borrow_mut()
            .insert(u64::try_from(since).unwrap_or(u64::MAX), timer)
    }

    pub(crate) fn has_timer(&self, key: wheel::Key) -> bool {
        self.wheel.borrow().contains(key)
    }

    pub(crate) fn cancel_timer(&self, key: wheel::Key) {
        let cancelled = self.wheel.borrow_mut().cancel(key);
        drop(cancelled);
    }

    /// Fires what is due.
    pub(crate) fn expire_timers(&self, due: &mut Vec<Timer>) {
        if self.config.clock.is_manual() {
            self.read_clock();
        }
        if self.wheel.borrow().is_empty() {
            return;
        }
        self.wheel.borrow_mut().expire(self.tick.get(), due);
        for timer in due.drain(..) {
            match timer {
                Timer::Wake(waker) => waker.wake(),
                Timer::Idle(token) => source::idle_timer_fired(self, token),
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
            // The mailbox's own event has done its work by ending the wait. It is edge-triggered, so nobody reads it.
            if event.u64 != MAILBOX_TOKEN {
                source::dispatch(self, event);
            }
        }
        Ok(())
    }

    /// How long the poll may wait: `None` is until something happens.
    fn time_to_wait(&self) -> Option<Duration> {
        let busy =
            self.tasks.borrow().ready() > 0 || self.main_ready.get() || !self.turn_end.borrow().is_empty();
        if busy || !self.mailbox.park() {
            return Some(Duration::ZERO);
        }
        if self.config.clock.is_manual() {
            // Time stands still while nobody is there to crank it; what is due already fires in the next turn.
            return self
                .wheel
                .borrow()
                .next()
                .filter(|&next| next <= self.tick.get())
                .map(|_| Duration::ZERO);
        }
        let next = self.wheel.borrow().next()?;
        let due = self.start + Duration::from_millis(next);
        Some(due.saturating_duration_since(self.config.clock.read()))
    }
}

/// The token of the mailbox's event, which no source has: there are fewer than 2³² − 1 of them.
pub(crate) const MAILBOX_TOKEN: u64 = u64::MAX;

impl Drop for Core {
    fn drop(&mut self) {
        mailbox::deregister(self.id);
    }
}
