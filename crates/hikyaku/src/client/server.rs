//! `flush` and `stats`: commands about the whole server.

use std::io::Write;
use std::time::Duration;

use serde_json::{Map, Value};
use wire::memcached::client::text;

use super::connection::Connection;
use super::{Error, Outcome};

/// Deletes all keys, at once or after a delay.
pub(super) async fn flush(connection: &mut Connection, delay: Option<Duration>) -> Result<Outcome, Error> {
    let seconds = |delay: Duration| i64::try_from(delay.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
    let mut request = Vec::new();
    text::flush_all(&mut request, delay.map(seconds), false);
    connection.send(request).await?;
    match connection.line().await?.as_slice() {
        b"OK" => Ok(Outcome::Done),
        line => Err(Error::of_line(line)),
    }
}

/// Prints `NAME VALUE` lines, or one object of JSON.
pub(super) async fn statistics(
    connection: &mut Connection,
    group: Option<&str>,
    json: bool,
    out: &mut impl Write,
) -> Result<Outcome, Error> {
    let mut request = Vec::new();
    text::command(&mut request, b"stats", group.map(str::as_bytes));
    connection.send(request).await?;
    let mut fields = Map::new();
    loop {
        let line = connection.line().await?;
        if line == b"END" || line == b"RESET" {
            break;
        }
        let Some(field) = line.strip_prefix(b"STAT ") else {
            return Err(Error::of_line(&line));
        };
        let field = String::from_utf8_lossy(field);
        let (name, value) = field.split_once(' ').unwrap_or((&field, ""));
        if json {
            fields.insert(name.to_owned(), number_or_text(value));
        } else {
            writeln!(out, "{name} {value}").map_err(Error::Output)?;
        }
    }
    if json {
        writeln!(out, "{}", Value::Object(fields)).map_err(Error::Output)?;
    }
    Ok(Outcome::Done)
}

/// Returns true if the server tells that its store keeps items in the order of their keys.
pub(super) async fn is_ordered(connection: &mut Connection) -> Result<bool, Error> {
    let mut request = Vec::new();
    text::command(&mut request, b"stats", None::<&[u8]>);
    connection.send(request).await?;
    let mut is_tree = false;
    loop {
        match connection.line().await?.as_slice() {
            b"END" => return Ok(is_tree),
            b"STAT engine tree" => is_tree = true,
            line if line.starts_with(b"STAT ") => {}
            line => return Err(Error::of_line(line)),
        }
    }
}

fn number_or_text(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    whole
        .or_else(|_| text.parse::<i64>().map(Value::from))
        .unwrap_or_else(|_| text.into())
}
