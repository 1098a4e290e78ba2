//! TLS behind the same stream, both sides, over real sockets.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use common::authority::Authority;
use io::tls::{ClientFiles, ClientTls, ServerFiles, ServerTls, TlsVersion};
use io::{Address, Bound, Config, Error, Exchange, ListenOptions, Loop, Loops, Peer, Piece, Stream};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

fn server(authority: &Authority, client_ca: bool) -> Arc<ServerTls> {
    authority.issue("server", &["localhost"]);
    ServerTls::from_files(ServerFiles {
        certificates: vec![authority.files("server")],
        client_ca: client_ca.then(|| authority.path("ca.pem")),
        alpn: vec![b"one".to_vec(), b"two".to_vec()],
        ..ServerFiles::default()
    })
    .unwrap()
}

fn client(authority: &Authority, identity: bool) -> ClientTls {
    authority.issue("client", &["somebody"]);
    let identity = identity.then(|| (authority.path("client.pem"), authority.path("client.key")));
    ClientTls::from_files(ClientFiles {
        authorities: authority.path("ca.pem"),
        identity,
        alpn: vec![b"two".to_vec()],
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

fn start<F, Fut>(tls: &Arc<ServerTls>, handler: F) -> (Loops, Bound)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let options = ListenOptions {
        tls: Some(Arc::clone(tls)),
        ..ListenOptions::default()
    };
    let (tls, handler) = (Arc::clone(tls), Arc::new(handler));
    let encrypted = move |mut stream: Stream| {
        let (tls, handler) = (Arc::clone(&tls), Arc::clone(&handler));
        async move {
            if stream.accept_tls(&tls).await.is_ok() {
                handler(stream).await;
            }
        }
    };
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, encrypted)
        .unwrap();
    (loops, bound)
}

fn on_a_loop<F: Future>(future: F) -> F::Output {
    Loop::new(Config::default()).unwrap().run(async {
        let outcome = io::timeout(Duration::from_secs(30), future).await;
        outcome.expect("this takes no half a minute")
    })
}

async fn ask(stream: &mut Stream, question: &[u8]) -> Vec<u8> {
    stream.send(question).await.unwrap();
    let mut answer = vec![0; question.len()];
    stream.read_exact(&mut answer).await.unwrap();
    answer
}

#[test]
fn echoes_small_and_large() {
    let authority = Authority::new("echo");
    let (_loops, bound) = start(&server(&authority, false), echo);
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        let info = stream.tls().unwrap();
        assert_eq!(info.alpn(), Some(&b"two"[..]));
        assert_eq!(
            (info.version(), info.is_resumed()),
            (Some(TlsVersion::V1_3), false)
        );
        assert_eq!(info.peer_certificates().len(), 1);
        for size in [1, 100, 16_384, 16_385, 50_000] {
            let question: Vec<u8> = (0..size).map(|n| n as u8).collect();
            assert_eq!(ask(&mut stream, &question).await, question, "{size} bytes");
        }
        stream.close().await.unwrap();
    });
}

#[test]
fn a_stranger_is_refused() {
    let authority = Authority::new("stranger");
    let other = Authority::new("stranger-other");
    let (_loops, bound) = start(&server(&authority, false), echo);
    let address = bound.address();
    on_a_loop(async {
        let wrong_name = Stream::connect_tls(address, &client(&authority, false), "example.com").await;
        assert!(matches!(wrong_name, Err(Error::Tls(_))), "{wrong_name:?}");
        let wrong_authority = Stream::connect_tls(address, &client(&other, false), "localhost").await;
        assert!(
            matches!(wrong_authority, Err(Error::Tls(_))),
            "{wrong_authority:?}"
        );
    });
}

#[test]
fn a_client_must_show_a_certificate_where_that_is_asked() {
    let authority = Authority::new("client");
    let (_loops, bound) = start(&server(&authority, true), echo);
    on_a_loop(async {
        let with = client(&authority, true);
        let mut stream = Stream::connect_tls(bound.address(), &with, "localhost")
            .await
            .unwrap();
        assert_eq!(ask(&mut stream, b"hello").await, b"hello");
        // In TLS 1.3 a client learns of its refusal only after it believes to have shaken hands.
        let without = client(&authority, false);
        let mut stream = Stream::connect_tls(bound.address(), &without, "localhost")
            .await
            .unwrap();
        let refused = stream.read_exact(&mut [0; 1]).await;
        assert!(
            matches!(refused, Err(Error::Tls(rustls::Error::AlertReceived(_)))),
            "{refused:?}"
        );
    });
}

#[test]
fn a_reload_serves_new_connections_and_keeps_the_old() {
    let authority = Authority::new("reload");
    let tls_server = server(&authority, false);
    let (_loops, bound) = start(&tls_server, echo);
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut old = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        authority.issue("server", &["other.example"]);
        tls_server.reload().unwrap();
        assert!(
            Stream::connect_tls(bound.address(), &client(&authority, false), "localhost")
                .await
                .is_err()
        );
        Stream::connect_tls(bound.address(), &tls, "other.example")
            .await
            .unwrap();
        assert_eq!(ask(&mut old, b"still there").await, b"still there");

        fs::write(authority.path("server.pem"), "nonsense").unwrap();
        assert!(matches!(tls_server.reload(), Err(Error::TlsFile { .. })));
        Stream::connect_tls(bound.address(), &tls, "other.example")
            .await
            .unwrap();
    });
}

#[test]
fn a_goodbye_is_told_from_a_cut() {
    let authority = Authority::new("goodbye");
    let (sender, ends) = std::sync::mpsc::channel();
    let (_loops, bound) = start(&server(&authority, false), move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            let end = loop {
                // Wants ten bytes and never gets them.
                match stream.exchange(|_, _| io::Took::waiting(0, 10)).await {
                    Ok(Exchange::Open) => {}
                    end => break end,
                }
            };
            sender.send(end.map_err(|error| error.is_disconnect())).unwrap();
        }
    });
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        stream.send(&b"abc"[..]).await.unwrap();
        stream.close().await.unwrap();
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        stream.send(&b"abc"[..]).await.unwrap();
        drop(stream);
    });
    let mut ends: Vec<_> = (0..2)
        .map(|_| ends.recv_timeout(Duration::from_secs(20)).unwrap())
        .collect();
    ends.sort_by_key(Result::is_ok);
    assert_eq!(ends, [Err(true), Ok(Exchange::Ended { clean: false })]);
}

#[test]
fn pieces_and_files_arrive_in_order() {
    let authority = Authority::new("pieces");
    let path = authority.path("content");
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
    fs::write(&path, &content).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    let (_loops, bound) = start(&server(&authority, false), move |mut stream: Stream| {
        let file = Arc::clone(&file);
        async move {
            let _ = stream
                .exchange(|input, output| {
                    output.write(b"head ");
                    output.push(vec![b'x'; 200_000]);
                    output.write(b" middle ");
                    output.push(Piece::File {
                        file,
                        offset: 1_000,
                        length: 2_000_000,
                    });
                    output.write(b" tail");
                    input.len()
                })
                .await;
            stream.close().await.unwrap();
        }
    });
    let mut expected = b"head ".to_vec();
    expected.extend_from_slice(&[b'x'; 200_000]);
    expected.extend_from_slice(b" middle ");
    expected.extend_from_slice(&content[1_000..2_001_000]);
    expected.extend_from_slice(b" tail");
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        stream.send(&b"go"[..]).await.unwrap();
        let mut answer = vec![0; expected.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert!(answer == expected);
        assert_eq!(
            stream.exchange(|_, _| 0).await.unwrap(),
            Exchange::Ended { clean: true }
        );
    });
}

#[test]
fn a_handshake_fed_byte_by_byte_succeeds_and_an_endless_one_is_ended() {
    let authority = Authority::new("slow");
    authority.issue("server", &["localhost"]);
    let tls_server = ServerTls::from_files(ServerFiles {
        certificates: vec![authority.files("server")],
        handshake_timeout: Duration::from_secs(3),
        ..ServerFiles::default()
    });
    let (_loops, bound) = start(&tls_server.unwrap(), echo);
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };

    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "ended by the server");

    // A relay between client and server passes on the client's bytes one at a time.
    let between = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let between_address = between.local_addr().unwrap();
    let relay = std::thread::spawn(move || {
        let (mut client, _) = between.accept().unwrap();
        let mut server = TcpStream::connect(address).unwrap();
        server.set_nodelay(true).unwrap();
        let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let back = std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
        let mut byte = [0];
        while client.read(&mut byte).is_ok_and(|count| count == 1) {
            server.write_all(&byte).unwrap();
        }
        let _ = server.shutdown(Shutdown::Write);
        let _ = back.join();
    });
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(&between_address.into(), &tls, "localhost")
            .await
            .unwrap();
        assert!(matches!(stream.peer(), Peer::Tcp(_)));
        assert_eq!(ask(&mut stream, b"drop by drop").await, b"drop by drop");
        stream.close().await.unwrap();
    });
    relay.join().unwrap();
}

#[test]
fn nonsense_is_answered_with_an_alert() {
    let authority = Authority::new("nonsense");
    let (_loops, bound) = start(&server(&authority, false), echo);
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"get key\r\nget key\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert_eq!(answer.first(), Some(&21), "an alert record, not {answer:?}");
}

/// A server that has at most three handshakes in flight and gives each ten minutes.
fn patient_server(authority: &Authority) -> Arc<ServerTls> {
    authority.issue("server", &["localhost"]);
    ServerTls::from_files(ServerFiles {
        certificates: vec![authority.files("server")],
        handshakes_max: 3,
        handshake_timeout: Duration::from_secs(600),
        ..ServerFiles::default()
    })
    .unwrap()
}

/// A handshake record of 16 KiB whose last byte is missing.
fn half_a_hello() -> Vec<u8> {
    let mut half = vec![0_u8; 16 << 10];
    half[..9].copy_from_slice(&[22, 3, 1, 0x40, 0x00, 1, 0, 0x3f, 0xfc]);
    half
}

/// Half handshakes used to cost memory that no limit counted: 9,000 ClientHellos cut short took 187 MiB.
#[test]
fn half_handshakes_are_bounded_in_number_and_counted_in_bytes() {
    let authority = Authority::new("half");
    let tls_server = patient_server(&authority);
    let (loops, bound) = start(&tls_server, echo);
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let half = half_a_hello();
    let mut clients: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(&half).unwrap();
            client
        })
        .collect();
    // Each of the last five ends the oldest of those in flight, in the order in which they came.
    for client in &mut clients[..5] {
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(
            !matches!(client.read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock),
            "it is displaced"
        );
    }
    wait_until(|| loops.statistics().held >= 3 * half.len() as u64 && bound.connections() == 3);
    wait_until(|| tls_server.statistics().handshakes_failed == 5);
    assert_eq!(tls_server.statistics().handshakes_in_flight, 3);
    assert_eq!(tls_server.statistics().handshakes_displaced, 5);
    clients.clear();
    wait_until(|| bound.connections() == 0);
    assert_eq!(tls_server.statistics().handshakes_in_flight, 0);
    assert_eq!(loops.statistics().held, 0);
    let tls = client(&authority, false);
    on_a_loop(async {
        let mut streams = Vec::new();
        for _ in 0..5 {
            let stream = Stream::connect_tls(bound.address(), &tls, "localhost").await;
            streams.push(stream.unwrap());
        }
        assert_eq!(
            ask(&mut streams[4], b"established ones do not count").await.len(),
            29
        );
    });
}

/// As many half handshakes as may be in flight used to keep every other client of the listener waiting until they timed out.
#[test]
fn stalled_handshakes_do_not_keep_other_clients_out() {
    let authority = Authority::new("stalled");
    let tls_server = patient_server(&authority);
    let (loops, bound) = start(&tls_server, echo);
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let half = half_a_hello();
    let _stalled: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(&half).unwrap();
            client
        })
        .collect();
    wait_until(|| loops.statistics().held >= 3 * half.len() as u64);
    let tls = client(&authority, false);
    on_a_loop(async {
        for _ in 0..5 {
            let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
                .await
                .unwrap();
            assert_eq!(ask(&mut stream, b"let me in").await, b"let me in");
        }
    });
    // Each new client takes the permit of one that stalled, or one that another new client has returned.
    assert_eq!(tls_server.statistics().handshakes_displaced, 1);
    wait_until(|| tls_server.statistics().handshakes_in_flight == 2);
}

/// A connection has its permit before its handler calls for the handshake, and the handler may read something else first.
#[test]
fn a_client_that_stalls_before_its_handshake_is_displaced_too() {
    let authority = Authority::new("stalled-before");
    let tls_server = patient_server(&authority);
    let (begin, begun) = std::sync::mpsc::channel();
    let (sender, ends) = std::sync::mpsc::channel();
    let loops = Loops::start(Config {
        workers: 2,
        ..Config::default()
    })
    .unwrap();
    let options = ListenOptions {
        tls: Some(Arc::clone(&tls_server)),
        ..ListenOptions::default()
    };
    let handler = move |mut stream: Stream| {
        let (begin, sender) = (begin.clone(), sender.clone());
        async move {
            begin.send(()).unwrap();
            sender
                .send(stream.exchange(|input, _| input.len()).await)
                .unwrap();
        }
    };
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, handler)
        .unwrap();
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(TcpStream::connect(address).unwrap());
        begun.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    for _ in 0..2 {
        let end = ends.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(
            matches!(end, Err(Error::HandshakeDisplaced { max: 3 })),
            "{end:?}"
        );
    }
    assert!(ends.try_recv().is_err(), "the last three go on");
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "it takes too long");
        std::thread::yield_now();
    }
}

#[test]
fn a_handler_may_read_before_the_handshake() {
    let authority = Authority::new("before");
    let tls_server = server(&authority, false);
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let handler = move |mut stream: Stream| {
        let tls = Arc::clone(&tls_server);
        async move {
            let mut header = Vec::new();
            let taken = stream.exchange(|input, _| {
                let end = input.iter().position(|&byte| byte == b'\n').unwrap() + 1;
                header.extend_from_slice(&input[..end]);
                end
            });
            assert_eq!(taken.await.unwrap(), Exchange::Open);
            assert_eq!(header, b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n");
            stream.accept_tls(&tls).await.unwrap();
            echo(stream).await;
        }
    };
    let address = "127.0.0.1:0".parse().unwrap();
    let bound = loops.listen(&address, ListenOptions::default(), handler).unwrap();
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    // The header and the ClientHello arrive together.
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority.path("ca.pem")).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut first = b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n".to_vec();
    connection.write_tls(&mut first).unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(&first).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, socket);
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
}
