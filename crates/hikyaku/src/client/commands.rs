//! The requests and the output of `get`, `set`, `delete` and `scan`.

use std::io::{BufWriter, Read, Write, stdin, stdout};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use wire::memcached::client::{meta, text};
use wire::memcached::meta::MetaVerb;

use super::connection::{Answer, Connection, MetaStatus};
use super::item::{Item, decoded};
use super::request::{begin, done, exptime, now};
use super::{Command, Error, Kv, Mode, Outcome, count, server};
use crate::offline::{Range, Side};

/// Connects and does what was asked.
pub(super) async fn run(asked: &Kv) -> Result<Outcome, Error> {
    let mut connection = Connection::open(&asked.server).await?;
    let connection = &mut connection;
    let mut out = BufWriter::new(stdout());
    let outcome = match &asked.command {
        Command::Get { keys, raw } => {
            let mut outcome = Outcome::Done;
            for key in keys {
                let style = if asked.json {
                    Style::Json
                } else {
                    Style::Plain { line_end: !raw }
                };
                outcome = outcome.and(get(connection, key.as_bytes(), style, &mut out).await?);
            }
            outcome
        }
        Command::Set {
            key,
            value,
            ttl,
            flags,
            mode,
            cas,
        } => {
            let value = value
                .as_deref()
                .map_or_else(input, |value| Ok(value.as_bytes().to_vec()))?;
            let options = Options {
                ttl: *ttl,
                flags: *flags,
                mode: *mode,
                cas: *cas,
            };
            set(connection, key.as_bytes(), &value, options).await?
        }
        Command::Delete { keys } => {
            let mut outcome = Outcome::Done;
            for key in keys {
                outcome = outcome.and(delete(connection, key.as_bytes()).await?);
            }
            outcome
        }
        Command::Incr(asked_for) => count::count(connection, asked_for, true, asked.json, &mut out).await?,
        Command::Decr(asked_for) => count::count(connection, asked_for, false, asked.json, &mut out).await?,
        Command::Touch { keys, ttl } => {
            let mut outcome = Outcome::Done;
            for key in keys {
                outcome = outcome.and(count::touch(connection, key.as_bytes(), *ttl).await?);
            }
            outcome
        }
        Command::Flush { delay } => server::flush(connection, *delay).await?,
        Command::Stats { group } => {
            server::statistics(connection, group.as_deref(), asked.json, &mut out).await?
        }
        Command::Scan(asked_for) => scan(connection, &asked_for.range, asked.json, &mut out).await?,
        // They have no server.
        Command::Import(_) | Command::Export(_) => Outcome::Done,
    };
    out.flush().map_err(Error::Output)?;
    Ok(outcome)
}

impl Outcome {
    fn and(self, other: Outcome) -> Outcome {
        if self == Outcome::Done { other } else { self }
    }
}

/// How values are printed.
#[derive(Clone, Copy)]
enum Style {
    Plain { line_end: bool },
    Json,
}

/// How a value is stored.
struct Options {
    ttl: Option<Duration>,
    flags: u32,
    mode: Mode,
    cas: Option<u64>,
}

async fn get(
    connection: &mut Connection,
    key: &[u8],
    style: Style,
    out: &mut impl Write,
) -> Result<Outcome, Error> {
    let mut request = begin(MetaVerb::Get, key, None)?;
    for letter in *b"vfct" {
        meta::flag(&mut request, letter);
    }
    meta::end(&mut request);
    connection.send(request).await?;
    let answer = connection.answer().await?;
    if answer.status != Some(MetaStatus::Va) {
        return Ok(Outcome::Absent);
    }
    let value = connection.value(&answer).await?;
    print(key, &value, &answer, style, out).map_err(Error::Output)?;
    Ok(Outcome::Done)
}

fn print(
    key: &[u8],
    value: &[u8],
    answer: &Answer,
    style: Style,
    out: &mut impl Write,
) -> std::io::Result<()> {
    match style {
        Style::Plain { line_end } => {
            out.write_all(value)?;
            out.write_all(if line_end { b"\n" } else { b"" })
        }
        Style::Json => {
            let item = Item::of(key).with("value", value).number("flags", answer.flags);
            writeln!(
                out,
                "{}",
                item.expiry(answer.ttl).number("cas", answer.cas).line()
            )
        }
    }
}

async fn set(
    connection: &mut Connection,
    key: &[u8],
    value: &[u8],
    options: Options,
) -> Result<Outcome, Error> {
    let mut request = begin(MetaVerb::Set, key, Some(value.len() as u64))?;
    meta::number(&mut request, b'F', u64::from(options.flags));
    if let Some(ttl) = options.ttl {
        meta::number(&mut request, b'T', exptime(ttl, now()));
    }
    if let Some(cas) = options.cas {
        meta::number(&mut request, b'C', cas);
    }
    meta::token(&mut request, b'M', mode(options.mode));
    meta::end(&mut request);
    request.extend_from_slice(value);
    meta::end(&mut request);
    connection.send(request).await?;
    done(&connection.answer().await?)
}

fn mode(mode: Mode) -> &'static [u8] {
    match mode {
        Mode::Set => b"S",
        Mode::Add => b"E",
        Mode::Replace => b"R",
        Mode::Append => b"A",
        Mode::Prepend => b"P",
    }
}

async fn delete(connection: &mut Connection, key: &[u8]) -> Result<Outcome, Error> {
    let mut request = begin(MetaVerb::Delete, key, None)?;
    meta::end(&mut request);
    connection.send(request).await?;
    done(&connection.answer().await?)
}

async fn scan(
    connection: &mut Connection,
    range: &Range,
    json: bool,
    out: &mut impl Write,
) -> Result<Outcome, Error> {
    let is_ordered = range.is_partial() && server::is_ordered(connection).await?;
    if range.needs_order() && !is_ordered {
        return Err(Error::Unordered);
    }
    let mut left = range.limit();
    let mut request = Vec::new();
    text::command(&mut request, b"lru_crawler", [b"metadump".as_slice(), b"all"]);
    connection.send(request).await?;
    loop {
        let line = connection.line().await?;
        match line.as_slice() {
            b"END" => return Ok(Outcome::Done),
            // Newer servers confirm that the dump begins.
            b"OK" => continue,
            _ => {}
        }
        let Some(fields) = line.strip_prefix(b"key=") else {
            return Err(Error::Refused(String::from_utf8_lossy(&line).into()));
        };
        let mut fields = fields.split(|byte| *byte == b' ');
        let key = decoded(fields.next().unwrap_or_default());
        match range.side(&key) {
            _ if left == 0 => return Ok(Outcome::Done),
            Side::Before => continue,
            Side::Behind if is_ordered => return Ok(Outcome::Done),
            Side::Behind => continue,
            Side::Within => left -= 1,
        }
        print_key(&key, fields, json, out).map_err(Error::Output)?;
    }
}

/// A key that was dumped, with what the server says of it: `exp=-1 la=… cas=… size=…`.
fn print_key<'a>(
    key: &[u8],
    fields: impl Iterator<Item = &'a [u8]>,
    json: bool,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if !json {
        out.write_all(key)?;
        return out.write_all(b"\n");
    }
    let mut item = Item::of(key);
    for field in fields.filter_map(|field| std::str::from_utf8(field).ok()) {
        item = match field.split_once('=') {
            Some(("exp", number)) => item.number("exptime", number.parse().unwrap_or(0).max(0_i64)),
            Some((name @ ("cas" | "flags" | "size"), number)) => {
                item.number(name, number.parse().unwrap_or(0_u64))
            }
            _ => item,
        };
    }
    writeln!(out, "{}", item.line())
}

fn input() -> Result<Vec<u8>, Error> {
    let mut value = Vec::new();
    stdin().lock().read_to_end(&mut value).map_err(Error::Input)?;
    Ok(value)
}
