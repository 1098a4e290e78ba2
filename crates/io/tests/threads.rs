//! Between loops and threads: mail, wake-ups, blocking work.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use io::{Config, Loop, Loops, Signals};

fn loops(workers: usize) -> Loops {
    Loops::start(Config {
        workers,
        ..Config::default()
    })
    .unwrap()
}

#[test]
fn no_mail_is_lost_between_many_threads_and_loops() {
    const THREADS: usize = 4;
    const MAILS: usize = 20_000;
    let loops = loops(2);
    let received = Arc::new(AtomicUsize::new(0));
    let (sender, done) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let remote = loops.remote(number % loops.len());
            let (received, sender) = (&received, &sender);
            scope.spawn(move || {
                let taken = Arc::new(AtomicUsize::new(0));
                for mail in 0..MAILS {
                    let (count, sender) = (Arc::clone(received), sender.clone());
                    let own = Arc::clone(&taken);
                    let f = move || {
                        own.fetch_add(1, Ordering::Relaxed);
                        if count.fetch_add(1, Ordering::Relaxed) + 1 == THREADS * MAILS {
                            sender.send(()).unwrap();
                        }
                    };
                    while !remote.post(f.clone()) {
                        thread::yield_now();
                    }
                    // Now and then the loop has taken everything and is about to park when the next mail comes.
                    while mail % 1000 == 0 && taken.load(Ordering::Relaxed) <= mail {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    done.recv_timeout(Duration::from_secs(60))
        .expect("all mail arrives");
    assert_eq!(received.load(Ordering::Relaxed), THREADS * MAILS);
}

#[test]
fn a_full_mailbox_refuses() {
    let loops = Loops::start(Config {
        workers: 1,
        mailbox_max: 10,
        ..Config::default()
    })
    .unwrap();
    let remote = loops.remote(0);
    let (blocked, release) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let waits = (Arc::clone(&blocked), Arc::clone(&release));
    assert!(remote.post(move || {
        waits.0.wait();
        waits.1.wait();
    }));
    blocked.wait();
    assert!((0..10).all(|_| remote.post(|| ())));
    assert!(!remote.post(|| ()));
    release.wait();
    loops.stop(Duration::from_secs(5));
    assert!(!remote.post(|| ()), "the loop has ended");
}

#[test]
fn loops_know_their_places_and_a_panic_in_a_mail_harms_nobody() {
    let loops = loops(3);
    let (sender, places) = mpsc::channel();
    for index in 0..loops.len() {
        loops.remote(index).post(|| panic!("in a mail, on purpose"));
        let sender = sender.clone();
        loops
            .remote(index)
            .post(move || sender.send(io::loop_index()).unwrap());
    }
    let mut found: Vec<_> = (0..3)
        .map(|_| places.recv_timeout(Duration::from_secs(20)).unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, [0, 1, 2]);
    assert_eq!(loops.statistics().panics, 3);
}

#[test]
fn a_waker_works_from_another_thread_and_after_its_loop() {
    let mut this = Loop::new(Config::default()).unwrap();
    let shared: Arc<(AtomicBool, Mutex<Option<Waker>>)> = Arc::default();
    let theirs = Arc::clone(&shared);
    let (sender, polled) = mpsc::channel();
    let other = thread::spawn(move || {
        for _ in 0..100 {
            polled.recv().unwrap();
            theirs.0.store(true, Ordering::SeqCst);
            theirs.1.lock().unwrap().as_ref().unwrap().wake_by_ref();
        }
    });
    this.run(async {
        for _ in 0..100 {
            let (mut told, sender) = (false, sender.clone());
            poll_fn(|context| {
                *shared.1.lock().unwrap() = Some(context.waker().clone());
                if shared.0.swap(false, Ordering::SeqCst) {
                    return Poll::Ready(());
                }
                if !std::mem::replace(&mut told, true) {
                    sender.send(()).unwrap();
                }
                Poll::Pending
            })
            .await;
        }
    });
    other.join().unwrap();
    drop(this);
    let waker = shared.1.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    waker.wake();
}

#[test]
fn blocking_work_does_not_block_the_loop() {
    Loop::new(Config::default()).unwrap().run(async {
        let (sender, receiver) = mpsc::channel::<u32>();
        let work = io::offload(move || receiver.recv().unwrap());
        io::spawn(async move {
            io::yield_now().await;
            sender.send(42).unwrap();
        })
        .detach();
        assert_eq!(work.await, 42);
    });
}

#[test]
fn more_blocking_work_than_fits_waits_for_room() {
    let finished = Arc::new(AtomicUsize::new(0));
    Loop::new(Config::default()).unwrap().run(async {
        for _ in 0..5000 {
            let finished = Arc::clone(&finished);
            io::spawn(async move {
                io::offload(|| ()).await;
                finished.fetch_add(1, Ordering::Relaxed);
            })
            .detach();
        }
        while finished.load(Ordering::Relaxed) < 5000 {
            io::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
#[should_panic(expected = "the work's own panic")]
fn a_panic_of_blocking_work_comes_back() {
    Loop::new(Config::default())
        .unwrap()
        .run(io::offload(|| panic!("the work's own panic")));
}

#[test]
fn signals_come_through_the_loop() {
    // Blocked in this thread only, so it must be sent to this thread.
    Loop::new(Config::default()).unwrap().run(async {
        let mut signals = Signals::new(&[libc::SIGUSR1, libc::SIGUSR2]).unwrap();
        for signal in [libc::SIGUSR2, libc::SIGUSR1] {
            raise(signal);
            assert_eq!(signals.next().await, signal);
        }
        assert!(Signals::new(&[9999]).is_err());
    });
}

/// Sends a signal to this thread, the only one that has it blocked.
fn raise(signal: i32) {
    // SAFETY: takes no memory, and the signal is blocked in this thread, so nothing is interrupted.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

#[test]
fn tasks_that_did_not_end_are_dropped_with_their_loop() {
    struct Noted(Arc<AtomicUsize>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut this = Loop::new(Config::default()).unwrap();
    let (task, mail) = (Noted(Arc::clone(&dropped)), Noted(Arc::clone(&dropped)));
    this.run(async {
        io::spawn(async move {
            let _noted = task;
            std::future::pending::<()>().await;
        })
        .detach();
    });
    this.remote().post(move || drop(mail));
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(this);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}
