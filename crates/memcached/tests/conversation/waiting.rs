//! A store on another machine, 5 ms away: cold reads, late commits, failures. Over sockets.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use io::{Address, Config, ListenOptions, Loops};
use kv::{Fault, Machine, Simulated, Store, StoreError};
use memcached::{Endpoint, Service};
use wire::memcached::binary::Opcode;
use wire::memcached::client;

use crate::harness::config;

const LATENCY: Duration = Duration::from_millis(5);
/// Values of this length are received apart, and leave without a copy; those of four times the length from a file.
const LARGE: u64 = 16 << 10;
const TIMEOUT: Duration = Duration::from_secs(60);

const IO: StoreError = StoreError::Io(std::io::ErrorKind::Other);
const IO_TEXT: &str = "SERVER_ERROR the store's device failed: other error\r\n";
const FULL_TEXT: &str = "SERVER_ERROR the store's device is full\r\n";
const UNAVAILABLE_TEXT: &str = "SERVER_ERROR the store is unavailable\r\n";

/// A service on a loop of its own.
struct Server {
    machine: Arc<Machine>,
    service: Arc<Service>,
    loops: Loops,
    address: String,
}

impl Server {
    fn start() -> Server {
        Server::with(Machine::new(LATENCY, LARGE))
    }

    fn with(machine: Arc<Machine>) -> Server {
        let config = Config {
            workers: 1,
            ..Config::default()
        };
        Server::with_loops(machine, config)
    }

    fn with_loops(machine: Arc<Machine>, loops: Config) -> Server {
        let store = Store::Simulated(Simulated::connect(&machine).expect("a thread can be started"));
        let service = Service::new(config(), Arc::new(store));
        let endpoint = Endpoint::new(service.clone(), None);
        let loops = Loops::start(loops).expect("a loop can be started");
        let any: Address = "127.0.0.1:0".parse().expect("an address");
        let bound = loops
            .listen(&any, ListenOptions::default(), move |stream| {
                endpoint.clone().serve(stream)
            })
            .expect("loopback has a free port");
        Server {
            machine,
            service,
            address: bound.address().to_string(),
            loops,
        }
    }

    fn connect(&self) -> Client {
        let socket = TcpStream::connect(&self.address).expect("the server listens");
        socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        socket.set_nodelay(true).expect("a TCP socket");
        Client {
            input: BufReader::new(socket.try_clone().expect("a copy of the descriptor")),
            socket,
        }
    }
}

struct Client {
    socket: TcpStream,
    input: BufReader<TcpStream>,
}

impl Client {
    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).expect("the server reads");
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.input.read_exact(&mut bytes).expect("a reply");
        bytes
    }

    /// Sends requests and compares all that comes back until `mn` is answered.
    #[track_caller]
    fn expect(&mut self, requests: &str, replies: &str) {
        self.send(format!("{requests}mn\r\n"));
        let expected = format!("{replies}MN\r\n");
        let mut got = Vec::new();
        while !got.ends_with(b"MN\r\n") {
            got.extend(self.bytes(1));
            assert!(
                got.len() <= 2 * expected.len() + 1000,
                "{}",
                String::from_utf8_lossy(&got)
            );
        }
        assert_eq!(String::from_utf8_lossy(&got), expected);
    }

    fn is_at_end(&mut self) -> bool {
        let mut rest = Vec::new();
        self.input.read_to_end(&mut rest).is_ok() && rest.is_empty()
    }
}

/// Waits for what the server does without telling.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < TIMEOUT, "{what}");
        thread::yield_now();
    }
}

fn set(key: &str, value: &str) -> String {
    format!("set {key} 0 0 {}\r\n{value}\r\n", value.len())
}

fn value(key: &str, value: &str) -> String {
    format!("VALUE {key} 0 {}\r\n{value}\r\n", value.len())
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Requests that the machine got for these commands.
fn requests(server: &Server, run: impl FnOnce()) -> usize {
    until("earlier requests are answered", || {
        server.machine.in_flight() == 0
    });
    let before = server.machine.requests();
    run();
    until("all requests are answered", || server.machine.in_flight() == 0);
    server.machine.requests() - before
}

/// One after another they would take half a second, and a hundred requests.
#[test]
fn pipelined_commands_overlap() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(
        &lines(100, |n| set(&format!("k{n}"), &format!("v{n}"))),
        &"STORED\r\n".repeat(100),
    );
    assert_eq!(server.machine.len(), 100);
    let keys = lines(100, |n| format!(" k{n}"));
    let values = lines(100, |n| value(&format!("k{n}"), &format!("v{n}")));
    let cases = [
        (
            lines(100, |n| format!("get k{n}\r\n")),
            lines(100, |n| value(&format!("k{n}"), &format!("v{n}")) + "END\r\n"),
        ),
        (format!("get{keys}\r\n"), values.clone() + "END\r\n"),
        (
            lines(100, |n| format!("mg k{n} v\r\n")),
            lines(100, |n| format!("VA {}\r\nv{n}\r\n", format!("v{n}").len())),
        ),
        (
            lines(100, |n| format!("add k{n} 0 0 1\r\nx\r\n")),
            "NOT_STORED\r\n".repeat(100),
        ),
    ];
    for (commands, replies) in cases {
        // One request after the other would be 100.
        let count = requests(&server, || client.expect(&commands, &replies));
        assert!(count <= 4, "{count} requests for {commands:.20}");
    }
}

/// Each of them took a round of its own for its condition, one after another.
#[test]
fn pipelined_conditional_writes_overlap() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(
        &lines(100, |n| set(&format!("k{n}"), "1")),
        &"STORED\r\n".repeat(100),
    );
    type Command = fn(usize) -> String;
    let cases: [(Command, &str); 8] = [
        (|n| format!("incr k{n} 1\r\n"), "2\r\n"),
        (|n| format!("append k{n} 0 0 1\r\nx\r\n"), "STORED\r\n"),
        (|n| format!("replace k{n} 0 0 1\r\n7\r\n"), "STORED\r\n"),
        (|n| format!("touch k{n} 1000\r\n"), "TOUCHED\r\n"),
        (|n| format!("ma k{n}\r\n"), "HD\r\n"),
        (|n| format!("ms k{n} 1 MP\r\n3\r\n"), "HD\r\n"),
        (|n| format!("add n{n} 0 0 1\r\n1\r\n"), "STORED\r\n"),
        (|n| format!("delete k{n}\r\n"), "DELETED\r\n"),
    ];
    for (command, reply) in cases {
        let commands = lines(100, command);
        let count = requests(&server, || client.expect(&commands, &reply.repeat(100)));
        assert!(count <= 6, "{count} requests for {commands:.20}");
    }
    let mut frames = Vec::new();
    for n in 0..100 {
        client::binary::key(&mut frames, Opcode::DELETE, n, format!("n{n}").as_bytes());
    }
    let mut client = server.connect();
    let count = requests(&server, || {
        client.send(&frames);
        for n in 0..100_u32 {
            let frame = client.bytes(24);
            assert_eq!(
                (&frame[6..8], &frame[12..16]),
                (&[0, 0][..], &n.to_be_bytes()[..])
            );
        }
    });
    assert!(count <= 6, "{count} requests");
    assert_eq!(server.machine.len(), 0);
}

/// Writes that begin before their turns must not overtake a command on which they depend.
#[test]
fn conditional_writes_keep_their_order_where_it_matters() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(&(set("a", "1") + &set("b", "10")), "STORED\r\nSTORED\r\n");
    client.expect(
        "incr a 1\r\nincr a 1\r\nget b\r\nincr b 1\r\nget a b\r\nset b 0 0 2\r\n20\r\nincr b 1\r\nappend a 0 0 1\r\n0\r\nincr a 1\r\n",
        "2\r\n3\r\nVALUE b 0 2\r\n10\r\nEND\r\n11\r\nVALUE a 0 1\r\n3\r\nVALUE b 0 2\r\n11\r\nEND\r\nSTORED\r\n21\r\nSTORED\r\n31\r\n",
    );
    // What comes behind a flush must find nothing.
    client.expect(
        "incr a 1\r\nflush_all\r\nincr b 1\r\nadd a 0 0 1\r\n5\r\ndelete b\r\nadd b 0 0 3\r\nabcnonsense\r\nincr a 1\r\n",
        "32\r\nOK\r\nNOT_FOUND\r\nSTORED\r\nNOT_FOUND\r\nCLIENT_ERROR bad data chunk\r\nERROR\r\n6\r\n",
    );
}

#[test]
fn pipelined_binary_commands_overlap() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(&set("k", "value"), "STORED\r\n");
    let mut client = server.connect();
    let mut frames = Vec::new();
    (0..100).for_each(|n| client::binary::key(&mut frames, Opcode::GET, n, b"k"));
    let count = requests(&server, || {
        client.send(&frames);
        for n in 0..100 {
            let frame = client.bytes(24 + 4 + 5);
            assert_eq!(
                (&frame[..2], &frame[28..]),
                (b"\x81\x00".as_slice(), b"value".as_slice())
            );
            assert_eq!(frame[12..16], u32::to_be_bytes(n));
        }
    });
    assert!(count <= 4, "{count} requests");
}

/// Output that waits for a commit was not counted.
#[test]
fn held_output_is_bounded_and_the_largest_holder_pays() {
    const MAX: usize = 512 << 10;
    let machine = Machine::new(Duration::from_millis(200), LARGE);
    let config = Config {
        workers: 1,
        held_max: MAX,
        ..Config::default()
    };
    let server = Server::with_loops(machine, config);
    let large = "x".repeat(LARGE as usize - 1);
    server.connect().expect(&set("large", &large), "STORED\r\n");
    let mut small = server.connect();
    small.send(set("small", "1") + "mn\r\n");
    // Each of them holds three values while its write is committed.
    let mut clients: Vec<Client> = (0..30).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send("get large large large\r\n".to_owned() + &set(&format!("k{number}"), "1") + "mn\r\n");
    }
    assert_eq!(small.bytes(12), b"STORED\r\nMN\r\n", "the others pay");
    let expected = value("large", &large).repeat(3) + "END\r\nSTORED\r\nMN\r\n";
    let is_answered = |client: &mut Client| {
        let mut got = vec![0; expected.len()];
        client.input.read_exact(&mut got).is_ok() && got == expected.as_bytes()
    };
    let answered = clients
        .iter_mut()
        .map(is_answered)
        .filter(|answered| *answered)
        .count();
    let refused = server.loops.statistics().held_refused as usize;
    assert_eq!(answered + refused, 30);
    assert!(
        (1..=MAX / (3 * large.len())).contains(&answered),
        "{answered} of 30"
    );
    until("the memory is free", || server.loops.statistics().held == 0);
}

#[test]
fn replies_keep_the_order_of_commands() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(
        "get a\r\nset a 0 0 1\r\n1\r\nget a\r\nset a 0 0 1\r\n2\r\nget a b\r\nincr a 40\r\nget a\r\nversion\r\ndelete a\r\nget a\r\n",
        "END\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nEND\r\nSTORED\r\nVALUE a 0 1\r\n2\r\nEND\r\n42\r\nVALUE a 0 2\r\n42\r\nEND\r\n\
         VERSION 1.6.45-test\r\nDELETED\r\nEND\r\n",
    );
    // A reply leaves when the write is on the machine, not before.
    client.send(set("later", "x"));
    assert_eq!(client.bytes(8), b"STORED\r\n");
    assert_eq!(server.machine.len(), 1);
}

#[test]
fn conditional_commands_mean_what_they_mean_in_memory() {
    let server = Server::start();
    let mut client = server.connect();
    for (command, reply) in [
        ("add k 5 0 3\r\nabc\r\n", "STORED\r\n"),
        ("add k 5 0 3\r\nxyz\r\n", "NOT_STORED\r\n"),
        ("append k 0 0 3\r\ndef\r\n", "STORED\r\n"),
        ("prepend k 0 0 1\r\n>\r\n", "STORED\r\n"),
        ("get k\r\n", "VALUE k 5 7\r\n>abcdef\r\nEND\r\n"),
        ("replace none 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
        ("append none 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
        ("cas k 0 0 1 1\r\nx\r\n", "EXISTS\r\n"),
        ("cas none 0 0 1 1\r\nx\r\n", "NOT_FOUND\r\n"),
        (
            "incr k 1\r\n",
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
        ),
        ("touch k 100\r\n", "TOUCHED\r\n"),
        ("touch none 100\r\n", "NOT_FOUND\r\n"),
        ("gat 0 k none\r\n", "VALUE k 5 7\r\n>abcdef\r\nEND\r\n"),
        ("mg k t s f\r\n", "HD t-1 s7 f5\r\n"),
        ("mg none N0 t v\r\n", "VA 0 t-1 W\r\n\r\n"),
        ("mg none t v\r\n", "VA 0 t-1 Z\r\n\r\n"),
        ("ms k 1 MA\r\n!\r\n", "HD\r\n"),
        ("ma n N0 J7 v\r\n", "VA 1\r\n7\r\n"),
        ("ma n D5 v\r\n", "VA 2\r\n12\r\n"),
        ("md k\r\n", "HD\r\n"),
        ("md k\r\n", "NF\r\n"),
        ("me none\r\n", "ME none"),
        ("flush_all\r\n", "OK\r\n"),
        ("get none n\r\n", "END\r\n"),
    ] {
        if reply == "ME none" {
            client.send(command);
            assert_eq!(client.bytes(7), b"ME none");
            until("the line ends", || client.bytes(1) == b"\n");
            continue;
        }
        client.expect(command, reply);
    }
}

/// The condition of a write is checked where the item is, so that no increment of another connection is lost.
#[test]
fn writes_that_race_are_all_applied() {
    let server = Server::with(Machine::new(Duration::from_micros(200), LARGE));
    server.connect().expect(&set("n", "0"), "STORED\r\n");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.connect();
                for _ in 0..5 {
                    client.send("incr n 1 noreply\r\n".repeat(10));
                }
                client.expect("", "");
            });
        }
    });
    server
        .connect()
        .expect("get n\r\n", "VALUE n 0 3\r\n200\r\nEND\r\n");
}

#[test]
fn large_values_leave_memory_and_files() {
    let server = Server::start();
    let mut client = server.connect();
    for length in [LARGE - 1, LARGE, 4 * LARGE, 40 * LARGE] {
        let large: String = (0..length).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
        client.expect(&set("k", &large), "STORED\r\n");
        client.expect(&set("l", &large), "STORED\r\n");
        let both = value("k", &large) + &value("l", &large) + "END\r\n";
        client.expect("get k l\r\nget k\r\n", &(both + &value("k", &large) + "END\r\n"));
        client.expect(
            &format!("add k 0 0 {length}\r\n{large}\r\nadd m{length} 0 0 {length}\r\n{large}\r\n"),
            "NOT_STORED\r\nSTORED\r\n",
        );
    }
}

#[test]
fn a_read_that_fails_is_no_miss() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(&(set("a", "1") + &set("b", "2")), "STORED\r\nSTORED\r\n");
    server.machine.set_fault(Some(Fault::Read(IO)));
    let commands = [
        "get a\r\n",
        "gets a b\r\n",
        "gat 0 a b\r\n",
        "mg a v\r\n",
        "mg none v q\r\n",
        "me a\r\n",
        "incr a 1\r\n",
        "delete a\r\n",
        "touch a 0\r\n",
        "add none 0 0 1\r\nx\r\n",
        "append a 0 0 1\r\nx\r\n",
        "md a q\r\n",
        "ma a\r\n",
        "ms a 1 MA q\r\nx\r\n",
        "lru_crawler metadump all\r\n",
        "stats sizes\r\n",
    ];
    for command in commands {
        let reply = match command {
            "lru_crawler metadump all\r\n" => "OK\r\n".to_owned() + IO_TEXT,
            _ => IO_TEXT.to_owned(),
        };
        client.expect(command, &reply);
    }
    let mut binary = server.connect();
    let mut frame = Vec::new();
    client::binary::key(&mut frame, Opcode::GET, 7, b"a");
    binary.send(&frame);
    assert_eq!(binary.bytes(24 + 14)[6..8], [0, 0x84]);
    let totals = server.service.totals();
    assert_eq!(
        (totals.get_misses, totals.get_hits, totals.incr_misses),
        (0, 0, 0)
    );
    assert_eq!((totals.delete_misses, totals.touch_misses), (0, 0));
    server.machine.set_fault(None);
    client.expect("get a b\r\n", &(value("a", "1") + &value("b", "2") + "END\r\n"));
}

#[test]
fn a_refused_write_leaves_the_old_value() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(&set("k", "old"), "STORED\r\n");
    server.machine.set_fault(Some(Fault::Write(StoreError::Full)));
    let large = "x".repeat(2 * LARGE as usize);
    client.expect(&set("k", "new"), FULL_TEXT);
    client.expect(&set("k", &large), FULL_TEXT);
    client.expect(
        "ms k 3\r\nnew\r\nset k 0 0 3 noreply\r\nnew\r\nflush_all\r\n",
        &FULL_TEXT.repeat(2),
    );
    client.expect("get k\r\n", &(value("k", "old") + "END\r\n"));
    server.machine.set_fault(None);
    let too_large = format!("set k 0 0 {}\r\n", 65 << 20);
    client.send(&too_large);
    assert_eq!(client.bytes(41), b"SERVER_ERROR object too large for cache\r\n");
    drop(client);
    server
        .connect()
        .expect("get k\r\n", &(value("k", "old") + "END\r\n"));
}

/// Writes whose commit fails are answered by errors, in their places; those that come later are refused.
#[test]
fn a_failed_commit_is_told_and_ends_all_writing() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(&(set("old", "1") + &set("other", "2")), "STORED\r\nSTORED\r\n");
    server.machine.set_fault(Some(Fault::Commit(IO)));
    let commands =
        set("a", "1") + "version\r\nms b 1 q\r\nx\r\nset c 0 0 1 noreply\r\nx\r\n" + &set("d", "1");
    let replies = [IO_TEXT, "VERSION 1.6.45-test\r\n", IO_TEXT, IO_TEXT].concat();
    client.expect(&commands, &replies);
    server.machine.set_fault(None);
    client.expect(
        &(set("a", "1") + "delete old\r\nincr old 1\r\ngat 0 old\r\nget old\r\n"),
        &(UNAVAILABLE_TEXT.repeat(4) + &value("old", "1") + "END\r\n"),
    );
    let mut binary = server.connect();
    let mut frame = Vec::new();
    client::binary::key(&mut frame, Opcode::DELETE, 7, b"old");
    binary.send(&frame);
    assert_eq!(binary.bytes(24 + 17)[6..8], [0, 0x86]);
}

#[test]
fn a_failed_commit_is_told_to_binary_clients() {
    let server = Server::start();
    server.machine.set_fault(Some(Fault::Commit(IO)));
    let mut client = server.connect();
    let mut frames = Vec::new();
    let fields = client::binary::StoreFields {
        flags: 0,
        exptime: 0,
        cas: 0,
    };
    client::binary::store(&mut frames, Opcode::SET, 1, fields, b"a", b"x");
    client::binary::store(&mut frames, Opcode::SETQ, 2, fields, b"b", b"x");
    client::binary::bare(&mut frames, Opcode::NOOP, 3);
    client.send(&frames);
    // A quiet request is told of failures.
    for (opcode, opaque) in [(Opcode::SET, 1), (Opcode::SETQ, 2)] {
        let mut expected = Vec::new();
        let status = wire::memcached::binary::Status::InternalError;
        wire::memcached::binary::status(&mut expected, opcode, opaque, 0, status);
        assert_eq!(client.bytes(expected.len()), expected);
    }
    let noop = client.bytes(24);
    assert_eq!((&noop[6..8], &noop[12..16]), (&[0, 0][..], &[0, 0, 0, 3][..]));
}

/// One commit serves every connection that has written in a turn of the loop, or while the commit before was under way.
#[test]
fn commits_are_shared() {
    let server = Server::start();
    let mut clients: Vec<Client> = (0..64).map(|_| server.connect()).collect();
    for round in 0..5 {
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(set(&format!("k{index}"), &round.to_string()));
        }
        for client in &mut clients {
            assert_eq!(client.bytes(8), b"STORED\r\n");
        }
    }
    let commits = server.machine.commits();
    println!("{commits} commits for 320 writes");
    assert!((5..320).contains(&commits), "{commits} commits");
}

#[test]
fn touched_and_large_values_wait_for_their_commits_too() {
    let server = Server::start();
    let mut client = server.connect();
    let large = "y".repeat(2 * LARGE as usize);
    client.expect(&(set("k", "1") + &set("l", &large)), "STORED\r\nSTORED\r\n");
    server.machine.set_fault(Some(Fault::Commit(StoreError::Full)));
    client.expect("gat 100 k\r\n", FULL_TEXT);
    let server = Server::with(server.machine.clone());
    let mut client = server.connect();
    client.expect("mg l v T100\r\n", FULL_TEXT);
    let server = Server::with(server.machine.clone());
    let mut client = server.connect();
    client.expect(&set("k", &large), FULL_TEXT);
}

#[test]
fn a_client_that_goes_leaves_nothing() {
    let server = Server::start();
    server.connect().expect(&set("k", "1"), "STORED\r\n");
    for commands in [
        "get k\r\n".repeat(50),
        set("k", "2").repeat(50),
        "incr k 1\r\n".repeat(20),
        "get k k none k\r\n".repeat(20) + "get k k",
    ] {
        server.connect().send(commands);
    }
    until("the connections end", || server.service.connections() == 0);
    until("all requests are answered", || server.machine.in_flight() == 0);
    server.connect().expect("get none\r\n", "END\r\n");
}

#[test]
fn a_drain_waits_for_commits_and_fetches() {
    let server = Server::with(Machine::new(Duration::from_millis(100), LARGE));
    let mut client = server.connect();
    client.send(set("k", "1") + "get k\r\n");
    until("the write is on its way", || server.machine.in_flight() > 0);
    let Server { machine, loops, .. } = server;
    let stopped = thread::spawn(move || loops.stop(TIMEOUT));
    let expected = "STORED\r\n".to_owned() + &value("k", "1") + "END\r\n";
    assert_eq!(String::from_utf8_lossy(&client.bytes(expected.len())), expected);
    assert!(client.is_at_end());
    stopped.join().expect("the loops stop");
    // The answer to a commit that nothing waits for may still be under way.
    until("all requests are answered", || machine.in_flight() == 0);
    assert_eq!(machine.len(), 1);
}

#[test]
fn a_cas_is_never_given_twice() {
    let machine = Machine::new(Duration::ZERO, LARGE);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let server = Server::with(machine.clone());
        let mut client = server.connect();
        client.send("ms k 1 c\r\nx\r\n");
        let mut line = Vec::new();
        until("the line ends", || {
            line.extend(client.bytes(1));
            line.ends_with(b"\r\n")
        });
        assert!(!seen.contains(&line), "{}", String::from_utf8_lossy(&line));
        seen.push(line);
    }
}

#[test]
fn keys_are_listed_from_afar() {
    let server = Server::start();
    let mut client = server.connect();
    client.expect(
        &lines(600, |n| set(&format!("k{n:03}"), "v")),
        &"STORED\r\n".repeat(600),
    );
    client.expect(
        "lru_crawler mgdump all\r\n",
        &("OK\r\n".to_owned() + &lines(600, |n| format!("mg k{n:03}\r\n")) + "EN\r\n"),
    );
    client.expect(
        "stats cachedump 1 2\r\n",
        "ITEM k000 [1 b; 0 s]\r\nITEM k001 [1 b; 0 s]\r\nEND\r\n",
    );
}
