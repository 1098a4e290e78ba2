//! One connection: a transport, a client, and the buffers between them.

use crate::client::{Client, Stage};
use crate::tally::Tally;
use crate::transport::Transport;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// A connection to a server with its client.
pub(crate) struct Connection<S> {
    transport: Transport,
    client: S,
    /// Requests written and not answered.
    outstanding: usize,
    /// The time at which the outstanding write was due.
    due: Instant,
    /// An incomplete reply.
    leftover: Vec<u8>,
    /// Requests that the socket has not accepted yet.
    unsent: Vec<u8>,
}

/// The reason why a connection failed.
pub(crate) enum Failure {
    /// The connection was closed or reset.
    Lost(String),
    /// The server sent something other than a reply, which begins like this.
    Nonsense(String),
}

impl<S: Client> Connection<S> {
    pub(crate) fn new(transport: Transport, client: S) -> Connection<S> {
        let (leftover, unsent) = (Vec::new(), Vec::new());
        Connection {
            transport,
            client,
            outstanding: 0,
            due: Instant::now(),
            leftover,
            unsent,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.transport.fd()
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(crate) fn enter(&mut self, stage: Stage) {
        self.client.enter(stage);
    }

    /// Returns true if the socket has not accepted all output.
    pub(crate) fn wants_write(&self) -> bool {
        !self.unsent.is_empty() || self.transport.holds_output()
    }

    /// Writes the next requests, which were due at `due`. Returns false if the client has no more requests.
    pub(crate) fn start(&mut self, due: Instant, scratch: &mut Vec<u8>) -> Result<bool, Failure> {
        debug_assert_eq!(self.outstanding, 0, "the last write is answered");
        scratch.clear();
        self.outstanding = self.client.request(scratch);
        self.due = due;
        let sent = self.write(scratch)?;
        self.unsent.extend_from_slice(&scratch[sent..]);
        Ok(self.outstanding > 0)
    }

    /// Writes the rest of the output.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.write(&unsent)?;
        self.unsent = unsent;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Reads the available input. Returns true if it answers everything outstanding.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], tally: &mut Tally) -> Result<bool, Failure> {
        let before = self.outstanding;
        loop {
            let start = self.leftover.len();
            buffer[..start].copy_from_slice(&self.leftover);
            let read = match self.transport.read(&mut buffer[start..]) {
                Ok(0) => return Err(Failure::Lost("closed by the server".into())),
                Ok(read) => read,
                Err(error) if is_temporary(&error) => break,
                Err(error) => return Err(Failure::Lost(error.to_string())),
            };
            self.take(&buffer[..start + read], tally)?;
            let drained = start + read < buffer.len();
            if drained && !self.transport.holds_input() {
                break;
            }
        }
        if before > self.outstanding {
            tally.answered(before - self.outstanding, self.due.elapsed());
        }
        Ok(before > 0 && self.outstanding == 0)
    }

    fn take(&mut self, input: &[u8], tally: &mut Tally) -> Result<(), Failure> {
        let taken = self.client.reply(input, tally).map_err(Failure::Nonsense)?;
        if taken.requests > self.outstanding {
            return Err(Failure::Nonsense("more replies than there were requests".into()));
        }
        self.outstanding -= taken.requests;
        self.leftover.clear();
        self.leftover.extend_from_slice(&input[taken.bytes..]);
        Ok(())
    }

    /// Writes as much as the socket accepts, and returns the number of bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let mut sent = 0;
        // Under TLS an empty write still sends the bytes that rustls holds.
        while sent < bytes.len() || self.transport.holds_output() {
            match self.transport.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if is_temporary(&error) => break,
                Err(error) => return Err(Failure::Lost(error.to_string())),
            }
            if sent == bytes.len() {
                break;
            }
        }
        Ok(sent)
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
