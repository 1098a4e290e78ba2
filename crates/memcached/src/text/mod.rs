//! Text and meta commands.
//!
//! [`State::run`] executes the input: runs of single-key reads are parsed ahead, hashed and prefetched as
//! one batch, everything else is executed as it comes. Replies are appended in order. It stops when the output is
//! full, also in the middle of a line of keys, and goes on from there in the next exchange.
//!
//! **Invariant:** what one connection asked for is executed strictly in the order of asking.

mod admin;
mod get;
mod look_ahead;
mod meta;
mod meta_store;
mod stats;
mod store;

use std::ops::Range;

use io::{Output, Took};
use kv::{Engine, Payload};
use wire::Parsed;
use wire::memcached::meta::MetaVerb;
use wire::memcached::text::{self, Command, Error, GetVerb};

use crate::operations::count::{Count, Counted};
use crate::operations::remove::{Removal, Removed};
use crate::operations::{Exchange, Failure};
use crate::progress::{self, Next, Progress, Reason};
use crate::waits::{self, Reply, Waits};

/// The state of a text connection between two exchanges.
#[derive(Debug, Default)]
pub(crate) struct State {
    pause: Pause,
    authenticated: bool,
}

/// In the middle of what the last exchange stopped.
#[derive(Clone, Copy, Debug, Default)]
enum Pause {
    #[default]
    Nothing,
    /// A line of keys.
    Keys { verb: GetVerb, exptime: i64 },
    /// A line that was refused.
    Line,
    /// The rest of a refused value, in bytes.
    Value(u64),
}

/// Parses a command whose data block may be as long as the store's items.
#[inline]
fn parse<'a>(exchange: &Exchange<'_>, input: &'a [u8]) -> Parsed<Result<Command<'a>, Error>> {
    text::parse_within(input, exchange.service.text_length_max)
}

impl State {
    /// Executes what is in the input.
    pub(crate) fn run(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> (Took, Next) {
        let mut at = match self.resume(exchange, input, out) {
            Progress::Done(used) => used,
            Progress::Wait(need) => return (Took::waiting(0, need), Next::Exchange),
            Progress::Stop(used, then) => return (Took::from(used), then),
        };
        loop {
            if out.full() || exchange.has_moved_enough() {
                return (Took::from(at), Next::Exchange);
            }
            let step = match self.is_locked_out(exchange) {
                true => self.authenticate(exchange, &input[at..], out),
                false => self.next(exchange, &input[at..], out),
            };
            match step {
                Progress::Done(used) => at += used,
                Progress::Wait(need) => return (Took::waiting(at, need), Next::Exchange),
                Progress::Stop(used, then) => return (Took::from(at + used), then),
            }
        }
    }

    /// Executes a storage command whose value was received apart. `whole` tells that a line end followed it.
    pub(crate) fn received(
        exchange: &Exchange<'_>,
        head: &[u8],
        value: Payload<'_>,
        whole: bool,
        out: &mut Vec<u8>,
    ) {
        // The head was parsed before, so it is a storage command.
        match parse(exchange, head) {
            Parsed::Done(Ok(Command::Store(store)), _) => store::finish(exchange, &store, value, whole, out),
            Parsed::Done(Ok(Command::Meta(meta)), _) => {
                meta_store::finish(exchange, &meta, value, whole, out)
            }
            _ => {}
        }
    }

    /// Answers a storage command whose value the store has no memory to receive; its bytes will be discarded.
    pub(crate) fn no_room(exchange: &Exchange<'_>, head: &[u8], error: kv::StoreError, out: &mut Vec<u8>) {
        match parse(exchange, head) {
            Parsed::Done(Ok(Command::Store(command)), _) => store::no_room(exchange, &command, error, out),
            Parsed::Done(Ok(Command::Meta(meta)), _) => meta_store::no_room(exchange, &meta, error, out),
            _ => {}
        }
    }

    /// Answers a storage command whose value was received and could not be committed.
    pub(crate) fn failed(exchange: &Exchange<'_>, head: &[u8], error: kv::StoreError, out: &mut Vec<u8>) {
        match parse(exchange, head) {
            Parsed::Done(Ok(Command::Store(command)), _) if command.noreply => {}
            _ => waits::server_error(error.into(), out),
        }
    }

    /// Discards the rest of a value before the next command.
    pub(crate) fn swallow(&mut self, bytes: u64) {
        self.pause = Pause::Value(bytes);
    }

    /// Goes on with what the last exchange stopped in.
    #[inline]
    fn resume(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> Progress {
        match self.pause {
            Pause::Nothing => Progress::Done(0),
            Pause::Keys { verb, exptime } => self.more_keys(exchange, verb, exptime, input, out),
            Pause::Line => {
                let (used, ended) = text::skip_line(input);
                if !ended {
                    return Progress::Stop(used, Next::Exchange);
                }
                self.pause = Pause::Nothing;
                Progress::Done(used)
            }
            Pause::Value(left) => {
                let used = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                if (used as u64) < left {
                    self.pause = Pause::Value(left - used as u64);
                    return Progress::Stop(used, Next::Exchange);
                }
                self.pause = Pause::Nothing;
                Progress::Done(used)
            }
        }
    }

    #[inline]
    fn next(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> Progress {
        match parse(exchange, input) {
            Parsed::Done(Ok(Command::Get(get)), used) => self.get(exchange, &get, input, used, out),
            Parsed::Done(Ok(command), used) => {
                let start = out.buffer().len();
                let progress = self.execute(exchange, &command, input, used, out);
                match exchange.waits.get() {
                    None => progress,
                    Some(waits) => after(waits, &command, progress, start..out.buffer().len()),
                }
            }
            Parsed::Done(Err(error), used) => self.refuse(exchange, error, input, used, out),
            Parsed::More(need) => Progress::Wait(need),
        }
    }

    #[inline(never)]
    fn execute(
        &mut self,
        exchange: &Exchange<'_>,
        command: &Command<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        match command {
            Command::Store(store) => self.store(exchange, store, input, used, out),
            Command::Meta(meta) if meta.verb == MetaVerb::Set => {
                self.meta_store(exchange, meta, input, used, out)
            }
            Command::Meta(meta) if meta.verb == MetaVerb::Get => {
                meta::get_run(exchange, meta, input, used, out)
            }
            Command::Quit => Progress::Stop(used, Next::Close(Reason::Normal)),
            Command::Watch(words) => admin::watch(exchange, words.clone(), used, out),
            Command::Shutdown(shutdown) => admin::shutdown(exchange, shutdown, used, out),
            Command::Admin(command) => admin::admin(exchange, command, used, out),
            Command::Stats(words) => match stats::dump(exchange, words.clone()) {
                Some(dump) => Progress::Stop(used, Next::Dump(dump)),
                None => {
                    stats::stats(exchange, words.clone(), out.buffer());
                    Progress::Done(used)
                }
            },
            simple => {
                execute_simple(exchange, simple, out.buffer());
                Progress::Done(used)
            }
        }
    }

    /// Answers a line that cannot be executed.
    #[cold]
    fn refuse(
        &mut self,
        exchange: &Exchange<'_>,
        error: Error,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        if exchange.service.config.debug && admin::debug_time(exchange, &input[..used], out.buffer()) {
            return Progress::Done(used);
        }
        out.write(error.reply());
        if error.fatal() {
            return Progress::Stop(used, Next::Close(Reason::Error));
        }
        if error.skip_line() {
            self.pause = Pause::Line;
        } else if error.swallow() > 0 {
            self.pause = Pause::Value(error.swallow());
        } else {
            return Progress::Done(used);
        }
        match self.resume(exchange, &input[used..], out) {
            Progress::Done(more) => Progress::Done(used + more),
            Progress::Wait(need) => Progress::Wait(used + need),
            Progress::Stop(more, then) => Progress::Stop(used + more, then),
        }
    }

    #[inline]
    fn is_locked_out(&self, exchange: &Exchange<'_>) -> bool {
        exchange.endpoint.is_guarded() && !self.authenticated
    }

    #[cold]
    fn authenticate(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> Progress {
        match text::parse_authentication(input) {
            Parsed::Done(Ok(credentials), used) => {
                let login = exchange.log_in(credentials.name, credentials.password);
                self.authenticated = login.is_some();
                match login {
                    Some(login) => {
                        out.write(text::STORED);
                        Progress::Stop(used, Next::LoggedIn(login))
                    }
                    None => {
                        out.write(b"CLIENT_ERROR authentication failure\r\n");
                        Progress::Done(used)
                    }
                }
            }
            Parsed::Done(Err(error), used) => {
                out.write(error.reply());
                match error.fatal() {
                    true => Progress::Stop(used, Next::Close(Reason::Error)),
                    false => Progress::Done(used),
                }
            }
            Parsed::More(need) => Progress::Wait(need),
        }
    }
}

/// What follows a command of a connection that has to wait: a command that found something cold is executed again, and the
/// reply of one that has written something is true only once that is committed.
#[cold]
fn after(waits: &Waits, command: &Command<'_>, progress: Progress, reply: Range<usize>) -> Progress {
    if waits.is_cold() {
        return match progress {
            Progress::Stop(used, Next::Fetch) => Progress::Stop(used, Next::Fetch),
            _ => Progress::Stop(0, Next::Fetch),
        };
    }
    match command {
        // A meta command's `q` leaves out success only.
        command if reply.is_empty() && !matches!(command, Command::Meta(_)) => waits.promise_nothing(),
        _ => waits.promise(reply, Reply::Text),
    }
    progress
}

/// Executes a command that is whole and needs nothing of its connection.
fn execute_simple(exchange: &Exchange<'_>, command: &Command<'_>, out: &mut Vec<u8>) {
    match command {
        Command::Delete(command) => {
            let removal = Removal::plain("delete", None);
            let reply = match exchange.remove(&exchange.store().key(command.key), &removal) {
                Removed::Done => text::DELETED,
                Removed::Failed(failure) => return fail(out, command.noreply, failure),
                _ => text::NOT_FOUND,
            };
            say(out, command.noreply, reply);
        }
        Command::Arithmetic(command) => arithmetic(exchange, command, out),
        Command::Touch(command) => {
            let expiry = exchange.expiry(command.exptime);
            let reply = match exchange.touch(&exchange.store().key(command.key), expiry) {
                Ok(true) => text::TOUCHED,
                Ok(false) => text::NOT_FOUND,
                Err(failure) => return fail(out, command.noreply, failure),
            };
            say(out, command.noreply, reply);
        }
        Command::Meta(command) => meta::execute(exchange, command, out),
        Command::FlushAll(command) => admin::flush_all(exchange, command, out),
        Command::Verbosity(command) => {
            exchange.service.set_verbosity(command.level.min(2));
            say(out, command.noreply, text::OK);
        }
        Command::Version => text::version(out, &exchange.service.config.version),
        Command::CacheMemlimit(command) => admin::cache_memlimit(exchange, command, out),
        // The rest has a place of its own in `State::execute`.
        _ => {}
    }
}

fn arithmetic(exchange: &Exchange<'_>, command: &text::Arithmetic<'_>, out: &mut Vec<u8>) {
    let count = Count {
        increment: command.increment,
        delta: command.delta,
        compare: 0,
        cas: None,
        expiry: None,
        create: None,
    };
    let counted = exchange.count(&exchange.store().key(command.key), &count);
    if command.noreply {
        return;
    }
    match counted {
        Counted::Number { number, .. } => text::number(out, number),
        Counted::NotFound => out.extend_from_slice(text::NOT_FOUND),
        Counted::NotNumeric => out.extend_from_slice(text::NON_NUMERIC),
        Counted::Exists | Counted::NoMemory => out.extend_from_slice(b"SERVER_ERROR out of memory\r\n"),
        Counted::Failed(failure) => fail(out, command.noreply, failure),
    }
}

/// Appends an error of the store, unless `noreply` leaves it out; nothing for a command that will be executed again.
#[cold]
fn fail(out: &mut Vec<u8>, noreply: bool, failure: Failure) {
    match failure {
        Failure::Store(error) if !noreply => waits::server_error(error, out),
        _ => {}
    }
}

/// Appends a reply that `noreply` leaves out.
#[inline]
fn say(out: &mut Vec<u8>, noreply: bool, reply: &[u8]) {
    if !noreply {
        out.extend_from_slice(reply);
    }
}

/// Returns true if a value of this length is received into memory of its own, unless it is complete in the input.
#[inline]
fn is_large(exchange: &Exchange<'_>, length: u64) -> bool {
    length >= exchange.store().large_value()
}

/// A storage command whose value is too large to wait for in the input.
fn upload(head: &[u8], length: u64, used: usize) -> Progress {
    Progress::Stop(
        used,
        Next::Receive(Box::new(progress::Upload {
            head: head.to_vec(),
            length,
        })),
    )
}
