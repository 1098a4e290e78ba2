//! One connection: exchanges, and the work between them.
//!
//! ```text
//!   exchange ─► text or binary protocol ─► Next ─┬─ none: the next exchange
//!                                                ├─ Fetch, Commit: wait for the store, then go on
//!                                                ├─ Receive: a large value, straight into the store's memory
//!                                                ├─ Watch, Dump: streams of lines
//!                                                ├─ LoggedIn: the same again, until the login is revoked
//!                                                └─ Close
//! ```
//!
//! **Invariant:** work outside of exchanges is boxed, and nothing is stored twice, so that an idle connection's future stays
//! small.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use io::{Again, Exchange, Output, Stream, Took};
use kv::Engine;

use crate::context::Context;
use crate::endpoint::{Endpoint, Login};
use crate::progress::{Next, Reason};
use crate::protocol::Protocol;
use crate::registry::Activity;
use crate::waits::Waits;
use crate::{commit, dump, operations, upload, watcher};

impl Endpoint {
    /// Answers a client's requests until it leaves, is idle for too long, breaks the protocol, or loses its login.
    ///
    /// There is one future per connection, so it is small.
    pub fn serve(self: Arc<Self>, mut stream: Stream) -> impl Future<Output = ()> {
        stream.set_idle_timeout(self.service.config.idle_timeout);
        // Made here, not in the block below, which would keep its arguments twice.
        let mut client = Client::new(Context::begin(self, &stream));
        async move {
            let reason = loop {
                let exchanged = stream.exchange(|input, out| client.run(input, out)).await;
                match client.after(exchanged) {
                    None => {}
                    Some(next) => match Box::pin(client.leave_exchange(&mut stream, *next)).await {
                        None => {}
                        Some(reason) => break reason,
                    },
                }
            };
            client.context.end(reason);
            drop(client);
            // The client may have gone before its last replies.
            let _ = Box::pin(stream.close()).await;
        }
    }
}

/// The state of a connection between two exchanges.
struct Client {
    context: Context,
    protocol: Protocol,
}

impl Client {
    fn new(context: Context) -> Client {
        Client {
            context,
            protocol: Protocol::Unknown,
        }
    }

    /// Executes what is in the input.
    #[inline]
    fn run(&mut self, input: &[u8], out: &mut Output) -> Took {
        let exchange = self.context.exchange();
        let connection = &self.context.connection;
        connection.active(exchange.now);
        let before = out.len();
        let (mut took, mut next) = loop {
            match &mut self.protocol {
                Protocol::Text(state) => break state.run(&exchange, input, out),
                Protocol::Binary(state) => break state.run(&exchange, input, out),
                Protocol::Unknown => match Protocol::of(&self.context, input) {
                    Some(known) => self.protocol = known,
                    None => break (Took::from(0), Next::Close(Reason::Error)),
                },
            }
        };
        if exchange.has_moved_enough() {
            // The next exchange waits for the loop's other tasks.
            io::charge(usize::try_from(exchange.moved()).unwrap_or(usize::MAX));
        }
        if took.need <= 1 && took.consumed < input.len() {
            // The output is full: others have their turn before the rest of the requests.
            exchange.counters.conn_yields.add(1);
        }
        exchange.counters.bytes_read.add(took.consumed as u64);
        exchange.counters.bytes_written.add((out.len() - before) as u64);
        if let Some(waits) = exchange.waits.get() {
            next = prepare_to_wait(waits, &self.protocol, &exchange, (input, out), &mut took, next);
        }
        if took.need > 1 {
            connection.set_activity(Activity::Nread);
        } else if connection.activity() != Activity::Read {
            connection.set_activity(Activity::Read);
        }
        if !matches!(next, Next::Exchange) {
            exchange.waits().set_next(next);
        }
        took
    }

    /// The work after an exchange, if any.
    #[inline]
    fn after(&mut self, exchanged: Result<Exchange, io::Error>) -> Option<Box<Next>> {
        match exchanged {
            Ok(Exchange::Open) => match self.context.waits.get() {
                None => None,
                Some(_) => self.context.take_next(),
            },
            Ok(_) => Some(Box::new(Next::Close(Reason::Normal))),
            Err(error) => Some(Box::new(Next::Close(ended_by(&self.context, &error)))),
        }
    }

    /// Does the work after an exchange; a reason ends the connection.
    async fn leave_exchange(&mut self, stream: &mut Stream, next: Next) -> Option<Reason> {
        match self.settle(stream, next).await {
            Err(reason) => Some(reason),
            Ok(next) => self.leave_settled(stream, next).await,
        }
    }

    /// Waits for what the exchange left, and sends what it held back.
    async fn settle(&mut self, stream: &mut Stream, next: Next) -> Result<Next, Reason> {
        let settled = commit::settle(&mut self.context, stream, next).await;
        settled.map_err(|error| ended_by(&self.context, &error))
    }

    async fn leave_settled(&mut self, stream: &mut Stream, next: Next) -> Option<Reason> {
        match next {
            Next::LoggedIn(login) => Some(self.run_logged_in(stream, login).await),
            next => self.carry_out(stream, next).await,
        }
    }

    /// Goes on as [`Endpoint::serve`] does, and ends when the login is revoked.
    async fn run_logged_in(&mut self, stream: &mut Stream, login: Arc<Login>) -> Reason {
        let login = RefCell::new(login);
        let mut conversation = pin!(async {
            loop {
                let exchanged = stream.exchange(|input, out| self.run(input, out)).await;
                let Some(next) = self.after(exchanged) else {
                    continue;
                };
                let next = match self.settle(stream, *next).await {
                    Ok(next) => next,
                    Err(reason) => return reason,
                };
                match next {
                    // The client logged in again, perhaps as another user.
                    Next::LoggedIn(new) => drop(login.replace(new)),
                    next => {
                        if let Some(reason) = self.carry_out(stream, next).await {
                            return reason;
                        }
                    }
                }
            }
        });
        poll_fn(|task| match conversation.as_mut().poll(task) {
            Poll::Ready(reason) => Poll::Ready(reason),
            Poll::Pending => login.borrow().poll_revoked(task).map(|()| Reason::Error),
        })
        .await
    }

    async fn carry_out(&mut self, stream: &mut Stream, next: Next) -> Option<Reason> {
        let context = &mut self.context;
        let done = match next {
            Next::Receive(upload) => upload::receive(context, stream, &mut self.protocol, &upload).await,
            Next::Dump(kind) => dump::dump(context, stream, kind).await,
            Next::Watch(kinds) => match watcher::watch(context, stream, kinds).await {
                Ok(reason) => return Some(reason),
                Err(error) => Err(error),
            },
            Next::Close(reason) => return Some(reason),
            Next::Exchange | Next::LoggedIn(_) | Next::Fetch | Next::Commit(_) => Ok(()),
        };
        done.err().map(|error| ended_by(context, &error))
    }
}

/// Sees to it that an exchange is followed by the waits that it needs.
#[cold]
fn prepare_to_wait(
    waits: &Waits,
    protocol: &Protocol,
    exchange: &operations::Exchange<'_>,
    (input, out): (&[u8], &mut Output),
    took: &mut Took,
    next: Next,
) -> Next {
    let is_all_used = waits.consumed(took.consumed);
    if let Next::Fetch = next {
        // The command is there, and no further input may come.
        took.again = Again::Room;
        if is_all_used {
            waits.cover(protocol.look_ahead(exchange, &input[took.consumed..]));
        } else if exchange.store().sends_conditional_writes() {
            let rest = &input[took.consumed..];
            protocol.begin_writes(exchange, &rest[..waits.covered().min(rest.len())]);
        }
    }
    match waits.take_commit() {
        Some(commit) => Next::Commit(Box::new(waits.hold(commit, out, next))),
        None => next,
    }
}

/// Why an error ended the connection.
fn ended_by(context: &Context, error: &io::Error) -> Reason {
    match error {
        io::Error::IdleTimeout { .. } => {
            context.counters().idle_kicks.add(1);
            Reason::IdleTimeout
        }
        error if error.is_disconnect() => Reason::Normal,
        error => {
            tracing::debug!(connection = context.connection.id(), %error, "connection ended");
            Reason::Error
        }
    }
}
