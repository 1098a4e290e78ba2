//! The floor of relaying: what each connection brings is sent on by hand-written epoll, with one buffer for all of them.
//!
//! `tunnel UPSTREAM` connects to the upstream server for each client. Edge-triggered, registered once; a read that does not
//! fill the buffer is the last one before the next event. It keeps nothing that a socket refuses, has no limits and hands on
//! no half-close: it is only good for small messages, whose cost it shows.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

const BUFFER_SIZE: usize = 64 * 1024;
const EVENTS_MAX: usize = 256;
const LISTENER: u64 = u64::MAX;

/// One direction: where bytes come from, and the index of where they go.
struct Side {
    stream: TcpStream,
    other: usize,
}

fn register(epoll: RawFd, fd: RawFd, token: u64, events: i32) {
    let mut event = libc::epoll_event {
        events: events as u32,
        u64: token,
    };
    // SAFETY: both descriptors are open, `event` lives through the call.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
}

fn main() -> std::io::Result<()> {
    let upstream = std::env::args().nth(1).expect("usage: tunnel UPSTREAM");
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening {}", listener.local_addr()?);
    // SAFETY: takes no pointers.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    register(epoll, listener.as_raw_fd(), LISTENER, libc::EPOLLIN);
    let mut sides: Vec<Side> = Vec::new();
    let mut buffer = vec![0; BUFFER_SIZE];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
    loop {
        // SAFETY: `events` has room for EVENTS_MAX.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), EVENTS_MAX as i32, -1) };
        for event in &events[..count.max(0) as usize] {
            if event.u64 == LISTENER {
                let pair = [listener.accept()?.0, TcpStream::connect(&upstream)?];
                for (index, stream) in pair.into_iter().enumerate() {
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    let interest = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
                    register(epoll, stream.as_raw_fd(), sides.len() as u64, interest);
                    // The sides of a pair stand next to each other.
                    let other = sides.len() + 1 - 2 * index;
                    sides.push(Side { stream, other });
                }
            } else if event.events & libc::EPOLLIN as u32 != 0 {
                let side = &sides[event.u64 as usize];
                if let Ok(count @ 1..) = (&side.stream).read(&mut buffer) {
                    let _ = (&sides[side.other].stream).write(&buffer[..count]);
                }
            }
        }
    }
}
