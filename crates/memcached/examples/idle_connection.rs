//! The memory of an idle memcached connection: `cargo run --release -p hikyaku-memcached --example idle_connection -- 10000`.
//!
//! The server runs in this process and counts every byte that it allocates; the clients are another process, so that their
//! memory is not counted. Each connection has had a request and a reply, and then waits.
//!
//! "allocated" counts the bytes that the program asked for. "resident" is the growth of the resident set, which includes the
//! allocator's headers and rounding.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use io::{Config, ListenOptions, Loops};
use kv::Store;
use memcached::{Endpoint, Service, ServiceConfig};

/// The system's allocator, with a count of allocated bytes.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the arguments as they came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller gives a layout of non-zero size, as the trait asks.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of this very function.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller gives a pointer that `alloc` returned for this layout, as the trait asks.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of this very function.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Connections before the first measurement, so that what is allocated once is not counted as theirs.
const WARM_UP: usize = 64;
/// Descriptors that are not connections.
const RESERVED: usize = 128;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let limit = io::open_files_max().saturating_sub(RESERVED);
    match arguments.as_slice() {
        [role, address] if role == "clients" => clients(address),
        [count] => measure(count.parse::<usize>()?.min(limit)),
        _ => measure(10_000.min(limit)),
    }
}

/// Starts a server and the clients, and prints what each connection costs.
fn measure(count: usize) -> Result<()> {
    let (store, _notices) = Store::open("memory:?capacity=64MiB")?;
    let service = Service::new(ServiceConfig::default(), Arc::new(store));
    let endpoint = Endpoint::new(service.clone(), None);
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })?;
    let options = ListenOptions {
        connections_max: count + WARM_UP,
        ..ListenOptions::default()
    };
    let bound = loops.listen(&"127.0.0.1:0".parse()?, options, move |stream| {
        endpoint.clone().serve(stream)
    })?;
    let mut clients = Clients::start(&bound.address().to_string())?;

    clients.connect(WARM_UP)?;
    let before = (ALLOCATED.load(Ordering::SeqCst), resident()?);
    clients.connect(count)?;
    let after = (ALLOCATED.load(Ordering::SeqCst), resident()?);
    assert_eq!(service.connections(), count + WARM_UP);
    let each = |after: usize, before: usize| after.saturating_sub(before) as f64 / count as f64;
    println!("{count} idle connections");
    println!("allocated: {:.0} bytes each", each(after.0, before.0));
    println!("resident:  {:.0} bytes each", each(after.1, before.1));
    clients.end()?;
    loops.stop(Duration::from_secs(1));
    Ok(())
}

/// Bytes of memory that this process has resident.
fn resident() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("no VmRSS")?;
    Ok(kib.trim().parse::<usize>()? * 1024)
}

/// The other process.
struct Clients {
    child: Child,
}

impl Clients {
    fn start(address: &str) -> Result<Clients> {
        let child = Command::new(std::env::current_exe()?)
            .args(["clients", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Clients { child })
    }

    /// Opens `count` more connections and waits until each has had a reply.
    fn connect(&mut self, count: usize) -> Result<()> {
        let input = self.child.stdin.as_mut().ok_or("its input is piped")?;
        writeln!(input, "{count}")?;
        let mut done = [0];
        self.child
            .stdout
            .as_mut()
            .ok_or("its output is piped")?
            .read_exact(&mut done)?;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        Ok(())
    }
}

/// Reads numbers, opens as many connections, and writes a byte when each has had a reply.
fn clients(address: &str) -> Result<()> {
    let mut connections = Vec::new();
    for line in BufReader::new(std::io::stdin()).lines() {
        for _ in 0..line?.parse::<usize>()? {
            let mut connection = TcpStream::connect(address)?;
            connection.write_all(b"get nothing\r\n")?;
            connection.read_exact(&mut [0; 5])?;
            connections.push(connection);
        }
        std::io::stdout().write_all(b".")?;
        std::io::stdout().flush()?;
    }
    Ok(())
}
