//! Time on a loop: read once a turn, and the wheel of what waits for it.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::wheel::{self, Wheel};

/// The target of a timer.
pub(crate) enum Timer {
    Wake(Waker),
    /// The source with this token may have been idle for too long, or its deadline has passed.
    Source(u64),
}

/// The clock as a loop reads it, and the timers that wait.
pub(crate) struct Timers {
    clock: Clock,
    wheel: RefCell<Wheel<Timer>>,
    start: Instant,
    now: Cell<Instant>,
    /// Milliseconds since `start`.
    tick: Cell<u64>,
}

impl Timers {
    pub(super) fn new(clock: Clock) -> Timers {
        let now = clock.read();
        Timers {
            clock,
            wheel: RefCell::new(Wheel::new()),
            start: now,
            now: Cell::new(now),
            tick: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now.get()
    }

    /// Milliseconds since the loop began, going round in 49 days.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.get() as u32
    }

    pub(crate) fn read_clock(&self) {
        let now = self.clock.read();
        self.now.set(now);
        let since = now.duration_since(self.start);
        self.tick.set(since.as_millis() as u64);
    }

    /// Inserts a timer that fires in `ticks` ticks.
    pub(crate) fn insert(&self, ticks: u64, timer: Timer) -> wheel::Key {
        let when = self.tick.get().saturating_add(ticks);
        self.wheel.borrow_mut().insert(when, timer)
    }

    /// A timer that does not fire before `deadline`.
    pub(crate) fn insert_at(&self, deadline: Instant, timer: Timer) -> wheel::Key {
        let since = deadline
            .saturating_duration_since(self.start)
            .as_nanos()
            .div_ceil(1_000_000);
        let when = u64::try_from(since).unwrap_or(u64::MAX);
        self.wheel.borrow_mut().insert(when, timer)
    }

    pub(crate) fn contains(&self, key: wheel::Key) -> bool {
        self.wheel.borrow().contains(key)
    }

    /// True if a timer that has not fired yet does so in at most so many ticks.
    pub(crate) fn fires_within(&self, key: wheel::Key, ticks: u64) -> bool {
        let latest = self.tick.get().saturating_add(ticks);
        let when = self.wheel.borrow().when(key);
        when.is_some_and(|when| when <= latest.max(self.tick.get() + 1))
    }

    /// The tick of an instant, as [`tick`](Timers::tick) counts them: the first one that is not before it.
    pub(crate) fn tick_of(&self, instant: Instant) -> u32 {
        let since = instant.saturating_duration_since(self.start);
        since.as_nanos().div_ceil(1_000_000) as u32
    }

    pub(crate) fn cancel(&self, key: wheel::Key) {
        let cancelled = self.wheel.borrow_mut().cancel(key);
        drop(cancelled);
    }

    /// Moves the timers that are due to `due`.
    #[inline]
    pub(crate) fn expire(&self, due: &mut Vec<Timer>) {
        if self.clock.is_manual() {
            self.read_clock();
        }
        if !self.wheel.borrow().is_empty() {
            self.wheel.borrow_mut().expire(self.tick.get(), due);
        }
    }

    /// How long until a timer may be due; `None` when there is none.
    pub(crate) fn time_to_next(&self) -> Option<Duration> {
        let next = self.wheel.borrow().next()?;
        if self.clock.is_manual() {
            // A manual clock stands still while the loop waits; a timer that is due fires in the next turn.
            return (next <= self.tick.get()).then_some(Duration::ZERO);
        }
        let due = self.start + Duration::from_millis(next);
        Some(due.saturating_duration_since(self.clock.read()))
    }
}
