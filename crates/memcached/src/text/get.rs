//! `get`, `gets`, `gat`, `gats`.

use io::Output;
use kv::{Decision, Engine, Entry, Key, Pinned, Value};
use wire::Parsed;
use wire::memcached::text::{self, Command, Get, GetVerb, Keys};

use super::{Pause, State};
use crate::ahead::ahead;
use crate::operations::{Exchange, settled};
use crate::piece;
use crate::progress::{Next, Progress};

/// So many lookups are hashed and prefetched before the first is executed: enough to hide a memory access behind the
/// others, few enough to stay in the nearest cache.
const BATCH: usize = 32;

/// Keys that were parsed ahead, and where in the input each ends.
struct Batch<'a> {
    keys: [(Key<'a>, usize); BATCH],
    len: usize,
}

impl<'a> Batch<'a> {
    #[inline]
    fn new(first: Key<'a>, end: usize) -> Batch<'a> {
        Batch {
            keys: [(first, end); BATCH],
            len: 1,
        }
    }

    #[inline]
    fn push(&mut self, key: Key<'a>, end: usize) {
        self.keys[self.len] = (key, end);
        self.len += 1;
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    #[inline]
    fn keys(&self) -> &[(Key<'a>, usize)] {
        &self.keys[..self.len]
    }
}

impl State {
    #[inline]
    pub(super) fn get(
        &mut self,
        exchange: &Exchange<'_>,
        get: &Get<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        match get.keys.single() {
            Some(key) if get.verb == GetVerb::Get && get.complete => {
                single_keys(exchange, key, input, used, out)
            }
            _ => self.keys(
                exchange,
                get.verb,
                get.exptime,
                (get.keys, get.complete),
                input,
                used,
                out,
            ),
        }
    }

    /// Goes on with a line of keys.
    pub(super) fn more_keys(
        &mut self,
        exchange: &Exchange<'_>,
        verb: GetVerb,
        exptime: i64,
        input: &[u8],
        out: &mut Output,
    ) -> Progress {
        self.pause = Pause::Nothing;
        match text::parse_keys(input) {
            Parsed::Done(Ok(run), used) => self.keys(
                exchange,
                verb,
                exptime,
                (run.keys, run.complete),
                input,
                used,
                out,
            ),
            Parsed::Done(Err(error), used) => self.refuse(exchange, error, input, used, out),
            Parsed::More(need) => {
                self.pause = Pause::Keys { verb, exptime };
                Progress::Wait(need)
            }
        }
    }

    /// Answers for the keys of one line, or of the part of it that is there.
    #[expect(
        clippy::too_many_arguments,
        reason = "a line's parts; a struct of them would be made for this one call"
    )]
    fn keys(
        &mut self,
        exchange: &Exchange<'_>,
        verb: GetVerb,
        exptime: i64,
        (mut keys, complete): (Keys<'_>, bool),
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        while let Some(batch) = next_batch(exchange, &mut keys, input) {
            let last_end = batch.keys[batch.len - 1].1;
            for (key, end) in ahead(exchange.store(), batch.keys(), |(key, _)| Some(*key)) {
                answer(exchange, key, verb, exptime, out);
                let last = *end == last_end && keys.is_empty();
                if out.full() && !last {
                    self.pause = Pause::Keys { verb, exptime };
                    return Progress::Stop(*end, Next::Exchange);
                }
            }
        }
        if !complete {
            self.pause = Pause::Keys { verb, exptime };
            return Progress::Stop(used, Next::Exchange);
        }
        out.write(text::END);
        Progress::Done(used)
    }
}

/// The next keys of a line, hashed, their buckets on their way into the cache.
fn next_batch<'a>(exchange: &Exchange<'_>, keys: &mut Keys<'a>, input: &[u8]) -> Option<Batch<'a>> {
    let store = exchange.store();
    let end_of = |key: &[u8]| key.as_ptr() as usize + key.len() - input.as_ptr() as usize;
    let first = keys.next()?;
    let mut batch = Batch::new(store.key(first), end_of(first));
    if keys.is_empty() {
        return Some(batch);
    }
    store.prefetch(&batch.keys[0].0);
    while !batch.is_full() {
        let Some(bytes) = keys.next() else { break };
        let key = store.key(bytes);
        store.prefetch(&key);
        batch.push(key, end_of(bytes));
    }
    Some(batch)
}

/// Answers `get <key>` and all such commands that directly follow.
#[inline]
fn single_keys(
    exchange: &Exchange<'_>,
    first: &[u8],
    input: &[u8],
    used: usize,
    out: &mut Output,
) -> Progress {
    let store = exchange.store();
    let key = store.key(first);
    let Some((second, end)) = next_single(&input[used..]) else {
        value(exchange, &key, false, out);
        out.write(text::END);
        return Progress::Done(used);
    };
    store.prefetch(&key);
    let mut batch = Batch::new(key, used);
    let mut at = used + end;
    let key = store.key(second);
    store.prefetch(&key);
    batch.push(key, at);
    while !batch.is_full()
        && let Some((bytes, end)) = next_single(&input[at..])
    {
        at += end;
        let key = store.key(bytes);
        store.prefetch(&key);
        batch.push(key, at);
    }
    for (key, end) in ahead(store, batch.keys(), |(key, _)| Some(*key)) {
        value(exchange, key, false, out);
        out.write(text::END);
        if out.full() {
            return Progress::Done(*end);
        }
    }
    Progress::Done(at)
}

/// The key of a `get` for one key, if that is what comes next.
#[inline]
fn next_single(input: &[u8]) -> Option<(&[u8], usize)> {
    if !input.starts_with(b"get ") {
        return None;
    }
    match text::parse(input) {
        Parsed::Done(Ok(Command::Get(get)), used) if get.complete => Some((get.keys.single()?, used)),
        _ => None,
    }
}

fn answer(exchange: &Exchange<'_>, key: &Key<'_>, verb: GetVerb, exptime: i64, out: &mut Output) {
    match verb.touches() {
        false => value(exchange, key, verb.with_cas(), out),
        true => touched_value(exchange, key, exptime, verb.with_cas(), out),
    }
}

/// Appends the item's `VALUE`, if there is one.
#[inline]
fn value(exchange: &Exchange<'_>, key: &Key<'_>, with_cas: bool, out: &mut Output) {
    let buffer = out.buffer();
    let found = settled(
        exchange
            .store()
            .read(key, exchange.now, |entry| Some(append(entry?, with_cas, buffer))),
    );
    exchange.looked_up(key.bytes(), found.as_ref().map(|found| found.0));
    if let Some((_, Some(pinned))) = found {
        piece::push(out, pinned, true);
    }
}

fn touched_value(exchange: &Exchange<'_>, key: &Key<'_>, exptime: i64, with_cas: bool, out: &mut Output) {
    let expiry = exchange.expiry(exptime);
    let buffer = out.buffer();
    let start = buffer.len();
    let touched = exchange.update(key, |entry| {
        buffer.truncate(start);
        (
            Decision::touch(expiry),
            entry.map(|entry| append(entry, with_cas, buffer)),
        )
    });
    // An item that could not be moved to its new expiry is a miss for the client.
    let found = touched.ok().and_then(|(found, _)| found);
    exchange.touched(key.bytes(), found.as_ref().map(|found| found.0));
    match found {
        Some((_, Some(pinned))) => piece::push(out, pinned, true),
        Some(_) => {}
        None => out.buffer().truncate(start),
    }
}

/// Appends line and value; a large value is handed back instead, to go out uncopied.
// Always inlined: the store then prepares only those parts of the entry that are looked at.
#[inline(always)]
fn append(entry: &Entry<'_>, with_cas: bool, out: &mut Vec<u8>) -> (u64, Option<Pinned>) {
    let length = entry.len();
    text::value_line(
        out,
        entry.key(),
        entry.flags(),
        length,
        with_cas.then(|| entry.cas()),
    );
    match entry.value() {
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            out.extend_from_slice(b"\r\n");
            (length, None)
        }
        Value::Shared(pinned) => (length, Some(pinned)),
    }
}
