//! Lanes for work that blocks.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use io::{Config, Error, Loop, Offload};

fn on_a_loop<F: Future>(future: F) -> F::Output {
    let future = async {
        let outcome = io::timeout(Duration::from_secs(30), future).await;
        outcome.expect("this takes no half a minute")
    };
    Loop::new(Config::default()).unwrap().run(future)
}

/// Slow `fsync`s used to keep DNS and cold reads waiting, since all work shared four threads.
#[test]
fn a_lane_whose_threads_are_busy_delays_no_other() {
    let (slow, quick) = (Offload::new("slow", 2, 16), Offload::new("quick", 1, 16));
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Arc::new(std::sync::Mutex::new(blocked));
    on_a_loop(async {
        let stuck: Vec<_> = (0..8)
            .map(|_| {
                let blocked = Arc::clone(&blocked);
                slow.try_run(move || blocked.lock().unwrap().recv().is_ok())
                    .unwrap()
            })
            .collect();
        assert_eq!(quick.run(|| 1 + 1).await.unwrap(), 2);
        assert_eq!(io::offload(|| 2 + 1).await, 3);
        for _ in &stuck {
            release.send(()).unwrap();
        }
        for work in stuck {
            assert!(work.await);
        }
    });
}

#[test]
fn a_full_lane_refuses_or_makes_its_callers_wait() {
    let lane = Offload::new("narrow", 1, 2);
    let (release, blocked) = mpsc::channel::<()>();
    let (begun, started) = mpsc::channel();
    on_a_loop(async {
        let running = lane.try_run(move || {
            begun.send(()).unwrap();
            blocked.recv().unwrap();
        });
        started.recv().unwrap();
        let queued: Vec<_> = (0..2).map(|n| lane.try_run(move || n).unwrap()).collect();
        assert_eq!(lane.queued(), 2);
        let refused = lane.try_run(|| ()).err();
        assert!(
            matches!(
                &refused,
                Some(Error::OffloadFull {
                    lane: "narrow",
                    queue_max: 2
                })
            ),
            "{refused:?}"
        );
        let waiting = {
            let lane = lane.clone();
            io::spawn(async move { lane.run(|| "after all").await })
        };
        io::yield_now().await;
        assert_eq!(lane.queued(), 2, "the third waits outside");
        release.send(()).unwrap();
        running.unwrap().await;
        for (n, work) in queued.into_iter().enumerate() {
            assert_eq!(work.await, n);
        }
        assert_eq!(waiting.await.unwrap().unwrap(), "after all");
    });
}

#[test]
fn waiters_that_gave_up_keep_no_other_from_its_place() {
    let lane = Offload::new("crowded", 1, 1);
    let finished = Arc::new(AtomicUsize::new(0));
    on_a_loop(async {
        let mut tasks = Vec::new();
        for number in 0..200 {
            let (lane, finished) = (lane.clone(), Arc::clone(&finished));
            let task = io::spawn(async move {
                lane.run(move || finished.fetch_add(1, Ordering::Relaxed))
                    .await
                    .unwrap();
            });
            tasks.push((number, task));
        }
        io::yield_now().await;
        tasks.retain(|(number, _)| number % 10 == 0);
        for (_, task) in tasks {
            task.await.unwrap();
        }
    });
    assert!(finished.load(Ordering::Relaxed) >= 20);
}

#[test]
fn shutdown_finishes_what_is_queued_and_refuses_the_rest() {
    let lane = Offload::new("ending", 1, 100);
    let finished = Arc::new(AtomicUsize::new(0));
    on_a_loop(async {
        for _ in 0..50 {
            let finished = Arc::clone(&finished);
            // Nothing waits for the result.
            drop(
                lane.try_run(move || finished.fetch_add(1, Ordering::Relaxed))
                    .unwrap(),
            );
        }
    });
    let other = lane.clone();
    lane.shutdown();
    assert_eq!(finished.load(Ordering::Relaxed), 50);
    on_a_loop(async {
        assert!(matches!(
            other.run(|| ()).await,
            Err(Error::OffloadClosed { lane: "ending" })
        ));
        assert!(matches!(other.try_run(|| ()), Err(Error::OffloadClosed { .. })));
    });
}
