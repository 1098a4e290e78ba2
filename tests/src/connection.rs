//! A client's end of a connection: blocking, and impatient.

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

/// A connection to a daemon. What is sent leaves at once, in segments of its own.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<Socket>,
}

impl Connection {
    /// Connects to `HOST:PORT` or `unix:PATH`.
    ///
    /// # Panics
    /// If no one listens there.
    pub fn open(address: &str) -> Connection {
        Connection::try_open(address).unwrap_or_else(|error| panic!("connect to {address}: {error}"))
    }

    /// Connects, or tells why not.
    ///
    /// # Errors
    /// What the operating system says.
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
        // Few bytes, so that ten thousand connections weigh little on this side.
        Ok(Connection {
            reader: BufReader::with_capacity(512, socket),
        })
    }

    /// A second handle on the same connection, so that one thread sends what another one's replies answer.
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
    /// If the peer is gone or takes nothing for too long.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the daemon takes what is sent");
    }

    /// Sends all of it, or tells why not.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        match self.reader.get_mut() {
            Socket::Tcp(socket) => socket.write_all(bytes.as_ref()),
            Socket::Unix(socket) => socket.write_all(bytes.as_ref()),
        }
    }

    /// Sends as much as the peer takes, and tells how much that was: it ends when nothing was taken for so long.
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
    /// If the connection ends or nothing comes.
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

    /// The next so many bytes.
    ///
    /// # Panics
    /// If the connection ends before, or nothing comes.
    pub fn exact(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).expect("so many bytes come");
        bytes
    }

    /// Reads until these bytes came, which end the reply, and tells all that came.
    ///
    /// # Panics
    /// If the connection ends before, or nothing comes.
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

    /// Sends a request and fails unless exactly this reply comes.
    ///
    /// # Panics
    /// If another comes.
    pub fn exchange(&mut self, request: impl AsRef<[u8]>, reply: impl AsRef<[u8]>) {
        self.send(&request);
        let reply = reply.as_ref();
        let mut got = vec![0; reply.len()];
        let mut filled = 0;
        // Byte for byte as far as it goes, so that a shorter reply shows itself instead of a time-out.
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

    /// Waits until the daemon read everything that was sent to the same loop before this.
    pub fn sync(&mut self) {
        self.exchange("mn\r\n", "MN\r\n");
    }

    /// Everything until the peer closes. A reset counts as a close.
    ///
    /// # Panics
    /// If the peer keeps the connection open and says nothing.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("it neither closes nor speaks: {error}"),
        }
        bytes
    }

    /// What comes first: a line with its end, or nothing if the peer closed.
    pub fn rest_or_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        let _ = self.reader.read_until(b'\n', &mut line);
        line
    }

    /// Reads so many replies that are all alike, and tells how many came; `None` if the peer closed before the first.
    ///
    /// # Panics
    /// If another reply comes, or the peer closes in the middle.
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

    /// Says that nothing more will be sent, whether or not the peer still cares.
    pub fn finish(&mut self) {
        let _ = match self.reader.get_mut() {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
        };
    }

    /// The statistics of that name (or the general ones, if it is empty), as pairs.
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
