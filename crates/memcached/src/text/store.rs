//! `set`, `add`, `replace`, `append`, `prepend`, `cas`.

use io::Output;
use kv::{Engine, Payload, StoreError};
use wire::memcached::text::{self, Store, StoreVerb};

use super::{State, fail, is_large, say, upload};
use crate::operations::Exchange;
use crate::operations::write::{Mode, Write, Written};
use crate::progress::{Next, Progress};

impl State {
    /// Executes a storage command whose line took `used` bytes, if its value is there.
    pub(super) fn store(
        &mut self,
        exchange: &Exchange<'_>,
        store: &Store<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        let block = &input[used..];
        if let Some((value, end)) = split(block, store.length) {
            let parts = [value];
            finish(
                exchange,
                store,
                Payload::Parts(&parts),
                end == b"\r\n",
                out.buffer(),
            );
            return Progress::Done(used + value.len() + end.len());
        }
        let mode = mode(store.verb);
        if let Some(written) = exchange.refuse(store.key, mode, mode == Mode::Set, store.length) {
            tell(out.buffer(), store.noreply, written);
            self.swallow(store.length + 2);
            return Progress::Stop(used, Next::Exchange);
        }
        match is_large(exchange, store.length) {
            true => upload(&input[..used], store.length, used),
            false => Progress::Wait(used + store.length as usize + 2),
        }
    }
}

/// Cuts a value and the two bytes after it from the input, if both are there.
pub(super) fn split(block: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    let length = usize::try_from(length).ok()?;
    Some(block.get(..length.checked_add(2)?)?.split_at(length))
}

/// Stores a value that is there.
pub(super) fn finish(
    exchange: &Exchange<'_>,
    store: &Store<'_>,
    value: Payload<'_>,
    whole: bool,
    out: &mut Vec<u8>,
) {
    if !whole {
        return say(out, store.noreply, text::BAD_DATA_CHUNK);
    }
    let write = Write {
        flags: store.flags,
        expiry: exchange.expiry(store.exptime),
        compare: store.cas,
        ..Write::new(mode(store.verb), value)
    };
    let key = exchange.store().key(store.key);
    tell(out, store.noreply, exchange.write(&key, &write));
}

/// Answers a command whose value the store has no memory to receive.
pub(super) fn no_room(exchange: &Exchange<'_>, store: &Store<'_>, error: StoreError, out: &mut Vec<u8>) {
    let key = exchange.store().key(store.key);
    let forget = mode(store.verb) == Mode::Set;
    tell(
        out,
        store.noreply,
        exchange.refused_at_start(&key, forget, error.into()),
    );
}

fn mode(verb: StoreVerb) -> Mode {
    match verb {
        StoreVerb::Set => Mode::Set,
        StoreVerb::Add => Mode::Add,
        StoreVerb::Replace => Mode::Replace,
        StoreVerb::Append => Mode::Append,
        StoreVerb::Prepend => Mode::Prepend,
        StoreVerb::Cas => Mode::Cas,
    }
}

/// Appends how a write ended.
fn tell(out: &mut Vec<u8>, noreply: bool, written: Written) {
    let reply = match written {
        Written::Stored { .. } => text::STORED,
        Written::NotStored => text::NOT_STORED,
        Written::Exists => text::EXISTS,
        Written::NotFound => text::NOT_FOUND,
        Written::TooLarge => text::TOO_LARGE,
        Written::NoMemory => text::OUT_OF_MEMORY,
        Written::Failed(failure) => return fail(out, noreply, failure),
    };
    say(out, noreply, reply);
}
