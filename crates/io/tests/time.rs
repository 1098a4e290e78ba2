//! Timers, time-outs and the order of a turn, by a clock that a hand cranks.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use io::{Address, Clock, Config, Error, Exchange, ListenOptions, Listener, Loop, Stream};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn with_clock<F: Future>(body: impl FnOnce(Clock) -> F) -> F::Output {
    let clock = Clock::manual();
    let mut this = Loop::new(Config {
        clock: clock.clone(),
        ..Config::default()
    })
    .unwrap();
    this.run(body(clock))
}

/// Moves the clock and lets happen what comes of it.
async fn crank(clock: &Clock, by: Duration) {
    clock.advance(by);
    for _ in 0..10 {
        io::yield_now().await;
    }
}

#[test]
fn sleepers_wake_in_time_and_not_before() {
    with_clock(async |clock| {
        let woken = Rc::new(RefCell::new(Vec::new()));
        for time in [30, 10, 20, 5000] {
            let woken = Rc::clone(&woken);
            io::spawn(async move {
                io::sleep(ms(time)).await;
                woken.borrow_mut().push(time);
            })
            .detach();
        }
        for (step, expected) in [(9, &[][..]), (1, &[10]), (19, &[10, 20]), (1, &[10, 20, 30])] {
            crank(&clock, ms(step)).await;
            assert_eq!(*woken.borrow(), expected);
        }
        crank(&clock, ms(4969)).await;
        assert_eq!(woken.borrow().len(), 3);
        crank(&clock, ms(1)).await;
        assert_eq!(woken.borrow().len(), 4);
    });
}

#[test]
fn a_time_out_drops_what_is_late_and_leaves_what_is_not() {
    with_clock(async |clock| {
        let cranking = clock.clone();
        io::spawn(async move {
            for _ in 0..10 {
                crank(&cranking, ms(10)).await;
            }
        })
        .detach();
        assert_eq!(io::timeout(ms(50), async { 7 }).await, Some(7));
        assert_eq!(io::timeout(ms(50), io::sleep(ms(20))).await, Some(()));
        assert_eq!(io::timeout(ms(20), io::sleep(ms(50))).await, None);
        assert_eq!(io::timeout(ms(20), std::future::pending::<()>()).await, None);
        assert_eq!(io::timeout(Duration::MAX, async { 7 }).await, Some(7));
    });
}

#[test]
fn the_time_is_that_of_the_turn() {
    with_clock(async |clock| {
        let before = io::now();
        clock.advance(ms(100));
        assert_eq!(io::now(), before);
        io::yield_now().await;
        assert_eq!(io::now(), before + ms(100));
    });
}

#[test]
fn the_end_of_a_turn_comes_after_its_tasks_and_before_the_next() {
    with_clock(async |_| {
        let order = Rc::new(RefCell::new(Vec::new()));
        for name in ["a", "b"] {
            let order = Rc::clone(&order);
            io::spawn(async move {
                order.borrow_mut().push(format!("task {name}"));
                let at_end = Rc::clone(&order);
                io::at_turn_end(move || {
                    at_end.borrow_mut().push(format!("end {name}"));
                    io::at_turn_end(move || at_end.borrow_mut().push(format!("next end {name}")));
                });
                io::yield_now().await;
                order.borrow_mut().push(format!("next task {name}"));
            })
            .detach();
        }
        for _ in 0..4 {
            io::yield_now().await;
        }
        assert_eq!(
            *order.borrow(),
            [
                "task a",
                "task b",
                "end a",
                "end b",
                "next task a",
                "next task b",
                "next end a",
                "next end b"
            ]
        );
    });
}

#[test]
fn an_idle_stream_times_out_and_a_lively_one_does_not() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let end = Rc::new(RefCell::new(None));
        let noted = Rc::clone(&end);
        io::spawn(async move {
            let result = loop {
                match server.exchange(|input, _| input.len()).await {
                    Ok(Exchange::Open) => {}
                    other => break other,
                }
            };
            *noted.borrow_mut() = Some(result);
        })
        .detach();
        for _ in 0..5 {
            crank(&clock, ms(90)).await;
            assert!(end.borrow().is_none());
            client.send(&b"still here"[..]).await.unwrap();
            crank(&clock, ms(0)).await;
        }
        crank(&clock, ms(99)).await;
        assert!(end.borrow().is_none());
        crank(&clock, ms(1)).await;
        let end = end.borrow_mut().take();
        assert!(
            matches!(end, Some(Err(Error::IdleTimeout { after })) if after == ms(100)),
            "{end:?}"
        );
    });
}

#[test]
fn a_stream_whose_peer_waits_for_us_does_not_time_out() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        client.send(&b"?"[..]).await.unwrap();
        assert_eq!(
            server.exchange(|input, _| input.len()).await.unwrap(),
            Exchange::Open
        );
        crank(&clock, ms(1000)).await;
        server.send(&b"a late answer"[..]).await.unwrap();
        client.send(&b"?"[..]).await.unwrap();
        assert_eq!(
            server.exchange(|input, _| input.len()).await.unwrap(),
            Exchange::Open
        );
        server.set_idle_timeout(Duration::ZERO);
        crank(&clock, ms(1000)).await;
        client.send(&b"?"[..]).await.unwrap();
        assert_eq!(
            server.exchange(|input, _| input.len()).await.unwrap(),
            Exchange::Open
        );
    });
}

#[test]
fn a_stream_with_an_open_reply_does_not_time_out() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let replies = server.replies(10);
        client.send(&b"?"[..]).await.unwrap();
        let mut reply = None;
        let turn = server.exchange(|input, _| {
            reply = replies.open();
            input.len()
        });
        assert_eq!(turn.await.unwrap(), Exchange::Open);
        let cranking = clock.clone();
        io::spawn(async move {
            crank(&cranking, ms(100)).await;
            crank(&cranking, ms(100)).await;
            let mut reply = reply.unwrap();
            reply.write(b"at last");
            drop(reply);
            crank(&cranking, ms(99)).await;
            crank(&cranking, ms(100)).await;
        })
        .detach();
        let end = server.exchange(|_, _| 0).await;
        assert!(matches!(end, Err(Error::IdleTimeout { .. })), "{end:?}");
        client.read_exact(&mut [0; 7]).await.unwrap();
    });
}

#[test]
fn a_reader_who_stopped_reading_times_out() {
    with_clock(async |clock| {
        let (_client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        server.send(vec![0; 100_000]).await.unwrap();
        let cranking = clock.clone();
        io::spawn(async move { crank(&cranking, ms(100)).await }).detach();
        assert!(matches!(server.flush().await, Err(Error::IdleTimeout { .. })));
    });
}

#[test]
fn a_listener_gives_its_time_out_to_its_connections() {
    with_clock(async |clock| {
        let options = ListenOptions {
            idle_timeout: ms(100),
            ..ListenOptions::default()
        };
        let mut listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let address: Address = listener.address().clone();
        let _client = Stream::connect(&address).await.unwrap();
        let mut server = listener.accept().await.unwrap();
        io::spawn(async move {
            // The socket's first event counts as activity, and comes when it comes.
            loop {
                crank(&clock, ms(10)).await;
            }
        })
        .detach();
        assert!(matches!(
            server.exchange(|_, _| 0).await,
            Err(Error::IdleTimeout { .. })
        ));
    });
}
