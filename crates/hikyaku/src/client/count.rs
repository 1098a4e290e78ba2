//! `incr`, `decr` and `touch`.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use wire::memcached::client::meta;
use wire::memcached::meta::MetaVerb;

use super::connection::{Connection, MetaStatus};
use super::item::Item;
use super::request::{begin, done, exptime, now};
use super::{Count, Error, Outcome};

/// Counts up or down and prints the number.
pub(super) async fn count(
    connection: &mut Connection,
    asked: &Count,
    up: bool,
    json: bool,
    out: &mut impl Write,
) -> Result<Outcome, Error> {
    let key = asked.key.as_bytes();
    let mut request = begin(MetaVerb::Arithmetic, key, None)?;
    meta::token(&mut request, b'M', if up { b"I" } else { b"D" });
    meta::number(&mut request, b'D', asked.delta);
    if let Some(initial) = asked.initial {
        meta::number(&mut request, b'J', initial);
        meta::number(&mut request, b'N', asked.ttl.map_or(0, |ttl| exptime(ttl, now())));
    }
    meta::flag(&mut request, b'v');
    meta::end(&mut request);
    connection.send(request).await?;
    let answer = connection.answer().await?;
    if answer.status != Some(MetaStatus::Va) {
        return Ok(Outcome::Absent);
    }
    let number = connection.value(&answer).await?;
    let number = String::from_utf8_lossy(&number);
    let line = match (json, number.parse::<u64>()) {
        (true, Ok(number)) => Item::of(key).number("value", number).line(),
        _ => number.into_owned(),
    };
    writeln!(out, "{line}").map_err(Error::Output)?;
    Ok(Outcome::Done)
}

/// Changes how long a key stays; no duration is for good.
pub(super) async fn touch(
    connection: &mut Connection,
    key: &[u8],
    ttl: Option<Duration>,
) -> Result<Outcome, Error> {
    let mut request = begin(MetaVerb::Get, key, None)?;
    meta::number(&mut request, b'T', ttl.map_or(0, |ttl| exptime(ttl, now())));
    meta::end(&mut request);
    connection.send(request).await?;
    done(&connection.answer().await?)
}
