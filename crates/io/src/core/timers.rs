//! Time on a loop: read once a turn, and the wheel of what waits for it.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::Core;
use crate::source;
use crate::wheel::{self, Wheel};

/// The target of a timer.
pub(crate) enum Timer {
    Wake(Waker),
    /// The source with this token may have been idle for too long, or its deadline has passed.
    Source(u64),
}

/// The clock as a loop reads it, and the timers that wait.
pub(super) struct Timers {
    wheel: RefCell<Wheel<Timer>>,
    start: Instant,
    now: Cell<Instant>,
    /// Milliseconds since `start`.
    tick: Cell<u64>,
}

impl Timers {
    pub(super) fn new(now: Instant) -> Timers {
        Timers {
            wheel: RefCell::new(Wheel::new()),
            start: now,
            now: Cell::new(now),
            tick: Cell::new(0),
        }
    }
}

impl Core {
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.timers.now.get()
    }

    /// Milliseconds since the loop began, going round in 49 days.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.timers.tick.get() as u32
    }

    pub(super) fn read_clock(&self) {
        let now = self.config.clock.read();
        self.timers.now.set(now);
        let since = now.duration_since(self.timers.start);
        self.timers.tick.set(since.as_millis() as u64);
    }

    /// Inserts a timer that fires in `ticks` ticks.
    pub(crate) fn insert_timer(&self, ticks: u64, timer: Timer) -> wheel::Key {
        let when = self.timers.tick.get().saturating_add(ticks);
        self.timers.wheel.borrow_mut().insert(when, timer)
    }

    /// A timer that does not fire before `deadline`.
    pub(crate) fn insert_timer_at(&self, deadline: Instant, timer: Timer) -> wheel::Key {
        let since = deadline
            .saturating_duration_since(self.timers.start)
            .as_nanos()
            .div_ceil(1_000_000);
        let when = u64::try_from(since).unwrap_or(u64::MAX);
        self.timers.wheel.borrow_mut().insert(when, timer)
    }

    pub(crate) fn has_timer(&self, key: wheel::Key) -> bool {
        self.timers.wheel.borrow().contains(key)
    }

    /// True if a timer that has not fired yet does so in at most so many ticks.
    pub(crate) fn timer_fires_within(&self, key: wheel::Key, ticks: u64) -> bool {
        let latest = self.timers.tick.get().saturating_add(ticks);
        let when = self.timers.wheel.borrow().when(key);
        when.is_some_and(|when| when <= latest.max(self.timers.tick.get() + 1))
    }

    /// The tick of an instant, as [`tick`](Core::tick) counts them: the first one that is not before it.
    pub(crate) fn tick_of(&self, instant: Instant) -> u32 {
        let since = instant.saturating_duration_since(self.timers.start);
        since.as_nanos().div_ceil(1_000_000) as u32
    }

    pub(crate) fn cancel_timer(&self, key: wheel::Key) {
        let cancelled = self.timers.wheel.borrow_mut().cancel(key);
        drop(cancelled);
    }

    /// Fires what is due.
    pub(crate) fn expire_timers(&self, due: &mut Vec<Timer>) {
        if self.config.clock.is_manual() {
            self.read_clock();
        }
        let wheel = &self.timers.wheel;
        if wheel.borrow().is_empty() {
            return;
        }
        wheel.borrow_mut().expire(self.timers.tick.get(), due);
        for timer in due.drain(..) {
            match timer {
                Timer::Wake(waker) => waker.wake(),
                Timer::Source(token) => source::timer_fired(self, token),
            }
        }
    }

    /// How long until a timer may be due; `None` when there is none.
    pub(super) fn time_to_next_timer(&self) -> Option<Duration> {
        let next = self.timers.wheel.borrow().next()?;
        if self.config.clock.is_manual() {
            // A manual clock stands still while the loop waits; a timer that is due fires in the next turn.
            return (next <= self.timers.tick.get()).then_some(Duration::ZERO);
        }
        let due = self.timers.start + Duration::from_millis(next);
        Some(due.saturating_duration_since(self.config.clock.read()))
    }
}
