//! The way of a delivery from the thread that fetches to the task that waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::StoreError;
use crate::warm::{Delivery, Fetched, Wants};

/// The delivery of a store that cannot fetch.
pub(crate) fn refuse(wants: Wants, error: StoreError) -> Delivery {
    let written = wants.writes.iter().map(|write| &write.key);
    let keys = wants.items.keys().chain(written).cloned();
    Delivery {
        entries: keys.map(|key| (key, Fetched::Failed(error))).collect(),
        page: wants.page.is_some().then_some(Err(error)),
        wants,
    }
}

/// Where a delivery is put down for the task that waits for it.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<(Option<Delivery>, Option<Waker>)>);

impl Mailbox {
    pub(crate) fn put(&self, delivery: Delivery) {
        let mut state = self.0.lock();
        state.0 = Some(delivery);
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Waits for a delivery.
pub(crate) struct Delivered(pub(crate) Arc<Mailbox>);

impl Future for Delivered {
    type Output = Delivery;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Delivery> {
        let mut state = self.0.0.lock();
        match state.0.take() {
            Some(delivery) => Poll::Ready(delivery),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
