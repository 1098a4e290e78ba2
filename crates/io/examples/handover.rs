//! A server that replaces itself without losing a connection: `cargo run --example handover -- 127.0.0.1:7781`.
//!
//! Each line is answered by the number of the process that serves it. On SIGUSR2 the process starts its successor, which
//! inherits the listening sockets; once that serves, this one finishes its connections and ends.

#![allow(unsafe_code)]

use std::io::{PipeWriter, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use io::{Bound, Config, Exchange, Listen, ListenOptions, Loop, Loops, Signals, Stream};

/// The descriptor on which a successor reports that it is ready; the listening sockets follow it.
const READY: i32 = 3;

async fn serve(mut stream: Stream) {
    let answer = format!("{}\n", std::process::id());
    let count = |input: &[u8]| input.iter().filter(|&&byte| byte == b'\n').count();
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            output.write(answer.repeat(count(input)).as_bytes());
            input.len()
        })
        .await
    {}
    let _ = stream.close().await;
}

/// Starts this program again with our sockets, and waits until it serves.
async fn start_successor(bound: &Bound) -> Result<(), Box<dyn std::error::Error>> {
    let sockets = bound.sockets()?;
    let (reader, writer) = std::io::pipe()?;
    let mut command = spawn::Command::new("/proc/self/exe");
    command.arg("--inherit").arg(sockets.len().to_string());
    command.descriptor(READY, OwnedFd::from(writer));
    for (target, socket) in (READY + 1..).zip(sockets) {
        command.descriptor(target, socket);
    }
    let successor = command.start()?;
    drop(command);
    Stream::pipe(reader)?.read_exact(&mut [0]).await?;
    // It outlives us.
    std::mem::forget(successor);
    Ok(())
}

/// The inherited sockets, and the pipe on which to report that we are ready.
fn inherited(count: &str) -> Result<(Listen, PipeWriter), std::num::ParseIntError> {
    let count: i32 = count.parse()?;
    // SAFETY: our predecessor has put these descriptors here for us, and nothing else knows of them.
    let owned = |fd| unsafe { OwnedFd::from_raw_fd(fd) };
    let sockets: Vec<OwnedFd> = (READY + 1..=READY + count).map(owned).collect();
    Ok((sockets.into(), PipeWriter::from(owned(READY))))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let signals = [libc::SIGUSR2, libc::SIGINT, libc::SIGTERM];
    Signals::block(&signals)?;
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_else(|| "127.0.0.1:7781".to_owned());
    let (listen, ready) = match &*first {
        "--inherit" => {
            inherited(&arguments.next().unwrap_or_default()).map(|(on, ready)| (on, Some(ready)))?
        }
        address => (Listen::Bind(address.parse()?), None),
    };
    let loops = Loops::start(Config::default())?;
    let bound = loops.listen(listen, ListenOptions::default(), serve)?;
    match ready {
        Some(mut ready) => ready.write_all(b"!")?,
        None => println!("listening {}", bound.address()),
    }
    Loop::new(Config::default())?.run(async {
        let mut signals = Signals::new(&signals)?;
        while signals.next().await == libc::SIGUSR2 {
            match start_successor(&bound).await {
                Ok(()) => break,
                Err(error) => eprintln!("cannot start a successor: {error}"),
            }
        }
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(10));
    Ok(())
}
