//! Faults that were found and mended, each by its story.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use io::{Clock, Config, Error, Exchange, ListenOptions, Listener, Loop, Loops, Output, Stream, Took};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn with_clock<F: Future>(body: impl FnOnce(Clock) -> F) -> F::Output {
    let clock = Clock::manual();
    let config = Config {
        clock: clock.clone(),
        ..Config::default()
    };
    Loop::new(config).unwrap().run(body(clock))
}

async fn settle() {
    for _ in 0..20 {
        io::yield_now().await;
    }
}

async fn crank(clock: &Clock, by: Duration) {
    clock.advance(by);
    settle().await;
}

/// A stream that was sent to without any event of the kernel's was closed as idle.
#[test]
fn a_subscriber_that_only_receives_is_not_idle() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let end = Rc::new(RefCell::new(None));
        let noted = Rc::clone(&end);
        io::spawn(async move {
            let error = loop {
                if let Some(result) = io::timeout(ms(60), server.exchange(|_, _| 0)).await {
                    break result;
                }
                server.send(&b"line\n"[..]).await.unwrap();
            };
            *noted.borrow_mut() = Some(error);
        })
        .detach();
        settle().await;
        for _ in 0..10 {
            crank(&clock, ms(60)).await;
            client.read_exact(&mut [0; 5]).await.unwrap();
            assert!(end.borrow().is_none(), "{end:?}");
        }
    });
}

/// The kernel tells of room in its buffer once, when a third of it is free: a peer that reads steadily but slowly looked
/// idle for longer than the timeout.
#[test]
fn a_slow_steady_reader_gets_its_whole_reply() {
    const REPLY: usize = 12 << 20;
    let options = ListenOptions {
        idle_timeout: ms(300),
        ..ListenOptions::default()
    };
    let clock = Clock::manual();
    let loops = Loops::start(Config {
        workers: 1,
        clock: clock.clone(),
        ..Config::default()
    })
    .unwrap();
    let (sender, end) = mpsc::channel();
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = loops.listen(&address, options, move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            let _ = stream.exchange(|input, _| input.len()).await;
            let result = async {
                stream.send(vec![b'r'; REPLY]).await?;
                stream.flush().await
            };
            sender.send(result.await).unwrap();
            let _ = stream.close().await;
        }
    });
    let bound = bound.unwrap();
    let io::Address::Tcp(address) = *bound.address() else {
        panic!("no TCP")
    };
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"?").unwrap();
    let mut read = 0;
    let mut part = vec![0; 128 << 10];
    while read < REPLY {
        // 128 KiB each 25 ms by the loop's clock, 5 MB/s. A part that was shorter would make the reader slower than that, by as
        // much as the machine is busy.
        if let Err(error) = client.read_exact(&mut part) {
            panic!("cut after {read} bytes: {error}, {:?}", end.try_recv());
        }
        read += part.len();
        clock.advance(ms(25));
        pass_a_turn(&loops);
    }
    end.recv().unwrap().unwrap();
}

/// Waits until the loop has looked at its clock and at everything that was ready.
fn pass_a_turn(loops: &Loops) {
    for _ in 0..2 {
        let (sender, begun) = mpsc::channel();
        loops.remote(0).post(move || sender.send(()).unwrap());
        begun.recv().unwrap();
    }
}

/// The idle timer fired while a request waited for room among the replies, and its verdict was remembered until the
/// reply was written, which was then cut.
#[test]
fn a_late_reply_to_a_full_pipeline_is_not_cut() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let replies = server.replies(1);
        client.send(&b"??"[..]).await.unwrap();
        let open = Rc::new(RefCell::new(Vec::new()));
        let opened = Rc::clone(&open);
        io::spawn(async move {
            loop {
                let exchange = server.exchange(|input, _| match replies.open() {
                    Some(reply) => {
                        opened.borrow_mut().push(reply);
                        input.len().min(1)
                    }
                    None => 0,
                });
                if !matches!(exchange.await, Ok(Exchange::Open)) {
                    break;
                }
            }
        })
        .detach();
        settle().await;
        crank(&clock, ms(100)).await;
        crank(&clock, ms(100)).await;
        let mut reply = open.borrow_mut().pop().unwrap();
        reply.write(&vec![b'r'; 1 << 20]);
        drop(reply);
        let mut answer = vec![0; 1 << 20];
        client.read_exact(&mut answer).await.unwrap();
    });
}

/// The same after the peer had ended its side.
#[test]
fn a_late_reply_after_a_half_close_is_not_cut() {
    with_clock(async |clock| {
        let (mut client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let replies = server.replies(10);
        client.send(&b"?"[..]).await.unwrap();
        client.shutdown_write().await.unwrap();
        let open = Rc::new(RefCell::new(Vec::new()));
        let opened = Rc::clone(&open);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|input, _| {
                    opened.borrow_mut().extend(replies.open());
                    input.len()
                })
                .await
            {}
        })
        .detach();
        settle().await;
        crank(&clock, ms(100)).await;
        crank(&clock, ms(100)).await;
        let mut reply = open.borrow_mut().pop().unwrap();
        reply.write(&vec![b'r'; 1 << 20]);
        drop(reply);
        client.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        assert_eq!(
            client.exchange(|_, _| 0).await.unwrap(),
            Exchange::Ended { clean: true }
        );
    });
}

/// The kernel's buffers and a piece that is queued: a reader that stopped is still found out.
#[test]
fn a_peer_that_does_not_read_is_idle_though_a_reply_is_open() {
    with_clock(async |clock| {
        let (_client, mut server) = Stream::pair();
        server.set_idle_timeout(ms(100));
        let replies = server.replies(10);
        let mut first = replies.open().unwrap();
        let _second = replies.open().unwrap();
        first.write(&vec![0; 1 << 20]);
        drop(first);
        let cranking = clock.clone();
        io::spawn(async move { crank(&cranking, ms(100)).await }).detach();
        let end = server.exchange(|_, _| 0).await;
        assert!(matches!(end, Err(Error::IdleTimeout { .. })), "{end:?}");
    });
}

/// At the bound, the connection that asked for more was ended instead of the one that held the most.
#[test]
fn who_holds_the_most_pays() {
    let config = Config {
        held_max: 100_000,
        input_size: 4096,
        ..Config::default()
    };
    Loop::new(config).unwrap().run(async {
        let ends = Rc::new(RefCell::new(Vec::new()));
        let half = |name: usize, bytes: usize| {
            let ends = Rc::clone(&ends);
            async move {
                let (mut client, mut server) = Stream::pair();
                io::spawn(async move {
                    let end = loop {
                        // Half a request: all is kept.
                        match server.exchange(|_, _| Took::waiting(0, bytes + 1)).await {
                            Ok(Exchange::Open) => {}
                            end => break end,
                        }
                    };
                    ends.borrow_mut().push((name, end));
                })
                .detach();
                client.send(vec![b'x'; bytes]).await.unwrap();
                settle().await;
                client
            }
        };
        let mut clients = Vec::new();
        for (name, bytes) in [(0, 20_000), (1, 40_000), (2, 30_000)] {
            clients.push(half(name, bytes).await);
        }
        assert!(ends.borrow().is_empty());
        // Those who ask for little live on; the largest ends.
        clients.push(half(3, 15_000).await);
        let largest = ends.borrow_mut().pop().unwrap();
        assert!(
            matches!(
                largest,
                (
                    1,
                    Err(Error::HeldLimit {
                        held: 40_000..,
                        asked: 0,
                        ..
                    })
                )
            ),
            "{largest:?}"
        );
        assert!(ends.borrow().is_empty(), "{ends:?}");
        // One that asks for more than any other holds pays itself.
        clients.push(half(4, 60_000).await);
        let greedy = ends.borrow_mut().pop().unwrap();
        assert_eq!(greedy.0, 4);
        assert!(ends.borrow().is_empty(), "{ends:?}");
    });
}

/// The length of a file that a parked reply sends was taken for memory, and stopped further requests.
#[test]
fn the_length_of_a_file_is_not_memory() {
    let path = std::env::temp_dir().join(format!("hikyaku-io-length-{}", std::process::id()));
    std::fs::write(&path, vec![b'f'; 1 << 20]).unwrap();
    let file = std::sync::Arc::new(std::fs::File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    Loop::new(Config::default()).unwrap().run(async {
        let (_client, mut server) = Stream::pair();
        let replies = server.replies(10);
        let _oldest = replies.open().unwrap();
        let mut second = replies.open().unwrap();
        second.with(|output| {
            output.push(io::Piece::File {
                file,
                offset: 0,
                length: 1 << 20,
            });
        });
        assert!(replies.open().is_some());
    });
}

/// A closure that waited for a large request had all of it read in one go, before any other task ran.
#[test]
fn to_wait_for_much_input_gives_way() {
    const REQUEST: usize = 1 << 20;
    Loop::new(Config::default()).unwrap().run(async {
        let mut listener =
            Listener::bind(&"127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
        let address = listener.address().clone();
        let (sender, sent) = mpsc::channel();
        let client = thread::spawn(move || {
            let io::Address::Tcp(address) = address else {
                panic!("no TCP")
            };
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(&vec![b'x'; REQUEST]).unwrap();
            sender.send(()).unwrap();
            client
        });
        let mut server = listener.accept().await.unwrap();
        let _ = server.exchange(|_, _| Took::waiting(0, REQUEST)).await.unwrap();
        // All of it lies in the kernel's buffers, or as much as they accept.
        let _ = sent.recv_timeout(ms(200));
        let others = Rc::new(Cell::new(0));
        let counted = Rc::clone(&others);
        io::spawn(async move {
            loop {
                counted.set(counted.get() + 1);
                io::yield_now().await;
            }
        })
        .detach();
        let exchange = server.exchange(|input, _| input.len()).await.unwrap();
        assert_eq!(exchange, Exchange::Open);
        assert!(others.get() >= 2, "others ran {} times", others.get());
        drop(client.join().unwrap());
    });
}

/// To end a loop looked at all tasks for each task.
#[test]
fn to_end_many_tasks_takes_time_for_each_but_no_more() {
    let mut this = Loop::new(Config::default()).unwrap();
    this.run(async {
        for _ in 0..200_000 {
            io::spawn(std::future::pending::<()>()).detach();
        }
        settle().await;
    });
    let start = Instant::now();
    drop(this);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The oldest reply could be appended to without bound while its stream was stuck.
#[test]
fn a_reply_waits_for_room_and_learns_that_its_stream_has_gone() {
    Loop::new(Config::default()).unwrap().run(async {
        let (mut client, mut server) = Stream::pair();
        let replies = server.replies(10);
        let mut reply = replies.open().unwrap();
        let written = Rc::new(Cell::new(0));
        let count = Rc::clone(&written);
        io::spawn(async move { while let Ok(Exchange::Open) = server.exchange(|_, _| 0).await {} }).detach();
        let gone = Rc::new(Cell::new(false));
        let told = Rc::clone(&gone);
        io::spawn(async move {
            while reply.room().await.is_ok() {
                reply.write(&[b'x'; 1000]);
                count.set(count.get() + 1000);
            }
            told.set(reply.is_gone());
        })
        .detach();
        settle().await;
        let stuck = written.get();
        // The pair's buffer, the queue, and the bytes that may wait behind both.
        assert!(stuck <= 4 * (64 << 10), "{stuck} bytes");
        client.read_exact(&mut vec![0; 3 << 20]).await.unwrap();
        settle().await;
        assert!(written.get() > 3 << 20);
        assert!(!gone.get());
        drop(client);
        settle().await;
        assert!(gone.get());
    });
}

/// The oldest reply left as it was written, before what it said was true.
#[test]
fn a_reply_that_is_held_back_leaves_when_it_is_released() {
    async fn there(client: &mut Stream) -> String {
        settle().await;
        let mut text = String::new();
        let read = client.exchange(|input, _: &mut Output| {
            text.push_str(std::str::from_utf8(input).unwrap());
            input.len()
        });
        let _ = io::timeout(ms(1), read).await;
        text
    }
    Loop::new(Config::default()).unwrap().run(async {
        let (mut client, mut server) = Stream::pair();
        let replies = server.replies(10);
        let [mut first, mut second, mut third, mut fourth] = [(); 4].map(|()| replies.open().unwrap());
        io::spawn(async move { while let Ok(Exchange::Open) = server.exchange(|_, _| 0).await {} }).detach();
        first.write(b"1");
        second.hold_back();
        second.write(b"2");
        third.write(b"3");
        drop(third);
        drop(first);
        assert_eq!(there(&mut client).await, "1");
        second.write(b"b");
        second.release();
        assert_eq!(there(&mut client).await, "2b");
        second.write(b"c");
        drop(second);
        assert_eq!(there(&mut client).await, "c3");
        // The only one that is open: finished while it is held back.
        fourth.hold_back();
        fourth.write(b"4");
        assert_eq!(there(&mut client).await, "");
        drop(fourth);
        assert_eq!(there(&mut client).await, "4");
        let mut fifth = replies.open().unwrap();
        fifth.write(b"5");
        assert_eq!(there(&mut client).await, "5");
    });
}
