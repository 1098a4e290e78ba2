//! Streams that speak unasked, both ways at once, and by deadlines.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use io::{Again, Clock, Config, Error, Exchange, ListenOptions, Liveness, Loop, Loops, Piece, Stream, Took};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn run<F: Future>(future: F) -> F::Output {
    Loop::new(Config::default()).unwrap().run(future)
}

async fn settle() {
    for _ in 0..20 {
        io::yield_now().await;
    }
}

async fn read_to_end(stream: &mut Stream) -> Vec<u8> {
    let mut all = Vec::new();
    while let Exchange::Open = stream
        .exchange(|input, _| {
            all.extend_from_slice(input);
            input.len()
        })
        .await
        .unwrap()
    {}
    all
}

// ── notifiers ────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_notified_stream_writes_without_input() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        let notifier = server.notifier();
        let calls = Rc::new(Cell::new(0));
        let counted = Rc::clone(&calls);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|input, output| {
                    counted.set(counted.get() + 1);
                    output.write(b"tick\n");
                    input.len()
                })
                .await
            {}
        })
        .detach();
        settle().await;
        assert_eq!(calls.get(), 0);
        // However often it is asked in one turn, it is called once.
        assert!(notifier.notify() && notifier.clone().notify());
        settle().await;
        assert_eq!(calls.get(), 1);
        client.read_exact(&mut [0; 5]).await.unwrap();
        drop(client);
        settle().await;
        assert!(!notifier.notify(), "the stream has gone");
    });
}

#[test]
fn a_notification_is_kept_until_earlier_output_has_left() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        let notifier = server.notifier();
        server.send(vec![b'x'; 100_000]).await.unwrap();
        assert!(notifier.notify());
        let called = Rc::new(Cell::new(false));
        let told = Rc::clone(&called);
        io::spawn(async move {
            let _ = server
                .exchange(|input, output| {
                    assert!(input.is_empty());
                    told.set(true);
                    output.write(b"end");
                    0
                })
                .await;
            server.close().await.unwrap();
        })
        .detach();
        settle().await;
        assert!(!called.get());
        client.read_exact(&mut vec![0; 100_000]).await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"end");
    });
}

#[test]
fn a_notified_closure_sees_half_a_request() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        let notifier = server.notifier();
        client.send(&b"half"[..]).await.unwrap();
        let _ = server.exchange(|_, _| Took::waiting(0, 100)).await.unwrap();
        assert!(notifier.notify());
        let mut seen = Vec::new();
        let exchange = server.exchange(|input, _| {
            seen.extend_from_slice(input);
            Took::waiting(0, 100)
        });
        assert_eq!(exchange.await.unwrap(), Exchange::Open);
        assert_eq!(seen, b"half");
    });
}

#[test]
fn a_stream_with_a_notifier_goes_on_after_the_end_of_its_input() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        let notifier = server.notifier();
        client.shutdown_write().await.unwrap();
        let ended = server.exchange(|_, _| 0).await.unwrap();
        assert_eq!(ended, Exchange::Ended { clean: true });
        assert!(io::timeout(ms(1), server.exchange(|_, _| 0)).await.is_none());
        assert!(notifier.notify());
        let exchange = server.exchange(|_, output| {
            output.write(b"late");
            0
        });
        assert_eq!(exchange.await.unwrap(), Exchange::Open);
        drop(server);
        assert_eq!(read_to_end(&mut client).await, b"late");
    });
}

#[test]
fn other_threads_notify() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        let remote = server.notifier().remote();
        let value = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&value);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|_, output| {
                    if seen.load(Ordering::SeqCst) == 1000 {
                        output.write(b"!");
                    }
                    0
                })
                .await
            {}
        })
        .detach();
        let thread = thread::spawn(move || {
            for _ in 0..1000 {
                value.fetch_add(1, Ordering::SeqCst);
                assert!(remote.notify());
            }
        });
        // The last value is seen, whichever notifications fell together.
        client.read_exact(&mut [0; 1]).await.unwrap();
        thread.join().unwrap();
    });
}

// ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_closure_is_called_again_when_its_output_has_left() {
    run(async {
        let (mut client, mut server) = Stream::pair();
        client.send(&b"?"[..]).await.unwrap();
        let frames = Rc::new(Cell::new(0));
        let written = Rc::clone(&frames);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|input, output| {
                    written.set(written.get() + 1);
                    output.write(&[b'x'; 16 << 10]);
                    let again = if written.get() < 20 {
                        Again::Room
                    } else {
                        Again::Input
                    };
                    Took {
                        consumed: input.len(),
                        need: 1,
                        again,
                    }
                })
                .await
            {}
        })
        .detach();
        settle().await;
        // Four fill the pair, the fifth is queued: no sixth is made before that has left.
        assert_eq!(frames.get(), 5);
        client.read_exact(&mut vec![0; 16 << 10]).await.unwrap();
        settle().await;
        assert_eq!(frames.get(), 6);
        client.read_exact(&mut vec![0; 19 * (16 << 10)]).await.unwrap();
        settle().await;
        assert_eq!(frames.get(), 20);
    });
}

// ── halves ───────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn blocked_output_does_not_stop_input_nor_the_other_way_round() {
    run(async {
        let (mut client, server) = Stream::pair();
        let (mut reads, mut writes) = server.split();
        let received = Rc::new(RefCell::new(Vec::new()));
        let all = Rc::clone(&received);
        io::spawn(async move {
            while let Ok(Exchange::Open) = reads
                .receive(|input| {
                    all.borrow_mut().extend_from_slice(input);
                    input.len()
                })
                .await
            {}
        })
        .detach();
        let sent = Rc::new(Cell::new(false));
        let done = Rc::clone(&sent);
        io::spawn(async move {
            writes.send(vec![b's'; 200_000]).await.unwrap();
            writes.flush().await.unwrap();
            writes.shutdown().await.unwrap();
            done.set(true);
        })
        .detach();
        settle().await;
        client.send(&b"abc"[..]).await.unwrap();
        settle().await;
        assert!(!sent.get());
        assert_eq!(*received.borrow(), b"abc", "output is blocked");
        assert_eq!(read_to_end(&mut client).await.len(), 200_000);
        settle().await;
        assert!(sent.get());
        client.send(&b"def"[..]).await.unwrap();
        settle().await;
        assert_eq!(*received.borrow(), b"abcdef", "our side has ended");
    });
}

#[test]
fn a_closure_of_a_half_writes_to_the_other() {
    run(async {
        let (mut client, server) = Stream::pair();
        let (mut reads, mut writes) = server.split();
        client.send(&b"abcdef"[..]).await.unwrap();
        // Whole from the loop's buffer, then from what was kept.
        for expected in [&b"abc"[..], b"def"] {
            let exchange = reads.receive(|input| {
                writes.write(&input[..3]).unwrap();
                3
            });
            assert_eq!(exchange.await.unwrap(), Exchange::Open);
            let mut answer = [0; 3];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, expected);
        }
        let mut joined = reads.unsplit(writes);
        client.send(&b"?"[..]).await.unwrap();
        let _ = joined.exchange(|input, _| input.len()).await.unwrap();
    });
}

#[test]
fn a_relay_ends_with_its_source_and_leaves_the_way_back_open() {
    run(async {
        let (mut client, near) = Stream::pair();
        let (far, mut upstream) = Stream::pair();
        let (mut from_client, mut to_client) = near.split();
        let (mut from_upstream, mut to_upstream) = far.split();
        io::spawn(async move {
            assert_eq!(from_client.relay(&mut to_upstream).await.unwrap(), 300_000);
            to_upstream.shutdown().await.unwrap();
        })
        .detach();
        io::spawn(async move {
            from_upstream.relay(&mut to_client).await.unwrap();
            to_client.shutdown().await.unwrap();
        })
        .detach();
        io::spawn(async move {
            let all = read_to_end(&mut upstream).await;
            upstream
                .send(format!("{} bytes", all.len()).into_bytes())
                .await
                .unwrap();
            upstream.close().await.unwrap();
        })
        .detach();
        client.send(vec![b'x'; 300_000]).await.unwrap();
        client.shutdown_write().await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"300000 bytes");
    });
}

#[test]
fn to_write_after_the_end_of_our_side_is_an_error() {
    run(async {
        let (_client, mut server) = Stream::pair();
        server.shutdown_write().await.unwrap();
        assert!(server.send(&b"more"[..]).await.is_err());
    });
}

// ── pools, deadlines, drains ─────────────────────────────────────────────────────────────────────────────────────────

/// A loop that listens with `handler`, and where.
fn listen<F>(handler: impl Fn(Stream) -> F + Send + Sync + 'static) -> (Loops, std::net::SocketAddr)
where
    F: Future<Output = ()> + 'static,
{
    let config = Config {
        workers: 1,
        ..Config::default()
    };
    let loops = Loops::start(config).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = loops.listen(&address, ListenOptions::default(), handler).unwrap();
    let io::Address::Tcp(address) = *bound.address() else {
        panic!("no TCP")
    };
    (loops, address)
}

#[test]
fn a_pooled_connection_is_quiet_until_its_peer_speaks_or_leaves() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = io::Address::Tcp(listener.local_addr().unwrap());
    run(async {
        let mut quiet = Stream::connect(&address).await.unwrap();
        let (peer, _) = listener.accept().unwrap();
        assert_eq!(quiet.liveness(), Liveness::Quiet);
        // The loop has not polled since: only the kernel knows.
        drop(peer);
        assert_eq!(quiet.liveness(), Liveness::Ended);
        let mut spoken = Stream::connect(&address).await.unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"unasked").unwrap();
        assert_eq!(spoken.liveness(), Liveness::Input);
        spoken.read_exact(&mut [0; 7]).await.unwrap();
        assert_eq!(spoken.liveness(), Liveness::Quiet);
    });
}

#[test]
fn a_refusal_arrives_while_a_body_is_on_its_way() {
    let (_loops, address) = listen(async |mut stream| {
        let refuse = |input: &[u8], output: &mut io::Output| {
            output.write(b"413 too large\n");
            input.len()
        };
        let _ = stream.exchange(refuse).await;
        let _ = stream.close().await;
    });
    for _ in 0..20 {
        let mut client = TcpStream::connect(address).unwrap();
        for _ in 0..40 {
            // Each part is sent for itself, so that much of it comes after the refusal.
            client.write_all(&[b'b'; 64 << 10]).unwrap();
        }
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "413 too large\n");
    }
}

#[test]
fn a_peer_that_sends_without_end_is_not_waited_for() {
    let (sender, closed) = mpsc::channel();
    let (_loops, address) = listen(move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            let _ = stream.exchange(|_, _| 0).await;
            stream.close().await.unwrap();
            sender.send(()).unwrap();
        }
    });
    let mut client = TcpStream::connect(address).unwrap();
    let mut sent = 0_usize;
    while client.write_all(&[b'b'; 64 << 10]).is_ok() {
        sent += 64 << 10;
        assert!(sent < 200 << 20, "nothing stops the peer");
    }
    closed.recv_timeout(Duration::from_secs(20)).unwrap();
}

#[test]
fn a_deadline_ends_what_moves_all_the_time() {
    let clock = Clock::manual();
    let config = Config {
        clock: clock.clone(),
        ..Config::default()
    };
    Loop::new(config).unwrap().run(async {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        server.set_deadline(Some(io::now() + ms(250)));
        let end = Rc::new(RefCell::new(None));
        let noted = Rc::clone(&end);
        io::spawn(async move {
            let error = loop {
                match server.exchange(|input, _| input.len()).await {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            // A deadline that has passed does not keep the stream from saying so.
            server.set_deadline(None);
            server.send(&b"408"[..]).await.unwrap();
            server.close().await.unwrap();
            *noted.borrow_mut() = Some(error);
        })
        .detach();
        for _ in 0..4 {
            client.send(&b"x"[..]).await.unwrap();
            clock.advance(ms(60));
            settle().await;
        }
        assert!(end.borrow().is_none(), "{end:?}");
        clock.advance(ms(10));
        settle().await;
        assert!(matches!(*end.borrow(), Some(Error::DeadlineExceeded)), "{end:?}");
        assert_eq!(read_to_end(&mut client).await, b"408");
    });
}

#[test]
fn a_deadline_that_is_lifted_or_moved_does_not_end_anything() {
    let clock = Clock::manual();
    let config = Config {
        clock: clock.clone(),
        ..Config::default()
    };
    Loop::new(config).unwrap().run(async {
        let (mut client, mut server) = Stream::pair();
        for round in 0..10 {
            // Sooner and later by turns, as headers and bodies have it.
            let deadline = if round % 2 == 0 { ms(50) } else { ms(5000) };
            server.set_deadline(Some(io::now() + deadline));
            client.send(&b"x"[..]).await.unwrap();
            clock.advance(ms(40));
            settle().await;
            assert_eq!(
                server.exchange(|input, _| input.len()).await.unwrap(),
                Exchange::Open
            );
            server.set_deadline(None);
            clock.advance(ms(100));
            settle().await;
        }
        server.set_idle_timeout(ms(100));
        let cranking = clock.clone();
        io::spawn(async move {
            cranking.advance(ms(100));
        })
        .detach();
        let end = server.exchange(|_, _| 0).await;
        assert!(matches!(end, Err(Error::IdleTimeout { .. })), "{end:?}");
    });
}

#[test]
fn a_drain_is_told_once_and_the_stream_goes_on() {
    let (sender, told) = mpsc::channel();
    let (loops, address) = listen(move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            loop {
                let exchange = stream
                    .exchange(|input, output| {
                        output.write(input);
                        input.len()
                    })
                    .await
                    .unwrap();
                sender.send(exchange).unwrap();
                if let Exchange::Ended { .. } = exchange {
                    return;
                }
            }
        }
    });
    let mut client = TcpStream::connect(address).unwrap();
    let mut ask = || {
        client.write_all(b"?").unwrap();
        client.read_exact(&mut [0]).unwrap();
    };
    ask();
    loops.drain();
    let next = || told.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!([next(), next()], [Exchange::Open, Exchange::Draining]);
    ask();
    drop(client);
    assert_eq!(
        [next(), next()],
        [Exchange::Open, Exchange::Ended { clean: true }]
    );
}

#[test]
fn little_is_left_unsent_where_that_is_asked_for() {
    let (sender, queued) = mpsc::channel();
    let (_loops, address) = listen(move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            stream.set_notsent_lowat(16 << 10).unwrap();
            let mut written = 0_u64;
            // Nobody reads: how much does the kernel take before it has no room?
            let fill = async {
                loop {
                    stream.send(Piece::from(vec![b'x'; 16 << 10])).await.unwrap();
                    written += 16 << 10;
                }
            };
            let _ = io::timeout(ms(300), fill).await;
            sender.send(written).unwrap();
        }
    });
    let client = TcpStream::connect(address).unwrap();
    let bounded = queued.recv().unwrap();
    drop(client);
    // The peer's receive buffer, and 16 KiB or so: without the bound the send buffer holds megabytes more.
    assert!(bounded < 9 << 20, "{bounded} bytes");
}

#[test]
fn connections_inherit_how_little_is_left_unsent() {
    let options = ListenOptions {
        notsent_lowat: Some(16 << 10),
        ..ListenOptions::default()
    };
    let config = Config {
        workers: 1,
        ..Config::default()
    };
    let loops = Loops::start(config).unwrap();
    let (sender, queued) = mpsc::channel();
    let fill = move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            let mut written = 0_u64;
            let fill = async {
                loop {
                    stream.send(Piece::from(vec![b'x'; 16 << 10])).await.unwrap();
                    written += 16 << 10;
                }
            };
            let _ = io::timeout(ms(300), fill).await;
            sender.send(written).unwrap();
        }
    };
    let bound = loops.listen(&"127.0.0.1:0".parse().unwrap(), options, fill);
    let io::Address::Tcp(address) = *bound.unwrap().address() else {
        panic!("no TCP")
    };
    let client = TcpStream::connect(address).unwrap();
    let bounded = queued.recv().unwrap();
    drop(client);
    assert!(bounded < 9 << 20, "{bounded} bytes");
}
