//! TLS with several names: `cargo run --example tls_names -- 127.0.0.1:7782 CLIENT_CA CERTIFICATE KEY [CERTIFICATE KEY]...`
//!
//! Tells each client in one line what its handshake has settled. Certificates are chosen by the name asked for; client
//! certificates are welcome but not required (CLIENT_CA may be `-`); sessions are resumed on whichever loop; SIGHUP reads the
//! files again.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use io::tls::{CertificateFiles, ClientAuth, ServerFiles, ServerTls, TlsInfo};
use io::{Config, ListenOptions, Loop, Loops, Signals, Stream};

fn describe(info: &TlsInfo) -> Vec<u8> {
    let mut line = Vec::new();
    let _ = writeln!(
        line,
        "{} {} name={} alpn={} client={} resumed={} loop={}",
        info.version().map_or("none", |version| version.name()),
        info.cipher().unwrap_or("none"),
        info.server_name().unwrap_or("-"),
        info.alpn().map_or("-".into(), String::from_utf8_lossy),
        info.peer_certificates().len(),
        info.is_resumed(),
        io::loop_index(),
    );
    line
}

/// Serves one connection, from its handshake on.
pub async fn serve(mut stream: Stream, tls: Arc<ServerTls>) {
    // A failure is logged and counted already.
    if stream.accept_tls(&tls).await.is_ok() {
        let line = stream.tls().map(describe).unwrap_or_default();
        if stream.send(line).await.is_ok() {
            let _ = stream.close().await;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:7782".to_owned())
        .parse()?;
    let client_ca = arguments.next().filter(|path| path != "-").map(Into::into);
    let mut certificates = Vec::new();
    while let (Some(certificate), Some(key)) = (arguments.next(), arguments.next()) {
        certificates.push(CertificateFiles {
            certificate: certificate.into(),
            key: key.into(),
        });
    }
    let tls = ServerTls::from_files(ServerFiles {
        certificates,
        client_ca,
        client_auth: ClientAuth::Request,
        alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        ..ServerFiles::default()
    })?;
    let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
    Signals::block(&signals)?;
    let loops = Loops::start(Config::default())?;
    let options = ListenOptions {
        tls: Some(Arc::clone(&tls)),
        ..ListenOptions::default()
    };
    let shared = Arc::clone(&tls);
    let bound = loops.listen(&address, options, move |stream| {
        serve(stream, Arc::clone(&shared))
    })?;
    println!("listening {}", bound.address());
    Loop::new(Config::default())?.run(async {
        let mut signals = Signals::new(&signals)?;
        while signals.next().await == libc::SIGHUP {
            let tls = Arc::clone(&tls);
            match io::offload(move || tls.reload()).await {
                Ok(()) => println!("reloaded"),
                Err(error) => println!("kept the old certificates: {error}"),
            }
        }
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(5));
    Ok(())
}
