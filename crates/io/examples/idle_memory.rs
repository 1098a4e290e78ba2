//! How much user memory an idle connection takes: `cargo run --release --example idle_memory -- 8000`, counting every
//! allocation, after each connection has had a request and a reply.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use io::{Address, Config, Error, Exchange, ListenOptions, Loops};

/// The system's allocator, counting the bytes in use.
struct Counting;

static LENT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the arguments as they came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller gives a layout of non-zero size, as the trait asks.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LENT.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of this very function.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller passes a pointer that `alloc` returned for this layout, as the trait requires.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LENT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of this very function.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(8000);
    // Each connection has both its ends here.
    let count = count.min(io::open_files_max().saturating_sub(64) / 2);
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })?;
    let bound = loops.listen(
        &"127.0.0.1:0".parse()?,
        ListenOptions::default(),
        async |mut stream| {
            let echo = |input: &[u8], output: &mut io::Output| {
                output.write(input);
                input.len()
            };
            while let Ok(Exchange::Open) = stream.exchange(echo).await {}
        },
    )?;
    let Address::Tcp(address) = *bound.address() else {
        return Err(Error::LoopEnded.into());
    };

    let mut clients: Vec<TcpStream> = Vec::with_capacity(count);
    let mut used = || -> Result<(), std::io::Error> {
        let mut client = TcpStream::connect(address)?;
        client.write_all(b"hello")?;
        client.read_exact(&mut [0; 5])?;
        clients.push(client);
        Ok(())
    };
    // The first connections cause one-time allocations, which are not counted.
    (0..16).try_for_each(|_| used())?;
    let before = LENT.load(Ordering::SeqCst);
    (16..count).try_for_each(|_| used())?;
    let after = LENT.load(Ordering::SeqCst);
    let each = (after - before) as f64 / (count - 16) as f64;
    println!("{count} idle connections: {each:.0} bytes each");
    Ok(())
}
