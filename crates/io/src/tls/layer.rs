//! The encryption of one connection, between its socket and the plain bytes that closures see.
//!
//! ```text
//!   wire ──> loop's cipher input ──decrypt──> the loop's input (what does not fit: `plain`)
//!             ^ `incoming`: an incomplete record
//!   wire <── loop's cipher output <──encrypt── the loop's output
//!             v `outgoing`: what the kernel refused
//! ```
//!
//! It uses rustls's unbuffered interface, which keeps no buffers for an idle connection.
//!
//! **Invariant:** after a read `incoming` contains no complete record, so encryption never has to process one first.

mod writing;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;

use super::info::{Side, TlsInfo};
use super::steps::{Next, step};
use super::{ClientTls, ServerTls, names};
use crate::Error;
use crate::rest::Rest;
use crate::transport::Wire;

/// Encrypted bytes per read: more than the largest handshake message.
const INPUT_SIZE: usize = 96 << 10;
/// The most plain bytes of one record.
const RECORD: usize = 16 << 10;

pub(crate) struct TlsLayer {
    info: TlsInfo,
    incoming: Rest,
    plain: Rest,
    outgoing: Rest,
    /// `incoming` has bytes that rustls has not seen.
    unread: bool,
    /// The peer has sent its `close_notify`; without it an end of the stream may be an attacker's.
    peer_closed: bool,
}

impl TlsLayer {
    pub(crate) fn server(tls: &ServerTls) -> Result<TlsLayer, Error> {
        let connection = UnbufferedServerConnection::new(tls.config())?;
        Ok(TlsLayer::new(Side::Server(connection)))
    }

    pub(crate) fn client(tls: &ClientTls, server_name: &str) -> Result<TlsLayer, Error> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| rustls::Error::General(format!("`{server_name}` is not a valid server name")))?;
        let config = tls.config.clone();
        let mut layer = TlsLayer::new(Side::Client(UnbufferedClientConnection::new(config, name)?));
        // The client sends the first message.
        layer.process(&mut [], &mut |_| ()).1?;
        Ok(layer)
    }

    fn new(side: Side) -> TlsLayer {
        let (incoming, plain, outgoing) = Default::default();
        TlsLayer {
            info: TlsInfo::new(side),
            incoming,
            plain,
            outgoing,
            unread: false,
            peer_closed: false,
        }
    }

    /// Takes over bytes that were read from the socket before.
    pub(crate) fn receive(&mut self, bytes: Rest) -> Result<(), Error> {
        if bytes.len() > INPUT_SIZE - RECORD {
            return Err(rustls::Error::General("too much input before the handshake".into()).into());
        }
        self.unread = !bytes.is_empty();
        self.incoming = bytes;
        Ok(())
    }

    pub(crate) fn info(&self) -> &TlsInfo {
        &self.info
    }

    // ── state that the connection queries ────────────────────────────────────────────────────────────────────────

    /// True if a read returns something although the socket is not readable.
    pub(crate) fn has_input(&self) -> bool {
        !self.plain.is_empty() || self.peer_closed
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(crate) fn held(&self) -> usize {
        self.incoming.held() + self.plain.held() + self.outgoing.held()
    }

    /// True if the peer itself has ended the stream, so that it was not truncated.
    pub(crate) fn ended_properly(&self) -> bool {
        self.peer_closed
    }

    /// True if the handshake can go on without further input from the socket.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread
    }

    // ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Reads plain bytes: `None` if there are none yet, 0 at the end of the stream.
    pub(crate) fn read(&mut self, wire: &Wire, destination: &mut [u8]) -> Result<Option<usize>, Error> {
        if !self.plain.is_empty() {
            return Ok(Some(self.plain.take(destination)));
        }
        if self.peer_closed {
            return Ok(Some(0));
        }
        let (count, ended) = self.fill(wire, destination)?;
        Ok(if count > 0 || ended || self.peer_closed {
            Some(count)
        } else {
            None
        })
    }

    /// Reads input of the handshake; returns whether the socket's stream has ended.
    pub(crate) fn read_handshake(&mut self, wire: &Wire) -> Result<bool, Error> {
        let (_, ended) = self.fill(wire, &mut [])?;
        if let Some(name) = names::take_requested() {
            self.info.server_name = Some(name);
        }
        Ok(ended)
    }

    /// Reads once from the socket and decrypts all complete records. Returns the number of bytes written to `destination`
    /// and whether the socket's stream has ended.
    fn fill(&mut self, wire: &Wire, destination: &mut [u8]) -> Result<(usize, bool), Error> {
        let buffers = &mut *wire.source.core.cipher.borrow_mut();
        if buffers.input.is_empty() {
            buffers.input.resize(INPUT_SIZE, 0);
        }
        self.unread = false;
        let kept = self.incoming.take(&mut buffers.input);
        // As much as `destination` has room for once it is decrypted, but at least one record.
        let most = (kept + destination.len().max(RECORD + 2048)).min(buffers.input.len());
        if most == kept {
            return Err(rustls::Error::General("a handshake message is too large".into()).into());
        }
        let read = wire.read(&mut buffers.input[kept..most])?;
        let filled = kept + read.unwrap_or(0);
        let mut count = 0;
        let mut overflow = std::mem::take(&mut self.plain);
        let (used, result) = self.process(&mut buffers.input[..filled], &mut |payload| {
            let fits = payload.len().min(destination.len() - count);
            destination[count..count + fits].copy_from_slice(&payload[..fits]);
            count += fits;
            if fits < payload.len() {
                overflow.append(&payload[fits..], 0);
            }
        });
        self.plain = overflow;
        if let Err(error) = result {
            self.send_alert(wire, &mut buffers.input[used..filled]);
            return Err(error);
        }
        if used < filled {
            self.incoming.append(&buffers.input[used..filled], 0);
        }
        self.flush(wire)?;
        Ok((count, read == Some(0)))
    }

    /// Has rustls process encrypted bytes until it wants more; returns how many it has consumed.
    fn process(&mut self, input: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> (usize, Result<(), Error>) {
        let mut used = 0;
        loop {
            let (discard, next) = self.step(&mut input[used..], sink);
            used += discard;
            match next {
                Ok(Next::Step) => {}
                Ok(Next::PeerClosed) => self.peer_closed = true,
                Ok(Next::Input) => return (used, Ok(())),
                Err(error) => return (used, Err(error)),
            }
        }
    }

    fn step(&mut self, input: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> (usize, Result<Next, Error>) {
        match &mut self.info.side {
            Side::Server(connection) => step(connection.process_tls_records(input), &mut self.outgoing, sink),
            Side::Client(connection) => step(connection.process_tls_records(input), &mut self.outgoing, sink),
        }
    }

    /// Sends the alert for an error, if the socket accepts it at once. `input` is what follows the faulty record.
    fn send_alert(&mut self, wire: &Wire, input: &mut [u8]) {
        // One step encodes the alert; a second step would fail with the same error.
        let _ = self.step(input, &mut |_| ());
        let _ = self.flush(wire);
    }
}
