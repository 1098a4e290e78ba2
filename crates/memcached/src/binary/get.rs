//! Get, GAT and Touch with their quiet forms and those that return the key.

use io::Output;
use kv::{Decision, Engine, Entry, Key, Pinned, Value};
use wire::Parsed;
use wire::memcached::binary::{self, Operation, Request, Status};

use super::{expiry, failure};
use crate::ahead::ahead;
use crate::operations::{Exchange, settled};
use crate::piece;
use crate::progress::Progress;

/// So many requests are parsed ahead, hashed and prefetched before the first is executed.
const BATCH: usize = 16;

/// Answers a Get and all Gets that directly follow.
#[inline]
pub(super) fn run(
    exchange: &Exchange<'_>,
    first: &Request<'_>,
    input: &[u8],
    used: usize,
    out: &mut Output,
) -> Progress {
    let store = exchange.store();
    let key = store.key(first.key);
    let Some((second, length)) = next(&input[used..]) else {
        value(exchange, first, &key, out);
        return Progress::Done(used);
    };
    store.prefetch(&key);
    let mut batch = [(*first, key, used); BATCH];
    let mut len = 1;
    let mut following = Some((second, length));
    while let Some((request, length)) = following {
        let end = batch[len - 1].2 + length;
        let key = store.key(request.key);
        store.prefetch(&key);
        batch[len] = (request, key, end);
        len += 1;
        following = if len < BATCH { next(&input[end..]) } else { None };
    }
    let batch = &batch[..len];
    for (request, key, end) in ahead(store, batch, |(_, key, _)| Some(*key)) {
        value(exchange, request, key, out);
        if out.full() {
            return Progress::Done(*end);
        }
    }
    Progress::Done(batch[len - 1].2)
}

#[inline]
fn next(input: &[u8]) -> Option<(Request<'_>, usize)> {
    match binary::parse(input) {
        Parsed::Done(Ok(request), used) if matches!(request.operation, Operation::Get { .. }) => {
            Some((request, used))
        }
        _ => None,
    }
}

fn with_key(request: &Request<'_>) -> bool {
    matches!(
        request.operation,
        Operation::Get { with_key: true } | Operation::GetAndTouch { with_key: true, .. }
    )
}

fn value(exchange: &Exchange<'_>, request: &Request<'_>, key: &Key<'_>, out: &mut Output) {
    let buffer = out.buffer();
    let found = settled(exchange.store().read(key, exchange.now, |entry| {
        Some(append(request, entry?, true, buffer))
    }));
    exchange.looked_up(key.bytes(), found.as_ref().map(|found| found.0));
    finish(request, found, out);
}

/// Answers GAT and Touch.
pub(super) fn touch(
    exchange: &Exchange<'_>,
    request: &Request<'_>,
    exptime: u32,
    with_value: bool,
    out: &mut Output,
) {
    let key = exchange.store().key(request.key);
    let expiry = expiry(exptime, exchange);
    let buffer = out.buffer();
    let start = buffer.len();
    let touched = exchange.update(&key, |entry| {
        buffer.truncate(start);
        (
            Decision::touch(expiry),
            entry.map(|entry| append(request, entry, with_value, buffer)),
        )
    });
    // An item that could not be moved to its new expiry is a miss for the client.
    let found = touched.ok().and_then(|(found, _)| found);
    if found.is_none() {
        out.buffer().truncate(start);
    }
    exchange.touched(key.bytes(), found.as_ref().map(|found| found.0));
    finish(request, found, out);
}

/// Appends what is not yet there: a large value, or that there is none.
fn finish(request: &Request<'_>, found: Option<(u64, Option<Pinned>)>, out: &mut Output) {
    match found {
        Some((_, Some(pinned))) => piece::push(out, pinned, false),
        Some(_) => {}
        None if request.opcode.quiet() => {}
        None if with_key(request) => {
            let status = Status::NotFound;
            binary::message(
                out.buffer(),
                request.opcode,
                request.opaque,
                0,
                status,
                request.key,
                &[],
            );
        }
        None => failure(request, Status::NotFound, out.buffer()),
    }
}

/// Appends header, extras, key and value; a large value is handed back instead, to go out uncopied.
fn append(
    request: &Request<'_>,
    entry: &Entry<'_>,
    with_value: bool,
    out: &mut Vec<u8>,
) -> (u64, Option<Pinned>) {
    let key = if with_key(request) { request.key } else { &[] };
    let length = if with_value { entry.len() } else { 0 };
    let Ok(length_sent) = u32::try_from(length + 4 + key.len() as u64) else {
        failure(request, Status::TooLarge, out);
        return (length, None);
    };
    let length_sent = length_sent - 4 - key.len() as u32;
    binary::value_head(
        out,
        request.opcode,
        request.opaque,
        entry.cas(),
        entry.flags(),
        key,
        length_sent,
    );
    match entry.value() {
        _ if !with_value => (length, None),
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            (length, None)
        }
        Value::Shared(pinned) => (length, Some(pinned)),
    }
}
