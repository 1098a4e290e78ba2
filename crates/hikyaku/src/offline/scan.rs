//! `hikyaku kv scan --store`.

use std::io::{BufWriter, Write, stdout};

use kv::{Cursor, Engine, Entry, Expiry};

use super::Folder;
use super::error::Error;
use super::range::{Range, Side};
use crate::client::Item;

pub(super) fn run(folder: &Folder, range: &Range, json: bool) -> Result<(), Error> {
    let mut out = BufWriter::new(stdout());
    folder.with(false, async |opened| {
        if range.needs_order() && !opened.is_ordered {
            let engine = opened.store.statistics().engine;
            return Err(Error::Unordered { engine });
        }
        let from = match opened.is_ordered {
            true => range.start(),
            false => Cursor::Start,
        };
        let mut left = range.limit();
        let print = |entry: &Entry<'_>| {
            match range.side(entry.key()) {
                _ if left == 0 => return Ok(false),
                Side::Before => return Ok(true),
                Side::Behind => return Ok(!opened.is_ordered),
                Side::Within => left -= 1,
            }
            print(entry, json, &mut out).map_err(Error::Output)?;
            Ok(left > 0)
        };
        opened.visit(from, print).await
    })?;
    out.flush().map_err(Error::Output)
}

fn print(entry: &Entry<'_>, json: bool, out: &mut impl Write) -> std::io::Result<()> {
    if !json {
        out.write_all(entry.key())?;
        return out.write_all(b"\n");
    }
    let exptime = match entry.expiry() {
        Expiry::Never => 0,
        Expiry::At(second) => second,
    };
    let item = Item::of(entry.key()).number("exptime", exptime);
    let item = item.number("cas", entry.cas()).number("flags", entry.flags());
    writeln!(
        out,
        "{}",
        item.number("size", entry.key().len() as u64 + entry.len()).line()
    )
}
