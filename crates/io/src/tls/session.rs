//! One connection's TLS, between the bare bytes and those that closures see.
//!
//! ```text
//!   wire ──> loop's cipher input ──decrypt──> the loop's input (what does not fit: `plain`)
//!             ^ `incoming`: an incomplete record
//!   wire <── loop's cipher output <──encrypt── the loop's output
//!             v `outgoing`: what the kernel refused
//! ```
//!
//! It uses rustls's unbuffered interface, which lends no memory of its own to a connection at rest.
//!
//! **Invariant:** after a read `incoming` holds no complete record, so that encrypting never stumbles over one.

use std::os::unix::fs::FileExt;
use std::task::{Context, Poll};

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};

use crate::Error;
use crate::connection::Connection;
use crate::rest::Rest;
use crate::source::{READABLE, WRITABLE};
use crate::tls::{ClientTls, ServerTls};
use crate::transport::{Part, Wire};

/// Encrypted bytes that are read at once: more than the largest handshake message.
const INPUT_SIZE: usize = 96 << 10;
/// Encrypted bytes that are sent at once.
const OUTPUT_SIZE: usize = 72 << 10;
/// Plain bytes that are encrypted at once.
const CHUNK: usize = 64 << 10;
/// Plain bytes of a record, at most.
const RECORD: usize = 16 << 10;
/// What a record has beyond its content, at most.
const RECORD_OVERHEAD: usize = 64;
/// Plain bytes that one attempt to write encrypts before others have their turn.
const WRITE_MAX: u64 = 1 << 20;

/// The encrypted side of a loop's buffers.
#[derive(Default)]
pub(crate) struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
    file: Vec<u8>,
}

enum Side {
    Server(UnbufferedServerConnection),
    Client(UnbufferedClientConnection),
}

/// What rustls wants next.
enum Step {
    /// To be asked again.
    Again,
    /// The peer has said that it is done.
    PeerClosed,
    /// More from the peer, or nothing.
    Rest,
}

pub(crate) struct Session {
    side: Side,
    incoming: Rest,
    plain: Rest,
    outgoing: Rest,
    /// The peer has said that it is done, as opposed to being cut off.
    peer_closed: bool,
}

impl Session {
    pub(crate) fn server(tls: &ServerTls) -> Result<Session, Error> {
        Ok(Session::new(Side::Server(UnbufferedServerConnection::new(
            tls.config(),
        )?)))
    }

    pub(crate) fn client(tls: &ClientTls, server_name: &str) -> Result<Session, Error> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| rustls::Error::General(format!("`{server_name}` is no server name")))?;
        let config = tls.config.clone();
        let mut session = Session::new(Side::Client(UnbufferedClientConnection::new(config, name)?));
        // The client speaks first.
        session.process(&mut [], &mut |_| ()).1?;
        Ok(session)
    }

    fn new(side: Side) -> Session {
        let (incoming, plain, outgoing) = Default::default();
        Session {
            side,
            incoming,
            plain,
            outgoing,
            peer_closed: false,
        }
    }

    // ── what the connection asks ─────────────────────────────────────────────────────────────────────────────────

    /// Whether a read brings something although the wire is not readable.
    pub(crate) fn has_input(&self) -> bool {
        !self.plain.is_empty() || self.peer_closed
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(crate) fn held(&self) -> usize {
        self.incoming.held() + self.plain.held() + self.outgoing.held()
    }

    pub(crate) fn ended_properly(&self) -> bool {
        self.peer_closed
    }

    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        match &self.side {
            Side::Server(connection) => connection.alpn_protocol(),
            Side::Client(connection) => connection.alpn_protocol(),
        }
    }

    fn is_handshaking(&self) -> bool {
        match &self.side {
            Side::Server(connection) => connection.is_handshaking(),
            Side::Client(connection) => connection.is_handshaking(),
        }
    }

    // ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Reads plain bytes; `None` when none are there, 0 at the end of the stream.
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

    /// Reads once from the wire and decrypts all that is complete; answers how many bytes it put to `destination`, and
    /// whether the wire has ended.
    fn fill(&mut self, wire: &Wire, destination: &mut [u8]) -> Result<(usize, bool), Error> {
        let buffers = &mut *wire.source.core.cipher.borrow_mut();
        if buffers.input.is_empty() {
            buffers.input.resize(INPUT_SIZE, 0);
        }
        let kept = self.incoming.take(&mut buffers.input);
        // No more than what has room when it is decrypted, but one record at least.
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

    /// Has rustls look at encrypted bytes until it wants more; answers how many it is done with.
    fn process(&mut self, input: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> (usize, Result<(), Error>) {
        let mut used = 0;
        loop {
            let (discard, step) = self.step(&mut input[used..], sink);
            used += discard;
            match step {
                Ok(Step::Again) => {}
                Ok(Step::PeerClosed) => self.peer_closed = true,
                Ok(Step::Rest) => return (used, Ok(())),
                Err(error) => return (used, Err(error)),
            }
        }
    }

    fn step(&mut self, input: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> (usize, Result<Step, Error>) {
        match &mut self.side {
            Side::Server(connection) => step(connection.process_tls_records(input), &mut self.outgoing, sink),
            Side::Client(connection) => step(connection.process_tls_records(input), &mut self.outgoing, sink),
        }
    }

    /// Tells the peer what it did wrong, if it can be told at once. `input` is what it sent beyond that.
    fn send_alert(&mut self, wire: &Wire, input: &mut [u8]) {
        // One step hands out the alert; a second would find the error again and be surprised.
        let _ = self.step(input, &mut |_| ());
        let _ = self.flush(wire);
    }

    // ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Sends what the kernel takes of the encrypted bytes that wait.
    pub(crate) fn flush(&mut self, wire: &Wire) -> Result<(), Error> {
        if !self.outgoing.is_empty() && wire.source.bits() & WRITABLE != 0 {
            let count = wire.write(self.outgoing.bytes())?;
            self.outgoing.consume(count);
        }
        Ok(())
    }

    /// Encrypts and sends parts until the kernel refuses, all are taken, or it is the others' turn; answers how many
    /// plain bytes were taken.
    pub(crate) fn write_parts(&mut self, wire: &Wire, parts: &[Part<'_>]) -> Result<u64, Error> {
        self.flush(wire)?;
        let Buffers { output, file, .. } = &mut *wire.source.core.cipher.borrow_mut();
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
                let plain = read_part(&part, room, file)?;
                used += self.encrypt(Some(plain), &mut output[used..])?;
                taken += plain.len() as u64;
                part = part.skip(plain.len() as u64);
            }
        }
        self.send(wire, &output[..used])?;
        Ok(taken)
    }

    /// Sends encrypted bytes; what the kernel refuses waits in `outgoing`.
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

    /// Encrypts plain bytes, or with none says that we are done, after whatever TLS has to say itself; answers how many
    /// encrypted ones they are.
    fn encrypt(&mut self, plain: Option<&[u8]>, output: &mut [u8]) -> Result<usize, Error> {
        let mut used = 0;
        loop {
            let incoming = self.incoming.bytes_mut();
            let output = &mut output[used..];
            let written = match &mut self.side {
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

    /// Says that we are done, in TLS's own words.
    pub(crate) fn say_goodbye(&mut self, wire: &Wire) -> Result<(), Error> {
        let mut output = [0; 1024];
        let used = self.encrypt(None, &mut output)?;
        self.send(wire, &output[..used])
    }
}

/// Does what rustls wants next when there is input; answers how many bytes of that are done with.
fn step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    outgoing: &mut Rest,
    sink: &mut dyn FnMut(&[u8]),
) -> (usize, Result<Step, Error>) {
    let mut discard = status.discard;
    let step = match status.state {
        Err(error) => Err(error.into()),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            let mut result = Ok(Step::Again);
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
        Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing).map(|()| Step::Again),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            // It is kept, in order, until the kernel takes it.
            data.done();
            Ok(Step::Again)
        }
        Ok(ConnectionState::PeerClosed) => Ok(Step::PeerClosed),
        // Waiting for the peer, ready to write, closed; and early data, which we never accept.
        Ok(_) => Ok(Step::Rest),
    };
    (discard, step)
}

/// Puts a message of TLS's own behind what is to be sent.
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

/// What a step towards writing has done.
struct Written {
    bytes: usize,
    peer_closed: bool,
    done: bool,
}

/// Does what rustls wants before we may write, or writes.
fn write_step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    plain: Option<&[u8]>,
    output: &mut [u8],
) -> Result<Written, Error> {
    let failed = |error: String| Error::from(rustls::Error::General(error));
    // There is no complete message in the input, so nothing of that is done with.
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
        // Nothing more may be said; as a goodbye that is well.
        (ConnectionState::Closed, None) => (0, true, true),
        (state, _) => return Err(failed(format!("cannot write in state {state:?}"))),
    };
    Ok(Written {
        bytes,
        peer_closed,
        done,
    })
}

/// How many plain bytes can be encrypted to so much room.
fn room_for_plain(room: usize) -> usize {
    // A key update may have to go before.
    let records = room.div_ceil(RECORD) + 4;
    room.saturating_sub(records * RECORD_OVERHEAD)
}

/// The next bytes of a part, read if it is a file's.
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

impl Connection {
    /// Drives the handshake to its end.
    pub(crate) fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Poll::Ready(Ok(()));
            };
            if !tls.is_handshaking() && !tls.has_output() {
                return Poll::Ready(Ok(()));
            }
            let bits = self.wire.source.bits();
            let interest = if tls.has_output() { WRITABLE } else { READABLE };
            if bits & interest == 0 {
                self.wire.source.wait(context, interest);
                return Poll::Pending;
            }
            if tls.has_output() {
                tls.flush(&self.wire)?;
            } else if let (0, true) = tls.fill(&self.wire, &mut [])? {
                return Poll::Ready(Err(Error::UnexpectedEnd { missing: 1 }));
            }
        }
    }
}
