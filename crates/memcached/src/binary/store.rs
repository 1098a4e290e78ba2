//! Set, Add, Replace, Append and Prepend.

use io::Output;
use kv::{Engine, Payload, StoreError};
use wire::memcached::binary::{Concatenate, Operation, Request, Status, StoreVerb};

use super::{State, expiry, fail, failure, success_with_cas};
use crate::operations::Exchange;
use crate::operations::write::{Mode, Write, Written};
use crate::progress::Progress;
use crate::progress::{Next, Upload};

impl State {
    /// Executes a storage request whose head took `used` bytes, if its value is there.
    pub(super) fn store(
        &mut self,
        exchange: &Exchange<'_>,
        request: &Request<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        let length = request.value_length as usize;
        if let Some(value) = input[used..].get(..length) {
            let parts = [value];
            finish(exchange, request, Payload::Parts(&parts), out.buffer());
            return Progress::Done(used + length);
        }
        let mode = mode(request);
        if let Some(written) = exchange.refuse(request.key, mode, forgets(request), length as u64) {
            refuse(request, written, out.buffer());
            self.swallow = length as u64;
            return Progress::Done(used);
        }
        if length as u64 >= exchange.store().large_value() {
            let upload = Upload {
                head: input[..used].to_vec(),
                length: length as u64,
            };
            return Progress::Stop(used, Next::Receive(Box::new(upload)));
        }
        Progress::Wait(used + length)
    }
}

/// Stores a value that is there.
pub(super) fn finish(exchange: &Exchange<'_>, request: &Request<'_>, value: Payload<'_>, out: &mut Vec<u8>) {
    let mut write = Write {
        compare: request.cas,
        forget: forgets(request),
        ..Write::new(mode(request), value)
    };
    if let Operation::Store { flags, exptime, .. } = request.operation {
        write.flags = flags;
        write.expiry = expiry(exptime, exchange);
    }
    let key = exchange.store().key(request.key);
    let status = match exchange.write(&key, &write) {
        Written::Stored { cas, .. } => return success_with_cas(request, cas, out),
        Written::Exists => Status::Exists,
        Written::NotFound => Status::NotFound,
        Written::NotStored => not_stored(request),
        written => return refuse(request, written, out),
    };
    failure(request, status, out);
}

/// Answers a request whose value the store has no memory to receive.
pub(super) fn no_room(exchange: &Exchange<'_>, request: &Request<'_>, error: StoreError, out: &mut Vec<u8>) {
    let key = exchange.store().key(request.key);
    refuse(
        request,
        exchange.refused_at_start(&key, forgets(request), error.into()),
        out,
    );
}

/// A cas makes each of Set, Add and Replace a store over the one item that has it.
fn mode(request: &Request<'_>) -> Mode {
    match request.operation {
        Operation::Concatenate(Concatenate::Append) => Mode::Append,
        Operation::Concatenate(Concatenate::Prepend) => Mode::Prepend,
        _ if request.cas != 0 => Mode::Cas,
        Operation::Store {
            verb: StoreVerb::Add, ..
        } => Mode::Add,
        Operation::Store {
            verb: StoreVerb::Replace,
            ..
        } => Mode::Replace,
        _ => Mode::Set,
    }
}

fn forgets(request: &Request<'_>) -> bool {
    matches!(
        request.operation,
        Operation::Store {
            verb: StoreVerb::Set,
            ..
        }
    )
}

/// An unmet condition has a name of its own where it has only one cause.
fn not_stored(request: &Request<'_>) -> Status {
    match mode(request) {
        Mode::Add => Status::Exists,
        Mode::Replace => Status::NotFound,
        _ => Status::NotStored,
    }
}

/// Answers why a value was not stored.
fn refuse(request: &Request<'_>, written: Written, out: &mut Vec<u8>) {
    match written {
        Written::TooLarge => failure(request, Status::TooLarge, out),
        Written::Failed(error) => fail(request, error, out),
        _ => failure(request, Status::OutOfMemory, out),
    }
}
