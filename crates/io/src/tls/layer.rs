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

use std::os::unix::fs::FileExt;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};

use super::info::{Side, TlsInfo};
use super::{ClientTls, ServerTls, names};
use crate::Error;
use crate::core::{Cipher, WRITABLE};
use crate::piece::Part;
use crate::rest::Rest;
use crate::transport::Wire;

/// Encrypted bytes per read: more than the largest handshake message.
const INPUT_SIZE: usize = 96 << 10;
/// Encrypted bytes per write.
const OUTPUT_SIZE: usize = 72 << 10;
/// Plain bytes encrypted at once.
const CHUNK: usize = 64 << 10;
/// The most plain bytes of one record.
const RECORD: usize = 16 << 10;
/// The most bytes that a record adds to its content.
const RECORD_OVERHEAD: usize = 64;
/// Plain bytes that one attempt to write encrypts before other tasks run.
const WRITE_MAX: u64 = 1 << 20;

/// The state of rustls after a step.
enum Next {
    /// Another step.
    Step,
    /// The peer has sent its `close_notify`; another step.
    PeerClosed,
    /// More input, or nothing.
    Input,
}

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

    // ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Sends as many queued encrypted bytes as the kernel accepts.
    pub(crate) fn flush(&mut self, wire: &Wire) -> Result<(), Error> {
        if !self.outgoing.is_empty() && wire.source.bits() & WRITABLE != 0 {
            let count = wire.write(self.outgoing.bytes())?;
            self.outgoing.consume(count);
        }
        Ok(())
    }

    /// Encrypts and sends parts until the kernel accepts no more, all are sent, or other tasks should run. Returns the
    /// number of plain bytes taken.
    pub(crate) fn write_parts(&mut self, wire: &Wire, parts: &[Part<'_>]) -> Result<u64, Error> {
        self.flush(wire)?;
        let Cipher { output, file, .. } = &mut *wire.source.core.cipher.borrow_mut();
        output.resize(OUTPUT_SIZE, 0);
        let (mut taken, mut used) = (0, 0);
        for part in parts {
            let mut part = *part;
            while part.len() > 0 {
                if self.has_output() || taken >= WRITE_MAX {
                    self.send(wire, &output[..used])?;
                    return Ok(taken);
                }
                let room = room_for_plain(OUTPUT_SIZE - used).min(CHUNK);
                if room < part.len().min(RECORD as u64) as usize {
                    self.send(wire, &output[..used])?;
                    used = 0;
                    continue;
                }
                let room = match part {
                    Part::File { file, offset, length } => {
                        let most = room as u64;
                        wire.cold.ready(&wire.source, file, offset, length, most) as usize
                    }
                    Part::Bytes(_) => room,
                };
                if room == 0 {
                    // The file is being read; what was encrypted before it need not wait.
                    self.send(wire, &output[..used])?;
                    wire.source.clear(WRITABLE);
                    return Ok(taken);
                }
                let plain = read_part(&part, room, file)?;
                used += self.encrypt(Some(plain), &mut output[used..])?;
                taken += plain.len() as u64;
                part = part.skip(plain.len() as u64);
            }
        }
        self.send(wire, &output[..used])?;
        Ok(taken)
    }

    /// Sends encrypted bytes and queues in `outgoing` those that the kernel does not accept.
    fn send(&mut self, wire: &Wire, encrypted: &[u8]) -> Result<(), Error> {
        if encrypted.is_empty() {
            return Ok(());
        }
        let writable = self.outgoing.is_empty() && wire.source.bits() & WRITABLE != 0;
        let sent = if writable { wire.write(encrypted)? } else { 0 };
        if sent < encrypted.len() {
            self.outgoing.append(&encrypted[sent..], 0);
        }
        Ok(())
    }

    /// Encrypts plain bytes, or a `close_notify` if there are none, after messages that TLS itself has to send. Returns
    /// the number of encrypted bytes.
    fn encrypt(&mut self, plain: Option<&[u8]>, output: &mut [u8]) -> Result<usize, Error> {
        let mut used = 0;
        loop {
            let incoming = self.incoming.bytes_mut();
            let output = &mut output[used..];
            let written = match &mut self.info.side {
                Side::Server(connection) => {
                    write_step(connection.process_tls_records(incoming), plain, output)
                }
                Side::Client(connection) => {
                    write_step(connection.process_tls_records(incoming), plain, output)
                }
            }?;
            used += written.bytes;
            self.peer_closed |= written.peer_closed;
            if written.done {
                return Ok(used);
            }
        }
    }

    /// Sends `close_notify`: the peer learns that this is the end of the stream.
    pub(crate) fn close_notify(&mut self, wire: &Wire) -> Result<(), Error> {
        let mut output = [0; 1024];
        let used = self.encrypt(None, &mut output)?;
        self.send(wire, &output[..used])
    }
}

/// Does what rustls wants next when there is input; returns how many bytes of it are consumed.
fn step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    outgoing: &mut Rest,
    sink: &mut dyn FnMut(&[u8]),
) -> (usize, Result<Next, Error>) {
    let mut discard = status.discard;
    let next = match status.state {
        Err(error) => Err(error.into()),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            let mut result = Ok(Next::Step);
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => {
                        discard += record.discard;
                        sink(record.payload);
                    }
                    Err(error) => result = Err(error.into()),
                }
            }
            result
        }
        Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing).map(|()| Next::Step),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            // `outgoing` keeps it, in order, until the kernel accepts it.
            data.done();
            Ok(Next::Step)
        }
        Ok(ConnectionState::PeerClosed) => Ok(Next::PeerClosed),
        // Waiting for the peer, ready to write, or closed. Early data is never accepted.
        Ok(_) => Ok(Next::Input),
    };
    (discard, next)
}

/// Appends a message of TLS's own to the output.
fn encode<Side>(mut data: EncodeTlsData<'_, Side>, outgoing: &mut Rest) -> Result<(), Error> {
    let mut message = Vec::new();
    loop {
        match data.encode(&mut message) {
            Ok(written) => {
                outgoing.append(&message[..written], 0);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(size)) => message.resize(size.required_size, 0),
            Err(error) => return Err(rustls::Error::General(error.to_string()).into()),
        }
    }
}

/// The result of one step towards writing.
struct Written {
    bytes: usize,
    peer_closed: bool,
    done: bool,
}

/// Does what rustls wants before application data, or writes that.
fn write_step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    plain: Option<&[u8]>,
    output: &mut [u8],
) -> Result<Written, Error> {
    let failed = |error: String| Error::from(rustls::Error::General(error));
    // The input contains no complete message, so nothing of it can be consumed.
    debug_assert_eq!(status.discard, 0);
    let (bytes, peer_closed, done) = match (status.state?, plain) {
        (ConnectionState::WriteTraffic(mut traffic), Some(plain)) => (
            traffic
                .encrypt(plain, output)
                .map_err(|error| failed(error.to_string()))?,
            false,
            true,
        ),
        (ConnectionState::WriteTraffic(mut traffic), None) => (
            traffic
                .queue_close_notify(output)
                .map_err(|error| failed(error.to_string()))?,
            false,
            true,
        ),
        (ConnectionState::EncodeTlsData(mut data), _) => (
            data.encode(output).map_err(|error| failed(error.to_string()))?,
            false,
            false,
        ),
        (ConnectionState::TransmitTlsData(data), _) => {
            data.done();
            (0, false, false)
        }
        (ConnectionState::PeerClosed, _) => (0, true, false),
        // Nothing may follow a `close_notify` already sent.
        (ConnectionState::Closed, None) => (0, true, true),
        (state, _) => return Err(failed(format!("cannot write in state {state:?}"))),
    };
    Ok(Written {
        bytes,
        peer_closed,
        done,
    })
}

/// How many plain bytes fit in `room` once encrypted.
fn room_for_plain(room: usize) -> usize {
    // A key update may have to precede them.
    let records = room.div_ceil(RECORD) + 4;
    room.saturating_sub(records * RECORD_OVERHEAD)
}

/// The next bytes of a part; those of a file are read.
fn read_part<'a>(part: &Part<'a>, most: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
    let count = part.len().min(most as u64) as usize;
    match *part {
        Part::Bytes(bytes) => Ok(&bytes[..count]),
        Part::File { file, offset, length } => {
            buffer.resize(CHUNK, 0);
            match file
                .read_at(&mut buffer[..count], offset)
                .map_err(Error::system("pread"))?
            {
                0 => Err(Error::FileEnded { missing: length }),
                count => Ok(&buffer[..count]),
            }
        }
    }
}
