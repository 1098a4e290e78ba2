//! Receives large values straight into memory that the store has reserved.

use io::Stream;
use kv::{Engine, Payload};

use crate::context::Context;
use crate::progress::Upload;
use crate::protocol::Protocol;
use crate::registry::Activity;
use crate::{binary, text};

/// Receives a large value into memory of the store and stores it.
pub(crate) async fn receive(
    context: &Context,
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
            let value = Payload::Pinned(&pinned);
            let exchange = context.exchange();
            exchange.counters.bytes_read.add(upload.length + 2);
            context.connection.active(exchange.now);
            match protocol {
                Protocol::Binary(_) => binary::State::received(&exchange, &upload.head, value, &mut reply),
                _ => text::State::received(&exchange, &upload.head, value, end == *b"\r\n", &mut reply),
            }
        }
    }
    context.counters().bytes_written.add(reply.len() as u64);
    match reply.is_empty() {
        true => Ok(()),
        false => stream.send(reply).await,
    }
}
