//! One value from any thread to a task that waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
    /// The sender has gone, with or without having sent.
    ended: bool,
}

type Shared<T> = Arc<Mutex<State<T>>>;

fn with<T, R>(shared: &Shared<T>, f: impl FnOnce(&mut State<T>) -> R) -> R {
    f(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) struct Sender<T>(Shared<T>);
pub(crate) struct Receiver<T>(Shared<T>);

pub(crate) fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Mutex::new(State {
        value: None,
        waker: None,
        ended: false,
    }));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    pub(crate) fn send(self, value: T) {
        with(&self.0, |state| state.value = Some(value));
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = with(&self.0, |state| {
            state.ended = true;
            state.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Receiver<T> {
    /// `None` when the sender went without a word.
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        with(&self.0, |state| {
            if state.ended {
                return Poll::Ready(state.value.take());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
    }
}
