//! Get, GAT and Touch with their quiet forms and those that return the key.

use io::Output;
use kv::{Decision, Engine, Entry, Key, Need};
use wire::Parsed;
use wire::memcached::binary::{self, Operation, Request, Status};

use super::{expiry, fail, failure};
use crate::ahead::ahead;
use crate::operations::{Exchange, Failure};
use crate::piece::{self, Large};
use crate::progress::{Next, Progress};

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
        return match value(exchange, first, &key, out) {
            Ok(()) => Progress::Done(used),
            Err(Cold) => Progress::Stop(0, Next::Fetch),
        };
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
    let mut done = 0;
    for (request, key, end) in ahead(store, batch, |(_, key, _)| Some(*key)) {
        if let Err(Cold) = value(exchange, request, key, out) {
            return Progress::Stop(done, Next::Fetch);
        }
        done = *end;
        if out.full() {
            return Progress::Done(done);
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

/// The item has to be fetched.
struct Cold;

fn value(
    exchange: &Exchange<'_>,
    request: &Request<'_>,
    key: &Key<'_>,
    out: &mut Output,
) -> Result<(), Cold> {
    let buffer = out.buffer();
    let found = exchange.read(key, Need::Value, |entry| {
        Some(append(request, entry?, true, buffer))
    });
    match found {
        Ok(found) => {
            exchange.looked_up(key.bytes(), found.as_ref().map(|found| found.0));
            finish(request, found, out);
        }
        Err(Failure::Cold) => return Err(Cold),
        Err(error) => fail(request, error, out.buffer()),
    }
    Ok(())
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
    let need = if with_value { Need::Value } else { Need::Facts };
    let touched = exchange.update(&key, need, |entry| {
        buffer.truncate(start);
        (
            Decision::touch(expiry),
            entry.map(|entry| append(request, entry, with_value, buffer)),
        )
    });
    let found = match touched {
        Ok((found, _)) => found,
        Err(failure) => {
            out.buffer().truncate(start);
            match failure.or_miss() {
                Ok(found) => found,
                Err(failure) => return fail(request, failure, out.buffer()),
            }
        }
    };
    if found.is_none() {
        out.buffer().truncate(start);
    }
    exchange.touched(key.bytes(), found.as_ref().map(|found| found.0));
    finish(request, found, out);
}

/// Appends what is not yet there: a large value, or that there is none.
fn finish(request: &Request<'_>, found: Option<(u64, Option<Box<Large>>)>, out: &mut Output) {
    match found {
        Some((_, Some(large))) => piece::push(out, *large, false),
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
) -> (u64, Option<Box<Large>>) {
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
    match with_value {
        true => (length, piece::append(entry.value(), b"", out)),
        false => (length, None),
    }
}
