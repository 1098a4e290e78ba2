//! The examples `tunnel`, `push` and `multiplex`, run for real over loopback.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::example::Example;

const PATIENCE: Duration = Duration::from_secs(30);

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A server of the standard library, with a thread for each connection.
fn upstream(serve: impl Fn(TcpStream) + Send + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    let mut reader = stream.try_clone().unwrap();
    let _ = std::io::copy(&mut reader, &mut stream);
    let _ = stream.shutdown(Shutdown::Write);
}

// ── tunnel ───────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_tunnel_carries_both_ways_at_once() {
    let tunnel = Example::start("tunnel", &["127.0.0.1:0", &upstream(echo)]);
    let clients: Vec<_> = (0..8)
        .map(|seed: u8| {
            let mut client = connect(&tunnel.address);
            thread::spawn(move || {
                let sent: Vec<u8> = (0..8 << 20_u32).map(|n| (n >> 3) as u8 ^ seed).collect();
                let mut reader = client.try_clone().unwrap();
                let receiving = thread::spawn(move || {
                    let mut all = Vec::new();
                    reader.read_to_end(&mut all).unwrap();
                    all
                });
                client.write_all(&sent).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                assert!(receiving.join().unwrap() == sent);
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn a_tunnel_hands_on_the_end_of_either_side_alone() {
    // Reads to the end, and only then answers.
    let address = upstream(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream
            .write_all(format!("{} bytes", all.len()).as_bytes())
            .unwrap();
    });
    let tunnel = Example::start("tunnel", &["127.0.0.1:0", &address]);
    let mut client = connect(&tunnel.address);
    client.write_all(&[b'x'; 100_000]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "100000 bytes");

    // Ends its side at once, and counts what still comes.
    let (sender, counted) = mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                stream.shutdown(Shutdown::Write).unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                sender.send(all.len()).unwrap();
            });
        }
    });
    let tunnel = Example::start("tunnel", &["127.0.0.1:0", &address]);
    let mut client = connect(&tunnel.address);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    client.write_all(&[b'x'; 50_000]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    while counted.recv_timeout(PATIENCE).unwrap() != 50_000 {}
}

#[test]
fn a_tunnel_does_not_stop_one_way_because_the_other_is_blocked() {
    // Sends without end and never reads but one line.
    let address = upstream(|stream| {
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap())
            .read_line(&mut line)
            .unwrap();
        let mut stream = stream;
        while stream.write_all(&[b'u'; 64 << 10]).is_ok() {}
    });
    let tunnel = Example::start("tunnel", &["127.0.0.1:0", &address]);
    let mut client = connect(&tunnel.address);
    // Neither side reads, so both directions fill up.
    client.write_all(b"go\n").unwrap();
    client
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    while client.write_all(&[b'c'; 64 << 10]).is_ok() {}
    // The way back still moves.
    let mut part = vec![0; 64 << 20];
    client.read_exact(&mut part).unwrap();
}

#[test]
fn a_spare_connection_that_has_ended_is_not_used() {
    let (sender, connections) = mpsc::channel();
    let address = upstream(move |stream| {
        sender.send(stream.try_clone().unwrap()).unwrap();
        echo(stream);
    });
    let tunnel = Example::start("tunnel", &["127.0.0.1:0", &address]);
    for _ in 0..5 {
        let mut client = connect(&tunnel.address);
        client.write_all(b"?").unwrap();
        client.read_exact(&mut [0]).unwrap();
        // The connection of this client, and two that the tunnel has opened ahead.
        for _ in 0..3 {
            let connection = connections.recv_timeout(PATIENCE).unwrap();
            connection.shutdown(Shutdown::Both).unwrap();
        }
    }
}

// ── push ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn every_subscriber_gets_every_tick_in_order() {
    let push = Example::start("push", &["127.0.0.1:0", "50"]);
    let subscribers: Vec<_> = (0..200).map(|_| BufReader::new(connect(&push.address))).collect();
    for mut subscriber in subscribers {
        let mut numbers = (0..30).map(|_| {
            let mut line = String::new();
            subscriber.read_line(&mut line).unwrap();
            let number = line.strip_prefix("tick ").expect(&line).trim();
            number.parse::<u64>().unwrap()
        });
        let first = numbers.next().unwrap();
        assert!(numbers.eq(first + 1..first + 30));
    }
}

#[test]
fn ticks_come_at_their_rate() {
    let push = Example::start("push", &["127.0.0.1:0", "20"]);
    let mut subscriber = BufReader::new(connect(&push.address));
    let mut line = String::new();
    subscriber.read_line(&mut line).unwrap();
    let start = Instant::now();
    for _ in 0..20 {
        subscriber.read_line(&mut line).unwrap();
    }
    let took = start.elapsed();
    assert!(
        (Duration::from_millis(800)..Duration::from_secs(3)).contains(&took),
        "20 ticks of 50 ms took {took:?}"
    );
}

// ── multiplex ────────────────────────────────────────────────────────────────────────────────────────────────────────

const DATA: u8 = 0;
const FETCH: u8 = 1;
const WINDOW: u8 = 2;

fn header(stream: u16, kind: u8, priority: u8, length: u32) -> [u8; 8] {
    let [s0, s1] = stream.to_be_bytes();
    let [l0, l1, l2, l3] = length.to_be_bytes();
    [s0, s1, kind, priority, l0, l1, l2, l3]
}

fn message(stream: u16, payload: &[u8]) -> Vec<u8> {
    [&header(stream, DATA, 3, payload.len() as u32)[..], payload].concat()
}

fn read_frame(client: &mut impl Read) -> (u16, Vec<u8>) {
    let mut header = [0; 8];
    client.read_exact(&mut header).unwrap();
    let mut payload = vec![0; u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize];
    client.read_exact(&mut payload).unwrap();
    (u16::from_be_bytes([header[0], header[1]]), payload)
}

#[test]
fn a_thousand_streams_share_a_connection() {
    let multiplex = Example::start("multiplex", &["127.0.0.1:0"]);
    let mut client = connect(&multiplex.address);
    let mut writer = client.try_clone().unwrap();
    let payload = |stream: u16, round: u16| format!("{stream}/{round};").repeat(1 + round as usize * 3);
    let sending = thread::spawn(move || {
        for round in 0..20 {
            for stream in 0..1000 {
                writer
                    .write_all(&message(stream, payload(stream, round).as_bytes()))
                    .unwrap();
            }
        }
    });
    let mut rounds = vec![0; 1000];
    for _ in 0..20_000 {
        let (stream, echoed) = read_frame(&mut client);
        let round = &mut rounds[usize::from(stream)];
        assert_eq!(echoed, payload(stream, *round).into_bytes(), "stream {stream}");
        *round += 1;
    }
    sending.join().unwrap();
    assert!(rounds.iter().all(|&round| round == 20));
}

#[test]
fn a_stream_without_window_waits_and_the_others_go_on() {
    let multiplex = Example::start("multiplex", &["127.0.0.1:0"]);
    let mut client = connect(&multiplex.address);
    // 64 KiB fit in the window, the fifth message does not.
    for _ in 0..5 {
        client.write_all(&message(7, &[b'a'; 16 << 10])).unwrap();
    }
    client.write_all(&message(8, b"other")).unwrap();
    // The two streams are served by turns, as their messages arrive.
    let mut echoed = [0, 0];
    for _ in 0..5 {
        match read_frame(&mut client) {
            (7, payload) => {
                assert!(payload == [b'a'; 16 << 10], "{} bytes", payload.len());
                echoed[0] += 1;
            }
            other => {
                assert_eq!(other, (8, b"other".to_vec()));
                echoed[1] += 1;
            }
        }
    }
    assert_eq!(echoed, [4, 1]);
    client.write_all(&message(9, b"and another")).unwrap();
    assert_eq!(read_frame(&mut client), (9, b"and another".to_vec()));
    client.write_all(&header(7, WINDOW, 0, 16 << 10)).unwrap();
    let (stream, payload) = read_frame(&mut client);
    assert!(
        stream == 7 && payload == [b'a'; 16 << 10],
        "{} bytes of {stream}",
        payload.len()
    );
}

#[test]
fn an_urgent_answer_overtakes_long_ones() {
    const LONG: u32 = 2 << 20;
    let multiplex = Example::start("multiplex", &["127.0.0.1:0"]);
    let mut client = connect(&multiplex.address);
    for stream in 0..50 {
        client.write_all(&header(stream, WINDOW, 0, LONG)).unwrap();
        client.write_all(&header(stream, FETCH, 7, LONG)).unwrap();
    }
    let mut interleaved = [false; 50];
    for _ in 0..200 {
        interleaved[usize::from(read_frame(&mut client).0)] = true;
    }
    assert!(interleaved.iter().all(|&seen| seen), "all are served by turns");
    client.write_all(&header(999, FETCH, 0, 10)).unwrap();
    let mut before = 0;
    loop {
        match read_frame(&mut client) {
            (999, payload) => break assert_eq!(payload, [b'm'; 10]),
            (_, payload) => before += payload.len(),
        }
    }
    // Of 100 MB, what the kernel had of it already: the client's receive buffer for the most part.
    assert!(before < 16 << 20, "{before} bytes came first");
}

#[test]
fn a_client_with_too_much_in_flight_is_cut_off() {
    let multiplex = Example::start("multiplex", &["127.0.0.1:0"]);
    let mut client = connect(&multiplex.address);
    // 200 messages of 16 KiB on a stream that has a window for four of them.
    let flood = message(1, &[b'f'; 16 << 10]).repeat(200);
    let _ = client.write_all(&flood);
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(answer.len() <= 4 * (8 + (16 << 10)), "{} bytes", answer.len());
}
