//! The guarantees of a stream to protocol code, over pairs in memory.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use io::{Config, Error, Exchange, Loop, Piece, Stream, Took};

fn small() -> Config {
    Config {
        input_size: 4096,
        output_size: 4096,
        ..Config::default()
    }
}

fn run<F: Future>(config: Config, future: F) -> F::Output {
    Loop::new(config).unwrap().run(future)
}

/// Lets tasks and their consequences happen until nothing can go on any more.
async fn settle() {
    for _ in 0..50 {
        io::yield_now().await;
    }
}

/// Answers each line with its length.
async fn count_lines(mut stream: Stream) {
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            let mut used = 0;
            while let Some(end) = input[used..].iter().position(|&byte| byte == b'\n') {
                writeln!(output.buffer(), "{end}").unwrap();
                used += end + 1;
                if output.full() {
                    break;
                }
            }
            used
        })
        .await
    {}
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

#[test]
fn fed_byte_by_byte_equals_fed_at_once() {
    let lines: Vec<u8> = (0..200)
        .flat_map(|n| [vec![b'a'; n * 3], b"\n".to_vec()].concat())
        .collect();
    let expected: String = (0..200).map(|n| format!("{}\n", n * 3)).collect();
    for step in [1, 2, 7, 1000, 4095, 4096, 4097, lines.len()] {
        let answer = run(small(), async {
            let (mut client, server) = Stream::pair();
            io::spawn(count_lines(server)).detach();
            for part in lines.chunks(step) {
                client.send(part).await.unwrap();
                if step < 10 {
                    io::yield_now().await;
                }
            }
            let mut answer = vec![0; expected.len()];
            client.read_exact(&mut answer).await.unwrap();
            answer
        });
        assert_eq!(String::from_utf8(answer).unwrap(), expected, "{step} at a time");
    }
}

#[test]
fn a_full_output_gives_the_rest_again_without_new_input() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        client.send(vec![b'x'; 100]).await.unwrap();
        let mut calls = 0;
        while calls < 10 {
            // Takes ten bytes a time although all hundred are there.
            let turn = server.exchange(|input, _| {
                assert_eq!(input.len(), 100 - 10 * calls);
                10
            });
            assert_eq!(turn.await.unwrap(), Exchange::Open);
            calls += 1;
        }
        assert_eq!(server.buffered(), 0);
    });
}

#[test]
fn a_closure_is_called_again_only_when_there_is_what_it_needs() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        io::spawn(async move {
            // 1: more than it saw; 2: twenty bytes; 3: beyond the input buffer; 4: all of it.
            for (consumed, need) in [(0, 1), (2, 20), (0, 10_000), (10_000, 1)] {
                let turn = server.exchange(|input, _| {
                    log.borrow_mut().push(input.len());
                    Took::waiting(consumed, need)
                });
                assert_eq!(turn.await.unwrap(), Exchange::Open);
            }
        })
        .detach();
        for (bytes, expected) in [(5, &[5][..]), (1, &[5, 6]), (15, &[5, 6]), (1, &[5, 6, 20])] {
            client.send(vec![b'x'; bytes]).await.unwrap();
            settle().await;
            assert_eq!(*seen.borrow(), expected);
        }
        client.send(vec![b'x'; 9_979]).await.unwrap();
        settle().await;
        assert_eq!(*seen.borrow(), [5, 6, 20]);
        client.send(vec![b'x'; 1]).await.unwrap();
        settle().await;
        assert_eq!(*seen.borrow(), [5, 6, 20, 10_000]);
    });
}

#[test]
fn output_of_a_reader_who_never_reads_stops_the_requests() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        let turns = Rc::new(Cell::new(0));
        let count = Rc::clone(&turns);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|_, output| {
                    count.set(count.get() + 1);
                    output.write(&[b'x'; 4096]);
                    1
                })
                .await
            {}
        })
        .detach();
        client.send(vec![b'?'; 1000]).await.unwrap();
        settle().await;
        // The pair holds 64 KiB, so the 17th answer is queued and no 18th made.
        assert_eq!(turns.get(), 17);
        client.read_exact(&mut [0; 4096]).await.unwrap();
        settle().await;
        assert_eq!(turns.get(), 18);
    });
}

#[test]
fn pieces_leave_in_order_and_are_dropped_when_taken() {
    struct Owner(Vec<u8>, Arc<AtomicBool>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
    let path = std::env::temp_dir().join(format!("hikyaku-io-pieces-{}", std::process::id()));
    let content: Vec<u8> = (0..300_000_u32).map(|n| (n / 3) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();

    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        let dropped = Arc::new(AtomicBool::new(false));
        let owner = Arc::new(Owner(vec![b'o'; 150_000], Arc::clone(&dropped)));
        client.send(&b"?"[..]).await.unwrap();
        let turn = server.exchange(|input, output| {
            output.write(b"one ");
            output.push(Piece::Shared {
                owner,
                range: 1_000..131_000,
            });
            output.write(b" two ");
            output.push(Piece::File {
                file: Arc::clone(&file),
                offset: 10,
                length: 200_000,
            });
            output.push(Vec::new());
            output.write(b" three");
            assert_eq!(output.len(), 4 + 130_000 + 5 + 200_000 + 6);
            assert!(output.full());
            input.len()
        });
        assert_eq!(turn.await.unwrap(), Exchange::Open);
        io::spawn(async move { server.close().await.unwrap() }).detach();
        let mut first = vec![0; 131_000];
        settle().await;
        assert!(
            !dropped.load(Ordering::Relaxed),
            "its last byte has not been taken"
        );
        client.read_exact(&mut first).await.unwrap();
        settle().await;
        assert!(dropped.load(Ordering::Relaxed), "its last byte was taken");
        let all = [first, read_to_end(&mut client).await].concat();
        let expected = [
            b"one ",
            &[b'o'; 130_000][..],
            b" two ",
            &content[10..200_010],
            b" three",
        ]
        .concat();
        assert!(all == expected);
    });
}

#[test]
fn a_file_that_is_too_short_is_an_error() {
    let path = std::env::temp_dir().join(format!("hikyaku-io-short-{}", std::process::id()));
    std::fs::write(&path, "ten bytes!").unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    run(small(), async {
        let (_client, mut server) = Stream::pair();
        let sent = server
            .send(Piece::File {
                file,
                offset: 4,
                length: 10,
            })
            .await;
        assert!(matches!(sent, Err(Error::FileEnded { missing: 4 })), "{sent:?}");
    });
}

#[test]
fn bodies_are_read_past_the_buffers_and_dropped() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        let body: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        let sent = [b"head", &body[..], &[b'-'; 50_000], b"tail"].concat();
        io::spawn(async move {
            client.send(sent).await.unwrap();
            client.close().await.unwrap();
        })
        .detach();
        assert_eq!(server.exchange(|_, _| 4).await.unwrap(), Exchange::Open);
        assert!(server.buffered() > 0, "the body's beginning came with the head");
        let mut read = vec![0; body.len()];
        server.read_exact(&mut read).await.unwrap();
        assert!(read == body);
        server.discard(50_000).await.unwrap();
        assert_eq!(read_to_end(&mut server).await, b"tail");
        let early = server.read_exact(&mut [0; 7]).await;
        assert!(
            matches!(early, Err(Error::UnexpectedEnd { missing: 7 })),
            "{early:?}"
        );
    });
}

#[test]
fn answers_leave_while_a_body_is_awaited() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        io::spawn(async move {
            server.send(vec![b'a'; 100_000]).await.unwrap();
            server.read_exact(&mut [0; 5]).await.unwrap();
            server.close().await.unwrap();
        })
        .detach();
        // The client reads the whole answer, part of which was queued, before it sends its body.
        client.read_exact(&mut vec![0; 100_000]).await.unwrap();
        client.send(&b"12345"[..]).await.unwrap();
        assert_eq!(
            client.exchange(|_, _| 0).await.unwrap(),
            Exchange::Ended { clean: true }
        );
    });
}

#[test]
fn a_connection_that_would_hold_too_much_is_ended_and_the_others_live() {
    let mut this = Loop::new(Config {
        held_max: 100_000,
        ..small()
    })
    .unwrap();
    this.run(async {
        let (mut greedy_client, mut greedy) = Stream::pair();
        let (mut modest_client, modest) = Stream::pair();
        io::spawn(count_lines(modest)).detach();
        io::spawn(async move { while greedy_client.send(vec![b'x'; 10_000]).await.is_ok() {} }).detach();
        let error = loop {
            match greedy.exchange(|_, _| Took::waiting(0, usize::MAX)).await {
                Ok(Exchange::Open) => {}
                Ok(Exchange::Ended { .. } | Exchange::Draining) => panic!("nobody closed it"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::HeldLimit { max: 100_000, .. }), "{error}");
        drop(greedy);
        modest_client.send(&b"hello\n"[..]).await.unwrap();
        let mut answer = [0; 2];
        modest_client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"5\n");

        // Unsent replies count as well, and what the first one held is free again.
        let (mut large_client, mut large) = Stream::pair();
        large_client.send(&b"?"[..]).await.unwrap();
        let exchange = large.exchange(|input, output| {
            output.write(&[b'x'; 64 << 10]);
            output.write(&[b'x'; 99_000]);
            input.len()
        });
        assert_eq!(exchange.await.unwrap(), Exchange::Open);
        let (mut client, mut server) = Stream::pair();
        client.send(&b"?"[..]).await.unwrap();
        let exchange = server.exchange(|input, output| {
            output.write(&[b'x'; 64 << 10]);
            output.write(&[b'x'; 10_000]);
            input.len()
        });
        assert_eq!(exchange.await.unwrap(), Exchange::Open);
        // Not the one that asked last, but the one that holds the most.
        let error = large.flush().await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::HeldLimit {
                    held: 99_000..,
                    asked: 0,
                    ..
                }
            ),
            "{error}"
        );
    });
}

#[test]
fn a_panic_ends_its_connection_only() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        io::spawn(async move {
            let _ = server
                .exchange(|_, output: &mut io::Output| -> usize {
                    output.write(b"half an answer");
                    panic!("a handler's mistake, on purpose")
                })
                .await;
        })
        .detach();
        let (mut other_client, other) = Stream::pair();
        io::spawn(count_lines(other)).detach();
        client.send(&b"?"[..]).await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"");
        other_client.send(&b"abc\n"[..]).await.unwrap();
        let mut answer = [0; 2];
        other_client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"3\n");
    });
}

#[test]
fn a_busy_connection_gives_way() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        client.send(vec![b'x'; 1000]).await.unwrap();
        let turns = Rc::new(Cell::new(0));
        let count = Rc::clone(&turns);
        io::spawn(async move {
            while let Ok(Exchange::Open) = server
                .exchange(|_, _| {
                    count.set(count.get() + 1);
                    1
                })
                .await
            {}
        })
        .detach();
        let mut before = 0;
        while turns.get() < 1000 {
            io::yield_now().await;
            assert!(
                turns.get() - before <= 16,
                "{} turns without giving way",
                turns.get() - before
            );
            before = turns.get();
        }
    });
}

#[test]
fn a_dropped_turn_consumed_nothing() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        let waited = io::timeout(
            std::time::Duration::from_millis(1),
            server.exchange(|input, _| input.len()),
        )
        .await;
        assert!(waited.is_none());
        client.send(&b"abc"[..]).await.unwrap();
        assert_eq!(read_some(&mut server).await, b"abc");
    });
}

async fn read_some(stream: &mut Stream) -> Vec<u8> {
    let mut some = Vec::new();
    let turn = stream.exchange(|input, _| {
        some.extend_from_slice(input);
        input.len()
    });
    assert_eq!(turn.await.unwrap(), Exchange::Open);
    some
}

#[test]
fn what_was_sent_before_the_end_arrives() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        client.send(&b"last words"[..]).await.unwrap();
        drop(client);
        assert_eq!(read_to_end(&mut server).await, b"last words");
        let refused = server.send(&b"anyone?"[..]).await;
        assert!(
            matches!(&refused, Err(error) if error.is_disconnect()),
            "{refused:?}"
        );
    });
}

#[test]
#[should_panic(expected = "consumed 4 bytes of 3")]
fn consuming_more_than_there_is_is_a_mistake() {
    run(small(), async {
        let (mut client, mut server) = Stream::pair();
        client.send(&b"abc"[..]).await.unwrap();
        let Range { end, .. } = 0..4;
        let _ = server.exchange(|_, _| end).await;
    });
}
