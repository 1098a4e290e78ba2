//! The waits of a connection between two exchanges.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use io::{Output, Stream};
use kv::{Commit, Engine, StoreError};

use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::progress::Next;
use crate::waits::Held;

/// Waits for what an exchange left, sends the output that was held, and returns the work that is left.
pub(crate) async fn settle(
    context: &mut Context,
    stream: &mut Stream,
    mut next: Next,
) -> Result<Next, io::Error> {
    if !matches!(next, Next::Fetch | Next::Commit(_)) {
        return Ok(next);
    }
    // The client waits for us, not we for it.
    stream.set_idle_timeout(Duration::ZERO);
    loop {
        next = match next {
            Next::Commit(held) => {
                let mut held: Held = *held;
                let wait = committed(context, held.commit);
                let committed = stream.wait_holding(held.bytes(), wait).await?;
                send(stream, held.settle(committed)).await?;
                held.then
            }
            Next::Fetch => {
                fetch(context).await;
                Next::Exchange
            }
            next => {
                stream.set_idle_timeout(context.service().config.idle_timeout);
                return Ok(next);
            }
        };
    }
}

/// Waits for a commit, which the end of this turn begins for all connections of the loop.
pub(crate) async fn committed(context: &Context, commit: Commit) -> Result<(), StoreError> {
    begin_at_turn_end(&context.endpoint);
    context.service().store.committed(commit).await
}

fn begin_at_turn_end(endpoint: &Arc<Endpoint>) {
    let due = |endpoint: &Endpoint, value| {
        let due = endpoint.service.loops.commit_due(io::loop_index());
        // Loops beyond the expected number share a flag: the one that clears it has to see the writes of the others.
        due.swap(value, Ordering::AcqRel)
    };
    if due(endpoint, true) {
        return;
    }
    let endpoint = endpoint.clone();
    io::at_turn_end(move || {
        due(&endpoint, false);
        endpoint.service.store.begin_commit();
    });
}

/// Fetches what the connection wants.
pub(crate) async fn fetch(context: &mut Context) {
    let Some(waits) = context.waits.get_mut() else {
        return;
    };
    waits.take_cold();
    let warm = std::mem::take(&mut waits.warm);
    let fetched = context.service().store.fetch(warm).await;
    if let Some(waits) = context.waits.get_mut() {
        waits.warm = fetched;
    }
}

async fn send(stream: &mut Stream, output: Output) -> Result<(), io::Error> {
    for piece in output.into_pieces() {
        stream.send(piece).await?;
    }
    Ok(())
}
