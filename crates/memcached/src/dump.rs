//! Answers that look at every item or connection: `lru_crawler metadump`, `lru_crawler mgdump`, `stats sizes`, `stats conns`.
//!
//! **Invariant:** an exchange looks at a bounded number of items or connections; the scan goes on when the client has taken the
//! part that was sent.

use std::collections::BTreeMap;
use std::fmt::Display;

use format::append;
use io::Stream;
use kv::{Cursor, Engine, Entry, Expiry};
use wire::memcached::{binary, text};

use crate::context::Context;
use crate::progress::Dump;
use crate::statistics::is_printable;
use crate::watch::line::uri_encode;

/// Buckets that are looked at before others have their turn.
const STEPS: usize = 256;
/// Bytes that are sent at once.
const CHUNK: usize = 32 * 1024;
/// Sizes are rounded up to multiples of this,
const SIZE_STEP: u64 = 32;
/// and to powers of two from here on, so that the histogram stays small.
const SIZE_STEPS_END: u64 = 1 << 20;
/// Ends a dump of commands: the reply of `mg` to a key that is not there.
const END_OF_COMMANDS: &[u8] = b"EN\r\n";

pub(crate) async fn dump(context: &Context, stream: &mut Stream, dump: Dump) -> Result<(), io::Error> {
    match dump {
        Dump::Sizes { opaque } => sizes(context, stream, opaque).await,
        Dump::Connections { opaque } => connections(context, stream, opaque).await,
        Dump::Meta => keys(context, stream, metadata, text::END).await,
        Dump::Commands => keys(context, stream, command, END_OF_COMMANDS).await,
    }
}

/// Sends a line for each item, and `end`.
async fn keys(
    context: &Context,
    stream: &mut Stream,
    append: fn(&Entry<'_>, &mut Vec<u8>),
    end: &[u8],
) -> Result<(), io::Error> {
    let mut out = text::OK.to_vec();
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor {
        let exchange = context.exchange();
        cursor = exchange
            .store()
            .scan(from, STEPS, exchange.now, |entry| append(entry, &mut out));
        if out.len() >= CHUNK {
            send(context, stream, std::mem::take(&mut out)).await?;
        } else {
            io::yield_now().await;
        }
    }
    out.extend_from_slice(end);
    send(context, stream, out).await
}

fn metadata(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"key=");
    uri_encode(out, entry.key());
    let ends = match entry.expiry() {
        Expiry::Never => -1,
        Expiry::At(second) => i64::from(second),
    };
    let fetched = if entry.fetched() { "yes" } else { "no" };
    let size = entry.key().len() as u64 + entry.len();
    append!(
        out,
        " exp={ends} la={} cas={} fetch={fetched} cls=1 size={size} flags={}\n",
        entry.last_access(),
        entry.cas(),
        entry.flags()
    );
}

fn command(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"mg ");
    if is_printable(entry.key()) {
        out.extend_from_slice(entry.key());
    } else {
        // wire encodes keys only as a reply's flag: ` k<key> b`.
        let start = out.len();
        wire::memcached::meta::key(out, entry.key(), true);
        out.drain(start..start + 2);
    }
    out.extend_from_slice(b"\r\n");
}

/// Sends how many items there are of each size.
async fn sizes(context: &Context, stream: &mut Stream, opaque: Option<u32>) -> Result<(), io::Error> {
    let mut sizes = BTreeMap::<u64, u64>::new();
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor {
        let exchange = context.exchange();
        cursor = exchange.store().scan(from, STEPS, exchange.now, |entry| {
            let size = entry.key().len() as u64 + entry.len();
            let class = match size < SIZE_STEPS_END {
                true => size.next_multiple_of(SIZE_STEP),
                false => size.next_power_of_two(),
            };
            *sizes.entry(class).or_default() += 1;
        });
        io::yield_now().await;
    }
    let mut out = Vec::new();
    for (size, items) in sizes {
        statistic(&mut out, opaque, &size.to_string(), &items);
    }
    end_of_statistics(&mut out, opaque);
    send(context, stream, out).await
}

/// Sends what is known of every listener and connection.
async fn connections(context: &Context, stream: &mut Stream, opaque: Option<u32>) -> Result<(), io::Error> {
    let registry = &context.service().registry;
    let asking = context.connection.id();
    let mut out = Vec::new();
    registry.describe_listeners(|name, value| statistic(&mut out, opaque, name, value));
    let mut from = Some(0);
    while let Some(slot) = from {
        let now = context.exchange().now;
        from = registry.describe(slot, asking, now, |name, value| {
            statistic(&mut out, opaque, name, value)
        });
        if out.len() >= CHUNK {
            send(context, stream, std::mem::take(&mut out)).await?;
        } else {
            io::yield_now().await;
        }
    }
    end_of_statistics(&mut out, opaque);
    send(context, stream, out).await
}

/// Appends one statistic in the protocol of the request.
fn statistic(out: &mut Vec<u8>, opaque: Option<u32>, name: &str, value: &dyn Display) {
    match opaque {
        None => text::stat(out, name, value.to_string()),
        Some(opaque) => binary::stat(out, opaque, name, value.to_string()),
    }
}

fn end_of_statistics(out: &mut Vec<u8>, opaque: Option<u32>) {
    match opaque {
        None => out.extend_from_slice(text::END),
        Some(opaque) => binary::stat(out, opaque, "", ""),
    }
}

async fn send(context: &Context, stream: &mut Stream, out: Vec<u8>) -> Result<(), io::Error> {
    context.counters().bytes_written.add(out.len() as u64);
    stream.send(out).await?;
    stream.flush().await
}
