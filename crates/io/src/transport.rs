//! The bare bytes of a connection, before TLS: a socket or an end of a pair, and its readiness.
//!
//! **Invariant:** after a read or a write that took less than was offered the readiness is cleared, so that the next
//! one waits for an event and no system call is spent on being refused.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::cold::Cold;
use crate::core::{READABLE, WRITABLE};
use crate::pair::End;
use crate::piece::Part;
use crate::source::Source;
use crate::{Error, sys};

/// Bytes that one attempt to write hands to the kernel before others have their turn.
const WRITE_MAX: u64 = 1 << 20;

pub(crate) enum Transport {
    Socket(OwnedFd),
    /// One end of a pipe, or whatever else is read and written without being a socket.
    Pipe(OwnedFd),
    /// Boxed, so that it does not enlarge the others, of which there are many more.
    Memory(Box<End>),
}

pub(crate) struct Wire {
    pub(crate) source: Source,
    pub(crate) transport: Transport,
    /// The file that is being sent, if it is not in memory.
    pub(crate) cold: Cold,
}

impl Wire {
    /// Reads what is there; `None` when nothing is, 0 at the end of the stream.
    #[inline]
    pub(crate) fn read(&self, destination: &mut [u8]) -> Result<Option<usize>, Error> {
        let result = match &self.transport {
            Transport::Socket(fd) => sys::recv(fd, destination),
            Transport::Pipe(fd) => sys::read(fd, destination),
            Transport::Memory(end) => end.read(destination),
        };
        match result {
            Ok(count) => {
                if count < destination.len() {
                    self.source.drained();
                } else {
                    self.source.touch();
                }
                Ok(Some(count))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.source.clear(READABLE);
                Ok(None)
            }
            Err(error) => Err(Error::System {
                operation: "recv",
                source: error,
            }),
        }
    }

    /// The socket to which a plain `send` goes, if there is one.
    #[inline]
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        match &self.transport {
            Transport::Socket(fd) => Some(fd.as_raw_fd()),
            Transport::Pipe(_) | Transport::Memory(_) => None,
        }
    }

    /// Writes what the kernel takes.
    #[inline]
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, Error> {
        let result = match &self.transport {
            Transport::Socket(fd) => sys::send(fd.as_raw_fd(), bytes),
            Transport::Pipe(fd) => sys::write_vectored(fd, &[IoSlice::new(bytes)]),
            Transport::Memory(end) => end.write(bytes),
        };
        self.wrote(result, bytes.len(), "send")
    }

    #[inline]
    fn wrote(
        &self,
        result: io::Result<usize>,
        asked: usize,
        operation: &'static str,
    ) -> Result<usize, Error> {
        match result {
            Ok(count) => {
                self.source.wrote(count == asked);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.source.clear(WRITABLE);
                Ok(0)
            }
            Err(source) => Err(Error::System { operation, source }),
        }
    }

    /// Writes parts in order until the kernel refuses, all are taken, or it is the others' turn; answers how many bytes
    /// were taken.
    pub(crate) fn write_parts(&self, parts: &[Part<'_>]) -> Result<u64, Error> {
        let mut taken = 0;
        let (mut index, mut start) = (0, 0);
        while index < parts.len() && taken < WRITE_MAX {
            let count = match parts[index].skip(start) {
                Part::File { file, offset, length } => self.write_file(file, offset, length)?,
                Part::Bytes(_) => self.write_run(&parts[index..], start)?,
            };
            taken += count;
            start += count;
            while index < parts.len() && start >= parts[index].len() {
                start -= parts[index].len();
                index += 1;
            }
            if self.source.bits() & WRITABLE == 0 {
                break;
            }
        }
        Ok(taken)
    }

    /// Writes the bytes before the next file at once.
    fn write_run(&self, parts: &[Part<'_>], start: u64) -> Result<u64, Error> {
        let mut slices = [IoSlice::new(&[]); sys::VECTORS_MAX];
        let (mut used, mut asked) = (0, 0);
        for (index, part) in parts.iter().take(sys::VECTORS_MAX).enumerate() {
            let Part::Bytes(bytes) = part.skip(if index == 0 { start } else { 0 }) else {
                break;
            };
            slices[used] = IoSlice::new(bytes);
            used += 1;
            asked += bytes.len();
        }
        let more = used < parts.len();
        let result = match &self.transport {
            Transport::Socket(fd) => sys::send_vectored(fd, &slices[..used], more),
            Transport::Pipe(fd) => sys::write_vectored(fd, &slices[..used]),
            Transport::Memory(end) => end.write(&slices[0]),
        };
        // A pair takes a slice at a time, which does not mean that it is full.
        let asked = if matches!(self.transport, Transport::Memory(_)) {
            slices[0].len()
        } else {
            asked
        };
        self.wrote(result, asked, "sendmsg").map(|count| count as u64)
    }

    fn write_file(&self, file: &Arc<File>, offset: u64, length: u64) -> Result<u64, Error> {
        let asked = self.cold.ready(&self.source, file, offset, length, WRITE_MAX) as usize;
        if asked == 0 {
            return Ok(0);
        }
        let result = match &self.transport {
            Transport::Socket(fd) | Transport::Pipe(fd) => sys::send_file(fd, file, offset, asked),
            Transport::Memory(end) => {
                let mut bytes = vec![0; asked.min(crate::pair::CAPACITY)];
                match file.read_at(&mut bytes, offset) {
                    Ok(count @ 1..) => end.write(&bytes[..count]),
                    other => other,
                }
            }
        };
        match result {
            Ok(0) => Err(Error::FileEnded { missing: length }),
            // `sendfile` may stop between pages: only a refusal says that the socket is full.
            Ok(count) => {
                self.source.touch();
                Ok(count as u64)
            }
            refused => self.wrote(refused, asked, "sendfile").map(|count| count as u64),
        }
    }

    /// Bytes that were written and the peer has not acknowledged, or not read.
    pub(crate) fn unacknowledged(&self) -> Option<u32> {
        match &self.transport {
            Transport::Socket(fd) => sys::unsent(fd).ok(),
            Transport::Pipe(fd) => sys::unread(fd).ok(),
            // A pair tells each byte that is read.
            Transport::Memory(_) => None,
        }
    }

    pub(crate) fn shutdown_write(&self) -> Result<(), Error> {
        match &self.transport {
            Transport::Socket(fd) => match sys::shutdown_write(fd) {
                // The peer has reset it: there is nothing left to end.
                Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
                result => result.map_err(Error::system("shutdown")),
            },
            Transport::Memory(end) => {
                end.shutdown_write();
                Ok(())
            }
            // A pipe has one direction: it ends when it is closed.
            Transport::Pipe(_) => Ok(()),
        }
    }
}
