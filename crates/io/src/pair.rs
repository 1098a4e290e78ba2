//! Two streams joined in memory: for tests of protocol code, without a socket and without luck.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use crate::core::{Core, HALF_CLOSED, READABLE, WRITABLE};
use crate::readiness;
use crate::source::Source;

/// Bytes that one direction holds before its writer has to wait.
pub(crate) const CAPACITY: usize = 64 << 10;

/// One direction.
struct Pipe {
    bytes: VecDeque<u8>,
    /// The writer has ended it.
    ended: bool,
    /// The reader has gone.
    deaf: bool,
    reader: u64,
    writer: u64,
}

impl Pipe {
    fn new(reader: &Source, writer: &Source) -> Rc<RefCell<Pipe>> {
        let (reader, writer) = (reader.token(), writer.token());
        Rc::new(RefCell::new(Pipe {
            bytes: VecDeque::new(),
            ended: false,
            deaf: false,
            reader,
            writer,
        }))
    }
}

/// One end of a pair.
pub(crate) struct End {
    core: Rc<Core>,
    incoming: Rc<RefCell<Pipe>>,
    outgoing: Rc<RefCell<Pipe>>,
}

pub(crate) fn pair(core: &Rc<Core>) -> [(Source, End); 2] {
    let (a, b) = (Source::new(core, WRITABLE), Source::new(core, WRITABLE));
    let (to_a, to_b) = (Pipe::new(&a, &b), Pipe::new(&b, &a));
    let end = |incoming: &Rc<_>, outgoing: &Rc<_>| End {
        core: Rc::clone(core),
        incoming: Rc::clone(incoming),
        outgoing: Rc::clone(outgoing),
    };
    let (end_a, end_b) = (end(&to_a, &to_b), end(&to_b, &to_a));
    [(a, end_a), (b, end_b)]
}

impl End {
    pub(crate) fn read(&self, destination: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.incoming.borrow_mut();
        if pipe.bytes.is_empty() {
            return if pipe.ended {
                Ok(0)
            } else {
                Err(ErrorKind::WouldBlock.into())
            };
        }
        let was_full = pipe.bytes.len() >= CAPACITY;
        let count = pipe.bytes.len().min(destination.len());
        for (to, from) in destination.iter_mut().zip(pipe.bytes.drain(..count)) {
            *to = from;
        }
        let writer = pipe.writer;
        drop(pipe);
        if was_full {
            readiness::signal(&self.core, writer, WRITABLE);
        }
        Ok(count)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut pipe = self.outgoing.borrow_mut();
        if pipe.deaf || pipe.ended {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(CAPACITY - pipe.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        pipe.bytes.extend(&bytes[..count]);
        let reader = pipe.reader;
        drop(pipe);
        readiness::signal(&self.core, reader, READABLE);
        Ok(count)
    }

    pub(crate) fn shutdown_write(&self) {
        let mut pipe = self.outgoing.borrow_mut();
        pipe.ended = true;
        let reader = pipe.reader;
        drop(pipe);
        readiness::signal(&self.core, reader, READABLE | HALF_CLOSED);
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.shutdown_write();
        let mut pipe = self.incoming.borrow_mut();
        pipe.deaf = true;
        let writer = pipe.writer;
        drop(pipe);
        readiness::signal(&self.core, writer, READABLE | WRITABLE | HALF_CLOSED);
    }
}
