//! Seconds, and what a client's number of seconds means.
//!
//! The time is that of the machine when the service started plus what passed since by the monotonic clock: a step of
//! the wall clock never expires anything.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kv::{Expiry, Now};

/// The longest time span; a larger number is a point in time.
pub(crate) const SPAN_MAX: i64 = 60 * 60 * 24 * 30;

/// Expired since always.
const LONG_AGO: Expiry = Expiry::At(1);

/// The clock of a daemon: seconds since 1970 that never step.
///
/// All services of a daemon and the housekeeping of its stores share one, or an item that lives by one clock would die by the
/// other. It starts at the wall clock's second and follows the monotonic clock from then on.
///
/// A client that names a point in time means the wall clock, which may have stepped since. What it names is a number of seconds
/// from now by the wall clock of this moment, and so many seconds the item lives.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    started_unix: u64,
    /// What `debugtime` moved the clock by.
    moved: AtomicI64,
    /// The wall clock. Replaced in tests, which cannot set the machine's.
    wall: fn() -> SystemTime,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Clock {
        Clock::with_wall(SystemTime::now)
    }

    /// A clock that starts now by another wall clock than the machine's.
    #[must_use]
    pub fn with_wall(wall: fn() -> SystemTime) -> Clock {
        let unix = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Whole seconds begin where the wall clock's begin, so that a client's `time() + 1` means what it expects.
        let started = Instant::now();
        let started = started
            .checked_sub(unix - std::time::Duration::from_secs(unix.as_secs()))
            .unwrap_or(started);
        Clock {
            started,
            started_unix: unix.as_secs(),
            moved: AtomicI64::new(0),
            wall,
        }
    }

    /// The second that this instant belongs to.
    pub fn now(&self, at: Instant) -> Now {
        let unix = self.started_unix + at.saturating_duration_since(self.started).as_secs();
        let unix = unix.saturating_add_signed(self.moved.load(Ordering::Relaxed));
        Now(u32::try_from(unix).unwrap_or(u32::MAX))
    }

    pub(crate) fn started_unix(&self) -> u64 {
        self.started_unix
    }

    pub(crate) fn move_by(&self, seconds: i64) {
        self.moved.fetch_add(seconds, Ordering::Relaxed);
    }

    /// What `exptime` of a command means: 0 is never, a negative number has passed, up to 30 days are a span, more is a point
    /// in time by the wall clock.
    pub(crate) fn expiry(&self, exptime: i64, now: Now) -> Expiry {
        match exptime {
            0 => Expiry::Never,
            ..0 => LONG_AGO,
            1..=SPAN_MAX => Expiry::At(now.0.saturating_add(exptime as u32)),
            _ => self.point_in_time(exptime, now),
        }
    }

    #[cold]
    fn point_in_time(&self, second: i64, now: Now) -> Expiry {
        let wall = (self.wall)().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(wall.as_secs()).unwrap_or(i64::MAX);
        let wall = wall.saturating_add(self.moved.load(Ordering::Relaxed));
        let at = i64::from(now.0).saturating_add(second.saturating_sub(wall));
        // Zero would be no second at all, and what has passed has passed.
        Expiry::At(u32::try_from(at.max(1)).unwrap_or(u32::MAX))
    }
}

/// Seconds left, as `t` and `exp=` tell: -1 is for ever.
pub(crate) fn seconds_left(expiry: Expiry, now: Now) -> i64 {
    match expiry {
        Expiry::Never => -1,
        Expiry::At(at) => i64::from(at) - i64::from(now.0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    #[test]
    fn a_number_of_seconds_is_a_span_or_a_point_in_time() {
        fn wall() -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(1_800_000_000)
        }
        let clock = Clock::with_wall(wall);
        let now = Now(1_800_000_000);
        assert_eq!(clock.expiry(0, now), Expiry::Never);
        assert_eq!(clock.expiry(-1, now), Expiry::At(1));
        assert_eq!(clock.expiry(10, now), Expiry::At(1_800_000_010));
        assert_eq!(clock.expiry(SPAN_MAX, now), Expiry::At(1_802_592_000));
        assert_eq!(clock.expiry(SPAN_MAX + 1, now), Expiry::At(2_592_001));
        assert_eq!(clock.expiry(1_800_000_060, now), Expiry::At(1_800_000_060));
        assert_eq!(clock.expiry(1 << 40, now), Expiry::At(u32::MAX));
        assert_eq!(clock.expiry(i64::MAX, now), Expiry::At(u32::MAX));
        assert_eq!(seconds_left(Expiry::Never, now), -1);
        assert_eq!(seconds_left(clock.expiry(10, now), now), 10);
    }

    #[test]
    fn the_clock_follows_the_instant_and_can_be_moved() {
        let clock = Clock::start();
        let at = Instant::now();
        let now = clock.now(at);
        assert_eq!(clock.now(at + Duration::from_secs(5)).0, now.0 + 5);
        clock.move_by(7);
        assert_eq!(clock.now(at).0, now.0 + 7);
    }

    /// A step of the wall clock moves no item's end; only what a client names from then on is counted from the new time.
    #[test]
    fn a_step_of_the_wall_clock_expires_nothing() {
        static SECOND: AtomicU64 = AtomicU64::new(1_800_000_000);
        fn wall() -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(SECOND.load(Ordering::Relaxed))
        }
        let clock = Clock::with_wall(wall);
        let at = Instant::now();
        let before = clock.now(at);
        let ends = clock.expiry(1_800_000_600, before);
        for step in [3600, -3600, 86_400] {
            SECOND.store(1_800_000_000_u64.saturating_add_signed(step), Ordering::Relaxed);
            assert_eq!(clock.now(at), before);
            assert_eq!(seconds_left(ends, clock.now(at)), 600);
            // A client that has the new time and names a point ten minutes ahead gets ten minutes.
            let named = clock.expiry(1_800_000_600 + step, before);
            assert_eq!(seconds_left(named, before), 600);
        }
    }
}
