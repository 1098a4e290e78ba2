//! A self-signed certificate is trusted by who names it as an authority, for its names and its time only.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::authority::Directory;
use io::tls::{CertificateFiles, ClientFiles, ClientTls, ServerFiles, ServerTls};
use io::{Bound, Config, Error, ListenOptions, Loop, Loops, Stream};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

/// Writes `NAME.pem` and `NAME.key`, as `openssl req -x509` makes them: a server's certificate that is an authority.
fn self_signed(directory: &Directory, name: &str, last_year: i32) -> CertificateFiles {
    let mut parameters = CertificateParams::new(vec!["server.example".to_owned()]).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.not_before = date_time_ymd(2000, 1, 1);
    parameters.not_after = date_time_ymd(last_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let files = CertificateFiles {
        certificate: directory.path().join(format!("{name}.pem")),
        key: directory.path().join(format!("{name}.key")),
    };
    fs::write(&files.certificate, parameters.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

fn serve(certificate: &CertificateFiles) -> (Loops, Bound) {
    let tls = ServerTls::from_files(ServerFiles {
        certificates: vec![certificate.clone()],
        ..ServerFiles::default()
    });
    let (loops, tls) = (Loops::start(Config::default()).unwrap(), tls.unwrap());
    let options = ListenOptions {
        tls: Some(tls.clone()),
        ..ListenOptions::default()
    };
    let handler = move |mut stream: Stream| {
        let tls = tls.clone();
        async move {
            let _ = stream.accept_tls(&tls).await;
        }
    };
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), options, handler)
        .unwrap();
    (loops, bound)
}

fn connect(bound: &Bound, authorities: &Path, name: &str) -> Result<(), Error> {
    let tls = ClientTls::from_files(ClientFiles {
        authorities: authorities.to_owned(),
        ..ClientFiles::default()
    });
    let address = bound.address().clone();
    let mut client = Loop::new(Config::default()).unwrap();
    client.run(async move { Stream::connect_tls(&address, &tls.unwrap(), name).await.map(drop) })
}

#[test]
fn a_certificate_that_is_named_is_trusted() {
    let directory = Directory::new("self-signed");
    let certificate = self_signed(&directory, "server", 2999);
    let other = self_signed(&directory, "other", 2999);
    let (loops, bound) = serve(&certificate);
    connect(&bound, &certificate.certificate, "server.example").unwrap();
    assert!(
        connect(&bound, &certificate.certificate, "other.example").is_err(),
        "another name"
    );
    assert!(
        connect(&bound, &other.certificate, "server.example").is_err(),
        "another certificate"
    );
    loops.stop(Duration::ZERO);
}

#[test]
fn a_certificate_that_has_expired_is_not() {
    let directory = Directory::new("self-signed-expired");
    let certificate = self_signed(&directory, "server", 2001);
    let (loops, bound) = serve(&certificate);
    let error = connect(&bound, &certificate.certificate, "server.example").unwrap_err();
    assert!(error.to_string().contains("xpired"), "{error}");
    loops.stop(Duration::ZERO);
}
