//! The lifecycle of the daemon: banner, listeners, signals, drain.

use std::time::{Duration, Instant};

use hikyaku_tests::{Connection, Daemon, Folder, MIB, Signal};

#[test]
fn port_zero_is_picked_and_named() {
    let daemon = Daemon::memcached();
    let [(protocol, address)] = daemon.banner() else {
        panic!("{:?}", daemon.banner())
    };
    assert_eq!(protocol, "memcached");
    let port: u16 = address
        .strip_prefix("127.0.0.1:")
        .and_then(|port| port.parse().ok())
        .expect("a port");
    assert_ne!(port, 0);
    daemon.assert_serves();
}

#[test]
fn two_listeners_share_a_store() {
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=memory:?capacity=64MiB",
    ]);
    let addresses: Vec<&str> = daemon
        .banner()
        .iter()
        .map(|(_, address)| address.as_str())
        .collect();
    assert_eq!(addresses.len(), 2);
    assert_ne!(addresses[0], addresses[1]);
    Connection::open(addresses[0]).exchange("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    Connection::open(addresses[1]).exchange("get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n");
}

#[test]
fn listeners_of_one_file_have_stores_and_dialects_of_their_own() {
    let folder = Folder::new();
    let path = folder.path("s");
    let daemon = Daemon::configured(&format!(
        r#"
        workers = 2
        [store.default]
        uri = "memory:?capacity=64MiB"
        [store.other]
        uri = "memory:?capacity=32MiB"
        [[listen]]
        protocol = "memcached"
        address = "unix:{}"
        mode = "0600"
        [[listen]]
        protocol = "memcached"
        address = "127.0.0.1:0"
        store = "other"
        dialect = "binary"
        [[listen]]
        protocol = "memcached"
        address = "127.0.0.1:0"
        store = "other"
        dialect = "text"
        "#,
        path.display()
    ));
    let addresses: Vec<String> = daemon
        .banner()
        .iter()
        .map(|(_, address)| address.clone())
        .collect();
    assert_eq!(addresses[0], format!("unix:{}", path.display()));
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("a socket").permissions());
    assert_eq!(mode & 0o777, 0o600);

    let set = hikyaku_tests::Frame::set(b"k", 0, b"v").bytes();
    Connection::open(&addresses[0]).exchange("set k 0 0 4\r\nhere\r\n", "STORED\r\n");
    let mut binary = Connection::open(&addresses[1]);
    binary.send(&set);
    assert_eq!(hikyaku_tests::Response::read(&mut binary).status, 0);
    Connection::open(&addresses[2]).exchange("get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n");
    Connection::open(&addresses[0]).exchange("get k\r\n", "VALUE k 0 4\r\nhere\r\nEND\r\n");

    // Each listener has one dialect; the other one only ends the connection.
    let mut text = Connection::open(&addresses[1]);
    text.send("get k\r\n");
    assert!(!text.rest().starts_with(b"VALUE"));
    let mut binary = Connection::open(&addresses[2]);
    binary.send(&set);
    assert_ne!(binary.rest().first(), Some(&0x81));
    daemon.assert_serves();
}

#[test]
fn a_socket_left_behind_is_taken_over() {
    let folder = Folder::new();
    let address = format!("unix:{}", folder.path("s").display());
    let start = || {
        Daemon::start(&[
            "--memcached",
            &address,
            "--store",
            "default=memory:?capacity=64MiB",
        ])
    };
    // Killed, so that the socket's file stays.
    drop(start());
    start().assert_serves();
}

#[test]
fn termination_answers_pending_requests() {
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let daemon = Daemon::memcached();
        let mut setter = daemon.connect();
        let value = "v".repeat(MIB - 1000);
        setter.exchange(
            format!("set big 0 0 {}\r\n{value}\r\n", value.len()),
            "STORED\r\n",
        );

        // One with unread replies, one in the middle of an upload, one idle.
        let mut slow = daemon.connect();
        let count = 40;
        slow.send("get big\r\n".repeat(count));
        let mut partial = daemon.connect();
        partial.exchange(
            "version\r\nset late 0 0 4\r\nla",
            format!("VERSION {}\r\n", version(&daemon)),
        );
        let mut idle = daemon.connect();
        idle.exchange("mn\r\n", "MN\r\n");

        daemon.signal(signal);
        assert_eq!(idle.rest(), b"", "an idle connection is closed");
        partial.exchange("te\r\n", "STORED\r\n");
        assert_eq!(partial.rest(), b"");
        let reply = format!("VALUE big 0 {}\r\n{value}\r\nEND\r\n", value.len());
        for number in 0..count {
            assert!(
                slow.exact(reply.len()) == reply.as_bytes(),
                "reply {number} is torn"
            );
        }
        assert_eq!(slow.rest(), b"");
        let address = daemon.address().to_owned();
        let (status, errors) = daemon.ended();
        assert!(status.success(), "{status}: {errors}");
        assert!(Connection::try_open(&address).is_err(), "no one listens any more");
    }
}

fn version(daemon: &Daemon) -> String {
    let mut connection = daemon.connect();
    connection.send("version\r\n");
    connection.line().trim_start_matches("VERSION ").to_owned()
}

#[test]
fn terminating_it_under_load_loses_no_reply() {
    let daemon = Daemon::memcached();
    let address = daemon.address().to_owned();
    let (started, go) = std::sync::mpsc::channel();
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let (address, started) = (address.clone(), started.clone());
            std::thread::spawn(move || {
                let mut connection = Connection::open(&address);
                let mut told = false;
                let mut answered = 0_u64;
                loop {
                    // Sixteen at once: the daemon answers all of them, or has read none.
                    let requests: String = (0..16)
                        .map(|n| format!("set k{client}:{n} 0 0 8\r\n{answered:08}\r\n"))
                        .collect();
                    if connection.try_send(requests).is_err() {
                        return answered;
                    }
                    let Some(replies) = connection.replies(b"STORED\r\n", 16) else {
                        return answered;
                    };
                    answered += replies;
                    if answered > 1000 && !told {
                        told = true;
                        let _ = started.send(());
                    }
                }
            })
        })
        .collect();
    for _ in &clients {
        go.recv_timeout(hikyaku_tests::PATIENCE)
            .expect("every client gets going");
    }
    daemon.signal(Signal::Terminate);
    for client in clients {
        assert!(client.join().expect("no torn reply") >= 1000);
    }
    let (status, errors) = daemon.ended();
    assert!(status.success(), "{status}: {errors}");
}

#[test]
fn a_drain_that_clients_hold_up_has_an_end() {
    let daemon = Daemon::listening(r#"drain_timeout = "1s""#);
    let mut partial = daemon.connect();
    partial.exchange("mn\r\nset never 0 0 100\r\nonly this", "MN\r\n");
    let begun = Instant::now();
    daemon.signal(Signal::Terminate);
    let (status, errors) = daemon.ended();
    assert!(status.success(), "{status}: {errors}");
    let lasted = begun.elapsed();
    assert!(
        (Duration::from_millis(900)..Duration::from_secs(10)).contains(&lasted),
        "{lasted:?}"
    );
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let daemon = Daemon::listening(r#"drain_timeout = "1h""#);
    let mut partial = daemon.connect();
    partial.exchange("mn\r\nset never 0 0 100\r\nonly this", "MN\r\n");
    let mut idle = daemon.connect();
    idle.exchange("mn\r\n", "MN\r\n");
    daemon.signal(Signal::Terminate);
    // The drain has begun once the idle one is closed.
    assert_eq!(idle.rest(), b"");
    daemon.signal(Signal::Terminate);
    drop(daemon.ended());
}

#[test]
fn hangup_reads_the_users_and_certificates_again() {
    let folder = Folder::new();
    folder.write("users.txt", "first:one\n");
    let daemon = Daemon::listening_in(folder, r#"users = "users.txt""#);
    let login = |name_and_password: &str| {
        let mut connection = daemon.connect();
        connection.send(format!(
            "set auth 0 0 {}\r\n{name_and_password}\r\n",
            name_and_password.len()
        ));
        let reply = connection.line();
        (connection, reply)
    };
    let (mut before, reply) = login("first one");
    assert_eq!(reply, "STORED");
    assert_eq!(login("second two").1, "CLIENT_ERROR authentication failure");

    daemon.folder().write("users.txt", "second:two\n");
    daemon.signal(Signal::Hangup);
    // A signal has no reply, so the change is found by polling.
    let deadline = Instant::now() + hikyaku_tests::PATIENCE;
    while login("second two").1 != "STORED" {
        assert!(
            Instant::now() < deadline,
            "it was never read again: {}",
            daemon.errors()
        );
    }
    assert_eq!(login("first one").1, "CLIENT_ERROR authentication failure");
    assert_eq!(before.rest(), b"", "a user who is gone is disconnected");
}

#[test]
fn hangup_with_a_broken_file_keeps_the_configuration() {
    let daemon = Daemon::listening("");
    daemon.connect().exchange("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    daemon.folder().write("hikyaku.toml", "colour = \"red\"\n");
    daemon.signal(Signal::Hangup);
    let deadline = Instant::now() + hikyaku_tests::PATIENCE;
    while !daemon.errors().contains("colour") {
        assert!(
            Instant::now() < deadline,
            "it never complained: {}",
            daemon.errors()
        );
        std::thread::yield_now();
    }
    daemon
        .connect()
        .exchange("get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n");
}
