//! Replies leave in the order of their requests, or as they finish, on any thread.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::thread;

use io::{Config, Exchange, Loop, Piece, Replies, Reply, Stream, Unordered};

fn run<F: Future>(future: F) -> F::Output {
    Loop::new(Config::default()).unwrap().run(future)
}

async fn settle() {
    for _ in 0..20 {
        io::yield_now().await;
    }
}

type Open = Rc<RefCell<VecDeque<Option<Reply>>>>;

/// Opens a reply for each byte of the input, and leaves them to the test.
async fn open_for_each_byte(
    mut stream: Stream,
    replies: impl Fn() -> Option<Reply>,
    open: Open,
) -> io::Error {
    loop {
        let turn = stream.exchange(|input, _| {
            let mut used = 0;
            while used < input.len() {
                let Some(reply) = replies() else { break };
                open.borrow_mut().push_back(Some(reply));
                used += 1;
            }
            used
        });
        match turn.await {
            Ok(Exchange::Open) => {}
            Ok(Exchange::Ended { .. } | Exchange::Draining) => {
                stream.close().await.unwrap();
                return io::Error::LoopEnded;
            }
            Err(error) => return error,
        }
    }
}

fn ordered(mut server: Stream, open_max: usize) -> (Stream, Replies) {
    let replies = server.replies(open_max);
    (server, replies)
}

fn unordered(mut server: Stream, open_max: usize) -> (Stream, Unordered) {
    let replies = server.unordered(open_max);
    (server, replies)
}

async fn there(stream: &mut Stream) -> String {
    settle().await;
    let mut text = Vec::new();
    let _ = io::timeout(
        std::time::Duration::from_millis(1),
        stream.exchange(|input, _| {
            text.extend_from_slice(input);
            input.len()
        }),
    )
    .await;
    String::from_utf8(text).unwrap()
}

/// Three requests, and their open replies.
async fn three() -> (Stream, impl Fn(usize) -> Reply) {
    let (mut client, server) = Stream::pair();
    let open = Open::default();
    let (server, replies) = ordered(server, 10);
    io::spawn({
        let open = Rc::clone(&open);
        async move { drop(open_for_each_byte(server, move || replies.open(), open).await) }
    })
    .detach();
    client.send(&b"???"[..]).await.unwrap();
    settle().await;
    (client, move |index| open.borrow_mut()[index].take().unwrap())
}

#[test]
fn the_order_is_that_of_the_requests() {
    run(async {
        let (mut client, reply) = three().await;
        let (mut first, mut second, mut third) = (reply(0), reply(1), reply(2));
        third.write(b"3");
        drop(third);
        second.write(b"2");
        assert_eq!(there(&mut client).await, "");
        first.write(b"1");
        assert_eq!(
            there(&mut client).await,
            "1",
            "the oldest writes straight through"
        );
        first.write(b"a");
        assert_eq!(there(&mut client).await, "a");
        drop(first);
        assert_eq!(
            there(&mut client).await,
            "2",
            "what the next one has parked follows at once"
        );
        second.write(b"b");
        assert_eq!(there(&mut client).await, "b");
        second.with(|output| output.push(Piece::from(vec![b'c'; 3])));
        drop(second);
        assert_eq!(there(&mut client).await, "ccc3");
    });
}

#[test]
fn an_aborted_reply_ends_the_connection_after_those_before_it() {
    run(async {
        let (mut client, reply) = three().await;
        let (mut first, mut second, mut third) = (reply(0), reply(1), reply(2));
        third.write(b"3");
        drop(third);
        second.write(b"never seen");
        second.abort();
        first.write(b"1");
        assert_eq!(there(&mut client).await, "1");
        drop(first);
        assert_eq!(there(&mut client).await, "");
        assert_eq!(
            client.exchange(|_, _| 0).await.unwrap(),
            Exchange::Ended { clean: true }
        );
    });
}

#[test]
fn a_panic_with_a_reply_in_hand_does_not_pass_for_an_answer() {
    run(async {
        let (mut client, reply) = three().await;
        let (mut first, second) = (reply(0), reply(1));
        drop(reply(2));
        first.write(b"1");
        drop(first);
        io::spawn(async move {
            let mut reply = second;
            reply.write(b"half");
            panic!("on purpose");
        })
        .detach();
        // The first half had left already; what matters is that nothing follows it.
        assert_eq!(there(&mut client).await, "1half");
        assert_eq!(
            client.exchange(|_, _| 0).await.unwrap(),
            Exchange::Ended { clean: true }
        );
    });
}

#[test]
fn other_threads_answer_too() {
    run(async {
        let (mut client, reply) = three().await;
        let workers: Vec<_> = (0..3)
            .map(|index| {
                let mut reply = reply(index).into_remote();
                thread::spawn(move || {
                    reply.write(format!("<{index}>").as_bytes());
                    reply.output().push(vec![b'x'; index]);
                })
            })
            .collect();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"<0><1>x<2>xx");
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn no_more_are_open_than_may_be() {
    run(async {
        let (mut client, server) = Stream::pair();
        let open = Open::default();
        let (server, replies) = ordered(server, 4);
        io::spawn({
            let open = Rc::clone(&open);
            async move { drop(open_for_each_byte(server, move || replies.open(), open).await) }
        })
        .detach();
        client.send(vec![b'?'; 10]).await.unwrap();
        settle().await;
        assert_eq!(open.borrow().len(), 4);
        // Done, but behind one that is not.
        open.borrow_mut()[1] = None;
        settle().await;
        assert_eq!(open.borrow().len(), 4);
        open.borrow_mut()[0] = None;
        settle().await;
        assert_eq!(open.borrow().len(), 6);
        for index in 0..10 {
            settle().await;
            open.borrow_mut()[index] = None;
        }
        settle().await;
        assert_eq!(open.borrow().len(), 10);
    });
}

#[test]
fn parked_bytes_stop_the_requests() {
    run(async {
        let (mut client, server) = Stream::pair();
        let open = Open::default();
        let (server, replies) = ordered(server, 1000);
        io::spawn({
            let open = Rc::clone(&open);
            async move { drop(open_for_each_byte(server, move || replies.open(), open).await) }
        })
        .detach();
        client.send(&b"??"[..]).await.unwrap();
        settle().await;
        let mut second = open.borrow_mut()[1].take().unwrap();
        second.write(&vec![b'2'; 300_000]);
        drop(second);
        client.send(&b"?"[..]).await.unwrap();
        settle().await;
        assert_eq!(open.borrow().len(), 2, "300,000 bytes are parked");
        open.borrow_mut()[0] = None;
        client.read_exact(&mut vec![0; 300_000]).await.unwrap();
        settle().await;
        assert_eq!(open.borrow().len(), 3);
    });
}

#[test]
fn unordered_replies_leave_whole_as_they_finish() {
    run(async {
        let (mut client, server) = Stream::pair();
        let open = Open::default();
        let (server, replies) = unordered(server, 2);
        io::spawn({
            let open = Rc::clone(&open);
            async move { drop(open_for_each_byte(server, move || replies.open(), open).await) }
        })
        .detach();
        client.send(&b"???"[..]).await.unwrap();
        settle().await;
        assert_eq!(open.borrow().len(), 2);
        let mut first = open.borrow_mut()[0].take().unwrap();
        let mut second = open.borrow_mut()[1].take().unwrap();
        first.write(b"fir");
        second.write(b"sec");
        first.write(b"st ");
        second.write(b"ond ");
        assert_eq!(there(&mut client).await, "");
        drop(second);
        assert_eq!(there(&mut client).await, "second ");
        drop(first);
        assert_eq!(there(&mut client).await, "first ");
        assert_eq!(open.borrow().len(), 3);
    });
}

#[test]
fn replies_outlive_their_stream() {
    run(async {
        let (client, reply) = three().await;
        let mut first = reply(0);
        let second = reply(1).into_remote();
        drop(client);
        settle().await;
        first.write(b"to nobody");
        drop((first, second));
        settle().await;
    });
}
