//! Listening sockets that go to another process.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use io::{Address, Config, Exchange, Listen, ListenOptions, Loops, Stream};

fn loops() -> Loops {
    Loops::start(Config {
        workers: 2,
        ..Config::default()
    })
    .unwrap()
}

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

fn tcp(address: &Address) -> TcpStream {
    let Address::Tcp(address) = *address else {
        panic!("not TCP")
    };
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn is_answered(mut stream: impl Read + Write) -> bool {
    let mut answer = [0; 4];
    stream.write_all(b"ping").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"ping"
}

/// A daemon binds while it is privileged, and accepts when it has dropped privileges and opened what its handlers need.
#[test]
fn connections_wait_until_bound_sockets_listen() {
    let loops = loops();
    let options = ListenOptions::default();
    let sockets = loops.bind(&"127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let address = sockets.address().clone();
    let waiting: Vec<TcpStream> = (0..20).map(|_| tcp(&address)).collect();
    let bound = loops.listen(sockets, options, echo).unwrap();
    assert_eq!(*bound.address(), address);
    assert!(waiting.iter().all(is_answered));
    loops.stop(Duration::from_secs(5));

    let sockets = self::loops().bind(&address, &ListenOptions::default()).unwrap();
    drop(sockets);
    let Address::Tcp(address) = address else {
        panic!("not TCP")
    };
    assert!(TcpStream::connect(address).is_err(), "dropped sockets are closed");
}

#[test]
fn sockets_serve_on_in_other_hands_and_nothing_in_the_backlog_is_lost() {
    let (old, new) = (loops(), loops());
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = old.listen(&address, ListenOptions::default(), echo).unwrap();
    assert!(is_answered(tcp(bound.address())));
    let sockets = bound.sockets().unwrap();
    // Nothing accepts now: these wait in the kernel until the successor does.
    bound.close();
    old.stop(Duration::from_secs(5));
    let waiting: Vec<TcpStream> = (0..50).map(|_| tcp(bound.address())).collect();
    assert!(bound.sockets().is_err(), "it is closed");
    let successor = new
        .listen(Listen::Sockets(sockets), ListenOptions::default(), echo)
        .unwrap();
    assert_eq!(successor.address(), bound.address());
    assert!(waiting.into_iter().all(is_answered));
}

#[test]
fn a_listener_that_closes_serves_its_backlog_first() {
    let loops = loops();
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = loops.listen(&address, ListenOptions::default(), echo).unwrap();
    for _ in 0..20 {
        // While both loops are kept busy, connections pile up in the backlog.
        let release = Arc::new(AtomicBool::new(false));
        for index in 0..loops.len() {
            let release = Arc::clone(&release);
            loops.remote(index).post(move || {
                while !release.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            });
        }
        let waiting: Vec<TcpStream> = (0..30).map(|_| tcp(bound.address())).collect();
        let closing = loops.listen(&address, ListenOptions::default(), echo).unwrap();
        closing.close();
        release.store(true, Ordering::Relaxed);
        assert!(waiting.into_iter().all(is_answered));
    }
    let release = Arc::new(AtomicBool::new(false));
    for index in 0..loops.len() {
        let release = Arc::clone(&release);
        loops.remote(index).post(move || {
            while !release.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        });
    }
    let waiting: Vec<TcpStream> = (0..100).map(|_| tcp(bound.address())).collect();
    bound.close();
    release.store(true, Ordering::Relaxed);
    assert!(waiting.into_iter().all(is_answered));
}

#[test]
fn a_drained_listener_ends_its_connections_and_no_others() {
    let loops = loops();
    let address = "127.0.0.1:0".parse().unwrap();
    let drained = loops.listen(&address, ListenOptions::default(), echo).unwrap();
    let other = loops.listen(&address, ListenOptions::default(), echo).unwrap();
    let (mut ended, kept) = (tcp(drained.address()), tcp(other.address()));
    assert!(is_answered(&ended) && is_answered(&kept));
    drained.drain();
    assert_eq!(ended.read(&mut [0]).unwrap(), 0);
    assert!(is_answered(&kept));
    let deadline = Instant::now() + Duration::from_secs(20);
    while drained.connections() > 0 {
        assert!(Instant::now() < deadline);
        thread::yield_now();
    }
    assert_eq!(other.connections(), 1);
}

#[test]
fn the_path_of_a_unix_socket_outlives_its_first_owner_when_handed_over() {
    let path = std::env::temp_dir().join(format!("hikyaku-io-handover-{}.sock", std::process::id()));
    let (old, new) = (loops(), loops());
    let address = Address::Unix(path.clone());
    let bound = old.listen(&address, ListenOptions::default(), echo).unwrap();
    let sockets = bound.sockets().unwrap();
    let successor = new.listen(sockets, ListenOptions::default(), echo).unwrap();
    old.stop(Duration::from_secs(5));
    assert_eq!(successor.address(), &address);
    assert!(is_answered(UnixStream::connect(&path).unwrap()));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_does_not_listen_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let refused = loops().listen(vec![connected.into()], ListenOptions::default(), echo);
    assert!(matches!(refused, Err(io::Error::Bind { .. })), "{refused:?}");
}

/// The example, built beside this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{} is built by `cargo test` without --test",
        path.display()
    );
    path
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_replaces_itself_and_no_connection_is_lost() {
    let child = Command::new(example("handover"))
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address: Address = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, address) = (Arc::clone(&stop), address.clone());
            thread::spawn(move || {
                let mut pids = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let mut stream = tcp(&address);
                    stream.write_all(b"who\n").unwrap();
                    let mut answer = String::new();
                    BufReader::new(stream).read_line(&mut answer).unwrap();
                    pids.push(
                        answer
                            .trim()
                            .parse::<i32>()
                            .expect("every connection is answered"),
                    );
                }
                pids
            })
        })
        .collect();
    let ask = || {
        let mut stream = tcp(&address);
        stream.write_all(b"who\n").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer.trim().parse::<i32>().unwrap()
    };
    let mut current = ask();
    let mut seen = BTreeSet::from([current]);
    for generation in 0..3 {
        // SAFETY: takes no memory; it is the example, or its successor, whose number it has told.
        #[allow(unsafe_code)]
        let sent = unsafe { libc::kill(current, libc::SIGUSR2) };
        assert_eq!(sent, 0);
        let deadline = Instant::now() + Duration::from_secs(30);
        // Two processes share the sockets until the old one has closed its own.
        let mut alike = 0;
        while alike < 20 {
            assert!(
                Instant::now() < deadline,
                "generation {generation} does not take over"
            );
            let pid = ask();
            alike = if seen.contains(&pid) { 0 } else { alike + 1 };
            current = pid;
        }
        seen.insert(current);
    }
    stop.store(true, Ordering::Relaxed);
    let answered: usize = clients
        .into_iter()
        .map(|client| client.join().unwrap().len())
        .sum();
    assert!(answered > 0 && seen.len() == 4);
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(current, libc::SIGTERM)
    };
}
