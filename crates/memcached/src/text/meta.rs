//! `mg`, `md`, `ma`, `mn`, `me`.

use io::Output;
use kv::{Change, Decision, Engine, Entry, Expiry, Key, Need, New};
use wire::Parsed;
use wire::memcached::meta::{self, KeyBuffer, Meta, MetaVerb, Status};
use wire::memcached::text::{self, Command};

use crate::ahead::ahead;
use crate::clock::seconds_left;
use crate::operations::count::{Count, Counted};
use crate::operations::number::Decimal;
use crate::operations::remove::{Removal, Removed};
use crate::operations::{Exchange, Failure};
use crate::piece::{self, Large};
use crate::progress::{Next, Progress};
use crate::waits::Reply;

use super::fail;

/// So many `mg` are parsed ahead; each is larger than a `get`'s key.
const BATCH: usize = 16;

/// The parts of a reply to `mg`.
struct View<'a> {
    key: &'a [u8],
    length: u64,
    flags: u32,
    cas: u64,
    expiry: Expiry,
    idle: u32,
    fetched: bool,
    stale: bool,
    won: bool,
    /// The command made it itself.
    created: bool,
}

/// What `mg` does to an item beside reading it.
#[derive(Clone, Copy)]
struct Plan {
    expiry: Option<Expiry>,
    wins: bool,
}

/// The outcome of reading an item.
enum Outcome {
    Missing,
    /// The reply is there; a large value goes out uncopied.
    Hit(u64, Option<Box<Large>>),
    /// Nothing was there, and the command made something.
    Created,
    /// Reading is not enough.
    MustChange,
}

/// An `mg` that was parsed ahead, its key unless that is still to be decoded, and where in the input it ends.
type Ahead<'a> = (Meta<'a>, Option<Key<'a>>, usize);

/// Executes `mg` and all others that directly follow.
pub(super) fn get_run(
    exchange: &Exchange<'_>,
    first: &Meta<'_>,
    input: &[u8],
    used: usize,
    out: &mut Output,
) -> Progress {
    let Some(second) = next_get(exchange, input, used) else {
        return match get(exchange, first, None, out) {
            Ok(()) => Progress::Done(used),
            Err(Cold) => Progress::Stop(0, Next::Fetch),
        };
    };
    let mut batch = [const { None }; BATCH];
    let mut len = 1;
    let mut end = second.2;
    batch[0] = Some(second);
    while len < BATCH
        && let Some(next) = next_get(exchange, input, end)
    {
        end = next.2;
        batch[len] = Some(next);
        len += 1;
    }
    let batch = &batch[..len];
    if let Err(Cold) = get(exchange, first, None, out) {
        return Progress::Stop(0, Next::Fetch);
    }
    let mut done = used;
    let fetched = ahead(exchange.store(), batch, |next| {
        next.as_ref().and_then(|next| next.1)
    });
    for (next, key, end) in fetched.flatten() {
        if out.full() {
            return Progress::Done(done);
        }
        if let Err(Cold) = get(exchange, next, *key, out) {
            return Progress::Stop(done, Next::Fetch);
        }
        done = *end;
    }
    Progress::Done(done)
}

/// Parses the `mg` at this place, if there is one, and sees to it that its bucket is near when it's needed.
fn next_get<'a>(exchange: &Exchange<'_>, input: &'a [u8], at: usize) -> Option<Ahead<'a>> {
    let input = &input[at..];
    if !input.starts_with(b"mg ") {
        return None;
    }
    let Parsed::Done(Ok(Command::Meta(command)), used) = text::parse(input) else {
        return None;
    };
    let key = (!command.key_binary()).then(|| exchange.store().key(command.key_sent));
    if let Some(key) = &key {
        exchange.store().prefetch(key);
    }
    Some((command, key, at + used))
}

/// The item has to be fetched.
struct Cold;

fn get(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    key: Option<Key<'_>>,
    out: &mut Output,
) -> Result<(), Cold> {
    let mut scratch = None;
    let key = key.unwrap_or_else(|| exchange.store().key(key_of(command, &mut scratch)));
    let start = out.buffer().len();
    let changes = command.has(b'T') || command.has(b'N') || command.has(b'R');
    let mut outcome = if changes {
        Ok(Outcome::MustChange)
    } else {
        look(exchange, command, &key, out.buffer())
    };
    if let Ok(Outcome::MustChange) = outcome {
        outcome = change(exchange, command, &key, start, out.buffer());
    }
    match outcome {
        Ok(outcome) => finish(exchange, command, &key, outcome, start, out),
        Err(failure) => {
            out.buffer().truncate(start);
            if failure == Failure::Cold {
                return Err(Cold);
            }
            fail(out.buffer(), false, failure);
        }
    }
    if let Some(waits) = exchange.waits.get() {
        waits.promise(start..out.buffer().len(), Reply::Text);
    }
    Ok(())
}

/// Counts an outcome, and appends what is not yet there.
#[inline]
fn finish(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    key: &Key<'_>,
    outcome: Outcome,
    start: usize,
    out: &mut Output,
) {
    match outcome {
        Outcome::Hit(length, large) => {
            match command.has(b'T') {
                true => exchange.touched(key.bytes(), Some(length)),
                false => exchange.looked_up(key.bytes(), Some(length)),
            }
            if let Some(large) = large {
                piece::push(out, *large, true);
            }
        }
        Outcome::Created => exchange.looked_up(key.bytes(), Some(0)),
        Outcome::Missing | Outcome::MustChange => {
            exchange.looked_up(key.bytes(), None);
            out.buffer().truncate(start);
            if !command.quiet() {
                without_item(command, Status::En, key.bytes(), out.buffer());
            }
        }
    }
}

/// What a command needs to see of an item.
#[inline]
pub(super) fn need(command: &Meta<'_>) -> Need {
    match command.has(b'v') {
        true => Need::Value,
        false => Need::Facts,
    }
}

/// The key as it is stored; the scratch is only made for one that was sent as base64.
#[inline]
pub(super) fn key_of<'k, 'a: 'k>(command: &Meta<'a>, scratch: &'k mut Option<KeyBuffer>) -> &'k [u8] {
    match command.key_binary() {
        false => command.key_sent,
        true => command.key(scratch.insert(KeyBuffer::default())),
    }
}

/// Reads an item, unless it turns out that this changes it.
fn look(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    key: &Key<'_>,
    out: &mut Vec<u8>,
) -> Result<Outcome, Failure> {
    let look = |entry: Option<&Entry<'_>>| {
        let Some(entry) = entry else {
            return Outcome::Missing;
        };
        if entry.stale() && !entry.won() {
            // The first to see a stale item wins the right to recache it.
            return Outcome::MustChange;
        }
        hit(
            exchange,
            command,
            entry,
            Plan {
                expiry: None,
                wins: false,
            },
            out,
        )
    };
    match command.has(b'u') {
        true => exchange.peek(key, need(command), look),
        false => exchange.read(key, need(command), look),
    }
}

/// Reads an item that the command may change, or creates it.
fn change(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    key: &Key<'_>,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<Outcome, Failure> {
    let vivify = command.has(b'N').then(|| expiry_of_created(exchange, command));
    let changed = exchange.update(key, need(command), |entry| {
        out.truncate(start);
        let Some(entry) = entry else {
            let Some(expiry) = vivify else {
                return (Decision::Keep, Outcome::Missing);
            };
            let cas = command.cas_new();
            return (
                Decision::Put(New {
                    expiry,
                    cas,
                    won: true,
                    ..New::new(&[])
                }),
                Outcome::Created,
            );
        };
        let plan = plan(exchange, command, entry);
        let change = Change {
            expiry: plan.expiry,
            accessed: !command.has(b'u'),
            won: plan.wins.then_some(true),
            ..Change::default()
        };
        (Decision::Change(change), hit(exchange, command, entry, plan, out))
    });
    let (outcome, cas) = match changed {
        Ok(changed) => changed,
        // An item that cannot be created or moved for lack of memory is a miss.
        Err(failure) => return failure.or_miss::<()>().map(|()| Outcome::Missing),
    };
    if let Outcome::Created = outcome {
        let view = View {
            key: key.bytes(),
            length: 0,
            flags: 0,
            cas,
            expiry: Expiry::Never,
            idle: 0,
            fetched: false,
            stale: false,
            won: false,
            created: true,
        };
        let with_value = answer(exchange, command, &view, true, out);
        if with_value {
            out.extend_from_slice(b"\r\n");
        }
    }
    Ok(outcome)
}

/// Decides if the item gets a new expiry and if the client wins the right to recache. The flags are looked at in
/// their order: a `T` before an `R` counts for it.
fn plan(exchange: &Exchange<'_>, command: &Meta<'_>, entry: &Entry<'_>) -> Plan {
    let mut plan = Plan {
        expiry: None,
        wins: entry.stale() && !entry.won(),
    };
    for flag in command.flags() {
        match flag.name {
            b'T' => plan.expiry = span(exchange, command.exptime()),
            b'R' if !entry.won() => {
                let ends = plan.expiry.unwrap_or(entry.expiry());
                plan.wins |= ends_before(ends, span(exchange, command.recache()).unwrap_or(Expiry::Never));
            }
            _ => {}
        }
    }
    plan
}

fn ends_before(expiry: Expiry, limit: Expiry) -> bool {
    match (expiry, limit) {
        (Expiry::At(end), Expiry::At(limit)) => end < limit,
        _ => false,
    }
}

/// Appends the reply for an item that is there.
fn hit(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    entry: &Entry<'_>,
    plan: Plan,
    out: &mut Vec<u8>,
) -> Outcome {
    let view = View {
        key: entry.key(),
        length: entry.len(),
        flags: entry.flags(),
        cas: entry.cas(),
        expiry: entry.expiry(),
        idle: exchange.now.0.saturating_sub(entry.last_access()),
        fetched: entry.fetched(),
        stale: entry.stale(),
        won: entry.won(),
        created: false,
    };
    if !answer(exchange, command, &view, plan.wins, out) {
        return Outcome::Hit(view.length, None);
    }
    Outcome::Hit(view.length, piece::append(entry.value(), b"\r\n", out))
}

/// Appends the reply's line; answers whether the value is to follow.
fn answer(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    view: &View<'_>,
    wins: bool,
    out: &mut Vec<u8>,
) -> bool {
    let with_value = command.has(b'v') && command.cas() != Some(view.cas);
    match with_value {
        true => meta::value(out, view.length),
        false => meta::status(out, Status::Hd),
    }
    let mut item = Before {
        created: view.created,
        expiry: view.expiry,
    };
    for flag in command.flags() {
        item.expiry = expiry_after(exchange, command, flag.name, item);
        match flag.name {
            b's' => meta::number(out, b's', view.length),
            b't' => meta::seconds(out, left(item.expiry, exchange)),
            b'c' => meta::number(out, b'c', view.cas),
            b'f' => meta::number(out, b'f', u64::from(view.flags)),
            b'l' => meta::number(out, b'l', u64::from(view.idle)),
            b'h' => meta::number(out, b'h', u64::from(view.fetched)),
            b'O' => meta::token(out, flag.token),
            b'k' => meta::key(out, view.key, command.key_binary()),
            _ => {}
        }
    }
    if view.won {
        meta::flag(out, b'Z');
    }
    if view.stale {
        meta::flag(out, b'X');
    }
    if wins {
        meta::flag(out, b'W');
    }
    meta::end(out);
    with_value
}

fn left(expiry: Expiry, exchange: &Exchange<'_>) -> Option<u32> {
    match expiry {
        Expiry::Never => None,
        ends => Some(u32::try_from(seconds_left(ends, exchange.now)).unwrap_or(0)),
    }
}

/// Appends a status with the flags that need no item.
pub(super) fn without_item(command: &Meta<'_>, status: Status, key: &[u8], out: &mut Vec<u8>) {
    meta::status(out, status);
    for flag in command.flags() {
        match flag.name {
            b'O' => meta::token(out, flag.token),
            b'k' => meta::key(out, key, command.key_binary()),
            _ => {}
        }
    }
    meta::end(out);
}

/// Executes `md`, `ma`, `mn` and `me`.
pub(super) fn execute(exchange: &Exchange<'_>, command: &Meta<'_>, out: &mut Vec<u8>) {
    match command.verb {
        MetaVerb::NoOp => out.extend_from_slice(meta::MN),
        MetaVerb::Delete => delete(exchange, command, out),
        MetaVerb::Arithmetic => arithmetic(exchange, command, out),
        MetaVerb::Debug => debug(exchange, command, out),
        // These two need more than the line.
        MetaVerb::Get | MetaVerb::Set => {}
    }
}

fn delete(exchange: &Exchange<'_>, command: &Meta<'_>, out: &mut Vec<u8>) {
    let mut scratch = None;
    let key = exchange.store().key(key_of(command, &mut scratch));
    let exptime = span(exchange, command.exptime());
    let removal = Removal {
        command: "md",
        compare: command.cas(),
        cas: command.cas_new(),
        hollow: command
            .has(b'x')
            .then(|| (command.client_flags(), exptime.unwrap_or(Expiry::Never))),
        stale: command.has(b'I').then_some(exptime),
    };
    let status = match exchange.remove(&key, &removal) {
        Removed::Done if command.quiet() => return,
        Removed::Done => Status::Hd,
        Removed::NotFound => Status::Nf,
        Removed::Exists => Status::Ex,
        Removed::Failed(failure) => return fail(out, false, failure),
    };
    without_item(command, status, key.bytes(), out);
}

fn arithmetic(exchange: &Exchange<'_>, command: &Meta<'_>, out: &mut Vec<u8>) {
    let mut scratch = None;
    let key = exchange.store().key(key_of(command, &mut scratch));
    let count = Count {
        increment: !command.decrement,
        delta: command.delta(),
        compare: command.cas().unwrap_or(0),
        cas: command.cas_new(),
        expiry: span(exchange, command.exptime()),
        create: command
            .has(b'N')
            .then(|| (command.initial(), expiry_of_created(exchange, command))),
    };
    match exchange.count(&key, &count) {
        Counted::Number { .. } if command.quiet() => {}
        Counted::Number { number, cas, expiry } => {
            let before = Before {
                created: expiry.is_none(),
                expiry: expiry.unwrap_or(Expiry::Never),
            };
            number_reply(exchange, command, key.bytes(), (number, cas), before, out);
        }
        Counted::NotFound => without_item(command, Status::Nf, key.bytes(), out),
        Counted::Exists => without_item(command, Status::Ex, key.bytes(), out),
        Counted::NotNumeric => out.extend_from_slice(text::NON_NUMERIC),
        Counted::NoMemory => out.extend_from_slice(b"SERVER_ERROR out of memory\r\n"),
        Counted::Failed(failure) => fail(out, false, failure),
    }
}

/// An item before a command.
#[derive(Clone, Copy)]
struct Before {
    /// There was none.
    created: bool,
    expiry: Expiry,
}

/// The expiry that a flag's number of seconds stands for.
fn span(exchange: &Exchange<'_>, exptime: Option<i64>) -> Option<Expiry> {
    exptime.map(|exptime| exchange.expiry(exptime))
}

/// The expiry after a flag, of those flags that change it: they count in their order.
fn expiry_after(exchange: &Exchange<'_>, command: &Meta<'_>, letter: u8, before: Before) -> Expiry {
    match letter {
        b'T' => span(exchange, command.exptime()).unwrap_or(before.expiry),
        b'N' if before.created => span(exchange, command.vivify()).unwrap_or(before.expiry),
        _ => before.expiry,
    }
}

/// The expiry of an item that a command creates.
fn expiry_of_created(exchange: &Exchange<'_>, command: &Meta<'_>) -> Expiry {
    let nothing = Before {
        created: true,
        expiry: Expiry::Never,
    };
    let after = |before, flag: meta::Flag<'_>| Before {
        expiry: expiry_after(exchange, command, flag.name, before),
        ..before
    };
    command.flags().fold(nothing, after).expiry
}

/// Appends the reply for a number that was changed or created.
fn number_reply(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    key: &[u8],
    (number, cas): (u64, u64),
    mut item: Before,
    out: &mut Vec<u8>,
) {
    let decimal = Decimal::new(number);
    match command.has(b'v') {
        true => meta::value(out, decimal.bytes().len() as u64),
        false => meta::status(out, Status::Hd),
    }
    for flag in command.flags() {
        item.expiry = expiry_after(exchange, command, flag.name, item);
        match flag.name {
            b'c' => meta::number(out, b'c', cas),
            b't' => meta::seconds(out, left(item.expiry, exchange)),
            b'O' => meta::token(out, flag.token),
            b'k' => meta::key(out, key, command.key_binary()),
            _ => {}
        }
    }
    meta::end(out);
    if command.has(b'v') {
        out.extend_from_slice(decimal.bytes());
        meta::end(out);
    }
}

fn debug(exchange: &Exchange<'_>, command: &Meta<'_>, out: &mut Vec<u8>) {
    let mut scratch = None;
    let key = exchange.store().key(key_of(command, &mut scratch));
    let start = out.len();
    let found = exchange.peek(&key, Need::Facts, |entry| {
        let Some(entry) = entry else { return false };
        let item = meta::Debug {
            key: entry.key(),
            key_binary: command.key_binary(),
            left: left(entry.expiry(), exchange),
            idle: exchange.now.0.saturating_sub(entry.last_access()),
            cas: entry.cas(),
            fetched: entry.fetched(),
            class: 1,
            size: entry.key().len() as u64 + entry.len(),
        };
        meta::debug(out, &item);
        true
    });
    match found {
        Ok(true) => {}
        Ok(false) => {
            out.truncate(start);
            out.extend_from_slice(b"EN\r\n");
        }
        Err(Failure::Cold) => return,
        Err(failure) => fail(out, false, failure),
    }
    exchange.counters.cmd_meta.add(1);
}
