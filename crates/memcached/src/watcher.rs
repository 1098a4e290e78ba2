//! The connection of a watcher.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use io::{Exchange, Stream};

use crate::context::Context;
use crate::progress::Reason;
use crate::registry::Activity;
use crate::watch::Kinds;

/// Sends events until the client leaves, and discards its input.
pub(crate) async fn watch(context: &Context, stream: &mut Stream, kinds: Kinds) -> Result<Reason, io::Error> {
    let service = context.service();
    let Some(subscription) = service.hub.subscribe(kinds) else {
        stream
            .send(b"WATCHER_TOO_MANY log watcher limit reached\r\n".as_slice())
            .await?;
        return Ok(Reason::Normal);
    };
    let _observation = service.evictions.observe(&service.store, kinds);
    context.connection.set_activity(Activity::Watch);
    stream.send(wire::memcached::text::OK).await?;
    stream.flush().await?;
    loop {
        let lines = {
            let mut lines = pin!(subscription.lines());
            let mut input = pin!(stream.exchange(|input, _| input.len()));
            poll_fn(|task| match lines.as_mut().poll(task) {
                Poll::Ready(lines) => Poll::Ready(Ok(Some(lines))),
                Poll::Pending => input.as_mut().poll(task).map_ok(|exchanged| match exchanged {
                    Exchange::Open => Some(Vec::new()),
                    _ => None,
                }),
            })
            .await?
        };
        match lines {
            None => return Ok(Reason::Normal),
            Some(lines) if lines.is_empty() => {}
            Some(lines) => {
                context.counters().bytes_written.add(lines.len() as u64);
                stream.send(lines).await?;
                stream.flush().await?;
            }
        }
    }
}
