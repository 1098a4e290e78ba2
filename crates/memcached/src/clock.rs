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

#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    started_unix: u64,
    /// What `debugtime` moved the clock by.
    moved: AtomicI64,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Whole seconds begin where the wall clock's begin, so that a client's `time() + 1` means what it expects.
        let started = Instant::now();
        let started = started
            .checked_sub(unix - std::time::Duration::from_secs(unix.as_secs()))
            .unwrap_or(started);
        Clock {
            started,
            started_unix: unix.as_secs(),
            moved: AtomicI64::new(0),
        }
    }

    pub(crate) fn now(&self, at: Instant) -> Now {
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
}

/// What `exptime` of a text or meta command means: 0 is never, a negative number has passed, up to 30 days are a
/// span, more is seconds since 1970.
pub(crate) fn expiry(exptime: i64, now: Now) -> Expiry {
    match exptime {
        0 => Expiry::Never,
        ..0 => LONG_AGO,
        1..=SPAN_MAX => Expiry::At(now.0.saturating_add(exptime as u32)),
        _ => Expiry::At(u32::try_from(exptime).unwrap_or(u32::MAX)),
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
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_number_of_seconds_is_a_span_or_a_point_in_time() {
        let now = Now(1_800_000_000);
        assert_eq!(expiry(0, now), Expiry::Never);
        assert_eq!(expiry(-1, now), Expiry::At(1));
        assert_eq!(expiry(10, now), Expiry::At(1_800_000_010));
        assert_eq!(expiry(SPAN_MAX, now), Expiry::At(1_802_592_000));
        assert_eq!(expiry(SPAN_MAX + 1, now), Expiry::At(2_592_001));
        assert_eq!(expiry(1 << 40, now), Expiry::At(u32::MAX));
        assert_eq!(seconds_left(Expiry::Never, now), -1);
        assert_eq!(seconds_left(expiry(10, now), now), 10);
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
}
