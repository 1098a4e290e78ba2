//! A counter to wait for: `cargo run --example long_poll -- 127.0.0.1:7779`.
//!
//! `advance` adds one and answers `epoch N`. `wait N` answers `epoch M` as soon as the counter is N or greater, or `timeout`
//! after half a minute. A waiting client may be on another loop than the one that advances.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use io::{Config, Exchange, ListenOptions, Loop, Loops, Signal, Signals, Stream};

/// How long a poll waits.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);

enum Request {
    Advance,
    Wait(u64),
    Unknown,
}

/// The next request of the input and its length, once its line is whole.
fn parse(input: &[u8]) -> Option<(Request, usize)> {
    let end = input.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&input[..end]).unwrap_or_default().trim();
    let request = match line.split_once(' ') {
        None if line == "advance" => Request::Advance,
        Some(("wait", epoch)) => epoch.parse().map_or(Request::Unknown, Request::Wait),
        _ => Request::Unknown,
    };
    Some((request, end + 1))
}

/// Serves one connection.
pub async fn serve(mut stream: Stream, signal: Arc<Signal>) {
    loop {
        let mut request = None;
        let exchange = stream.exchange(|input, _| {
            let parsed = parse(input);
            let used = parsed.as_ref().map_or(0, |&(_, used)| used);
            request = parsed.map(|(request, _)| request);
            used
        });
        if !matches!(exchange.await, Ok(Exchange::Open)) {
            break;
        }
        let epoch = match request {
            None => continue,
            Some(Request::Advance) => Some(signal.advance()),
            Some(Request::Wait(epoch)) => io::timeout(POLL_TIMEOUT, signal.at_least(epoch)).await,
            Some(Request::Unknown) => break,
        };
        let mut answer = Vec::new();
        let _ = match epoch {
            Some(epoch) => writeln!(answer, "epoch {epoch}"),
            None => writeln!(answer, "timeout"),
        };
        if stream.send(answer).await.is_err() {
            break;
        }
    }
    let _ = stream.close().await;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1);
    let address = address.unwrap_or_else(|| "127.0.0.1:7779".to_owned()).parse()?;
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config::default())?;
    let signal = Arc::new(Signal::default());
    let bound = loops.listen(&address, ListenOptions::default(), move |stream| {
        serve(stream, Arc::clone(&signal))
    })?;
    println!("listening {}", bound.address());
    Loop::new(Config::default())?.run(async {
        let mut signals = Signals::new(&[libc::SIGINT, libc::SIGTERM])?;
        signals.next().await;
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(5));
    Ok(())
}
