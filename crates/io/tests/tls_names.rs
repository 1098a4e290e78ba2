//! Certificates chosen by name, client certificates, and what a stream tells of its TLS.
#![allow(clippy::unwrap_used)]

mod common;
#[allow(dead_code, unreachable_pub)]
#[path = "../examples/tls_names.rs"]
mod tls_names_example;

use std::fs;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use common::authority::Authority;
use io::tls::{ClientAuth, ClientFiles, ClientTls, ServerFiles, ServerTls, TlsVersion};
use io::{Bound, Config, Error, ListenOptions, Loop, Loops, Stream};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The server's view of a connection.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    name: Option<String>,
    version: Option<TlsVersion>,
    client_certificates: usize,
}

fn serve(files: ServerFiles) -> (Loops, Bound, Arc<ServerTls>, mpsc::Receiver<Seen>) {
    let tls = ServerTls::from_files(files).unwrap();
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let options = ListenOptions {
        tls: Some(Arc::clone(&tls)),
        ..ListenOptions::default()
    };
    let (sender, seen) = mpsc::channel();
    let shared = Arc::clone(&tls);
    let handler = move |mut stream: Stream| {
        let (tls, sender) = (Arc::clone(&shared), sender.clone());
        async move {
            if stream.accept_tls(&tls).await.is_err() {
                return;
            }
            let info = stream.tls().unwrap();
            sender
                .send(Seen {
                    name: info.server_name().map(str::to_owned),
                    version: info.version(),
                    client_certificates: info.peer_certificates().len(),
                })
                .unwrap();
            let _ = stream.send(&b"hello"[..]).await;
            let _ = stream.close().await;
        }
    };
    let bound = loops.listen(&"127.0.0.1:0".parse().unwrap(), options, handler);
    (loops, bound.unwrap(), tls, seen)
}

fn client(authority: &Authority, identity: Option<&str>) -> ClientTls {
    ClientTls::from_files(ClientFiles {
        authorities: authority.path("ca.pem"),
        identity: identity.map(|file| {
            let files = authority.files(file);
            (files.certificate, files.key)
        }),
        alpn: Vec::new(),
    })
    .unwrap()
}

/// Connects and reads a greeting; answers the certificate that the server has shown.
fn certificate_for(bound: &Bound, tls: &ClientTls, name: &str) -> Result<CertificateDer<'static>, Error> {
    let connect = async {
        let mut stream = Stream::connect_tls(bound.address(), tls, name).await?;
        stream.read_exact(&mut [0; 5]).await?;
        Ok(stream.tls().unwrap().peer_certificates()[0].clone())
    };
    Loop::new(Config::default())
        .unwrap()
        .run(async { io::timeout(Duration::from_secs(20), connect).await.unwrap() })
}

fn certificate(authority: &Authority, file: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(authority.files(file).certificate).unwrap()
}

#[test]
fn the_name_that_a_client_asks_for_chooses_the_certificate() {
    let authority = Authority::new("names");
    let certificates = [
        ("default", &["www.example.com"][..]),
        ("wildcard", &["*.Example.com"][..]),
        ("exact", &["mail.example.com", "example.org"][..]),
    ];
    for (file, names) in certificates {
        authority.issue(file, names);
    }
    let (_loops, bound, _, seen) = serve(ServerFiles {
        certificates: certificates.map(|(file, _)| authority.files(file)).to_vec(),
        ..ServerFiles::default()
    });
    let tls = client(&authority, None);
    for (name, file) in [
        ("www.example.com", "default"),
        ("mail.example.com", "exact"),
        ("MAIL.example.com", "exact"),
        ("example.org", "exact"),
        ("anything.example.com", "wildcard"),
    ] {
        let shown = certificate_for(&bound, &tls, name).unwrap();
        assert!(shown == certificate(&authority, file), "{name}");
        let seen = seen.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(seen.name, Some(name.to_ascii_lowercase()));
        assert_eq!(seen.version, Some(TlsVersion::V1_3));
    }
    // A wildcard stands for one label. The default certificate is shown, and these clients know better.
    for name in ["a.b.example.com", "example.com", "unknown.test"] {
        let refused = certificate_for(&bound, &tls, name);
        assert!(matches!(refused, Err(Error::Tls(_))), "{name}: {refused:?}");
    }
}

#[test]
fn a_reload_adds_names() {
    let authority = Authority::new("more-names");
    authority.issue("a", &["a.test"]);
    authority.issue("b", &["b.test"]);
    let (_loops, bound, server, _seen) = serve(ServerFiles {
        certificates: vec![authority.files("a"), authority.files("b")],
        ..ServerFiles::default()
    });
    let tls = client(&authority, None);
    certificate_for(&bound, &tls, "b.test").unwrap();
    assert!(certificate_for(&bound, &tls, "c.test").is_err());
    authority.issue("b", &["c.test"]);
    server.reload().unwrap();
    // A new client, since the first one would resume its session and see no certificate.
    let tls = client(&authority, None);
    assert!(certificate_for(&bound, &tls, "b.test").is_err());
    let shown = certificate_for(&bound, &tls, "c.test").unwrap();
    assert!(shown == certificate(&authority, "b"));
    // A key that belongs to another certificate is refused, and everything stays.
    fs::copy(authority.path("a.key"), authority.path("b.key")).unwrap();
    assert!(matches!(server.reload(), Err(Error::TlsFile { path, .. }) if path == authority.path("b.key")));
    certificate_for(&bound, &tls, "c.test").unwrap();
}

#[test]
fn a_server_needs_a_certificate() {
    let none = ServerTls::from_files(ServerFiles::default());
    assert!(matches!(none, Err(Error::NoCertificate)));
}

#[test]
fn client_certificates_are_requested_or_required_and_can_be_revoked() {
    let authority = Authority::new("clients");
    authority.issue("server", &["localhost"]);
    authority.issue("good", &["good"]);
    let revoked = authority.issue("revoked", &["revoked"]);
    authority.revoke("crl.pem", &[revoked]);
    let files = |client_auth| ServerFiles {
        certificates: vec![authority.files("server")],
        client_ca: Some(authority.path("ca.pem")),
        client_crl: Some(authority.path("crl.pem")),
        client_auth,
        ..ServerFiles::default()
    };
    let (good, revoked) = (
        client(&authority, Some("good")),
        client(&authority, Some("revoked")),
    );
    let anonymous = client(&authority, None);

    let (_loops, bound, _, seen) = serve(files(ClientAuth::Request));
    certificate_for(&bound, &anonymous, "localhost").unwrap();
    assert_eq!(seen.recv().unwrap().client_certificates, 0);
    certificate_for(&bound, &good, "localhost").unwrap();
    assert_eq!(seen.recv().unwrap().client_certificates, 1);
    assert!(certificate_for(&bound, &revoked, "localhost").is_err());

    let (_loops, bound, server, seen) = serve(files(ClientAuth::Require));
    assert!(certificate_for(&bound, &anonymous, "localhost").is_err());
    certificate_for(&bound, &good, "localhost").unwrap();
    assert_eq!(seen.recv().unwrap().client_certificates, 1);
    assert!(certificate_for(&bound, &revoked, "localhost").is_err());
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.statistics().handshakes_failed < 2 {
        assert!(Instant::now() < deadline, "failures are counted");
        std::thread::yield_now();
    }
}

/// The example, asked by `openssl s_client`.
mod example {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use super::common::authority::Authority;
    use super::tls_names_example;
    use io::tls::{ClientAuth, ServerFiles, ServerTls};
    use io::{Address, Bound, Config, ListenOptions, Loops};

    /// The server's report on a connection with these options.
    fn ask(bound: &Bound, authority: &Authority, options: &[&str]) -> String {
        let Address::Tcp(address) = *bound.address() else {
            panic!("not TCP")
        };
        let output = Command::new("openssl")
            .args(["s_client", "-quiet", "-connect", &address.to_string(), "-CAfile"])
            .arg(authority.path("ca.pem"))
            .args(options)
            .stdin(Stdio::null())
            .output()
            .expect("openssl is installed");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn text(path: &Path) -> &str {
        path.to_str().unwrap()
    }

    #[test]
    fn openssl_finds_names_protocols_certificates_and_sessions_on_every_loop() {
        let authority = Authority::new("openssl");
        authority.issue("a", &["a.test"]);
        authority.issue("b", &["*.b.test"]);
        authority.issue("client", &["somebody"]);
        let tls = ServerTls::from_files(ServerFiles {
            certificates: vec![authority.files("a"), authority.files("b")],
            client_ca: Some(authority.path("ca.pem")),
            client_auth: ClientAuth::Request,
            alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            ..ServerFiles::default()
        })
        .unwrap();
        let loops = Loops::start(Config {
            workers: 2,
            ..Config::default()
        })
        .unwrap();
        let options = ListenOptions {
            tls: Some(Arc::clone(&tls)),
            ..ListenOptions::default()
        };
        let shared = Arc::clone(&tls);
        let address: Address = "127.0.0.1:0".parse().unwrap();
        let bound = loops
            .listen(&address, options, move |stream| {
                tls_names_example::serve(stream, Arc::clone(&shared))
            })
            .unwrap();

        let strict = [
            "-verify_return_error",
            "-verify_hostname",
            "x.b.test",
            "-servername",
            "x.b.test",
        ];
        let told = ask(&bound, &authority, &strict);
        assert!(
            told.contains("TLSv1.3") && told.contains("name=x.b.test alpn=- client=0"),
            "{told}"
        );
        let told = ask(
            &bound,
            &authority,
            &["-servername", "a.test", "-alpn", "http/1.1", "-tls1_2"],
        );
        assert!(
            told.contains("TLSv1.2") && told.contains("name=a.test alpn=http/1.1"),
            "{told}"
        );
        let files = authority.files("client");
        let identity = ["-cert", text(&files.certificate), "-key", text(&files.key)];
        let told = ask(&bound, &authority, &identity);
        assert!(told.contains("client=2"), "its chain: {told}");

        // A session is resumed on both loops, also after a reload of new certificates.
        for version in ["-tls1_2", "-tls1_3"] {
            let session = authority.path("session");
            let first = [version, "-servername", "a.test", "-sess_out", text(&session)];
            assert!(
                ask(&bound, &authority, &first).contains("resumed=false"),
                "{version}"
            );
            let again = [version, "-servername", "a.test", "-sess_in", text(&session)];
            let mut told: Vec<String> = (0..4).map(|_| ask(&bound, &authority, &again)).collect();
            tls.reload().unwrap();
            told.push(ask(&bound, &authority, &again));
            assert!(told.iter().all(|told| told.contains("resumed=true")), "{told:?}");
            let on = |index: &str| told.iter().any(|told| told.ends_with(index));
            assert!(on("loop=0") && on("loop=1"), "{told:?}");
        }
    }
}
