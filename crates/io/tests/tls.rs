//! TLS behind the same stream, both sides, over real sockets.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use io::tls::{ClientFiles, ClientTls, ServerFiles, ServerTls};
use io::{Address, Bound, Config, Error, ListenOptions, Loop, Loops, Peer, Piece, Stream, Turn};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// An authority, and what it issued for a server and a client, in a directory that goes with it.
struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let directory = std::env::temp_dir().join(format!("hikyaku-io-tls-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        fs::write(directory.join("ca.pem"), certificate.pem()).unwrap();
        Authority {
            directory,
            issuer: Issuer::new(parameters, key),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    fn issue(&self, file: &str, name: &str) {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.path(&format!("{file}.pem")), certificate.pem()).unwrap();
        fs::write(self.path(&format!("{file}.key")), key.serialize_pem()).unwrap();
    }

    fn server(&self, client_ca: bool) -> Arc<ServerTls> {
        self.issue("server", "localhost");
        ServerTls::from_files(ServerFiles {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            client_ca: client_ca.then(|| self.path("ca.pem")),
            alpn: vec![b"one".to_vec(), b"two".to_vec()],
        })
        .unwrap()
    }

    fn client(&self, identity: bool) -> ClientTls {
        self.issue("client", "somebody");
        let identity = identity.then(|| (self.path("client.pem"), self.path("client.key")));
        let alpn = vec![b"two".to_vec()];
        ClientTls::from_files(ClientFiles {
            authorities: self.path("ca.pem"),
            identity,
            alpn,
        })
        .unwrap()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

async fn echo(mut stream: Stream) {
    while let Ok(Turn::Open) = stream
        .turn(|input, output| {
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
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, handler)
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
    let (_loops, bound) = start(&authority.server(false), echo);
    let tls = authority.client(false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        assert!(stream.is_tls());
        assert_eq!(stream.alpn(), Some(&b"two"[..]));
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
    let (_loops, bound) = start(&authority.server(false), echo);
    let address = bound.address();
    on_a_loop(async {
        let wrong_name = Stream::connect_tls(address, &authority.client(false), "example.com").await;
        assert!(matches!(wrong_name, Err(Error::Tls(_))), "{wrong_name:?}");
        let wrong_authority = Stream::connect_tls(address, &other.client(false), "localhost").await;
        assert!(
            matches!(wrong_authority, Err(Error::Tls(_))),
            "{wrong_authority:?}"
        );
    });
}

#[test]
fn a_client_must_show_a_certificate_where_that_is_asked() {
    let authority = Authority::new("client");
    let (_loops, bound) = start(&authority.server(true), echo);
    on_a_loop(async {
        let with = authority.client(true);
        let mut stream = Stream::connect_tls(bound.address(), &with, "localhost")
            .await
            .unwrap();
        assert_eq!(ask(&mut stream, b"hello").await, b"hello");
        // In TLS 1.3 a client learns of its refusal only after it believes to have shaken hands.
        let without = authority.client(false);
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
    let server = authority.server(false);
    let (_loops, bound) = start(&server, echo);
    let tls = authority.client(false);
    on_a_loop(async {
        let mut old = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        authority.issue("server", "other.example");
        server.reload().unwrap();
        assert!(
            Stream::connect_tls(bound.address(), &authority.client(false), "localhost")
                .await
                .is_err()
        );
        Stream::connect_tls(bound.address(), &tls, "other.example")
            .await
            .unwrap();
        assert_eq!(ask(&mut old, b"still there").await, b"still there");

        fs::write(authority.path("server.pem"), "nonsense").unwrap();
        assert!(matches!(server.reload(), Err(Error::TlsFile { .. })));
        Stream::connect_tls(bound.address(), &tls, "other.example")
            .await
            .unwrap();
    });
}

#[test]
fn a_goodbye_is_told_from_a_cut() {
    let authority = Authority::new("goodbye");
    let (sender, ends) = std::sync::mpsc::channel();
    let (_loops, bound) = start(&authority.server(false), move |mut stream: Stream| {
        let sender = sender.clone();
        async move {
            let end = loop {
                // Wants ten bytes and never gets them.
                match stream
                    .turn(|_, _| io::Took {
                        consumed: 0,
                        need: 10,
                    })
                    .await
                {
                    Ok(Turn::Open) => {}
                    end => break end,
                }
            };
            sender.send(end.map_err(|error| error.is_disconnect())).unwrap();
        }
    });
    let tls = authority.client(false);
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
    assert_eq!(ends, [Err(true), Ok(Turn::Closed)]);
}

#[test]
fn pieces_and_files_arrive_in_order() {
    let authority = Authority::new("pieces");
    let path = authority.path("content");
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
    fs::write(&path, &content).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    let (_loops, bound) = start(&authority.server(false), move |mut stream: Stream| {
        let file = Arc::clone(&file);
        async move {
            let _ = stream
                .turn(|input, output| {
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
    let tls = authority.client(false);
    on_a_loop(async {
        let mut stream = Stream::connect_tls(bound.address(), &tls, "localhost")
            .await
            .unwrap();
        stream.send(&b"go"[..]).await.unwrap();
        let mut answer = vec![0; expected.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert!(answer == expected);
        assert_eq!(stream.turn(|_, _| 0).await.unwrap(), Turn::Closed);
    });
}

#[test]
fn a_handshake_fed_byte_by_byte_succeeds_and_an_endless_one_is_ended() {
    let authority = Authority::new("slow");
    let server = authority.server(false);
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let handshake_timeout = Duration::from_millis(300);
    let options = ListenOptions {
        tls: Some(server),
        handshake_timeout,
        ..ListenOptions::default()
    };
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, echo)
        .unwrap();
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };

    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "ended by the server");

    // Between client and server stands one who passes the client's bytes on one at a time.
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
    let tls = authority.client(false);
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
    let (_loops, bound) = start(&authority.server(false), echo);
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
