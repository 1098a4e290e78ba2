//! `stats` and its groups.

use wire::memcached::text::{self, Words};

use crate::operations::Exchange;
use crate::progress::Dump;
use crate::statistics::{self, Group};

/// The dump that answers the command, if its answer may be long.
pub(super) fn dump(exchange: &Exchange<'_>, mut words: Words<'_>) -> Option<Dump> {
    match words.next()? {
        b"cachedump" => match numbers(words)[..] {
            // One class shows the items of all, so that a script that asks for every class sees each item once.
            [Some(class @ ..64), Some(limit)]
                if exchange.service.config.dump
                    && (class == 1 || Some(class) == statistics::first_class(exchange)) =>
            {
                Some(Dump::Keys { limit })
            }
            _ => None,
        },
        name => Dump::of_statistics(name, None),
    }
}

pub(super) fn stats(exchange: &Exchange<'_>, mut words: Words<'_>, out: &mut Vec<u8>) {
    let Some(name) = words.next() else {
        return group(exchange, Group::General, out);
    };
    match name {
        b"reset" => {
            exchange.service.reset_statistics();
            out.extend_from_slice(text::RESET);
        }
        b"detail" => detail(exchange, words.next(), out),
        b"cachedump" => cachedump(exchange, words, out),
        name => match Group::named(name) {
            Some(name) => group(exchange, name, out),
            None => out.extend_from_slice(b"ERROR\r\n"),
        },
    }
}

fn group(exchange: &Exchange<'_>, group: Group, out: &mut Vec<u8>) {
    let mut value = String::new();
    statistics::tell(exchange, group, &mut |name, what| {
        use std::fmt::Write as _;
        value.clear();
        // Writing to a String cannot fail.
        let _ = write!(value, "{what}");
        text::stat(out, name, &value);
    });
    out.extend_from_slice(text::END);
}

fn detail(exchange: &Exchange<'_>, word: Option<&[u8]>, out: &mut Vec<u8>) {
    if !exchange.service.config.dump {
        return out.extend_from_slice(b"CLIENT_ERROR stats detail not allowed\r\n");
    }
    let detail = &exchange.service.detail;
    match word {
        Some(b"on") => detail.switch(true),
        Some(b"off") => detail.switch(false),
        Some(b"dump") => return detail.dump(out),
        _ => return out.extend_from_slice(b"CLIENT_ERROR usage: stats detail on|off|dump\r\n"),
    }
    out.extend_from_slice(text::OK);
}

/// Answers what shows no items.
fn cachedump(exchange: &Exchange<'_>, words: Words<'_>, out: &mut Vec<u8>) {
    match numbers(words)[..] {
        _ if !exchange.service.config.dump => {
            out.extend_from_slice(b"CLIENT_ERROR stats cachedump not allowed\r\n");
        }
        [Some(64..), Some(_)] => out.extend_from_slice(b"CLIENT_ERROR Illegal slab id\r\n"),
        [Some(_), Some(_)] => out.extend_from_slice(text::END),
        [_, _] => out.extend_from_slice(b"CLIENT_ERROR bad command line format\r\n"),
        _ => out.extend_from_slice(b"CLIENT_ERROR bad command line\r\n"),
    }
}

/// The class and the limit.
fn numbers(words: Words<'_>) -> Vec<Option<u32>> {
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse().ok();
    words.take(2).map(number).collect()
}
