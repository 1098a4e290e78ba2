//! Increment and Decrement, Flush, Stat, Version.

use io::Output;
use kv::Engine;
use wire::memcached::binary::{self, Operation, Request, Status};

use super::{expiry, fail, failure, success};
use crate::operations::count::{Count, Counted};
use crate::operations::{Exchange, Failure};
use crate::progress::Progress;
use crate::progress::{Dump, Next};
use crate::statistics::{self, Group};

/// This expiry forbids to create a number.
const NEVER_CREATE: u32 = u32::MAX;

pub(super) fn arithmetic(exchange: &Exchange<'_>, request: &Request<'_>, out: &mut Vec<u8>) {
    let Operation::Arithmetic {
        increment,
        delta,
        initial,
        exptime,
    } = request.operation
    else {
        return;
    };
    let count = Count {
        increment,
        delta,
        compare: request.cas,
        cas: None,
        expiry: None,
        create: (exptime != NEVER_CREATE).then(|| (initial, expiry(exptime, exchange))),
    };
    match exchange.count(&exchange.store().key(request.key), &count) {
        Counted::Number { .. } if request.opcode.quiet() => {}
        Counted::Number { number, cas, .. } => {
            binary::value(out, request.opcode, request.opaque, cas, number)
        }
        Counted::NotFound => failure(request, Status::NotFound, out),
        Counted::Exists => failure(request, Status::Exists, out),
        Counted::NotNumeric => failure(request, Status::NonNumeric, out),
        Counted::NoMemory => failure(request, Status::OutOfMemory, out),
        Counted::Failed(error) => fail(request, error, out),
    }
}

pub(super) fn flush(exchange: &Exchange<'_>, request: &Request<'_>, exptime: u32, out: &mut Vec<u8>) {
    if !exchange.service.config.flush {
        return failure(request, Status::AuthenticationFailed, out);
    }
    exchange.counters.cmd_flush.add(1);
    match exchange.flush(i64::from(exptime)) {
        Ok(()) => success(request, out),
        Err(error) => fail(request, Failure::Store(error.into()), out),
    }
}

pub(super) fn version(exchange: &Exchange<'_>, request: &Request<'_>, out: &mut Vec<u8>) {
    let version = exchange.service.config.version.as_bytes();
    binary::message(
        out,
        request.opcode,
        request.opaque,
        0,
        Status::Success,
        &[],
        version,
    );
}

pub(super) fn stat(
    exchange: &Exchange<'_>,
    request: &Request<'_>,
    used: usize,
    out: &mut Output,
) -> Progress {
    if let Some(dump) = Dump::of_statistics(request.key, Some(request.opaque)) {
        return Progress::Stop(used, Next::Dump(dump));
    }
    let buffer = out.buffer();
    match request.key {
        b"reset" => exchange.service.reset_statistics(),
        b"detail on" if exchange.service.config.dump => exchange.service.detail.switch(true),
        b"detail off" if exchange.service.config.dump => exchange.service.detail.switch(false),
        b"detail dump" if exchange.service.config.dump => {
            let mut dump = Vec::new();
            exchange.service.detail.dump(&mut dump);
            binary::stat(buffer, request.opaque, "detailed", &dump);
        }
        // memcached knows this group in the text protocol only.
        name => match Group::named(name).filter(|name| *name != Group::Extstore) {
            Some(name) => group(exchange, request, name, buffer),
            None => {
                failure(request, Status::NotFound, buffer);
                return Progress::Done(used);
            }
        },
    }
    binary::stat(buffer, request.opaque, "", "");
    Progress::Done(used)
}

fn group(exchange: &Exchange<'_>, request: &Request<'_>, group: Group, out: &mut Vec<u8>) {
    statistics::tell(exchange, group, &mut |name, value| {
        binary::stat(out, request.opaque, name, value.to_string());
    });
}
