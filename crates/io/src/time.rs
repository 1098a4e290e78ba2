//! Time as tasks see it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::core::{Core, Timer};
use crate::wheel;

/// The time, as it was read once at the start of the turn.
///
/// # Panics
/// When no loop runs on this thread.
#[must_use]
pub fn now() -> Instant {
    Core::with(|core| core.timers.now())
}

/// Waits for a while: never shorter than asked, counted from [`now`], and longer by a millisecond or what a turn takes.
///
/// # Panics
/// When no loop runs on this thread.
pub async fn sleep(duration: Duration) {
    Sleep::new(duration).await;
}

/// Waits for `future`, but not longer than `duration`: then it is dropped, and the answer is `None`.
///
/// # Panics
/// When no loop runs on this thread.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep = Sleep::new(duration);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        Pin::new(&mut sleep).poll(context).map(|()| None)
    })
    .await
}

/// Lets the other tasks that are ready, and the kernel, go first.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct Sleep {
    core: Rc<Core>,
    /// `None` is farther away than time goes.
    deadline: Option<Instant>,
    timer: Option<(wheel::Key, Waker)>,
}

impl Sleep {
    fn new(duration: Duration) -> Sleep {
        let core = Core::current();
        let deadline = core.timers.now().checked_add(duration);
        Sleep {
            core,
            deadline,
            timer: None,
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        if self.core.timers.now() >= deadline {
            return Poll::Ready(());
        }
        let waker = context.waker();
        if let Some((key, old)) = &self.timer {
            if self.core.timers.contains(*key) && old.will_wake(waker) {
                return Poll::Pending;
            }
            self.core.timers.cancel(*key);
        }
        let key = self.core.timers.insert_at(deadline, Timer::Wake(waker.clone()));
        self.timer = Some((key, waker.clone()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((key, _)) = self.timer {
            self.core.timers.cancel(key);
        }
    }
}
