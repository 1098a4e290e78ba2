//! The examples of services at the edge: what each promises, over loopback.
#![allow(clippy::unwrap_used)]

mod common;

#[allow(dead_code, unreachable_pub)]
#[path = "../examples/files.rs"]
mod files;
#[allow(dead_code, unreachable_pub)]
#[path = "../examples/group_commit.rs"]
mod group_commit;
#[allow(dead_code, unreachable_pub)]
#[path = "../examples/long_poll.rs"]
mod long_poll;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::authority::Authority;
use io::tls::{ClientFiles, ClientTls, ServerFiles, ServerTls};
use io::{Address, Bound, Config, ListenOptions, Loop, Loops, Signal, Stream};

fn serve<F, Fut>(workers: usize, handler: F) -> (Loops, Bound)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let loops = Loops::start(Config {
        workers,
        ..Config::default()
    })
    .unwrap();
    let address: Address = "127.0.0.1:0".parse().unwrap();
    let bound = loops.listen(&address, ListenOptions::default(), handler).unwrap();
    (loops, bound)
}

struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn connect(bound: &Bound) -> Client {
        let Address::Tcp(address) = *bound.address() else {
            panic!("not TCP")
        };
        Client::to(address)
    }

    fn to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            reader: BufReader::new(stream),
        }
    }

    fn send(&self, text: &str) {
        self.reader.get_ref().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.line()
    }
}

fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn group_commit_answers_what_is_durable_and_syncs_once_for_many() {
    const CLIENTS: usize = 40;
    const LINES: usize = 25;
    let directory = directory("group-commit");
    let path = directory.join("log");
    let log = group_commit::Log::new(File::create(&path).unwrap());
    let shared = Arc::clone(&log);
    let (_loops, bound) = serve(2, move |stream| group_commit::serve(stream, Arc::clone(&shared)));
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::connect(&bound);
                for _ in 0..LINES {
                    let answer = client.ask("a line\n");
                    let end: u64 = answer.strip_prefix("stored ").unwrap().parse().unwrap();
                    assert!(log.durable_to() >= end, "answered before it was durable");
                }
                // Pipelined lines of one exchange share a reply, and keep their order.
                client.send("b\nc\nd\n");
                let ends = [(); 3].map(|()| client.line().split_once(' ').unwrap().1.parse::<u64>().unwrap());
                assert!(ends.is_sorted());
            });
        }
    });
    let lines = CLIENTS * (LINES + 3);
    let stored = fs::read_to_string(&path).unwrap();
    assert_eq!(stored.lines().count(), lines);
    let commits = log.commits();
    assert!(commits < lines as u64 / 2, "{commits} commits for {lines} lines");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn long_polls_end_on_every_loop_and_not_before_they_are_due() {
    let signal = Arc::new(Signal::default());
    let shared = Arc::clone(&signal);
    let (_loops, bound) = serve(2, move |stream| long_poll::serve(stream, Arc::clone(&shared)));
    let mut pollers: Vec<Client> = (0..20).map(|_| Client::connect(&bound)).collect();
    for (index, poller) in pollers.iter().enumerate() {
        poller.send(&format!("wait {}\n", 1 + index % 2));
    }
    let mut writer = Client::connect(&bound);
    assert_eq!(writer.ask("advance\n"), "epoch 1");
    for poller in pollers.iter_mut().step_by(2) {
        assert_eq!(poller.line(), "epoch 1");
    }
    for poller in pollers.iter().skip(1).step_by(2) {
        let stream = poller.reader.get_ref();
        stream.set_nonblocking(true).unwrap();
        assert!(stream.peek(&mut [0]).is_err(), "it is not due");
        stream.set_nonblocking(false).unwrap();
    }
    assert_eq!(writer.ask("advance\n"), "epoch 2");
    for poller in pollers.iter_mut().skip(1).step_by(2) {
        assert_eq!(poller.line(), "epoch 2");
    }
    assert_eq!(
        writer.ask("wait 1\n"),
        "epoch 2",
        "what has been reached is answered at once"
    );
}

/// Blocks that this thread has read from a device.
fn blocks_read() -> i64 {
    // SAFETY: all zeroes is a valid `rusage`, which the kernel overwrites.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    };
    usage.ru_inblock
}

/// Blocks that the one loop has read from a device.
fn blocks_read_by(loops: &Loops) -> i64 {
    let (sender, receiver) = std::sync::mpsc::channel();
    loops.remote(0).post(move || sender.send(blocks_read()).unwrap());
    receiver.recv().unwrap()
}

/// Writes a file whose pages are on the device and not in memory.
fn cold_file(path: &PathBuf, content: &[u8]) {
    use std::os::fd::AsRawFd;
    let mut file = File::create(path).unwrap();
    file.write_all(content).unwrap();
    file.sync_all().unwrap();
    // SAFETY: takes no memory.
    #[allow(unsafe_code)]
    let result = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(result, 0);
}

/// 8 MB that differ from page to page.
fn content() -> Vec<u8> {
    (0..8_000_000_u32).map(|n| (n / 3) as u8).collect()
}

#[test]
fn cold_ranges_of_a_file_are_never_read_by_the_loop() {
    let directory = directory("files");
    let content = content();
    cold_file(&directory.join("cold"), &content);
    let served = Arc::new(directory.clone());
    let (loops, bound) = serve(1, move |stream| files::serve(stream, Arc::clone(&served)));
    let before = blocks_read_by(&loops);
    let mut client = Client::connect(&bound);
    let fetch = |client: &mut Client| {
        assert_eq!(client.ask("cold\n"), content.len().to_string());
        let mut received = vec![0; content.len()];
        client.reader.read_exact(&mut received).unwrap();
        assert!(received == content);
    };
    fetch(&mut client);
    let cold = loops.statistics().cold_reads;
    assert!(cold > 0, "the file was cold; is this file system in memory?");
    assert_eq!(
        blocks_read_by(&loops),
        before,
        "the loop has read from the device"
    );
    // Now it is in memory and needs no lane.
    fetch(&mut client);
    assert_eq!(loops.statistics().cold_reads, cold);
    assert_eq!(client.ask("../cold\n"), "missing");
    assert_eq!(client.ask("absent\n"), "missing");
    fs::remove_dir_all(directory).unwrap();
}

/// Under TLS the loop itself has to read a file, to encrypt it: only what the lane has brought into the page cache.
#[test]
fn cold_ranges_of_a_file_are_never_read_by_the_loop_under_tls() {
    let directory = directory("files-tls");
    let content = content();
    cold_file(&directory.join("cold"), &content);
    let authority = Authority::new("files-tls");
    authority.issue("server", &["localhost"]);
    let tls = ServerTls::from_files(ServerFiles {
        certificates: vec![authority.files("server")],
        ..ServerFiles::default()
    })
    .unwrap();
    let served = Arc::new(directory.clone());
    let (loops, bound) = serve(1, move |mut stream| {
        let (tls, served) = (Arc::clone(&tls), Arc::clone(&served));
        async move {
            stream.accept_tls(&tls).await.unwrap();
            files::serve(stream, served).await;
        }
    });
    let client = ClientTls::from_files(ClientFiles {
        authorities: authority.path("ca.pem"),
        ..ClientFiles::default()
    })
    .unwrap();
    let fetch = async || {
        let mut stream = Stream::connect_tls(bound.address(), &client, "localhost")
            .await
            .unwrap();
        stream.send(&b"cold\n"[..]).await.unwrap();
        let mut received = vec![0; "8000000\n".len() + content.len()];
        stream.read_exact(&mut received).await.unwrap();
        assert!(received == [b"8000000\n", &*content].concat());
    };
    let before = blocks_read_by(&loops);
    Loop::new(Config::default()).unwrap().run(fetch());
    let cold = loops.statistics().cold_reads;
    assert!(cold > 0, "the file was cold; is this file system in memory?");
    assert_eq!(
        blocks_read_by(&loops),
        before,
        "the loop has read from the device"
    );
    // Now it is in memory and needs no lane.
    Loop::new(Config::default()).unwrap().run(fetch());
    assert_eq!(loops.statistics().cold_reads, cold);
    fs::remove_dir_all(directory).unwrap();
}
