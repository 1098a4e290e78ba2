//! A file server: `cargo run --example files -- 127.0.0.1:7780 DIRECTORY`.
//!
//! Each line names a file; the answer is its length in a line, or `missing`, and its content. Ranges that are not in the page
//! cache are read by a lane of threads, so that the other connections of the loop do not wait for the device.

use std::fs::File;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use io::{Config, Exchange, ListenOptions, Loop, Loops, Piece, Signals, Stream};

/// A file below `directory`.
fn open(directory: &Path, name: &str) -> Option<(Arc<File>, u64)> {
    let name = Path::new(name);
    let below = name.components().all(|part| matches!(part, Component::Normal(_)));
    let file = File::open(below.then(|| directory.join(name))?).ok()?;
    let length = file.metadata().ok().filter(|data| data.is_file())?.len();
    Some((Arc::new(file), length))
}

/// Serves one connection.
pub async fn serve(mut stream: Stream, directory: Arc<PathBuf>) {
    loop {
        let mut name = None;
        let exchange = stream.exchange(|input, _| {
            let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
                return 0;
            };
            name = std::str::from_utf8(&input[..end]).ok().map(str::to_owned);
            end + 1
        });
        if !matches!(exchange.await, Ok(Exchange::Open)) {
            break;
        }
        let Some(name) = name else { continue };
        // Opening a file may wait for the device, too.
        let directory = Arc::clone(&directory);
        let found = io::offload(move || open(&directory, name.trim_end())).await;
        let mut head = Vec::new();
        let _ = match &found {
            Some((_, length)) => writeln!(head, "{length}"),
            None => writeln!(head, "missing"),
        };
        if stream.send(head).await.is_err() {
            break;
        }
        if let Some((file, length)) = found {
            let piece = Piece::File {
                file,
                offset: 0,
                length,
            };
            if stream.send(piece).await.is_err() {
                break;
            }
        }
    }
    let _ = stream.close().await;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7780".to_owned());
    let directory = Arc::new(PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned())));
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config::default())?;
    let bound = loops.listen(&address.parse()?, ListenOptions::default(), move |stream| {
        serve(stream, Arc::clone(&directory))
    })?;
    println!("listening {}", bound.address());
    Loop::new(Config::default())?.run(async {
        let mut signals = Signals::new(&[libc::SIGINT, libc::SIGTERM])?;
        signals.next().await;
        Ok::<_, io::Error>(())
    })?;
    println!("{} cold reads", loops.statistics().cold_reads);
    loops.stop(Duration::from_secs(5));
    Ok(())
}
