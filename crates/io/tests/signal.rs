//! Signals between loops and threads.
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use io::{Config, Loops, Signal};

#[test]
fn an_advance_wakes_the_tasks_of_all_loops_that_are_due() {
    const TASKS: u64 = 100;
    let loops = Loops::start(Config {
        workers: 2,
        ..Config::default()
    })
    .unwrap();
    let signal = Arc::new(Signal::default());
    let (sender, reached) = mpsc::channel();
    for index in 0..loops.len() {
        let (signal, sender) = (Arc::clone(&signal), sender.clone());
        loops.remote(index).post(move || {
            for target in 1..=TASKS {
                let (signal, sender) = (Arc::clone(&signal), sender.clone());
                io::spawn(async move {
                    let epoch = signal.at_least(target).await;
                    assert!(epoch >= target);
                    sender.send(target).unwrap();
                })
                .detach();
            }
        });
    }
    let next = || reached.recv_timeout(Duration::from_secs(20)).unwrap();
    signal.advance_to(TASKS / 2);
    let mut woken: Vec<u64> = (0..TASKS).map(|_| next()).collect();
    woken.sort_unstable();
    let expected: Vec<u64> = (1..=TASKS / 2).flat_map(|target| [target, target]).collect();
    assert_eq!(woken, expected);
    assert!(reached.try_recv().is_err(), "the others wait on");
    signal.advance_to(3);
    assert_eq!(signal.epoch(), TASKS / 2, "it never goes back");
    signal.advance_to(u64::MAX);
    for _ in 0..TASKS {
        assert!(next() > TASKS / 2);
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn only_waiters_that_are_due_are_woken_and_only_once() {
    let signal = Signal::new(10);
    let counts: [Arc<Count>; 3] = Default::default();
    let wakers = counts.clone().map(Waker::from);
    let mut futures = [10, 11, 20].map(|epoch| Box::pin(signal.at_least(epoch)));
    let mut poll = |index: usize| {
        futures[index]
            .as_mut()
            .poll(&mut Context::from_waker(&wakers[index]))
    };
    assert_eq!(poll(0), Poll::Ready(10));
    assert!(poll(1).is_pending() && poll(2).is_pending() && poll(2).is_pending());
    assert_eq!(signal.advance(), 11);
    assert_eq!(signal.advance(), 12);
    assert_eq!(poll(1), Poll::Ready(12));
    let woken = |index: usize| counts[index].0.load(Ordering::Relaxed);
    assert_eq!((woken(0), woken(1), woken(2)), (0, 1, 0));
    drop(futures);
    signal.advance_to(30);
    assert_eq!(woken(2), 0, "it has gone");
}

#[test]
fn no_wake_up_is_lost_between_threads_that_race() {
    const ROUNDS: u64 = 20_000;
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let (there, back) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
    let (sender, done) = mpsc::channel();
    {
        let (there, back) = (Arc::clone(&there), Arc::clone(&back));
        loops.remote(0).post(move || {
            io::spawn(async move {
                for round in 1..=ROUNDS {
                    there.at_least(round).await;
                    back.advance();
                }
                sender.send(()).unwrap();
            })
            .detach();
        });
    }
    let racer = thread::spawn(move || {
        for round in 1..=ROUNDS {
            there.advance();
            while back.epoch() < round {
                thread::yield_now();
            }
        }
    });
    done.recv_timeout(Duration::from_secs(60))
        .expect("no wake-up is lost");
    racer.join().unwrap();
}

#[test]
fn a_waiter_may_change_its_waker() {
    let signal = Signal::default();
    let counts: [Arc<Count>; 2] = Default::default();
    let mut future = pin!(signal.at_least(1));
    for count in &counts {
        let waker = Waker::from(Arc::clone(count));
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    signal.advance();
    assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [0, 1]);
}
