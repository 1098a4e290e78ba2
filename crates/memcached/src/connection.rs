//! One connection: turns, and the little that cannot be done within one.
//!
//! ```text
//!   turn ─► text or binary session ─► Then ─┬─ Go: the next turn
//!                                           ├─ Receive: a large value, straight into the store's memory
//!                                           ├─ Watch, Dump: streams of lines
//!                                           └─ Close
//! ```
//!
//! **Invariant:** what is not part of a turn is boxed, so that an idle connection's future stays small.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use io::{Output, Peer, Stream, Took};
use kv::{Engine, Payload};
use wire::memcached::{Dialect, dialect};

use crate::config::Dialects;
use crate::counters::Counters;
use crate::operations::Turn;
use crate::registry::{Connection, State};
use crate::service::Service;
use crate::session::{Reason, Then, Upload};
use crate::watch::evictions::Evictions;
use crate::watch::{Kinds, line};
use crate::{binary, dump, text};

/// What belongs to a connection for all its life.
pub(crate) struct Context<'s> {
    pub(crate) service: &'s Arc<Service>,
    pub(crate) counters: &'s Counters,
    pub(crate) connection: &'s Connection,
}

impl<'s> Context<'s> {
    /// The present turn.
    #[inline]
    pub(crate) fn turn(&self) -> Turn<'s> {
        Turn {
            service: self.service,
            counters: self.counters,
            now: self.service.clock.now(io::now()),
            watched: self.service.hub.wanted(),
            detailed: self.service.detail.is_on(),
            connection: self.connection.id(),
        }
    }
}

/// A connection's protocol, told by its first byte.
enum Session {
    Unknown,
    Text(text::Session),
    Binary(binary::Session),
}

/// Serves a client until it goes or must go.
pub(crate) async fn serve(service: Arc<Service>, mut stream: Stream) {
    let counters = service.loops.of(io::loop_index());
    let now = service.clock.now(io::now());
    let connection = service.registry.add(stream.peer(), stream.local(), now);
    let context = Context {
        service: &service,
        counters,
        connection: &connection,
    };
    stream.set_idle_timeout(service.config.idle_timeout);
    counters.total_connections.add(1);
    tell_watchers(&context, None);
    let reason = match talk(&context, &mut stream).await {
        Ok(reason) => reason,
        Err(error) => ended_by(&context, &error),
    };
    service.registry.remove(&connection);
    counters.closed_connections.add(1);
    tell_watchers(&context, Some(reason));
    // Whether the last replies still arrive is the client's affair.
    let _ = stream.close().await;
}

/// Turn after turn.
async fn talk(context: &Context<'_>, stream: &mut Stream) -> Result<Reason, io::Error> {
    let mut talk = Talk {
        session: Session::Unknown,
        then: Then::Go,
    };
    loop {
        let turned = stream
            .exchange(|input, out| take_turn(context, &mut talk, input, out))
            .await?;
        if turned != io::Exchange::Open {
            return Ok(Reason::Normal);
        }
        match std::mem::replace(&mut talk.then, Then::Go) {
            Then::Go => {}
            Then::Close(reason) => return Ok(reason),
            rare => {
                if let Some(reason) = Box::pin(apart(context, stream, &mut talk.session, rare)).await? {
                    return Ok(reason);
                }
            }
        }
    }
}

/// What a turn changes.
struct Talk {
    session: Session,
    then: Then,
}

#[inline]
fn take_turn(context: &Context<'_>, talk: &mut Talk, input: &[u8], out: &mut Output) -> Took {
    let turn = context.turn();
    context.connection.active(turn.now);
    let before = out.len();
    let took;
    (took, talk.then) = loop {
        match &mut talk.session {
            Session::Text(session) => break session.run(&turn, input, out),
            Session::Binary(session) => break session.run(&turn, input, out),
            Session::Unknown => match begin(context.service.config.dialects, input) {
                Some(known) => talk.session = known,
                None => break (Took::from(0), Then::Close(Reason::Error)),
            },
        }
    };
    if took.need <= 1 && took.consumed < input.len() {
        // The output is full: others have their turn before the rest of the requests.
        context.counters.conn_yields.add(1);
    }
    context.counters.bytes_read.add(took.consumed as u64);
    context.counters.bytes_written.add((out.len() - before) as u64);
    if took.need > 1 {
        context.connection.set_state(State::Nread);
    } else if context.connection.state() != State::Read {
        context.connection.set_state(State::Read);
    }
    took
}

/// The protocol of a connection, if it's one that may be spoken.
fn begin(dialects: Dialects, input: &[u8]) -> Option<Session> {
    let spoken = input.first().map(|&byte| dialect(byte))?;
    match (spoken, dialects) {
        (Dialect::Text, Dialects::Auto | Dialects::Text) => Some(Session::Text(text::Session::default())),
        (Dialect::Binary, Dialects::Auto | Dialects::Binary) => {
            Some(Session::Binary(binary::Session::default()))
        }
        _ => None,
    }
}

/// Does what is not part of a turn; a reason ends the connection.
async fn apart(
    context: &Context<'_>,
    stream: &mut Stream,
    session: &mut Session,
    then: Then,
) -> Result<Option<Reason>, io::Error> {
    match then {
        Then::Receive(upload) => receive(context, stream, session, &upload).await?,
        Then::Dump(kind) => dump::dump(context, stream, kind).await?,
        Then::Watch(kinds) => return watch(context, stream, kinds).await.map(Some),
        Then::Close(reason) => return Ok(Some(reason)),
        Then::Go => {}
    }
    Ok(None)
}

/// Receives a large value into memory of the store and stores it.
async fn receive(
    context: &Context<'_>,
    stream: &mut Stream,
    session: &mut Session,
    upload: &Upload,
) -> Result<(), io::Error> {
    let turn = context.turn();
    let mut reply = Vec::new();
    match turn.store().reserve(upload.length, turn.now) {
        Err(error) => match session {
            Session::Text(session) => {
                text::Session::no_room(&turn, &upload.head, error, &mut reply);
                session.swallow(upload.length + 2);
            }
            Session::Binary(session) => {
                binary::Session::no_room(&turn, &upload.head, error, &mut reply);
                session.swallow(upload.length);
            }
            Session::Unknown => {}
        },
        Ok(mut extent) => {
            context.connection.set_state(State::Nread);
            stream.read_exact(extent.as_mut_slice()).await?;
            let mut end = *b"\r\n";
            if let Session::Text(_) = session {
                stream.read_exact(&mut end).await?;
            }
            context.counters.bytes_read.add(upload.length + 2);
            let pinned = extent.freeze();
            let value = Payload::Pinned(&pinned);
            let turn = context.turn();
            context.connection.active(turn.now);
            match session {
                Session::Binary(_) => binary::Session::received(&turn, &upload.head, value, &mut reply),
                _ => text::Session::received(&turn, &upload.head, value, end == *b"\r\n", &mut reply),
            }
        }
    }
    context.counters.bytes_written.add(reply.len() as u64);
    match reply.is_empty() {
        true => Ok(()),
        false => stream.send(reply).await,
    }
}

/// Sends what happens until the client goes. What it sends meanwhile is thrown away.
async fn watch(context: &Context<'_>, stream: &mut Stream, kinds: Kinds) -> Result<Reason, io::Error> {
    let Some(subscription) = context.service.hub.subscribe(kinds) else {
        stream
            .send(b"WATCHER_TOO_MANY log watcher limit reached\r\n".as_slice())
            .await?;
        return Ok(Reason::Normal);
    };
    let _observation = Evictions::observe(context.service, kinds);
    context.connection.set_state(State::Watch);
    stream.send(wire::memcached::text::OK).await?;
    stream.flush().await?;
    loop {
        let lines = {
            let mut lines = pin!(subscription.lines());
            let mut input = pin!(stream.exchange(|input, _| input.len()));
            poll_fn(|task| match lines.as_mut().poll(task) {
                Poll::Ready(lines) => Poll::Ready(Ok(Some(lines))),
                Poll::Pending => input.as_mut().poll(task).map_ok(|turned| match turned {
                    io::Exchange::Open => Some(Vec::new()),
                    io::Exchange::Ended { .. } | io::Exchange::Draining => None,
                }),
            })
            .await?
        };
        match lines {
            None => return Ok(Reason::Normal),
            Some(lines) if lines.is_empty() => {}
            Some(lines) => {
                context.counters.bytes_written.add(lines.len() as u64);
                stream.send(lines).await?;
                stream.flush().await?;
            }
        }
    }
}

/// Why an error ended the connection.
fn ended_by(context: &Context<'_>, error: &io::Error) -> Reason {
    match error {
        io::Error::IdleTimeout { .. } => {
            context.counters.idle_kicks.add(1);
            Reason::IdleTimeout
        }
        error if error.is_disconnect() => Reason::Normal,
        error => {
            tracing::debug!(connection = context.connection.id(), %error, "connection ended");
            Reason::Error
        }
    }
}

/// Tells watchers that the connection began, or why it ended.
fn tell_watchers(context: &Context<'_>, reason: Option<Reason>) {
    context.service.hub.publish(Kinds::CONNECTIONS, |out, id| {
        let peer = match context.connection.peer() {
            Peer::Tcp(address) => line::Peer {
                address: address.ip().to_string(),
                port: address.port(),
                transport: "tcp",
            },
            _ => line::Peer {
                address: "unix".to_owned(),
                port: 0,
                transport: "local",
            },
        };
        line::connection(out, id, &peer, reason.map(Reason::name), context.connection.id());
    });
}
