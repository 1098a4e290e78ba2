//! Small outputs of many connections leave together: what the kernel refuses of them, and connections that end meanwhile.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use io::{Address, Config, Error, Exchange, ListenOptions, Loops, Stream};

const PATIENCE: Duration = Duration::from_secs(20);
/// Some groups of connections, the last of them not full.
const CLIENTS: usize = 37;
const REPLY: usize = 7 << 10;

/// Answers each line with [`REPLY`] copies of its first byte.
async fn answer(stream: &mut Stream) -> Result<Exchange, Error> {
    stream
        .exchange(|input, output| {
            if input.last() == Some(&b'\n') {
                output.write(&[input[0]; REPLY]);
                return input.len();
            }
            0
        })
        .await
}

/// A server on one loop, and clients over a Unix socket, where little is enough to fill what lies between.
struct Scene {
    loops: Loops,
    clients: Vec<UnixStream>,
}

impl Scene {
    fn new<F>(name: &str, held_max: usize, handler: impl Fn(Stream) -> F + Send + Sync + 'static) -> Scene
    where
        F: Future<Output = ()> + 'static,
    {
        let config = Config {
            workers: 1,
            held_max,
            ..Config::default()
        };
        let loops = Loops::start(config).unwrap();
        let file = format!("hikyaku-io-outbox-{name}-{}", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(file);
        loops
            .listen(&Address::Unix(path.clone()), ListenOptions::default(), handler)
            .unwrap();
        let clients = (0..CLIENTS).map(|_| UnixStream::connect(&path).unwrap());
        let clients: Vec<_> = clients.collect();
        for client in &clients {
            client.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        until("all are connected", || {
            loops.statistics().connections == CLIENTS as u64
        });
        Scene { loops, clients }
    }

    /// Has every connection find its request in the same turn of the loop.
    fn at_once(&mut self, f: impl FnOnce(&mut Vec<UnixStream>)) {
        let (open, gate) = mpsc::channel::<()>();
        let (sender, stopped) = mpsc::channel();
        self.loops.remote(0).post(move || {
            sender.send(()).unwrap();
            gate.recv().unwrap();
        });
        stopped.recv().unwrap();
        f(&mut self.clients);
        open.send(()).unwrap();
    }

    /// Waits until the loop has handled everything that was there: mail runs at the beginning of a turn.
    fn pass_two_turns(&self) {
        for _ in 0..2 {
            let (sender, begun) = mpsc::channel();
            self.loops.remote(0).post(move || sender.send(()).unwrap());
            begun.recv().unwrap();
        }
    }

    fn ask_at_once(&mut self, letter: u8) {
        self.at_once(|clients| {
            for client in clients {
                client.write_all(&[letter, b'\n']).unwrap();
            }
        });
    }
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn read_reply(client: &mut UnixStream, letter: u8) {
    let mut reply = [0; REPLY];
    client.read_exact(&mut reply).unwrap();
    assert!(reply.iter().all(|&byte| byte == letter));
}

#[test]
fn what_the_kernel_refuses_waits_and_arrives_in_order() {
    let answered = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&answered);
    let mut scene = Scene::new("refused", 64 << 20, move |mut stream| {
        let counter = Arc::clone(&counter);
        async move {
            while let Ok(Exchange::Open) = answer(&mut stream).await {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let mut asked = Vec::new();
    while scene.loops.statistics().held < (CLIENTS * REPLY / 2) as u64 {
        let letter = b'a' + (asked.len() % 26) as u8;
        asked.push(letter);
        scene.ask_at_once(letter);
        assert!(asked.len() < 1000, "the kernel takes everything");
        let held = || scene.loops.statistics().held > 0;
        let wanted = asked.len() * CLIENTS;
        until("an answer or a refusal", || {
            answered.load(Ordering::SeqCst) == wanted || held()
        });
    }
    // Nobody asks any more: what waits must leave by itself as soon as it is read.
    for client in &mut scene.clients {
        for &letter in &asked {
            read_reply(client, letter);
        }
    }
    until("nothing is held", || scene.loops.statistics().held == 0);
}

#[test]
fn what_was_written_before_the_stream_is_dropped_arrives() {
    let mut scene = Scene::new("dropped", 64 << 20, |mut stream| async move {
        let _ = answer(&mut stream).await;
    });
    scene.ask_at_once(b'x');
    for client in &mut scene.clients {
        read_reply(client, b'x');
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn peers_that_have_gone_are_told_by_the_next_call() {
    let (sender, ends) = mpsc::channel();
    let mut scene = Scene::new("gone", 64 << 20, move |mut stream| {
        let sender = sender.clone();
        async move {
            let end = loop {
                match answer(&mut stream).await {
                    Ok(Exchange::Open) => {}
                    end => break end,
                }
            };
            sender.send(end).unwrap();
        }
    });
    scene.at_once(|clients| {
        for client in clients.iter_mut() {
            client.write_all(b"x\n").unwrap();
        }
        clients.truncate(CLIENTS / 2);
    });
    for _ in CLIENTS / 2..CLIENTS {
        let end = ends.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(&end, Err(error) if error.is_disconnect()), "{end:?}");
    }
    for client in &mut scene.clients {
        read_reply(client, b'x');
    }
}

#[test]
fn what_the_kernel_refuses_counts_as_held() {
    let (sender, ends) = mpsc::channel();
    let mut scene = Scene::new("held", REPLY, move |mut stream| {
        let sender = sender.clone();
        async move {
            let end = loop {
                match answer(&mut stream).await {
                    Ok(Exchange::Open) => {}
                    end => break end,
                }
            };
            sender.send(end).unwrap();
        }
    });
    let end = loop {
        // A server that has ended a connection does not take its requests.
        scene.at_once(|clients| clients.retain_mut(|client| client.write_all(b"x\n").is_ok()));
        if let Ok(end) = ends.try_recv() {
            break end;
        }
    };
    assert!(matches!(&end, Err(Error::HeldLimit { .. })), "{end:?}");
    scene.clients.clear();
    until("all have ended", || scene.loops.statistics().connections == 0);
    assert_eq!(scene.loops.statistics().held, 0);
}

#[test]
fn what_the_kernel_refuses_of_a_relay_leaves_when_there_is_room() {
    let file = format!("hikyaku-io-outbox-upstream-{}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let address = Address::Unix(path.clone());
    let mut scene = Scene::new("relay", 64 << 20, move |client| {
        let address = address.clone();
        async move {
            let upstream = Stream::connect(&address).await.unwrap();
            // No task waits for the upstream connection but the one that relays to it.
            let (_, mut to_upstream) = upstream.split();
            let (mut from_client, _to_client) = client.split();
            let relayed = from_client.relay(&mut to_upstream).await.unwrap();
            assert_eq!(relayed % REPLY as u64, 0);
        }
    });
    let mut upstream: Vec<_> = (0..CLIENTS).map(|_| listener.accept().unwrap().0).collect();
    std::fs::remove_file(&path).unwrap();
    let mut sent = Vec::new();
    while scene.loops.statistics().held < (CLIENTS * REPLY / 2) as u64 {
        assert!(sent.len() < 1000, "the kernel takes everything");
        let letter = b'a' + (sent.len() % 26) as u8;
        sent.push(letter);
        scene.at_once(|clients| {
            for client in clients {
                client.write_all(&[letter; REPLY]).unwrap();
            }
        });
        // What is sent after the first refusal would wake the relay.
        scene.pass_two_turns();
    }
    for one in &mut upstream {
        one.set_read_timeout(Some(PATIENCE)).unwrap();
        sent.iter().for_each(|&letter| read_reply(one, letter));
    }
    until("nothing is held", || scene.loops.statistics().held == 0);
    scene.clients.clear();
    for one in &mut upstream {
        assert_eq!(one.read(&mut [0]).unwrap(), 0);
    }
}

/// True if a client has something to read.
fn has_reply(client: &UnixStream) -> bool {
    let (mut byte, flags) = (0_u8, libc::MSG_PEEK | libc::MSG_DONTWAIT);
    // SAFETY: the kernel writes at most one byte to `byte`.
    #[allow(unsafe_code)]
    let count = unsafe { libc::recv(client.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    count == 1
}

/// How often the number of clients with a reply changed from one closure to the next: each time if a `send` follows each
/// closure.
fn departures(name: &str, answer_by_replies: bool) -> usize {
    let clients: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
    let (seen, shared) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&clients));
    let noted = Arc::clone(&seen);
    let mut scene = Scene::new(name, 64 << 20, move |mut stream| {
        let (clients, noted) = (Arc::clone(&shared), Arc::clone(&noted));
        async move {
            let replies = answer_by_replies.then(|| stream.replies(10));
            while let Ok(Exchange::Open) = stream
                .exchange(|input, output| {
                    let clients = clients.lock().unwrap();
                    let answered = clients.iter().filter(|client| has_reply(client)).count();
                    noted.lock().unwrap().push(answered);
                    match &replies {
                        Some(replies) => replies.open().unwrap().write(b"reply"),
                        None => output.write(b"reply"),
                    }
                    input.len()
                })
                .await
            {}
        }
    });
    let copies = scene.clients.iter().map(|client| client.try_clone().unwrap());
    clients.lock().unwrap().extend(copies);
    scene.at_once(|clients| {
        for client in clients {
            client.write_all(b"?").unwrap();
        }
    });
    // The copies are not read before the turn is over, so what has left stays visible.
    scene.pass_two_turns();
    for client in &mut scene.clients {
        client.read_exact(&mut [0; 5]).unwrap();
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), CLIENTS);
    seen.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Streams that are answered by replies had their output sent after each exchange, and so had all others of the group.
#[test]
fn replies_leave_together_as_other_output_does() {
    // Three groups of at most 16 connections. The last connection of each sends at once, behind the outputs that waited.
    for (name, answer_by_replies) in [("plain", false), ("replies", true)] {
        let departures = departures(name, answer_by_replies);
        assert!(
            (1..=3).contains(&departures),
            "{name}: output left {departures} times"
        );
    }
}
