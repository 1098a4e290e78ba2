//! Listeners and streams over real sockets: placement, limits, files, drains.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use io::{
    Address, Bound, Config, Error, Exchange, ListenOptions, Listener, Loop, Loops, OnFull, Peer, Piece,
    Stream,
};

const PATIENCE: Duration = Duration::from_secs(20);

async fn echo(mut stream: Stream) {
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            output.write(input);
            input.len()
        })
        .await
    {}
    let _ = stream.close().await;
}

fn local() -> Address {
    "127.0.0.1:0".parse().unwrap()
}

fn loops(workers: usize) -> Loops {
    Loops::start(Config {
        workers,
        ..Config::default()
    })
    .unwrap()
}

fn dial(bound: &Bound) -> TcpStream {
    let Address::Tcp(address) = bound.address() else {
        panic!("not TCP")
    };
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

fn ask(mut client: impl Read + Write, question: &[u8]) {
    client.write_all(question).unwrap();
    let mut answer = vec![0; question.len()];
    client.read_exact(&mut answer).unwrap();
    assert!(answer == question);
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("hikyaku-io-{name}-{}", std::process::id()))
}

#[test]
fn connections_are_placed_on_the_loop_with_the_fewest() {
    let loops = loops(2);
    let (sender, placed) = mpsc::channel();
    let bound = loops.listen(&local(), ListenOptions::default(), move |stream| {
        sender.send(io::loop_index()).unwrap();
        echo(stream)
    });
    let bound = bound.unwrap();
    let clients: Vec<_> = (0..20).map(|_| dial(&bound)).collect();
    for client in &clients {
        ask(client, b"hello");
    }
    let places: Vec<_> = placed.try_iter().collect();
    assert_eq!(
        places.iter().filter(|&&place| place == 0).count(),
        10,
        "{places:?}"
    );
    assert_eq!(bound.connections(), 20);
    assert_eq!(loops.statistics().connections, 20);
    drop(clients);
    until("connections end", || bound.connections() == 0);
    assert_eq!(loops.statistics().accepted, 20);
    loops.stop(PATIENCE);
}

#[test]
fn each_loop_can_listen_for_itself() {
    let loops = loops(2);
    let options = ListenOptions {
        reuse_port: true,
        ..ListenOptions::default()
    };
    let bound = loops.listen(&local(), options, echo).unwrap();
    for _ in 0..40 {
        ask(dial(&bound), b"hello");
    }
    assert_eq!(loops.statistics().accepted, 40);
}

#[test]
fn both_kinds_of_address_reach_a_v6_wildcard() {
    let loops = loops(1);
    let Ok(bound) = loops.listen(&"[::]:0".parse().unwrap(), ListenOptions::default(), echo) else {
        // This machine has no IPv6.
        return;
    };
    let Address::Tcp(address) = bound.address() else {
        panic!("not TCP")
    };
    ask(
        TcpStream::connect(("127.0.0.1", address.port())).unwrap(),
        b"four",
    );
    ask(TcpStream::connect(("::1", address.port())).unwrap(), b"six");
}

#[test]
fn unix_sockets_have_modes_and_stale_files_are_replaced() {
    let path = path("unix");
    // The file that a crashed process leaves.
    drop(UnixListener::bind(&path).unwrap());
    let address = Address::Unix(path.clone());
    let loops = loops(1);
    let options = ListenOptions {
        unix_mode: Some(0o600),
        ..ListenOptions::default()
    };
    let bound = loops.listen(&address, options.clone(), echo).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    ask(UnixStream::connect(&path).unwrap(), &[b'x'; 1000]);

    let taken = loops.listen(&address, options.clone(), echo);
    assert!(
        matches!(&taken, Err(Error::Bind { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse)
    );
    ask(UnixStream::connect(&path).unwrap(), b"still there");

    bound.close();
    until("the file goes with the listener", || !path.exists());
    std::fs::write(&path, "no socket").unwrap();
    assert!(
        loops.listen(&address, options, echo).is_err(),
        "what is no socket is not removed"
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn too_long_a_path_is_an_error() {
    let address = Address::Unix(PathBuf::from(format!("/tmp/{}", "x".repeat(200))));
    assert!(matches!(
        loops(1).listen(&address, ListenOptions::default(), echo),
        Err(Error::Bind { .. })
    ));
}

#[test]
fn one_connection_too_many_is_refused_in_so_many_words() {
    let loops = loops(2);
    let on_full = OnFull::Refuse(b"ERROR Too many open connections\r\n");
    let options = ListenOptions {
        connections_max: 2,
        on_full,
        ..ListenOptions::default()
    };
    let bound = loops.listen(&local(), options, echo).unwrap();
    let (first, second) = (dial(&bound), dial(&bound));
    ask(&first, b"1");
    ask(&second, b"2");
    let mut words = String::new();
    dial(&bound).read_to_string(&mut words).unwrap();
    assert_eq!(words, "ERROR Too many open connections\r\n");
    assert_eq!(loops.statistics().refused, 1);
    drop(first);
    until("a place is free", || bound.connections() == 1);
    ask(dial(&bound), b"3");
}

#[test]
fn one_connection_too_many_waits_its_turn() {
    let loops = loops(2);
    let options = ListenOptions {
        connections_max: 2,
        ..ListenOptions::default()
    };
    let bound = loops.listen(&local(), options, echo).unwrap();
    for _ in 0..5 {
        let (first, second, mut third) = (dial(&bound), dial(&bound), dial(&bound));
        ask(&first, b"1");
        ask(&second, b"2");
        third.write_all(b"3").unwrap();
        third.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(third.read(&mut [0]).is_err(), "there is no place for it");
        drop(first);
        third.set_read_timeout(Some(PATIENCE)).unwrap();
        third.read_exact(&mut [0]).unwrap();
        drop((second, third));
        until("all have gone", || bound.connections() == 0);
    }
}

#[test]
fn files_leave_by_sendfile_between_bytes() {
    let path = path("sendfile");
    let content: Vec<u8> = (0..5_000_000_u32).map(|n| (n / 11) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    let loops = loops(1);
    let bound = loops.listen(&local(), ListenOptions::default(), move |mut stream: Stream| {
        let file = Arc::clone(&file);
        async move {
            let turn = stream.exchange(|input, output| {
                output.write(b"head ");
                output.push(Piece::File {
                    file,
                    offset: 123,
                    length: 4_000_000,
                });
                output.write(b" tail");
                input.len()
            });
            assert_eq!(turn.await.unwrap(), Exchange::Open);
            stream.close().await.unwrap();
        }
    });
    let mut client = dial(&bound.unwrap());
    client.write_all(b"?").unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer == [b"head ", &content[123..4_000_123], b" tail"].concat());
}

#[test]
fn a_thousand_replies_of_64_kib_hold_little() {
    const CONNECTIONS: usize = 1000;
    const REPLY: usize = 64 << 10;
    let loops = loops(1);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            while let Ok(Exchange::Open) = stream
                .exchange(|input, output| {
                    let length = output.len() + REPLY;
                    output.buffer().resize(length, b'x');
                    input.len()
                })
                .await
            {}
        },
    );
    let bound = bound.unwrap();
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| dial(&bound)).collect();
    for client in &mut clients {
        client.write_all(b"?").unwrap();
    }
    until("all have come", || bound.connections() == CONNECTIONS);
    let mut most = 0;
    let mut answer = vec![0; REPLY];
    for client in &mut clients {
        client.read_exact(&mut answer).unwrap();
        most = most.max(loops.statistics().held);
    }
    println!("{CONNECTIONS} replies of {REPLY} bytes: {most} bytes held at most");
    assert!(most <= 1 << 20, "{most} bytes held");
    until("nothing is held", || loops.statistics().held == 0);
}

#[test]
fn a_drain_lets_answers_leave_and_partial_requests_finish() {
    let loops = loops(2);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            // Requests are ten bytes.
            while let Ok(Exchange::Open) = stream
                .exchange(|input, output| {
                    let whole = input.len() / 10 * 10;
                    output.write(&input[..whole]);
                    whole
                })
                .await
            {}
            stream.close().await.unwrap();
        },
    );
    let bound = bound.unwrap();
    let (mut idle, mut partial) = (dial(&bound), dial(&bound));
    ask(&idle, b"0123456789");
    ask(&partial, b"0123456789");
    partial.write_all(b"01234").unwrap();
    until("the part has come", || loops.statistics().held > 0);
    loops.drain();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    partial.write_all(b"56789").unwrap();
    let mut answer = Vec::new();
    partial.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"0123456789");
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    until("nobody listens", || TcpStream::connect(address).is_err());
    drop((idle, partial));
    loops.stop(PATIENCE);
}

#[test]
fn stopping_does_not_wait_for_a_client_that_will_not_go() {
    let loops = loops(1);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            // Never content with what it has got.
            while let Ok(Exchange::Open) = stream.exchange(|_, _| 0).await {}
        },
    );
    let mut client = dial(&bound.unwrap());
    client.write_all(b"part of a request").unwrap();
    until("the part has come", || loops.statistics().held > 0);
    let start = Instant::now();
    loops.stop(Duration::from_millis(50));
    assert!(start.elapsed() >= Duration::from_millis(50));
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn a_half_closed_client_gets_its_answers() {
    let loops = loops(1);
    let bound = loops.listen(&local(), ListenOptions::default(), echo).unwrap();
    let mut client = dial(&bound);
    let question = vec![b'q'; 3_000_000];
    let mut sending = client.try_clone().unwrap();
    let sender = std::thread::spawn({
        let question = question.clone();
        move || {
            sending.write_all(&question).unwrap();
            sending.shutdown(Shutdown::Write).unwrap();
        }
    });
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer == question);
    sender.join().unwrap();
}

#[test]
fn a_half_closed_client_gets_answers_that_are_still_worked_on() {
    let loops = loops(1);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            let replies = stream.replies(10);
            while let Ok(Exchange::Open) = stream
                .exchange(|input, _| {
                    for &letter in input {
                        let mut reply = replies.open().unwrap();
                        io::spawn(async move {
                            // Later requests are answered sooner.
                            io::sleep(Duration::from_millis(u64::from(b'e' - letter) * 10)).await;
                            reply.write(&[letter]);
                        })
                        .detach();
                    }
                    input.len()
                })
                .await
            {}
            stream.close().await.unwrap();
        },
    );
    let mut client = dial(&bound.unwrap());
    client.write_all(b"abcd").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "abcd");
}

#[test]
fn closing_does_not_reset_what_is_under_way() {
    let loops = loops(1);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            let turn = stream.exchange(|_, output| {
                output.write(b"goodbye");
                1
            });
            assert_eq!(turn.await.unwrap(), Exchange::Open);
            stream.close().await.unwrap();
        },
    );
    let bound = bound.unwrap();
    for _ in 0..20 {
        let mut client = dial(&bound);
        // More than the server will read, so that closing at once would reset the connection.
        client.write_all(&[b'x'; 20_000]).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "goodbye");
    }
}

#[test]
fn a_panicking_handler_is_counted_and_frees_its_place() {
    let loops = loops(1);
    let bound = loops.listen(
        &local(),
        ListenOptions::default(),
        |mut stream: Stream| async move {
            let _ = stream.exchange(|_, _| -> usize { panic!("on purpose") }).await;
        },
    );
    let bound = bound.unwrap();
    for _ in 0..3 {
        let mut client = dial(&bound);
        client.write_all(b"?").unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }
    until("places are free", || bound.connections() == 0);
    assert_eq!(loops.statistics().panics, 3);
}

#[test]
fn a_single_loop_listens_and_connects() {
    Loop::new(Config::default()).unwrap().run(async {
        let mut listener = Listener::bind(&local(), &ListenOptions::default()).unwrap();
        let address = listener.address().clone();
        io::spawn(async move {
            while let Ok(stream) = listener.accept().await {
                io::spawn(echo(stream)).detach();
            }
        })
        .detach();
        let mut stream = Stream::connect(&address).await.unwrap();
        assert_eq!(stream.peer().to_string(), address.to_string());
        assert!(matches!(stream.local(), Peer::Tcp(_)) && !stream.is_tls());
        for size in [1, 100_000, 10] {
            stream.send(vec![b'x'; size]).await.unwrap();
            let mut answer = vec![0; size];
            stream.read_exact(&mut answer).await.unwrap();
        }
        stream.close().await.unwrap();
        let nobody = Stream::connect(&"127.0.0.1:1".parse().unwrap()).await;
        assert!(matches!(nobody, Err(Error::Connect { .. })), "{nobody:?}");
    });
}
