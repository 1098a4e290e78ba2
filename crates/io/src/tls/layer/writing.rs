//! Encryption of what is to be sent, and the bytes that the kernel refuses.

use std::os::unix::fs::FileExt;

use super::{RECORD, TlsLayer};
use crate::Error;
use crate::core::{Cipher, WRITABLE};
use crate::piece::Part;
use crate::tls::info::Side;
use crate::tls::steps::write_step;
use crate::transport::Wire;

/// Encrypted bytes per write.
const OUTPUT_SIZE: usize = 72 << 10;
/// Plain bytes encrypted at once.
const CHUNK: usize = 64 << 10;
/// The most bytes that a record adds to its content.
const RECORD_OVERHEAD: usize = 64;
/// Plain bytes that one attempt to write encrypts before other tasks run.
const WRITE_MAX: u64 = 1 << 20;

impl TlsLayer {
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
