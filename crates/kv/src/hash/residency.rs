//! Finding out what the kernel has evicted from the page cache.
//!
//! The kernel tells nobody that it evicts a page. So a thread asks it about the windows that are taken for known, time and again. A
//! read of a page that was evicted since the last look waits for the device where it is, on a loop; the period bounds for how long
//! that can happen.

use std::time::{Duration, Instant};

use super::Shared;

/// The least time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// The part of one core that looking takes at most: one in so many.
const SHARE: u32 = 100;

/// The thread's work, until the store is closed.
pub(super) fn run(shared: &Shared) {
    let mut rest = PERIOD;
    while !shared.durability.stops_within(rest) {
        let began = Instant::now();
        for (_, map) in shared.maps.all() {
            map.forget_evicted();
        }
        rest = PERIOD.max(began.elapsed() * (SHARE - 1));
    }
}
