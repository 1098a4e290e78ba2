//! The point up to which a store is committed, and the callers that wait for it.
//!
//! **Invariant:** a wait ends when its point is reached or the store fails, and no wake-up is lost: both are looked at under the
//! lock that wakers are registered under.
//! **Invariant:** after a failure no further point is reached.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::{Commit, Committed, StoreError};

/// The progress of a store's commits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reached: u64,
    failed: Option<StoreError>,
    /// By the point waited for, and a number that tells waiters for one point apart.
    waiting: BTreeMap<(u64, u64), Waker>,
    waiters: u64,
}

impl Commits {
    /// Notes that everything up to this point is committed.
    pub(crate) fn reach(&self, point: u64) {
        let mut state = self.state.lock();
        if state.failed.is_some() || point <= state.reached {
            return;
        }
        state.reached = point;
        let later = state.waiting.split_off(&(point.saturating_add(1), 0));
        let due = std::mem::replace(&mut state.waiting, later);
        drop(state);
        due.into_values().for_each(Waker::wake);
    }

    /// Notes that a commit has failed, and with it all later ones.
    pub(crate) fn fail(&self, error: StoreError) {
        let mut state = self.state.lock();
        state.failed.get_or_insert(error);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Why no write can be committed any more, if that is so.
    #[cfg(any(test, feature = "simulated"))]
    pub(crate) fn failed(&self) -> Option<StoreError> {
        self.state.lock().failed
    }

    /// The number of waits that have not ended.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits for a point.
    pub(crate) fn wait(self: &Arc<Self>, upto: Commit) -> Committed {
        Committed::new(Wait {
            commits: self.clone(),
            point: upto.0,
            number: None,
        })
    }
}

struct Wait {
    commits: Arc<Commits>,
    point: u64,
    /// Its number among the waiters, once it has waited.
    number: Option<u64>,
}

impl Future for Wait {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut state = this.commits.state.lock();
        if state.reached >= this.point {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = state.failed {
            return Poll::Ready(Err(error));
        }
        let number = *this.number.get_or_insert_with(|| {
            state.waiters += 1;
            state.waiters
        });
        state
            .waiting
            .insert((this.point, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.commits.state.lock().waiting.remove(&(self.point, number));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::pin::pin;

    use super::*;

    fn poll(wait: Pin<&mut Committed>) -> Poll<Result<(), StoreError>> {
        wait.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_point_ends_the_waits_for_it_and_for_earlier_ones() {
        let commits = Arc::new(Commits::default());
        let (mut first, mut second) = (pin!(commits.wait(Commit(1))), pin!(commits.wait(Commit(2))));
        let mut third = Box::pin(commits.wait(Commit(3)));
        for wait in [first.as_mut(), second.as_mut(), third.as_mut()] {
            assert!(poll(wait).is_pending());
        }
        commits.reach(2);
        assert_eq!(poll(first.as_mut()), Poll::Ready(Ok(())));
        assert_eq!(poll(second.as_mut()), Poll::Ready(Ok(())));
        assert!(poll(third.as_mut()).is_pending());
        assert_eq!(commits.waiting(), 1);
        drop(third);
        assert_eq!(commits.waiting(), 0, "a wait that is dropped leaves nothing");
    }

    #[test]
    fn a_failure_ends_every_later_wait() {
        let commits = Arc::new(Commits::default());
        let mut wait = pin!(commits.wait(Commit(2)));
        assert!(poll(wait.as_mut()).is_pending());
        commits.reach(1);
        commits.fail(StoreError::Full);
        commits.fail(StoreError::Unavailable);
        commits.reach(5);
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Err(StoreError::Full)));
        assert_eq!(poll(pin!(commits.wait(Commit(1)))), Poll::Ready(Ok(())));
        assert_eq!(
            poll(pin!(commits.wait(Commit(3)))),
            Poll::Ready(Err(StoreError::Full))
        );
        assert_eq!(commits.failed(), Some(StoreError::Full));
    }
}
