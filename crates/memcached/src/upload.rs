//! Receives large values straight into memory that the store has reserved.

use io::Stream;
use kv::{Engine, Payload, Pinned};

use crate::context::Context;
use crate::progress::Upload;
use crate::protocol::Protocol;
use crate::registry::Activity;
use crate::{binary, commit, text};

/// Receives a large value into memory of the store and stores it.
pub(crate) async fn receive(
    context: &mut Context,
    stream: &mut Stream,
    protocol: &mut Protocol,
    upload: &Upload,
) -> Result<(), io::Error> {
    let exchange = context.exchange();
    let mut reply = Vec::new();
    match exchange.store().reserve(upload.length, exchange.now) {
        Err(error) => match protocol {
            Protocol::Text(state) => {
                text::State::no_room(&exchange, &upload.head, error, &mut reply);
                state.swallow(upload.length + 2);
            }
            Protocol::Binary(state) => {
                binary::State::no_room(&exchange, &upload.head, error, &mut reply);
                state.swallow(upload.length);
            }
            Protocol::Unknown => {}
        },
        Ok(mut extent) => {
            context.connection.set_activity(Activity::Nread);
            stream.read_exact(extent.as_mut_slice()).await?;
            let mut end = *b"\r\n";
            if let Protocol::Text(_) = protocol {
                stream.read_exact(&mut end).await?;
            }
            let pinned = extent.freeze();
            context.connection.active(context.exchange().now);
            context.counters().bytes_read.add(upload.length + 2);
            reply = store(context, protocol, &upload.head, &pinned, end == *b"\r\n").await;
        }
    }
    context.counters().bytes_written.add(reply.len() as u64);
    match reply.is_empty() {
        true => Ok(()),
        false => stream.send(reply).await,
    }
}

/// Stores a value that was received, and returns the reply once it is true.
async fn store(
    context: &mut Context,
    protocol: &Protocol,
    head: &[u8],
    value: &Pinned,
    whole: bool,
) -> Vec<u8> {
    loop {
        let mut reply = Vec::new();
        let exchange = context.exchange();
        let value = Payload::Pinned(value);
        match protocol {
            Protocol::Binary(_) => binary::State::received(&exchange, head, value, &mut reply),
            _ => text::State::received(&exchange, head, value, whole, &mut reply),
        }
        let Some(waits) = exchange.waits.get() else {
            return reply;
        };
        // The reply is made again if the commit fails, not patched.
        waits.promise_nothing();
        if waits.is_cold() {
            commit::fetch(context).await;
            continue;
        }
        if let Some(commit) = waits.take_commit()
            && let Err(error) = commit::committed(context, commit).await
        {
            let exchange = context.exchange();
            reply.clear();
            match protocol {
                Protocol::Binary(_) => binary::State::failed(&exchange, head, error, &mut reply),
                _ => text::State::failed(&exchange, head, error, &mut reply),
            }
        }
        return reply;
    }
}
