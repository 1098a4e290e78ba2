//! A connected socket that never blocks: TCP or Unix, plain or under TLS.

use crate::target::Address;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// The time that a server has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes to and from a server.
pub(crate) enum Transport {
    Plain(Socket),
    Tls(Box<Tls>),
}

/// The system's socket.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A socket with the TLS state over it.
pub(crate) struct Tls {
    socket: Socket,
    connection: ClientConnection,
}

impl Transport {
    /// Connects, with the handshake under TLS; no later call blocks.
    pub(crate) fn connect(address: &Address, tls: Option<&Arc<ClientConfig>>) -> io::Result<Transport> {
        let mut socket = Socket::connect(address)?;
        let Some(config) = tls else {
            socket.set_nonblocking()?;
            return Ok(Transport::Plain(socket));
        };
        let name = server_name(address)?;
        let mut connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        socket.set_nonblocking()?;
        Ok(Transport::Tls(Box::new(Tls { socket, connection })))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Plain(socket) => socket.fd(),
            Transport::Tls(tls) => tls.socket.fd(),
        }
    }

    /// Reads the available bytes; `WouldBlock` without any, 0 if the server has closed.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(buffer),
            Transport::Tls(tls) => tls.read(buffer),
        }
    }

    /// Writes as much as fits; `WouldBlock` if nothing does.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            Transport::Tls(tls) => tls.write(bytes),
        }
    }

    /// Returns true if accepted bytes have not been written to the socket yet.
    pub(crate) fn holds_output(&self) -> bool {
        matches!(self, Transport::Tls(tls) if tls.connection.wants_write())
    }

    /// Returns true if decrypted input may be buffered, which a poll of the socket would not report.
    pub(crate) fn holds_input(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }
}

impl Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                result => return result,
            }
            if self.connection.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            self.connection.process_new_packets().map_err(io::Error::other)?;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let accepted = self.connection.writer().write(bytes)?;
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(_) => (),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if accepted == 0 && !bytes.is_empty() {
            Err(ErrorKind::WouldBlock.into())
        } else {
            Ok(accepted)
        }
    }
}

impl Socket {
    fn connect(address: &Address) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
            Address::Tcp(host) => connect_tcp(host).map(Socket::Tcp),
        }
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_nonblocking(true),
            Socket::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connect_tcp(host: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in std::net::ToSocketAddrs::to_socket_addrs(host)? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn server_name(address: &Address) -> io::Result<ServerName<'static>> {
    let host = match address {
        Address::Tcp(host) => host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host),
        Address::Unix(_) => "localhost",
    };
    let host = host.trim_matches(|c| c == '[' || c == ']').to_string();
    ServerName::try_from(host).map_err(io::Error::other)
}
