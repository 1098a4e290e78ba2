//! The floor of pushing: every connection is sent the line `tick N` by a bare loop of `send`, `--rate N` times a second.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let rate = std::env::args().skip_while(|argument| argument != "--rate").nth(1);
    let rate: f64 = rate.and_then(|rate| rate.parse().ok()).unwrap_or(10.0);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening {}", listener.local_addr()?);
    std::io::stdout().flush()?;
    let connections = Arc::new(Mutex::new(Vec::new()));
    let accepted = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            let _ = stream.set_nonblocking(true);
            accepted.lock().expect("no thread panics").push(stream);
        }
    });
    let start = Instant::now();
    for tick in 1.. {
        let due = start + Duration::from_secs_f64(tick as f64 / rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let line = format!("tick {tick}\n");
        for stream in connections.lock().expect("no thread panics").iter() {
            // SAFETY: the kernel reads the bytes of `line`; the descriptor is open as long as its stream.
            unsafe {
                libc::send(
                    stream.as_raw_fd(),
                    line.as_ptr().cast(),
                    line.len(),
                    libc::MSG_NOSIGNAL,
                )
            };
        }
    }
    Ok(())
}
