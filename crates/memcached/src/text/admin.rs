//! Commands of operators: `flush_all`, `shutdown`, `watch`, `lru_crawler`, …
//!
//! Commands that tune memcached's slabs and LRU lists have nothing to tune here. They are checked as memcached checks them
//! and answered `OK`, so that scripts which send them keep working.

use io::Output;
use kv::{Engine, StoreError};
use wire::memcached::text::{self, Admin, AdminVerb, CacheMemlimit, FlushAll, Words};

use super::{fail, say};
use crate::config::Shutdown;
use crate::operations::{Exchange, Failure};
use crate::progress::{Dump, Next, Progress, Reason};
use crate::watch::Kinds;

const BAD_FORMAT: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
const ERROR: &[u8] = b"ERROR\r\n";

pub(super) fn flush_all(exchange: &Exchange<'_>, command: &FlushAll, out: &mut Vec<u8>) {
    exchange.counters.cmd_flush.add(1);
    if !exchange.service.config.flush {
        return say(out, command.noreply, b"CLIENT_ERROR flush_all not allowed\r\n");
    }
    match command.delay {
        Ok(delay) => match exchange.flush(delay) {
            Ok(()) => say(out, command.noreply, text::OK),
            Err(error) => fail(out, command.noreply, Failure::Store(error.into())),
        },
        Err(error) => out.extend_from_slice(error.reply()),
    }
}

impl Exchange<'_> {
    /// Makes everything invisible, at once or later.
    pub(crate) fn flush(&self, delay: i64) -> Result<(), StoreError> {
        let at = match self.expiry(delay) {
            kv::Expiry::At(second) if delay > 0 => Some(second),
            _ => None,
        };
        let commit = self.store().flush(at, self.now)?;
        self.written(commit);
        Ok(())
    }
}

pub(super) fn cache_memlimit(exchange: &Exchange<'_>, command: &CacheMemlimit, out: &mut Vec<u8>) {
    let reply: &[u8] = match command.megabytes {
        ..8 => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
        1_000_000_001.. => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
        megabytes => match exchange.store().resize(u64::from(megabytes) << 20) {
            Ok(()) => text::OK,
            Err(_) => b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
        },
    };
    say(out, command.noreply, reply);
}

pub(super) fn shutdown(
    exchange: &Exchange<'_>,
    command: &text::Shutdown,
    used: usize,
    out: &mut Output,
) -> Progress {
    let Some(on_shutdown) = &exchange.service.config.on_shutdown else {
        say(
            out.buffer(),
            command.noreply,
            b"SERVER_ERROR: shutdown not enabled\r\n",
        );
        return Progress::Done(used);
    };
    match command.graceful {
        Ok(graceful) => {
            on_shutdown(if graceful {
                Shutdown::Graceful
            } else {
                Shutdown::Now
            });
            Progress::Stop(used, Next::Close(Reason::Shutdown))
        }
        Err(error) => {
            out.write(error.reply());
            Progress::Done(used)
        }
    }
}

pub(super) fn watch(exchange: &Exchange<'_>, words: Words<'_>, used: usize, out: &mut Output) -> Progress {
    let refusal: &[u8] = if !exchange.service.config.watch {
        b"CLIENT_ERROR watch commands not allowed\r\n"
    } else if !out.is_empty() {
        b"ERROR cannot pipeline other commands before watch\r\n"
    } else {
        match kinds(words) {
            Some(kinds) => return Progress::Stop(used, Next::Watch(kinds)),
            None => ERROR,
        }
    };
    out.write(refusal);
    Progress::Done(used)
}

fn kinds(words: Words<'_>) -> Option<Kinds> {
    let mut words = words.peekable();
    if words.peek().is_none() {
        return Some(Kinds::FETCHERS);
    }
    words.try_fold(Kinds::NONE, |kinds, word| Some(kinds.with(Kinds::named(word)?)))
}

pub(super) fn admin(exchange: &Exchange<'_>, command: &Admin<'_>, used: usize, out: &mut Output) -> Progress {
    let mut all = [b"".as_slice(); 8];
    let mut count = 0;
    for (place, word) in all.iter_mut().zip(command.words.clone()) {
        *place = word;
        count += 1;
    }
    // `noreply` at the end counts as a word with memcached, too.
    let words = &all[..count];
    let reply = match command.verb {
        AdminVerb::Lru => lru(words),
        AdminVerb::Slabs => slabs(words),
        AdminVerb::Extstore => ERROR,
        AdminVerb::RefreshCertificates => return refresh_certificates(exchange, command, used, out),
        AdminVerb::LruCrawler => match lru_crawler(exchange, words, out.is_empty()) {
            Crawl::Reply(reply) => reply,
            Crawl::Dump(dump) => return Progress::Stop(used, Next::Dump(dump)),
        },
    };
    say(out.buffer(), command.noreply, reply);
    Progress::Done(used)
}

fn refresh_certificates(
    exchange: &Exchange<'_>,
    command: &Admin<'_>,
    used: usize,
    out: &mut Output,
) -> Progress {
    match &exchange.service.config.on_refresh {
        None => out.write(b"Error TLS not enabled\r\n"),
        Some(refresh) => match refresh() {
            Ok(()) => say(out.buffer(), command.noreply, text::OK),
            Err(error) => text::line(
                out.buffer(),
                format!("SERVER_ERROR {}", error.replace(['\r', '\n'], " ")),
            ),
        },
    }
    Progress::Done(used)
}

fn lru(words: &[&[u8]]) -> &'static [u8] {
    match words {
        [b"tune", hot, warm, hot_factor, warm_factor, ..] => {
            let percents = number(hot).zip(number(warm));
            let factors = decimal(hot_factor).zip(decimal(warm_factor));
            match (percents, factors) {
                (Some((hot, warm)), _) if hot.saturating_add(warm) > 80 => {
                    b"ERROR hot and warm pcts must not exceed 80\r\n"
                }
                (Some(_), Some((hot, warm))) if hot > 0.0 && warm > 0.0 => text::OK,
                (Some(_), Some(_)) => b"ERROR hot/warm age factors must be greater than 0\r\n",
                _ => ERROR,
            }
        }
        [b"mode", b"flat" | b"segmented", ..] => text::OK,
        [b"temp_ttl", seconds, ..] if signed(seconds).is_some() => text::OK,
        _ => ERROR,
    }
}

fn slabs(words: &[&[u8]]) -> &'static [u8] {
    match words {
        [b"reassign", from, to] => match signed(from).zip(signed(to)) {
            None => BAD_FORMAT,
            Some((from, to)) if from == to => b"SAME src and dst class are identical\r\n",
            Some(_) => b"BADCLASS invalid src or dst class id\r\n",
        },
        [b"automove", b"ratio" | b"freeratio", ratio, ..] if decimal(ratio).is_some() => text::OK,
        [b"automove", b"ratio" | b"freeratio", ..] => ERROR,
        [b"automove", b"window", seconds, ..] => match number(seconds) {
            Some(3..=1800) => text::OK,
            Some(_) => b"CLIENT_ERROR automove window too low or too high\r\n",
            None => BAD_FORMAT,
        },
        [b"automove", level, ..] => match number(level) {
            Some(0..=2) => text::OK,
            Some(_) => ERROR,
            None => BAD_FORMAT,
        },
        _ => ERROR,
    }
}

/// What `lru_crawler` leads to.
enum Crawl {
    Reply(&'static [u8]),
    Dump(Dump),
}

fn lru_crawler(exchange: &Exchange<'_>, words: &[&[u8]], first: bool) -> Crawl {
    use std::sync::atomic::Ordering::Relaxed;
    let enabled = exchange.service.crawler.load(Relaxed);
    let switch = |on| {
        exchange.service.crawler.store(on, Relaxed);
        text::OK
    };
    let dump = |dump, forbidden, pipelined| match (enabled, exchange.service.config.dump, first) {
        (false, ..) => Crawl::Reply(b"CLIENT_ERROR lru crawler disabled\r\n"),
        (_, false, _) => Crawl::Reply(forbidden),
        (_, _, false) => Crawl::Reply(pipelined),
        _ => Crawl::Dump(dump),
    };
    let unsigned = |word: &[u8], max| match number(word) {
        None => BAD_FORMAT,
        Some(number) if number > max => b"CLIENT_ERROR sleep must be one second or less\r\n",
        Some(_) => text::OK,
    };
    match words {
        [b"enable"] => Crawl::Reply(switch(true)),
        [b"disable"] => Crawl::Reply(switch(false)),
        [b"metadump", class] if is_class(class) => dump(
            Dump::Meta,
            b"ERROR metadump not allowed\r\n",
            b"ERROR cannot pipeline other commands before metadump\r\n",
        ),
        [b"mgdump", class] if is_class(class) => dump(
            Dump::Commands,
            b"ERROR key dump not allowed\r\n",
            b"ERROR cannot pipeline other commands before mgdump\r\n",
        ),
        [b"crawl", _] if !enabled => Crawl::Reply(b"CLIENT_ERROR lru crawler disabled\r\n"),
        [b"crawl", class] if is_class(class) => Crawl::Reply(text::OK),
        [b"metadump" | b"mgdump" | b"crawl", _] => Crawl::Reply(b"BADCLASS invalid class id\r\n"),
        [b"tocrawl", items] => Crawl::Reply(unsigned(items, u32::MAX)),
        [b"sleep", microseconds] => Crawl::Reply(unsigned(microseconds, 1_000_000)),
        _ => Crawl::Reply(ERROR),
    }
}

/// `all`, `hash`, or numbers of slab classes with commas between.
fn is_class(word: &[u8]) -> bool {
    let class = |word: &[u8]| number(word).is_some_and(|class| (1..64).contains(&class));
    matches!(word, b"all" | b"hash") || word.split(|&byte| byte == b',').all(class)
}

/// `debugtime <seconds>`, for test suites: moves the clock. `p` and `r`, which stop it and let it go, are accepted.
pub(super) fn debug_time(exchange: &Exchange<'_>, line: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(argument) = line.strip_prefix(b"debugtime ") else {
        return false;
    };
    let argument = argument.trim_ascii();
    let known = match signed(argument) {
        Some(seconds) => {
            exchange.service.clock.move_by(seconds);
            true
        }
        None => matches!(argument, b"p" | b"r"),
    };
    out.extend_from_slice(if known { text::OK } else { ERROR });
    true
}

fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn signed(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn decimal(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
