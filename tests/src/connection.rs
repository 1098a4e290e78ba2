//! The client's end of a connection: blocking, with a timeout.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::PATIENCE;

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(buffer),
            Socket::Unix(socket) => socket.read(buffer),
        }
    }
}

/// A connection to a daemon. Each send leaves at once, in segments of its own.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<Socket>,
}

impl Connection {
    /// Connects to `HOST:PORT` or `unix:PATH`.
    ///
    /// # Panics
    /// If nothing listens there.
    pub fn open(address: &str) -> Connection {
        Connection::try_open(address).unwrap_or_else(|error| panic!("connect to {address}: {error}"))
    }

    /// Connects.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn try_open(address: &str) -> std::io::Result<Connection> {
        let socket = match address.strip_prefix("unix:") {
            Some(path) => {
                let socket = UnixStream::connect(path)?;
                socket.set_read_timeout(Some(PATIENCE))?;
                socket.set_write_timeout(Some(PATIENCE))?;
                Socket::Unix(socket)
            }
            None => {
                let socket = TcpStream::connect(address)?;
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(PATIENCE))?;
                socket.set_write_timeout(Some(PATIENCE))?;
                Socket::Tcp(socket)
            }
        };
        // A small buffer, so that ten thousand connections need little memory on this side.
        Ok(Connection {
            reader: BufReader::with_capacity(512, socket),
        })
    }

    /// A second handle for the same connection, so that one thread can send while another receives.
    ///
    /// # Panics
    /// If the operating system refuses.
    pub fn twin(&self) -> Connection {
        let socket = match self.reader.get_ref() {
            Socket::Tcp(socket) => Socket::Tcp(socket.try_clone().expect("one more descriptor")),
            Socket::Unix(socket) => Socket::Unix(socket.try_clone().expect("one more descriptor")),
        };
        Connection {
            reader: BufReader::with_capacity(512, socket),
        }
    }

    /// Sends all of it.
    ///
    /// # Panics
    /// If the peer is gone, or accepts nothing for too long.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the daemon takes what is sent");
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        match self.reader.get_mut() {
            Socket::Tcp(socket) => socket.write_all(bytes.as_ref()),
            Socket::Unix(socket) => socket.write_all(bytes.as_ref()),
        }
    }

    /// Sends as much as the peer accepts, and returns the number of bytes. It ends when the peer has accepted nothing for this
    /// long.
    ///
    /// # Panics
    /// If the connection breaks.
    pub fn send_until_blocked(&mut self, bytes: &[u8], patience: Duration) -> usize {
        let socket = match self.reader.get_mut() {
            Socket::Tcp(socket) => socket,
            Socket::Unix(_) => panic!("only over TCP"),
        };
        socket.set_write_timeout(Some(patience)).expect("a time-out");
        let mut sent = 0;
        while sent < bytes.len() {
            match socket.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => panic!("after {sent} bytes: {error}"),
            }
        }
        socket.set_write_timeout(Some(PATIENCE)).expect("a time-out");
        sent
    }

    /// The next line, without its end.
    ///
    /// # Panics
    /// If the connection ends, or if nothing arrives.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        let count = self.reader.read_until(b'\n', &mut line).expect("a line comes");
        assert!(count > 0, "the connection ended where a line was awaited");
        assert!(
            line.ends_with(b"\r\n"),
            "not a whole line: {:?}",
            String::from_utf8_lossy(&line)
        );
        line.truncate(line.len() - 2);
        String::from_utf8(line).expect("text")
    }

    /// The next `count` bytes.
    ///
    /// # Panics
    /// If the connection ends first, or if nothing arrives.
    pub fn exact(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).expect("so many bytes come");
        bytes
    }

    /// Reads until these bytes, which end the reply, and returns everything read.
    ///
    /// # Panics
    /// If the connection ends first, or if nothing arrives.
    pub fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end) {
            let before = bytes.len();
            let last = end[end.len() - 1];
            self.reader.read_until(last, &mut bytes).expect("more comes");
            assert!(
                bytes.len() > before,
                "the connection ended after {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
        bytes
    }

    /// Sends a request and fails unless exactly this reply arrives.
    ///
    /// # Panics
    /// If another reply arrives.
    pub fn exchange(&mut self, request: impl AsRef<[u8]>, reply: impl AsRef<[u8]>) {
        self.send(&request);
        let reply = reply.as_ref();
        let mut got = vec![0; reply.len()];
        let mut filled = 0;
        // Compares every byte as it arrives, so that a shorter reply is reported instead of a timeout.
        while filled < got.len() && got[..filled] == reply[..filled] {
            match self.reader.read(&mut got[filled..]) {
                Ok(count @ 1..) => filled += count,
                _ => break,
            }
        }
        let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        assert!(
            &got[..filled] == reply,
            "to {:?} came {:?}, not {:?}",
            shown(request.as_ref()),
            shown(&got[..filled]),
            shown(reply)
        );
    }

    /// Waits until the daemon has read everything that was sent to the same loop before.
    pub fn sync(&mut self) {
        self.exchange("mn\r\n", "MN\r\n");
    }

    /// Everything until the peer closes. A reset counts as a close.
    ///
    /// # Panics
    /// If the peer neither sends nor closes.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("it neither closes nor speaks: {error}"),
        }
        bytes
    }

    /// The next line with its end; empty if the peer has closed.
    pub fn rest_or_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        let _ = self.reader.read_until(b'\n', &mut line);
        line
    }

    /// Reads up to `count` identical replies and returns their number; `None` if the peer closed before the first.
    ///
    /// # Panics
    /// If another reply arrives, or if the peer closes in the middle of one.
    pub fn replies(&mut self, reply: &[u8], count: u64) -> Option<u64> {
        let mut got = vec![0; reply.len()];
        for number in 0..count {
            match self.reader.read_exact(&mut got) {
                Ok(()) => assert_eq!(got, reply),
                Err(_) if number == 0 => return None,
                Err(error) => panic!("after {number} of {count} replies: {error}"),
            }
        }
        Some(count)
    }

    /// Shuts down the sending direction. The peer may be gone already.
    pub fn finish(&mut self) {
        let _ = match self.reader.get_mut() {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    /// The statistics of this group, or the general ones if it is empty, as pairs.
    pub fn statistics(&mut self, of: &str) -> std::collections::BTreeMap<String, String> {
        self.send(format!("stats {of}").trim_end().to_owned() + "\r\n");
        let mut all = std::collections::BTreeMap::new();
        loop {
            let line = self.line();
            if line == "END" {
                return all;
            }
            let mut words = line.splitn(3, ' ');
            assert_eq!(words.next(), Some("STAT"), "{line:?}");
            let name = words.next().unwrap_or_default().to_owned();
            all.insert(name, words.next().unwrap_or_default().to_owned());
        }
    }
}
