//! A complete key-value server on all processors: only the logic is here, the loop brings the rest.
//!
//! ```text
//! $ cargo run --release --example keyvalue -- 127.0.0.1:7379
//! $ printf 'set fruit apple\nget fruit\ndelete fruit\nget fruit\n' | nc -N 127.0.0.1 7379
//! ok
//! apple
//! ok
//! none
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use io::{Config, Exchange, ListenOptions, Loop, Loops, OnFull, Output, Signals, Stream};

/// Bytes of a line, at most.
const LINE_MAX: usize = 16 << 10;
/// Locks, so that loops seldom wait for each other.
const STRIPES: usize = 64;

type Table = HashMap<Box<[u8]>, Box<[u8]>>;

/// The table, shared by all loops.
struct Store {
    hasher: RandomState,
    stripes: Vec<Mutex<Table>>,
}

impl Store {
    fn new() -> Store {
        Store {
            hasher: RandomState::new(),
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
        }
    }

    fn stripe(&self, key: &[u8]) -> MutexGuard<'_, Table> {
        let stripe = self.hasher.hash_one(key) as usize % STRIPES;
        // Every method leaves the table consistent, so a panic of another thread has not damaged it.
        self.stripes[stripe]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one line.
    fn answer(&self, line: &[u8], output: &mut Output) {
        let mut words = line.splitn(3, |&byte| byte == b' ');
        match (words.next(), words.next(), words.next()) {
            (Some(b"get"), Some(key), None) => match self.stripe(key).get(key) {
                Some(value) => output.write(value),
                None => output.write(b"none"),
            },
            (Some(b"set"), Some(key), Some(value)) => {
                self.stripe(key).insert(key.into(), value.into());
                output.write(b"ok");
            }
            (Some(b"delete"), Some(key), None) => {
                let removed = self.stripe(key).remove(key).is_some();
                output.write(if removed { b"ok" } else { b"none" });
            }
            _ => output.write(b"error: get KEY, set KEY VALUE or delete KEY"),
        }
        output.write(b"\n");
    }
}

/// One connection's life. All lines that came are answered together; a part of a line waits for its rest.
async fn serve(mut stream: Stream, store: Arc<Store>) {
    let mut too_long = false;
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            let mut used = 0;
            while let Some(end) = input[used..].iter().position(|&byte| byte == b'\n') {
                let line = &input[used..used + end];
                store.answer(line.strip_suffix(b"\r").unwrap_or(line), output);
                used += end + 1;
                if output.full() {
                    // The rest is offered again once this has left.
                    return used;
                }
            }
            too_long = input.len() - used > LINE_MAX;
            used
        })
        .await
    {
        if too_long {
            let _ = stream.send(&b"error: a line is too long\n"[..]).await;
            break;
        }
    }
    // A client that disconnects early gets no reply.
    let _ = stream.close().await;
}

fn main() -> Result<(), io::Error> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7379".to_owned())
        .parse()?;
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let store = Arc::new(Store::new());
    let loops = Loops::start(Config::default())?;
    let options = ListenOptions {
        connections_max: 10_000.min(io::open_files_max()),
        on_full: OnFull::Refuse(b"error: too many connections\n"),
        ..ListenOptions::default()
    };
    let bound = loops.listen(&address, options, move |stream| serve(stream, Arc::clone(&store)))?;
    println!("listening {} on {} loops", bound.address(), loops.len());

    // The main thread waits for a signal, on a loop of its own.
    Loop::new(Config::default())?.run(async {
        let signal = Signals::new(&[libc::SIGINT, libc::SIGTERM])?.next().await;
        println!("signal {signal}: {:?}", loops.statistics());
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(5));
    Ok(())
}
