//! TLS sessions that clients resume: on every loop, across reloads, and not beyond the authority that admitted them.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::authority::Authority;
use io::tls::{ServerFiles, ServerTls};
use io::{Address, Bound, Clock, Config, Exchange, ListenOptions, Loops, Stream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

const VERSIONS: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

async fn echo(mut stream: Stream, tls: Arc<ServerTls>) {
    if stream.accept_tls(&tls).await.is_err() {
        return;
    }
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            output.write(input);
            input.len()
        })
        .await
    {}
    let _ = stream.close().await;
}

fn serve(tls: &Arc<ServerTls>, workers: usize) -> (Loops, Bound) {
    let loops = Loops::start(Config {
        workers,
        ..Config::default()
    })
    .unwrap();
    let options = ListenOptions {
        tls: Some(Arc::clone(tls)),
        ..ListenOptions::default()
    };
    let tls = Arc::clone(tls);
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, move |stream| {
            echo(stream, Arc::clone(&tls))
        })
        .unwrap();
    (loops, bound)
}

fn certificates(path: PathBuf) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

/// A client that shows a certificate of `identity` and keeps the sessions it is given.
fn client(
    version: &'static SupportedProtocolVersion,
    server: &Authority,
    identity: &Authority,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for root in certificates(server.path("ca.pem")) {
        roots.add(root).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            certificates(identity.path("client.pem")),
            PrivateKeyDer::from_pem_file(identity.path("client.key")).unwrap(),
        )
        .unwrap();
    Arc::new(config)
}

/// Connects and has a byte echoed, after which the client has its tickets; answers how the handshake went.
fn ask(bound: &Bound, config: &Arc<ClientConfig>) -> std::io::Result<HandshakeKind> {
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(b"x")?;
    stream.read_exact(&mut [0; 1])?;
    Ok(stream.conn.handshake_kind().unwrap())
}

fn server_files(authority: &Authority, client_ca: PathBuf) -> ServerFiles {
    authority.issue("server", &["localhost"]);
    ServerFiles {
        certificates: vec![authority.files("server")],
        client_ca: Some(client_ca),
        ..ServerFiles::default()
    }
}

/// A client of the old authority resumed its session after a reload had put another in its place: the tickets were
/// encrypted by a key that outlived the verifier, and resuming asks for no certificate.
#[test]
fn a_session_does_not_outlive_the_authority_that_admitted_it() {
    for version in VERSIONS {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        old.issue("client", &["somebody"]);
        new.issue("client", &["somebody"]);
        let client_ca = old.path("client-ca.pem");
        fs::copy(old.path("ca.pem"), &client_ca).unwrap();
        let tls = ServerTls::from_files(server_files(&old, client_ca.clone())).unwrap();
        let (_loops, bound) = serve(&tls, 1);

        let admitted = client(version, &old, &old);
        assert_eq!(ask(&bound, &admitted).unwrap(), HandshakeKind::Full);
        assert_eq!(ask(&bound, &admitted).unwrap(), HandshakeKind::Resumed);

        fs::copy(new.path("ca.pem"), &client_ca).unwrap();
        tls.reload().unwrap();
        let after = ask(&bound, &admitted);
        assert!(after.is_err(), "{version:?}: {after:?}");
        let newly = client(version, &old, &new);
        assert_eq!(ask(&bound, &newly).unwrap(), HandshakeKind::Full);
        assert_eq!(ask(&bound, &newly).unwrap(), HandshakeKind::Resumed);
    }
}

/// A session of a certificate that a reload has removed was resumed: the client saw no certificate, and went on trusting a key
/// that may have been taken out of service because it was stolen.
#[test]
fn a_session_does_not_outlive_the_certificate_of_the_server() {
    for version in VERSIONS {
        let authority = Authority::new("removed");
        authority.issue("client", &["somebody"]);
        authority.issue("other", &["other.test"]);
        let mut files = server_files(&authority, authority.path("ca.pem"));
        files.certificates.push(authority.files("other"));
        let tls = ServerTls::from_files(files).unwrap();
        let (_loops, bound) = serve(&tls, 1);
        let config = client(version, &authority, &authority);
        assert_eq!(ask(&bound, &config).unwrap(), HandshakeKind::Full);
        tls.reload().unwrap();
        assert_eq!(
            ask(&bound, &config).unwrap(),
            HandshakeKind::Resumed,
            "all is as before"
        );
        // Another one of its certificates is enough: a session does not tell which one it was begun with.
        authority.issue("other", &["other.test"]);
        tls.reload().unwrap();
        assert_eq!(ask(&bound, &config).unwrap(), HandshakeKind::Full, "{version:?}");
        assert_eq!(ask(&bound, &config).unwrap(), HandshakeKind::Resumed);
    }
}

/// The key of a ticket encrypts for one period and decrypts for one more, also if the server was idle meanwhile.
#[test]
fn tickets_expire_with_their_keys() {
    const PERIOD: Duration = Duration::from_secs(3600);
    for version in VERSIONS {
        let authority = Authority::new("rotation");
        authority.issue("client", &["somebody"]);
        let clock = Clock::manual();
        let tls = ServerTls::from_files(ServerFiles {
            ticket_rotation: PERIOD,
            clock: clock.clone(),
            ..server_files(&authority, authority.path("ca.pem"))
        })
        .unwrap();
        let (_loops, bound) = serve(&tls, 2);
        // A client with a ticket of the period that begins after so many others.
        let ticket_holder = |periods: u32| {
            clock.advance(PERIOD * periods);
            let config = client(version, &authority, &authority);
            assert_eq!(ask(&bound, &config).unwrap(), HandshakeKind::Full);
            config
        };
        let resumes = |config| ask(&bound, config).unwrap() == HandshakeKind::Resumed;
        let first = ticket_holder(0);
        let second = ticket_holder(1);
        assert!(resumes(&second), "{version:?}: its key encrypts");
        clock.advance(PERIOD);
        assert!(!resumes(&first), "{version:?}: its key is forgotten");
        assert!(resumes(&second), "{version:?}: its key still decrypts");
        let third = ticket_holder(0);
        clock.advance(2 * PERIOD);
        assert!(
            !resumes(&third),
            "{version:?}: no connection came while its key decrypted"
        );
    }
}
