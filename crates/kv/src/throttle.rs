//! Work in the background that takes no more than a share of one core and of the device.
//!
//! ```text
//!   piece of work              rest                                   cpu  ≤ share × (piece + rest)
//!   ├── cpu ──┬─ device ─┤     ├──────────────────────────────┤       device ≤ share × (piece + rest)
//! ```
//!
//! The processor's part of a piece is the thread's own time, by the clock of the system. The device's part is the time that the
//! thread waited otherwise: for pages to be read, for its own bytes to be synced, or because the kernel held up a thread that
//! makes pages dirty too fast. Bytes per second would need to know what the device can do, which differs by a factor of 1,000 between
//! devices and depends on other processes; the time in which the device works for us is a share of any device. Written bytes count
//! as soon as they are synced, so the caller syncs often. Time that the thread spent in the run queue counts as neither,
//! since a busy machine would stop all work otherwise.
//!
//! **Invariant:** over any rest and the piece before it, neither the processor nor the device was used more than the share.

use std::time::{Duration, Instant};

use crate::processor::{self, Queued};

/// A rest that is longer is given in parts, so that a single slow call of the device does not stop the work for minutes.
const REST_MAX: Duration = Duration::from_secs(10);

/// The clocks of a thread that works in the background.
#[derive(Debug)]
pub(crate) struct Throttle {
    percent: u32,
    queued: Queued,
}

impl Throttle {
    /// For the calling thread, with a share in percent.
    pub(crate) fn new(percent: u32) -> Throttle {
        Throttle {
            percent: percent.clamp(1, 100),
            queued: Queued::new(),
        }
    }

    /// Does a piece of work, and returns its result with the rest that has to follow.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        let (began, processor, queued) = (Instant::now(), processor::time(), self.queued.time());
        let result = work();
        let used = processor::time().saturating_sub(processor);
        let waited = self.queued.time().saturating_sub(queued);
        (result, self.rest(began.elapsed(), used, waited))
    }

    /// The rest after a piece that took `whole` and used the processor for some of it.
    fn rest(&self, whole: Duration, processor: Duration, queued: Duration) -> Duration {
        let device = whole.saturating_sub(processor + queued);
        let most = processor.max(device);
        (most * 100 / self.percent).saturating_sub(whole).min(REST_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_larger_part_decides() {
        let throttle = Throttle::new(25);
        assert_eq!(throttle.rest(MS(10), MS(10), MS(0)), MS(30), "all processor");
        assert_eq!(throttle.rest(MS(10), MS(0), MS(0)), MS(30), "all device");
        assert_eq!(throttle.rest(MS(10), MS(5), MS(0)), MS(10), "half and half");
        assert_eq!(
            throttle.rest(MS(10), MS(1), MS(9)),
            MS(0),
            "waited for the processor"
        );
        assert_eq!(throttle.rest(MS(60_000), MS(0), MS(0)), REST_MAX);
        assert_eq!(Throttle::new(100).rest(MS(10), MS(10), MS(0)), MS(0));
    }

    #[test]
    fn computing_is_followed_by_a_rest() {
        let throttle = Throttle::new(20);
        let (sum, rest) = throttle.run(|| {
            let before = processor::time();
            let mut sum = 0_u64;
            while processor::time() - before < MS(10) {
                sum += 1;
            }
            sum
        });
        // Four times what was computed, less what the thread waited for the processor meanwhile.
        assert!(sum > 0 && rest <= MS(4 * 10 + 100), "{rest:?}");
    }
}
