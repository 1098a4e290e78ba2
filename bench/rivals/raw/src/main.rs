//! Answers lines with hand-written epoll: the lower bound for the cost of a loop.
//!
//! Edge-triggered, registered once; one input and one output buffer for all connections. A connection has a buffer of its
//! own only for a part of a line or for replies that the socket did not accept.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

const BUFFER_SIZE: usize = 64 * 1024;
const EVENTS_MAX: usize = 256;
const LISTENER: u64 = u64::MAX;

struct Connection {
    stream: TcpStream,
    /// The length of an unfinished line. Its content has no meaning here, but a real server would have to keep it.
    partial: Vec<u8>,
    unsent: Vec<u8>,
}

struct Server {
    epoll: RawFd,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    reply: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
}

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("listening {}", listener.local_addr()?);
    // SAFETY: takes no pointers.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    let input = vec![0; BUFFER_SIZE];
    let mut server = Server {
        epoll,
        listener,
        connections: Vec::new(),
        reply: reply(),
        input,
        output: Vec::new(),
    };
    server.register(server.listener.as_raw_fd(), LISTENER, libc::EPOLLIN);
    server.run()
}

/// The bytes of every reply: as many as `--reply` says.
fn reply() -> Vec<u8> {
    let size = std::env::args()
        .skip_while(|argument| argument != "--reply")
        .nth(1);
    vec![b'r'; size.and_then(|size| size.parse().ok()).unwrap_or(400)]
}

impl Server {
    fn register(&self, fd: RawFd, token: u64, events: i32) {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token,
        };
        // SAFETY: both descriptors are open, `event` lives through the call.
        unsafe { libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    }

    fn run(&mut self) -> std::io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        loop {
            // SAFETY: `events` has room for EVENTS_MAX.
            let count = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), EVENTS_MAX as i32, -1) };
            for event in &events[..count.max(0) as usize] {
                match event.u64 {
                    LISTENER => self.accept()?,
                    token => self.serve(token as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> std::io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let (fd, token) = (stream.as_raw_fd(), stream.as_raw_fd() as usize);
            if token >= self.connections.len() {
                self.connections.resize_with(token + 1, || None);
            }
            self.connections[token] = Some(Connection {
                stream,
                partial: Vec::new(),
                unsent: Vec::new(),
            });
            self.register(
                fd,
                token as u64,
                libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
            );
        }
    }

    fn serve(&mut self, token: usize) {
        let Server {
            connections,
            reply,
            input,
            output,
            ..
        } = self;
        let Some(connection) = connections[token].as_mut() else {
            return;
        };
        if connection.turn(reply, input, output).is_err() {
            connections[token] = None;
        }
    }
}

impl Connection {
    fn turn(&mut self, reply: &[u8], input: &mut [u8], output: &mut Vec<u8>) -> std::io::Result<()> {
        while self.flush()? {
            let held = self.partial.len();
            input[..held].copy_from_slice(&self.partial);
            let read = match self.stream.read(&mut input[held..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let filled = &input[..held + read];
            output.clear();
            let mut used = 0;
            while let Some(end) = memchr::memchr(b'\n', &filled[used..]) {
                output.extend_from_slice(reply);
                used += end + 1;
            }
            self.partial.clear();
            self.partial.extend_from_slice(&filled[used..]);
            self.write(output)?;
            // A read that did not fill the buffer has drained the socket; the next edge reports more.
            if held + read < input.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn write(&mut self, output: &[u8]) -> std::io::Result<()> {
        let mut sent = 0;
        while sent < output.len() {
            match self.stream.write(&output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(&output[sent..]);
        Ok(())
    }

    /// True if nothing is left unsent.
    fn flush(&mut self) -> std::io::Result<bool> {
        if !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            self.write(&unsent)?;
        }
        Ok(self.unsent.is_empty())
    }
}
