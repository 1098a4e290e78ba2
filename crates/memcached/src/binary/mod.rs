//! The binary protocol.
//!
//! memcached answers it strictly in order although it carries identifiers, and clients rely on that; so do we.

mod get;
mod look_ahead;
mod rare;
mod sasl;
mod store;

use std::ops::Range;

use io::{Output, Took};
use kv::{Engine, Payload, StoreError};
use wire::Parsed;
use wire::memcached::binary::{self, Error, Opcode, Operation, Request, Status};

use crate::operations::remove::{Removal, Removed};
use crate::operations::{Exchange, Failure};
use crate::progress::{Next, Progress, Reason};
use crate::waits::{self, Reply, Waits};

/// The state of a binary connection between two exchanges.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// So many bytes of a refused request are left.
    swallow: u64,
    authenticated: bool,
}

/// Parses a request whose body may be as long as the store's items.
#[inline]
fn parse<'a>(exchange: &Exchange<'_>, input: &'a [u8]) -> Parsed<Result<Request<'a>, Error>> {
    binary::parse_within(input, exchange.service.body_length_max)
}

impl State {
    /// Executes what is in the input.
    pub(crate) fn run(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> (Took, Next) {
        let mut at = 0;
        loop {
            if self.swallow > 0 {
                let used = (input.len() - at).min(usize::try_from(self.swallow).unwrap_or(usize::MAX));
                self.swallow -= used as u64;
                at += used;
            }
            if out.full() || exchange.has_moved_enough() || at == input.len() {
                return (Took::from(at), Next::Exchange);
            }
            match self.next(exchange, &input[at..], out) {
                Progress::Done(used) => at += used,
                Progress::Wait(need) => return (Took::waiting(at, need), Next::Exchange),
                Progress::Stop(used, then) => return (Took::from(at + used), then),
            }
        }
    }

    /// Executes a storage command whose value was received apart.
    pub(crate) fn received(exchange: &Exchange<'_>, head: &[u8], value: Payload<'_>, out: &mut Vec<u8>) {
        if let Parsed::Done(Ok(request), _) = parse(exchange, head) {
            store::finish(exchange, &request, value, out);
        }
    }

    /// Answers a storage command whose value the store has no memory to receive; its bytes will be discarded.
    pub(crate) fn no_room(exchange: &Exchange<'_>, head: &[u8], error: StoreError, out: &mut Vec<u8>) {
        if let Parsed::Done(Ok(request), _) = parse(exchange, head) {
            store::no_room(exchange, &request, error, out);
        }
    }

    /// Answers a storage command whose value was received and could not be committed.
    pub(crate) fn failed(exchange: &Exchange<'_>, head: &[u8], error: StoreError, out: &mut Vec<u8>) {
        if let Parsed::Done(Ok(request), _) = parse(exchange, head) {
            failure(&request, waits::status(error.into()), out);
        }
    }

    /// The rest of a value is thrown away before the next request.
    pub(crate) fn swallow(&mut self, bytes: u64) {
        self.swallow = bytes;
    }

    #[inline]
    fn next(&mut self, exchange: &Exchange<'_>, input: &[u8], out: &mut Output) -> Progress {
        match parse(exchange, input) {
            Parsed::Done(Ok(request), used) if !self.may(exchange, &request) => {
                locked_out(&request, used, out)
            }
            Parsed::Done(Ok(request), used) => match request.operation {
                Operation::Get { .. } => get::run(exchange, &request, input, used, out),
                _ => {
                    let start = out.buffer().len();
                    let progress = self.execute(exchange, &request, input, used, out);
                    match exchange.waits.get() {
                        None => progress,
                        Some(waits) => after(waits, &request, progress, start..out.buffer().len()),
                    }
                }
            },
            Parsed::Done(Err(error), used) => self.refuse(exchange, error, used, out),
            Parsed::More(need) => Progress::Wait(need),
        }
    }

    #[inline(never)]
    fn execute(
        &mut self,
        exchange: &Exchange<'_>,
        request: &Request<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        match request.operation {
            Operation::Store { .. } | Operation::Concatenate(_) => {
                return self.store(exchange, request, input, used, out);
            }
            Operation::Sasl(step) => return self.sasl(exchange, request, step, input, used, out),
            Operation::GetAndTouch { exptime, .. } => get::touch(exchange, request, exptime, true, out),
            Operation::Touch { exptime } => get::touch(exchange, request, exptime, false, out),
            Operation::Stat => return rare::stat(exchange, request, used, out),
            Operation::Quit => {
                success(request, out.buffer());
                return Progress::Stop(used, Next::Close(Reason::Normal));
            }
            Operation::Noop => success(request, out.buffer()),
            Operation::Version => rare::version(exchange, request, out.buffer()),
            Operation::Delete => delete(exchange, request, out.buffer()),
            Operation::Flush { exptime } => rare::flush(exchange, request, exptime, out.buffer()),
            Operation::Arithmetic { .. } => rare::arithmetic(exchange, request, out.buffer()),
            // Reads in a row are executed together, in `get::run`.
            Operation::Get { .. } => {}
        }
        Progress::Done(used)
    }

    /// Returns true if the client may send this request.
    #[inline]
    fn may(&self, exchange: &Exchange<'_>, request: &Request<'_>) -> bool {
        !exchange.endpoint.is_guarded()
            || self.authenticated
            || matches!(request.operation, Operation::Sasl(_) | Operation::Version)
    }

    #[cold]
    fn refuse(&mut self, exchange: &Exchange<'_>, error: Error, used: usize, out: &mut Output) -> Progress {
        let sasl = matches!(
            error.opcode(),
            Opcode::SASL_LIST_MECHS | Opcode::SASL_AUTH | Opcode::SASL_STEP
        );
        let open = !exchange.endpoint.is_guarded()
            || self.authenticated
            || sasl
            || error.opcode() == Opcode::VERSION;
        if error.framed() && !open {
            let status = Status::AuthenticationFailed;
            binary::status(out.buffer(), error.opcode(), error.opaque(), 0, status);
            return Progress::Stop(used, Next::Close(Reason::Error));
        }
        error.reply(out.buffer());
        if error.fatal() {
            return Progress::Stop(used, Next::Close(Reason::Error));
        }
        self.swallow = error.swallow();
        Progress::Done(used)
    }
}

#[cold]
fn locked_out(request: &Request<'_>, used: usize, out: &mut Output) -> Progress {
    failure(request, Status::AuthenticationFailed, out.buffer());
    Progress::Stop(used, Next::Close(Reason::Error))
}

fn delete(exchange: &Exchange<'_>, request: &Request<'_>, out: &mut Vec<u8>) {
    let compare = (request.cas != 0).then_some(request.cas);
    match exchange.remove(
        &exchange.store().key(request.key),
        &Removal::plain("delete", compare),
    ) {
        Removed::Done => success(request, out),
        Removed::NotFound => failure(request, Status::NotFound, out),
        Removed::Exists => failure(request, Status::Exists, out),
        Removed::Failed(error) => fail(request, error, out),
    }
}

/// What follows a request of a connection that has to wait: a request that found something cold is executed again, and the
/// response of one that has written something is true only once that is committed.
#[cold]
fn after(waits: &Waits, request: &Request<'_>, progress: Progress, reply: Range<usize>) -> Progress {
    if waits.is_cold() {
        return Progress::Stop(0, Next::Fetch);
    }
    let (opcode, opaque) = (request.opcode, request.opaque);
    waits.promise(reply, Reply::Binary { opcode, opaque });
    progress
}

/// Appends an error of the store; nothing for a request that will be executed again.
#[cold]
fn fail(request: &Request<'_>, error: Failure, out: &mut Vec<u8>) {
    if let Failure::Store(error) = error {
        failure(request, waits::status(error), out);
    }
}

/// Appends a response without a body, unless the request is a quiet one.
fn success(request: &Request<'_>, out: &mut Vec<u8>) {
    success_with_cas(request, 0, out);
}

fn success_with_cas(request: &Request<'_>, cas: u64, out: &mut Vec<u8>) {
    if !request.opcode.quiet() {
        binary::status(out, request.opcode, request.opaque, cas, Status::Success);
    }
}

/// Appends a failure; quiet requests are told, too.
fn failure(request: &Request<'_>, status: Status, out: &mut Vec<u8>) {
    binary::status(out, request.opcode, request.opaque, 0, status);
}

/// The expiry that a number of seconds stands for; it is unsigned in this protocol.
fn expiry(exptime: u32, exchange: &Exchange<'_>) -> kv::Expiry {
    exchange.expiry(i64::from(exptime))
}
