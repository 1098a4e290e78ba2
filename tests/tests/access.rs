//! Access control: users, TLS, limits, switches.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use hikyaku_tests::{Authority, Connection, Daemon, Folder, Frame, Response, Tool, executable};

#[test]
fn without_a_password_nothing_is_answered() {
    let folder = Folder::new();
    folder.write("users.txt", "courier:feet\nother:word\n");
    let daemon = Daemon::listening_in(folder, r#"users = "users.txt""#);

    for request in [
        "get k\r\n",
        "mg k v\r\n",
        "set k 0 0 1\r\nv\r\n",
        "stats\r\n",
        "flush_all\r\n",
        "delete k\r\n",
    ] {
        let mut connection = daemon.connect();
        connection.send(request);
        let reply = connection.line();
        assert!(reply.starts_with("CLIENT_ERROR"), "{request:?}: {reply}");
    }
    for wrong in [
        "courier fee",
        "courier feets",
        "nobody feet",
        "courier",
        "other feet",
    ] {
        let mut connection = daemon.connect();
        let length = wrong.len();
        connection.send(format!("set auth 0 0 {length}\r\n{wrong}\r\n"));
        let reply = connection.line();
        assert!(reply.starts_with("CLIENT_ERROR"), "{wrong:?}: {reply}");
    }
    let mut connection = daemon.connect();
    connection.exchange("set auth 0 0 12\r\ncourier feet\r\n", "STORED\r\n");
    connection.exchange(
        "set k 0 0 1\r\nv\r\nget k\r\n",
        "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n",
    );
    // One connection's password is not another's.
    let mut other = daemon.connect();
    other.send("get k\r\n");
    assert!(other.line().starts_with("CLIENT_ERROR"));
}

#[test]
fn the_binary_protocol_asks_for_a_password_by_sasl() {
    let folder = Folder::new();
    folder.write("users.txt", "courier:feet\n");
    let daemon = Daemon::listening_in(folder, r#"users = "users.txt""#);
    let ask = |connection: &mut Connection, frame: Frame| {
        connection.send(frame.bytes());
        Response::read(connection)
    };
    // Any other command, and any error, is answered and ends the connection, as in memcached.
    let mut connection = daemon.connect();
    assert_eq!(ask(&mut connection, Frame::get(b"k")).status, 0x20);
    assert_eq!(connection.rest(), b"");

    let mut connection = daemon.connect();
    let mechanisms = ask(&mut connection, Frame::new(0x20, b"", b"", b""));
    assert_eq!(
        (mechanisms.status, mechanisms.value.as_slice()),
        (0, &b"PLAIN"[..])
    );
    let wrong = ask(
        &mut connection,
        Frame::new(0x21, b"", b"PLAIN", b"\0courier\0foot"),
    );
    assert_eq!(wrong.status, 0x20);

    let mut connection = daemon.connect();
    let right = ask(
        &mut connection,
        Frame::new(0x21, b"", b"PLAIN", b"\0courier\0feet"),
    );
    assert_eq!((right.status, right.value.as_slice()), (0, &b"Authenticated"[..]));
    assert_eq!(ask(&mut connection, Frame::set(b"k", 0, b"v")).status, 0);
    assert_eq!(ask(&mut connection, Frame::get(b"k")).value, b"v");
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let daemon = Daemon::listening("connections_max = 10");
    let mut open: Vec<Connection> = (0..10).map(|_| daemon.connect()).collect();
    for connection in &mut open {
        connection.exchange("mn\r\n", "MN\r\n");
    }
    for _ in 0..5 {
        let mut refused = daemon.connect();
        assert_eq!(
            String::from_utf8_lossy(&refused.rest()),
            "ERROR Too many open connections\r\n"
        );
    }
    // The statistics may be a second old.
    let deadline = Instant::now() + hikyaku_tests::PATIENCE;
    while open[0].statistics("")["rejected_connections"] != "5" {
        assert!(Instant::now() < deadline, "{:#?}", open[0].statistics(""));
    }
    assert_eq!(open[0].statistics("")["max_connections"], "10");

    // When one connection closes, another is accepted.
    open.pop().expect("ten").exchange("mn\r\n", "MN\r\n");
    let deadline = Instant::now() + hikyaku_tests::PATIENCE;
    loop {
        let mut connection = daemon.connect();
        if connection.try_send("mn\r\n").is_ok() && connection.rest_or_line() == b"MN\r\n" {
            break;
        }
        assert!(Instant::now() < deadline, "there never was room again");
    }
}

#[test]
fn an_idle_connection_is_closed() {
    let daemon = Daemon::listening(r#"idle_timeout = "2s""#);
    let begun = Instant::now();
    let mut idle = daemon.connect();
    idle.exchange("mn\r\n", "MN\r\n");
    let mut silent = daemon.connect();
    // A third one sends commands all the time and stays open.
    let mut busy = daemon.connect();
    let address = daemon.address().to_owned();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let talker = std::thread::spawn(move || {
        while stopped.recv_timeout(Duration::from_millis(100))
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            busy.exchange("mn\r\n", "MN\r\n");
        }
        busy.exchange("mn\r\n", "MN\r\n");
    });
    assert_eq!(idle.rest(), b"");
    let lasted = begun.elapsed();
    assert!(
        (Duration::from_millis(1_500)..Duration::from_secs(8)).contains(&lasted),
        "{lasted:?}"
    );
    assert_eq!(silent.rest(), b"");
    stop.send(()).expect("the talker lives");
    talker.join().expect("it was never sent away");
    let statistics = Connection::open(&address).statistics("");
    assert_eq!(statistics["idle_kicks"], "2");
}

#[test]
fn shutdown_and_flush_are_switches() {
    let daemon = Daemon::memcached();
    daemon
        .connect()
        .exchange("shutdown\r\n", "SERVER_ERROR: shutdown not enabled\r\n");
    daemon.connect().exchange("flush_all\r\n", "OK\r\n");

    let daemon = Daemon::listening("shutdown = true\nflush = false");
    daemon
        .connect()
        .exchange("flush_all\r\n", "CLIENT_ERROR flush_all not allowed\r\n");
    daemon.connect().send("shutdown\r\n");
    let (status, errors) = daemon.ended();
    assert!(status.success(), "{status}: {errors}");

    let daemon = Daemon::listening("shutdown = true");
    let mut idle = daemon.connect();
    idle.exchange("mn\r\n", "MN\r\n");
    daemon.connect().send("shutdown graceful\r\n");
    assert_eq!(idle.rest(), b"");
    let (status, errors) = daemon.ended();
    assert!(status.success(), "{status}: {errors}");
}

/// A daemon with TLS, and the authority of its certificate.
fn over_tls(client_ca: bool) -> (Daemon, Authority) {
    let folder = Folder::new();
    let authority = Authority::new("tests");
    authority.write(&folder, "authority.crt");
    authority.issue(&folder, "server");
    authority.issue(&folder, "client");
    let client_ca = if client_ca {
        r#", client_ca = "authority.crt""#
    } else {
        ""
    };
    let keys = format!(r#"tls = {{ certificate = "server.crt", key = "server.key"{client_ca} }}"#);
    (Daemon::listening_in(folder, &keys), authority)
}

/// `openssl s_client` in the daemon's folder, with this input.
fn s_client(daemon: &Daemon, session: &str) -> Tool {
    Tool::new("openssl")
        .args([
            "s_client",
            "-quiet",
            "-verify_return_error",
            "-CAfile",
            "authority.crt",
            "-connect",
            daemon.address(),
        ])
        .folder(daemon.folder().path("."))
        .input(session)
}

const SESSION: &str = "set k 0 0 5\r\nhello\r\nget k\r\nquit\r\n";
const SESSION_REPLIES: &str = "STORED\r\nVALUE k 0 5\r\nhello\r\nEND\r\n";

#[test]
fn openssl_speaks_tls_with_it() {
    let (daemon, _authority) = over_tls(false);
    for version in ["-tls1_2", "-tls1_3"] {
        let ran = s_client(&daemon, SESSION).arg(version).run();
        assert_eq!(ran.output, SESSION_REPLIES, "{version}: {}", ran.errors);
    }
    // Insecure versions are refused.
    let ran = s_client(&daemon, SESSION)
        .args(["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
        .run();
    assert_eq!(ran.output, "", "{}", ran.errors);
    daemon_lives(&daemon);
}

#[test]
fn a_client_without_a_certificate_is_turned_away() {
    let (daemon, _authority) = over_tls(true);
    let ran = s_client(&daemon, SESSION).run();
    assert_eq!(ran.output, "", "{}", ran.errors);
    let ran = s_client(&daemon, SESSION)
        .args(["-cert", "client.crt", "-key", "client.key"])
        .run();
    assert_eq!(ran.output, SESSION_REPLIES, "{}", ran.errors);

    // A certificate of another authority is refused like a missing one.
    Authority::new("strangers").issue(daemon.folder(), "stranger");
    let ran = s_client(&daemon, SESSION)
        .args(["-cert", "stranger.crt", "-key", "stranger.key"])
        .run();
    assert_eq!(ran.output, "", "{}", ran.errors);
}

#[test]
fn hangup_reads_the_certificate_again() {
    let (daemon, authority) = over_tls(false);
    let serial = || {
        let ran = Tool::new("openssl")
            .args(["s_client", "-connect", daemon.address(), "-showcerts"])
            .input("quit\r\n")
            .run();
        let begin = ran
            .output
            .find("-----BEGIN CERTIFICATE")
            .unwrap_or_else(|| panic!("{ran:#?}"));
        ran.output[begin..]
            .lines()
            .take_while(|line| !line.contains("END"))
            .collect::<String>()
    };
    let before = serial();
    assert_eq!(before, serial());
    authority.issue(daemon.folder(), "server");
    daemon.signal(hikyaku_tests::Signal::Hangup);
    let deadline = Instant::now() + hikyaku_tests::PATIENCE;
    while serial() == before {
        assert!(
            Instant::now() < deadline,
            "it was never read again: {}",
            daemon.errors()
        );
    }
    daemon_lives(&daemon);
}

#[test]
fn plain_text_on_a_tls_listener_ends_the_connection() {
    let (daemon, _authority) = over_tls(false);
    for garbage in [
        &b"get k\r\n"[..],
        b"\x80\0\0\0",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\0\x05hello",
    ] {
        let mut connection = daemon.connect();
        connection.send(garbage);
        connection.finish();
        let told = connection.rest();
        assert!(!told.starts_with(b"END"), "{told:?}");
    }
    daemon_lives(&daemon);
    let log = daemon.errors();
    assert!(
        log.contains("a client without TLS came to a TLS listener"),
        "{log}"
    );
}

#[test]
fn tls_on_a_plain_listener_is_told_to_both_sides() {
    let daemon = Daemon::memcached();
    let folder = Folder::new();
    Authority::new("tests").write(&folder, "authority.crt");
    let ran = Tool::new(executable())
        .args([
            "kv",
            "get",
            "k",
            "--tls-ca",
            "authority.crt",
            "--server",
            daemon.address(),
        ])
        .folder(folder.path("."))
        .run();
    assert_eq!(ran.status.code(), Some(3), "{ran:#?}");
    assert!(
        ran.errors
            .contains("if it does not speak TLS, omit --tls-ca, or "),
        "{ran:#?}"
    );
    daemon.assert_serves();
    let log = daemon.errors();
    assert!(
        log.contains("a client speaks TLS to a listener without TLS"),
        "{log}"
    );
}

/// memcached answers a TLS handshake with a line of text.
#[test]
fn kv_tells_that_a_server_does_not_speak_tls() {
    let folder = Folder::new();
    Authority::new("tests").write(&folder, "authority.crt");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        client.read_exact(&mut [0]).expect("a handshake begins");
        client.write_all(b"ERROR\r\n").expect("the client reads");
        // The client has read the line when it closes the connection.
        let _ = client.read_to_end(&mut Vec::new());
    });
    let ran = Tool::new(executable())
        .args([
            "kv",
            "get",
            "k",
            "--tls-ca",
            "authority.crt",
            "--server",
            &address,
        ])
        .folder(folder.path("."))
        .run();
    server.join().expect("it served");
    assert_eq!(ran.status.code(), Some(3), "{ran:#?}");
    assert!(
        ran.errors
            .contains("the server does not speak TLS; omit --tls-ca, or "),
        "{ran:#?}"
    );
}

/// A self-signed certificate is its own authority for curl and OpenSSL; once it was not for `hikyaku kv`.
#[test]
fn kv_accepts_a_self_signed_certificate_that_it_is_given() {
    let folder = Folder::new();
    Authority::self_signed(&folder, "server");
    Authority::self_signed(&folder, "other");
    let daemon = Daemon::listening_in(
        folder,
        r#"tls = { certificate = "server.crt", key = "server.key" }"#,
    );
    let get = |authority: &str| {
        Tool::new(executable())
            .args([
                "kv",
                "get",
                "k",
                "--tls-ca",
                authority,
                "--server",
                daemon.address(),
            ])
            .folder(daemon.folder().path("."))
            .run()
    };
    let absent = get("server.crt");
    assert_eq!(absent.status.code(), Some(1), "{absent:#?}");
    let refused = get("other.crt");
    assert_eq!(refused.status.code(), Some(3), "{refused:#?}");
}

#[test]
fn the_certificate_is_chosen_by_the_name_that_a_client_asks_for() {
    let folder = Folder::new();
    let authority = Authority::new("tests");
    authority.write(&folder, "authority.crt");
    authority.issue(&folder, "server");
    authority.issue_for(&folder, "cache", &["cache.example"]);
    authority.issue_for(&folder, "any", &["*.example.org"]);
    let daemon = Daemon::listening_in(
        folder,
        r#"tls = { certificate = "server.crt", key = "server.key", tickets = false, versions = "1.3" }
[[listen.certificate]]
certificate = "cache.crt"
key = "cache.key"
[[listen.certificate]]
certificate = "any.crt"
key = "any.key"
"#,
    );
    for (asked, verified) in [
        ("cache.example", "cache.example"),
        ("a.example.org", "b.example.org"),
        ("unknown.example", "localhost"),
    ] {
        let ran = s_client(&daemon, SESSION)
            .args(["-servername", asked, "-verify_hostname", verified])
            .run();
        assert_eq!(ran.output, SESSION_REPLIES, "{asked}: {}", ran.errors);
    }
    let ran = s_client(&daemon, SESSION)
        .args(["-servername", "cache.example", "-verify_hostname", "localhost"])
        .run();
    assert_eq!(ran.output, "", "{}", ran.errors);
    let ran = s_client(&daemon, SESSION).arg("-tls1_2").run();
    assert_eq!(ran.output, "", "{}", ran.errors);
}

fn daemon_lives(daemon: &Daemon) {
    let ran = s_client(daemon, SESSION).run();
    assert_eq!(ran.output, SESSION_REPLIES, "{}", ran.errors);
}
