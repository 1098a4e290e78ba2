//! Answers that look at many items or connections: `lru_crawler metadump`, `lru_crawler mgdump`, `stats cachedump`,
//! `stats sizes`, `stats conns`.
//!
//! **Invariant:** an exchange looks at a bounded number of items or connections; the scan goes on when the client has taken the
//! part that was sent.

use std::collections::BTreeMap;
use std::fmt::Display;

use format::{append, c};
use io::Stream;
use kv::{Access, Answer, Cursor, Engine, Entry, Expiry, Need, StoreError, Warm};
use wire::memcached::binary::Opcode;
use wire::memcached::{binary, text};

use crate::context::Context;
use crate::progress::Dump;
use crate::statistics::is_printable;
use crate::waits::{self, server_error};
use crate::watch::line::uri_encode;

/// Buckets that are looked at before others have their turn.
const STEPS: usize = 256;
/// Bytes that `stats cachedump` shows at most, and index buckets that it looks at for them.
const CACHEDUMP_BYTES_MAX: usize = 2 << 20;
const CACHEDUMP_STEPS_MAX: usize = 1 << 16;
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
        Dump::Keys { limit } => cachedump(context, stream, limit).await,
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
        cursor = match scan(context, &from, |entry| append(entry, &mut out)).await {
            Ok(cursor) => cursor,
            Err(error) => {
                server_error(error.into(), &mut out);
                return send(context, stream, out).await;
            }
        };
        if out.len() >= CHUNK {
            send(context, stream, std::mem::take(&mut out)).await?;
        } else {
            io::yield_now().await;
        }
    }
    out.extend_from_slice(end);
    send(context, stream, out).await
}

/// Visits some items, which are fetched first if need be, and returns where to go on.
async fn scan(
    context: &Context,
    from: &Cursor,
    mut f: impl FnMut(&Entry<'_>),
) -> Result<Option<Cursor>, StoreError> {
    let mut warm = Warm::new();
    loop {
        let exchange = context.exchange();
        let access = Access {
            now: exchange.now,
            need: Need::Facts,
            warm: Some(&warm),
        };
        match exchange.store().scan(from, STEPS, access, &mut f)? {
            Answer::Ready(cursor) => return Ok(cursor),
            Answer::Cold => warm = context.service().store.fetch(warm).await,
        }
    }
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

/// Sends some keys.
async fn cachedump(context: &Context, stream: &mut Stream, limit: u32) -> Result<(), io::Error> {
    let limit = if limit == 0 { u32::MAX } else { limit };
    let mut out = Vec::new();
    let (mut shown, mut steps) = (0, 0);
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor
        && shown < limit
        && out.len() < CACHEDUMP_BYTES_MAX
        && steps < CACHEDUMP_STEPS_MAX
    {
        steps += STEPS;
        let show = |entry: &Entry<'_>| {
            if shown == limit || out.len() >= CACHEDUMP_BYTES_MAX || !is_printable(entry.key()) {
                return;
            }
            shown += 1;
            let second = match entry.expiry() {
                Expiry::Never => 0,
                Expiry::At(second) => second,
            };
            c!(
                out,
                "ITEM %s [%llu b; %u s]\r\n",
                entry.key(),
                entry.len(),
                second
            );
        };
        cursor = match scan(context, &from, show).await {
            Ok(cursor) => cursor,
            Err(error) => {
                server_error(error.into(), &mut out);
                return send(context, stream, out).await;
            }
        };
        io::yield_now().await;
    }
    out.extend_from_slice(text::END);
    send(context, stream, out).await
}

/// Sends how many items there are of each size.
async fn sizes(context: &Context, stream: &mut Stream, opaque: Option<u32>) -> Result<(), io::Error> {
    let mut sizes = BTreeMap::<u64, u64>::new();
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor {
        let count = |entry: &Entry<'_>| {
            let size = entry.key().len() as u64 + entry.len();
            let class = match size < SIZE_STEPS_END {
                true => size.next_multiple_of(SIZE_STEP),
                false => size.next_power_of_two(),
            };
            *sizes.entry(class).or_default() += 1;
        };
        cursor = match scan(context, &from, count).await {
            Ok(cursor) => cursor,
            Err(error) => {
                let mut out = Vec::new();
                match opaque {
                    None => server_error(error.into(), &mut out),
                    Some(opaque) => {
                        binary::status(&mut out, Opcode::STAT, opaque, 0, waits::status(error.into()))
                    }
                }
                return send(context, stream, out).await;
            }
        };
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
