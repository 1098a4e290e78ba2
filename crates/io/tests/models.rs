//! Models of what threads share: every interleaving of a few steps, under the memory model of C11.
//!
//! The modules themselves are included here, with loom's primitives in the place of the standard library's. loom fails a model
//! that deadlocks, so a lost wake-up needs no assertion.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::future::Future;
use std::mem;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

use loom::future::block_on;
use loom::model;
use loom::sync::{Condvar, Mutex};
use loom::thread;

mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Arc, Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[path = "../src/inbox.rs"]
mod inbox;
#[path = "../src/oneshot.rs"]
mod oneshot;
#[path = "../src/signal.rs"]
mod signal;

use inbox::Inbox;
use oneshot::oneshot;
use signal::Signal;
use sync::{Arc, AtomicU64, Ordering, lock};

/// Three threads have too many interleavings to try them all: those with two preemptions find most faults.
fn model_of_three(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

// ── Signal ───────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_signal_wakes_its_waiter_and_shows_what_came_before() {
    model(|| {
        let shared = Arc::new((Signal::new(0), AtomicU64::new(0)));
        let theirs = Arc::clone(&shared);
        let advancer = thread::spawn(move || {
            theirs.1.store(42, Ordering::Relaxed);
            theirs.0.advance();
        });
        assert_eq!(block_on(shared.0.at_least(1)), 1);
        assert_eq!(shared.1.load(Ordering::Relaxed), 42);
        advancer.join().unwrap();
    });
}

#[test]
fn two_threads_advance_a_signal() {
    model_of_three(|| {
        let signal = Arc::new(Signal::new(0));
        let advancers = [1, 2].map(|epoch| {
            let signal = Arc::clone(&signal);
            thread::spawn(move || signal.advance_to(epoch))
        });
        assert_eq!(block_on(signal.at_least(2)), 2);
        for advancer in advancers {
            advancer.join().unwrap();
        }
    });
}

#[test]
fn two_waiters_wait_for_one_advance() {
    model_of_three(|| {
        let signal = Arc::new(Signal::new(0));
        let (other, theirs) = (Arc::clone(&signal), Arc::clone(&signal));
        let waiter = thread::spawn(move || block_on(other.at_least(1)));
        let advancer = thread::spawn(move || theirs.advance_to(2));
        assert_eq!(block_on(signal.at_least(2)), 2);
        assert_eq!(waiter.join().unwrap(), 2);
        advancer.join().unwrap();
    });
}

#[test]
fn a_waiter_that_gives_up_does_not_take_the_wake_up_of_another() {
    model(|| {
        let signal = Arc::new(Signal::new(0));
        let theirs = Arc::clone(&signal);
        let advancer = thread::spawn(move || theirs.advance());
        {
            let mut context = Context::from_waker(Waker::noop());
            let _ = pin!(signal.at_least(1)).poll(&mut context);
        }
        block_on(signal.at_least(1));
        advancer.join().unwrap();
    });
}

// ── the mailbox and the wakers that use it ───────────────────────────────────────────────────────────────────────────

/// Stands for the `eventfd`: it remembers a notification until it is read.
#[derive(Default)]
struct Event {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    fn notify(&self) {
        *lock(&self.notified) = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut notified = lock(&self.notified);
        while !mem::replace(&mut *notified, false) {
            notified = self.changed.wait(notified).unwrap();
        }
    }
}

struct Mailbox {
    inbox: Inbox<u32>,
    event: Event,
}

impl Mailbox {
    fn new() -> Arc<Mailbox> {
        Arc::new(Mailbox {
            inbox: Inbox::new(usize::MAX),
            event: Event::default(),
        })
    }

    fn send(&self, item: u32) {
        if self.inbox.put(item, true).unwrap() {
            self.event.notify();
        }
    }

    /// As a turn of a loop: takes what is there, or else sleeps until there is something.
    fn turn(&self, items: &mut Vec<u32>) {
        self.inbox.take(items);
        if items.is_empty() {
            if self.inbox.park() {
                self.event.wait();
            }
            self.inbox.unpark();
        }
    }
}

#[test]
fn a_sleeping_loop_misses_no_mail() {
    model_of_three(|| {
        let mailbox = Mailbox::new();
        let senders = [1, 2].map(|item| {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || mailbox.send(item))
        });
        let mut sum = 0;
        while sum < 3 {
            let mut items = Vec::new();
            mailbox.turn(&mut items);
            sum += items.iter().sum::<u32>();
        }
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

#[test]
fn mail_is_either_returned_by_close_or_refused() {
    model(|| {
        let mailbox = Mailbox::new();
        let theirs = Arc::clone(&mailbox);
        let sender = thread::spawn(move || theirs.inbox.put(1, true).is_ok());
        let left = mailbox.inbox.close();
        let accepted = sender.join().unwrap();
        assert_eq!(left.len(), usize::from(accepted));
    });
}

/// Wakes a task of a loop from another thread, as `task.rs` and `mailbox.rs` do.
struct TaskWaker(Arc<Mailbox>);

impl Wake for TaskWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.send(0);
    }
}

/// Polls a future as the only task of a loop.
fn run<F: Future>(mailbox: &Arc<Mailbox>, future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(std::sync::Arc::new(TaskWaker(Arc::clone(mailbox))));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut woken = Vec::new();
        while woken.is_empty() {
            mailbox.turn(&mut woken);
        }
    }
}

#[test]
fn a_task_is_woken_through_the_mailbox_of_its_loop() {
    model(|| {
        let mailbox = Mailbox::new();
        let (sender, receiver) = oneshot();
        let thread = thread::spawn(move || sender.send(7));
        assert_eq!(run(&mailbox, receiver), Some(7));
        thread.join().unwrap();
    });
}

#[test]
fn a_task_learns_that_its_sender_is_gone() {
    model(|| {
        let mailbox = Mailbox::new();
        let (sender, receiver) = oneshot::<u32>();
        let thread = thread::spawn(move || drop(sender));
        assert_eq!(run(&mailbox, receiver), None);
        thread.join().unwrap();
    });
}

#[test]
fn a_task_waits_for_a_signal_through_the_mailbox_of_its_loop() {
    model(|| {
        let mailbox = Mailbox::new();
        let signal = Arc::new(Signal::new(0));
        let theirs = Arc::clone(&signal);
        let thread = thread::spawn(move || theirs.advance());
        assert_eq!(run(&mailbox, signal.at_least(1)), 1);
        thread.join().unwrap();
    });
}
