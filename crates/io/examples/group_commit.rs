//! A log whose lines are answered once they are on the device: `cargo run --example group_commit -- 127.0.0.1:7778 FILE`.
//!
//! Each line is appended to the file and answered by `stored END`, the file's length after it. The reply is written at once and
//! held back; one `fsync` at a time runs on a lane of its own, and what it covers is released together, on every loop.

use std::fs::File;
use std::io::{self as std_io, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use io::{Config, Exchange, ListenOptions, Loop, Loops, Offload, Reply, Signal, Signals, Stream};

/// Replies of one connection that wait for a commit.
const OPEN_MAX: usize = 64;

/// A file that many connections on many loops append to.
pub struct Log {
    file: Arc<File>,
    end: Mutex<u64>,
    /// How much of the file is on the device; `u64::MAX` once a commit has failed.
    durable: Signal,
    failed: AtomicBool,
    committing: AtomicBool,
    commits: AtomicU64,
    lane: Offload,
}

impl Log {
    /// An empty log.
    pub fn new(file: File) -> Arc<Log> {
        Arc::new(Log {
            file: Arc::new(file),
            end: Mutex::new(0),
            durable: Signal::default(),
            failed: AtomicBool::new(false),
            committing: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            lane: Offload::new("fsync", 1, 1),
        })
    }

    /// How many times `fsync` was called.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// How much of the file is on the device.
    pub fn durable_to(&self) -> u64 {
        self.durable.epoch()
    }

    fn end(&self) -> u64 {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends to the page cache; returns the end of the log.
    fn append(&self, line: &[u8]) -> std_io::Result<u64> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        self.file.write_all_at(line, *end)?;
        *end += line.len() as u64;
        Ok(*end)
    }

    /// Has the end of this turn begin a commit, unless one runs: that one goes on with what it does not cover.
    fn commit_soon(self: &Arc<Self>) {
        if !self.committing.swap(true, Ordering::SeqCst) {
            let log = Arc::clone(self);
            io::at_turn_end(move || io::spawn(log.commit()).detach());
        }
    }

    async fn commit(self: Arc<Self>) {
        loop {
            let end = self.end();
            let file = Arc::clone(&self.file);
            let synced = self.lane.run(move || file.sync_data()).await;
            self.commits.fetch_add(1, Ordering::Relaxed);
            if !matches!(synced, Ok(Ok(()))) {
                // The kernel may have dropped the pages: a second attempt would prove nothing.
                self.failed.store(true, Ordering::SeqCst);
                return self.durable.advance_to(u64::MAX);
            }
            self.durable.advance_to(end);
            self.committing.store(false, Ordering::SeqCst);
            if self.end() == end || self.committing.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Releases a reply when the log is durable up to `end`, or aborts it.
    async fn release(self: Arc<Self>, mut reply: Reply, end: u64) {
        self.durable.at_least(end).await;
        if self.failed.load(Ordering::SeqCst) {
            reply.abort();
        } else {
            reply.release();
        }
    }
}

/// Serves one connection.
pub async fn serve(mut stream: Stream, log: Arc<Log>) {
    let replies = stream.replies(OPEN_MAX);
    loop {
        let exchange = stream.exchange(|input, _| {
            let whole = input
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
            if whole == 0 {
                return 0;
            }
            // One reply for all lines of this exchange.
            let Some(mut reply) = replies.open() else { return 0 };
            reply.hold_back();
            let mut last = 0;
            for line in input[..whole].split_inclusive(|&byte| byte == b'\n') {
                match log.append(line) {
                    Ok(end) => last = end,
                    Err(_) => {
                        reply.abort();
                        return whole;
                    }
                }
                reply.with(|output| {
                    let _ = writeln!(output.buffer(), "stored {last}");
                });
            }
            log.commit_soon();
            io::spawn(Arc::clone(&log).release(reply, last)).detach();
            whole
        });
        if !matches!(exchange.await, Ok(Exchange::Open)) {
            break;
        }
    }
    let _ = stream.close().await;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7778".to_owned());
    let path = arguments.next().unwrap_or_else(|| "group_commit.log".to_owned());
    let log = Log::new(File::create(path)?);
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config::default())?;
    let shared = Arc::clone(&log);
    let bound = loops.listen(&address.parse()?, ListenOptions::default(), move |stream| {
        serve(stream, Arc::clone(&shared))
    })?;
    println!("listening {}", bound.address());
    Loop::new(Config::default())?.run(async {
        let mut signals = Signals::new(&[libc::SIGINT, libc::SIGTERM])?;
        signals.next().await;
        Ok::<_, io::Error>(())
    })?;
    loops.stop(std::time::Duration::from_secs(5));
    println!("{} commits", log.commits());
    Ok(())
}
