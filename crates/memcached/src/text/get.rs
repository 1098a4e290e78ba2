//! `get`, `gets`, `gat`, `gats`.

use io::Output;
use kv::{Decision, Engine, Entry, Key, Need, Reader};
use wire::Parsed;
use wire::memcached::text::{self, Command, Get, GetVerb, Keys};

use super::{Pause, State};
use crate::ahead::ahead;
use crate::operations::{Exchange, Failure, StoreFailure};
use crate::piece::{self, Large};
use crate::progress::{Next, Progress};
use crate::waits::{self, Reply};

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

/// A line of keys, or the part of it that is there.
struct Line<'a> {
    verb: GetVerb,
    exptime: i64,
    keys: Keys<'a>,
    /// The line ends in the input.
    complete: bool,
    /// Its beginning was answered by an earlier exchange.
    resumed: bool,
    /// Bytes of the input that it takes.
    used: usize,
}

impl Line<'_> {
    fn pause(&self) -> Pause {
        Pause::Keys {
            verb: self.verb,
            exptime: self.exptime,
        }
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
            _ => {
                let line = Line {
                    verb: get.verb,
                    exptime: get.exptime,
                    keys: get.keys,
                    complete: get.complete,
                    resumed: false,
                    used,
                };
                self.keys(exchange, line, input, out)
            }
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
            Parsed::Done(Ok(run), used) => {
                let line = Line {
                    verb,
                    exptime,
                    keys: run.keys,
                    complete: run.complete,
                    resumed: true,
                    used,
                };
                self.keys(exchange, line, input, out)
            }
            Parsed::Done(Err(error), used) => self.refuse(exchange, error, input, used, out),
            Parsed::More(need) => {
                self.pause = Pause::Keys { verb, exptime };
                Progress::Wait(need)
            }
        }
    }

    /// Answers for the keys of a line.
    fn keys(
        &mut self,
        exchange: &Exchange<'_>,
        mut line: Line<'_>,
        input: &[u8],
        out: &mut Output,
    ) -> Progress {
        let start = out.buffer().len();
        let mut done = 0;
        while let Some(batch) = next_batch(exchange, &mut line.keys, input) {
            let last_end = batch.keys[batch.len - 1].1;
            for (key, end) in ahead(exchange.store(), batch.keys(), |(key, _)| Some(*key)) {
                match answer(exchange, key, line.verb, line.exptime, out) {
                    Ok(()) => done = *end,
                    Err(Failure::Cold) => return self.wait_for_key(exchange, &line, start, done, out),
                    Err(Failure::Store(error)) => return self.fail_line(exchange, &line, start, error, out),
                }
                let last = *end == last_end && line.keys.is_empty();
                if out.full() && !last {
                    promise(exchange, start, out);
                    self.pause = line.pause();
                    return Progress::Stop(*end, Next::Exchange);
                }
            }
        }
        if line.complete {
            out.write(text::END);
        }
        promise(exchange, start, out);
        if !line.complete {
            self.pause = line.pause();
            return Progress::Stop(line.used, Next::Exchange);
        }
        Progress::Done(line.used)
    }

    /// Stops before a key whose item has to be fetched.
    #[cold]
    fn wait_for_key(
        &mut self,
        exchange: &Exchange<'_>,
        line: &Line<'_>,
        start: usize,
        done: usize,
        out: &mut Output,
    ) -> Progress {
        promise(exchange, start, out);
        if done > 0 || line.resumed {
            self.pause = line.pause();
        }
        Progress::Stop(done, Next::Fetch)
    }

    /// Answers a line with an error, which ends the reply; values of it that have left stay before the error.
    #[cold]
    fn fail_line(
        &mut self,
        exchange: &Exchange<'_>,
        line: &Line<'_>,
        start: usize,
        error: StoreFailure,
        out: &mut Output,
    ) -> Progress {
        let mut reply = Vec::new();
        waits::server_error(error, &mut reply);
        let end = out.buffer().len();
        out.replace(start..end, &reply);
        promise(exchange, start, out);
        if line.complete {
            return Progress::Done(line.used);
        }
        self.pause = Pause::Line;
        Progress::Stop(line.used, Next::Exchange)
    }
}

/// Notes that a reply from `start` on has to wait for a commit, if it touched items.
#[inline]
fn promise(exchange: &Exchange<'_>, start: usize, out: &mut Output) {
    if let Some(waits) = exchange.waits.get() {
        waits.promise(start..out.buffer().len(), Reply::Text);
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
        return match single(exchange, &key, out) {
            Ok(()) => Progress::Done(used),
            Err(Cold) => Progress::Stop(0, Next::Fetch),
        };
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
    let mut done = 0;
    for (key, end) in ahead(store, batch.keys(), |(key, _)| Some(*key)) {
        if let Err(Cold) = single(exchange, key, out) {
            return Progress::Stop(done, Next::Fetch);
        }
        done = *end;
        if out.full() {
            return Progress::Done(done);
        }
    }
    Progress::Done(at)
}

/// The item has to be fetched.
struct Cold;

/// Answers `get <key>`.
#[inline]
fn single(exchange: &Exchange<'_>, key: &Key<'_>, out: &mut Output) -> Result<(), Cold> {
    match value(exchange, key, false, out) {
        Ok(()) => out.write(text::END),
        Err(Failure::Cold) => return Err(Cold),
        Err(Failure::Store(error)) => waits::server_error(error, out.buffer()),
    }
    Ok(())
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

fn answer(
    exchange: &Exchange<'_>,
    key: &Key<'_>,
    verb: GetVerb,
    exptime: i64,
    out: &mut Output,
) -> Result<(), Failure> {
    match verb.touches() {
        false => value(exchange, key, verb.with_cas(), out),
        true => touched_value(exchange, key, exptime, verb.with_cas(), out),
    }
}

/// Appends the item's `VALUE`, if there is one.
#[inline]
fn value(exchange: &Exchange<'_>, key: &Key<'_>, with_cas: bool, out: &mut Output) -> Result<(), Failure> {
    let buffer = out.buffer();
    let found = exchange.read_by(key, Need::Value, Append { with_cas, buffer })?;
    exchange.looked_up(key.bytes(), found.as_ref().map(|found| found.0));
    if let Some((_, Some(large))) = found {
        piece::push(out, *large, true);
    }
    Ok(())
}

fn touched_value(
    exchange: &Exchange<'_>,
    key: &Key<'_>,
    exptime: i64,
    with_cas: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    let expiry = exchange.expiry(exptime);
    let buffer = out.buffer();
    let start = buffer.len();
    let touched = exchange.update(key, Need::Value, |entry| {
        buffer.truncate(start);
        (
            Decision::touch(expiry),
            entry.map(|entry| append(entry, with_cas, buffer)),
        )
    });
    let found = match touched {
        Ok((found, _)) => found,
        Err(failure) => {
            out.buffer().truncate(start);
            failure.or_miss()?
        }
    };
    exchange.touched(key.bytes(), found.as_ref().map(|found| found.0));
    match found {
        Some((_, Some(large))) => piece::push(out, *large, true),
        Some(_) => {}
        None => out.buffer().truncate(start),
    }
    Ok(())
}

/// [`append`] for an item that is there.
struct Append<'b> {
    with_cas: bool,
    buffer: &'b mut Vec<u8>,
}

impl Reader for Append<'_> {
    type Answer = Option<(u64, Option<Box<Large>>)>;

    #[inline(always)]
    fn see(self, entry: Option<&Entry<'_>>) -> Self::Answer {
        Some(append(entry?, self.with_cas, self.buffer))
    }
}

/// Appends line and value; a large value is handed back instead, to go out uncopied.
// Always inlined: the store then prepares only those parts of the entry that are looked at.
#[inline(always)]
fn append(entry: &Entry<'_>, with_cas: bool, out: &mut Vec<u8>) -> (u64, Option<Box<Large>>) {
    let length = entry.len();
    text::value_line(
        out,
        entry.key(),
        entry.flags(),
        length,
        with_cas.then(|| entry.cas()),
    );
    (length, piece::append(entry.value(), b"\r\n", out))
}
