//! Where a loop's time comes from: the system, or a hand that cranks it in tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A source of time for [`Config::clock`](crate::Config::clock).
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Manual>);

#[derive(Debug, Clone)]
struct Manual {
    start: Instant,
    advanced_ns: Arc<AtomicU64>,
}

impl Clock {
    /// A clock that stands still until it is [advanced](Clock::advance). Clones show the same time. A loop with such
    /// a clock never waits for a timer, only for tasks, mail and sockets.
    #[must_use]
    pub fn manual() -> Clock {
        Clock(Some(Manual {
            start: Instant::now(),
            advanced_ns: Arc::default(),
        }))
    }

    /// Moves a manual clock; the loop sees it before it next waits.
    ///
    /// # Panics
    /// When it is the system's clock.
    pub fn advance(&self, by: Duration) {
        let manual = self.0.as_ref().expect("only a manual clock can be advanced");
        manual
            .advanced_ns
            .fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn is_manual(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn read(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(manual) => manual.start + Duration::from_nanos(manual.advanced_ns.load(Ordering::Relaxed)),
        }
    }
}
