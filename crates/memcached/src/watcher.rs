//! The connection of a watcher.

use std::time::Duration;

use io::{Exchange, Stream};

use crate::context::Context;
use crate::progress::Reason;
use crate::registry::Activity;
use crate::watch::Kinds;

/// Sends events until the client leaves, and discards its input.
///
/// The idle timeout applies only to sending: a watcher that waits for events is not idle.
pub(crate) async fn watch(context: &Context, stream: &mut Stream, kinds: Kinds) -> Result<Reason, io::Error> {
    let service = context.service();
    let notifier = stream.notifier().remote();
    let Some(mut subscription) = service.hub.subscribe(kinds, notifier) else {
        stream
            .send(b"WATCHER_TOO_MANY log watcher limit reached\r\n".as_slice())
            .await?;
        return Ok(Reason::Normal);
    };
    let _observation = service.evictions.observe(&service.store, kinds);
    context.connection.set_activity(Activity::Watch);
    stream.send(wire::memcached::text::OK).await?;
    loop {
        stream.flush().await?;
        stream.set_idle_timeout(Duration::ZERO);
        let exchange = stream.exchange(|input, output| {
            let lines = subscription.take();
            context.counters().bytes_written.add(lines.len() as u64);
            output.write(lines);
            input.len()
        });
        if exchange.await? != Exchange::Open {
            return Ok(Reason::Normal);
        }
        stream.set_idle_timeout(service.config.idle_timeout);
    }
}
