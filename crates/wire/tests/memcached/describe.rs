//! Parsed messages as lines of text, for vectors and for comparing two parsers.

use hikyaku_wire::memcached::meta::{KeyBuffer, Meta, MetaVerb};
use hikyaku_wire::memcached::text::{Command, Error, Get, Words};
use hikyaku_wire::memcached::{binary, client};

/// Bytes as printable text, in the notation of the vectors.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// A command or its error.
pub(crate) fn text(result: &Result<Command<'_>, Error>) -> String {
    match result {
        Ok(command) => self::command(command),
        Err(error) => self::error(error),
    }
}

/// An error with its consequences.
pub(crate) fn error(error: &Error) -> String {
    let mut out = format!("error {:?}", error.cause());
    if error.reply().is_empty() {
        out += " silent";
    }
    if error.fatal() {
        out += " fatal";
    }
    if error.swallow() > 0 {
        out += &format!(" swallow={}", error.swallow());
    }
    if error.skip_line() {
        out += " skip-line";
    }
    out
}

fn noreply(noreply: bool) -> &'static str {
    if noreply { " noreply" } else { "" }
}

fn words(words: &Words<'_>) -> String {
    words.clone().map(|word| format!(" {}", escaped(word))).collect()
}

/// A reading command.
pub(crate) fn get(get: &Get<'_>) -> String {
    let keys: Vec<String> = get.keys.map(escaped).collect();
    let exptime = if get.verb.touches() {
        format!(" exptime={}", get.exptime)
    } else {
        String::new()
    };
    format!("{:?}{exptime} {}", get.verb, keys.join(" "))
}

fn command(command: &Command<'_>) -> String {
    match command {
        Command::Get(get) => self::get(get),
        Command::Store(store) => {
            let key = escaped(store.key);
            let (flags, exptime, length, cas) = (store.flags, store.exptime, store.length, store.cas);
            let end = noreply(store.noreply);
            format!(
                "{:?} {key} flags={flags} exptime={exptime} length={length} cas={cas}{end}",
                store.verb
            )
        }
        Command::Delete(delete) => format!("Delete {}{}", escaped(delete.key), noreply(delete.noreply)),
        Command::Arithmetic(step) => {
            let verb = if step.increment { "Increment" } else { "Decrement" };
            format!(
                "{verb} {} by {}{}",
                escaped(step.key),
                step.delta,
                noreply(step.noreply)
            )
        }
        Command::Touch(touch) => {
            format!(
                "Touch {} exptime={}{}",
                escaped(touch.key),
                touch.exptime,
                noreply(touch.noreply)
            )
        }
        Command::Meta(meta) => self::meta(meta),
        Command::FlushAll(flush) => match &flush.delay {
            Ok(delay) => format!("FlushAll {delay}{}", noreply(flush.noreply)),
            Err(error) => format!("FlushAll {}", self::error(error)),
        },
        Command::Verbosity(verbosity) => {
            format!("Verbosity {}{}", verbosity.level, noreply(verbosity.noreply))
        }
        Command::Version => "Version".into(),
        Command::Quit => "Quit".into(),
        Command::Shutdown(shutdown) => match &shutdown.graceful {
            Ok(graceful) => format!("Shutdown graceful={graceful}"),
            Err(error) => format!("Shutdown {}", self::error(error)),
        },
        Command::Stats(arguments) => format!("Stats{}", words(arguments)),
        Command::Watch(arguments) => format!("Watch{}", words(arguments)),
        Command::CacheMemlimit(limit) => {
            format!("CacheMemlimit {}{}", limit.megabytes, noreply(limit.noreply))
        }
        Command::Admin(admin) => format!(
            "{:?}{}{}",
            admin.verb,
            words(&admin.words),
            noreply(admin.noreply)
        ),
    }
}

fn meta(meta: &Meta<'_>) -> String {
    let mut out = format!(
        "Meta{:?} {}",
        meta.verb,
        escaped(meta.key(&mut KeyBuffer::default()))
    );
    if meta.verb == MetaVerb::Set {
        out += &format!(" length={} mode={:?}", meta.length, meta.mode);
    }
    if meta.verb == MetaVerb::Arithmetic {
        out += if meta.decrement { " down" } else { " up" };
    }
    for flag in meta.flags() {
        out += &format!(" {}", escaped(flag.token));
    }
    let numbers = [
        ("T", meta.exptime().map(|time| time.to_string())),
        ("N", meta.vivify().map(|time| time.to_string())),
        ("R", meta.recache().map(|time| time.to_string())),
        ("C", meta.cas().map(|cas| cas.to_string())),
        ("E", meta.cas_new().map(|cas| cas.to_string())),
        ("F", meta.has(b'F').then(|| meta.client_flags().to_string())),
        ("J", meta.has(b'J').then(|| meta.initial().to_string())),
        ("D", meta.has(b'D').then(|| meta.delta().to_string())),
        ("O", meta.opaque().map(escaped)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            out += &format!(" {name}={number}");
        }
    }
    out
}

/// A binary request, or what is wrong with it.
pub(crate) fn binary(result: &Result<binary::Request<'_>, binary::Error>) -> String {
    match result {
        Ok(request) => format!(
            "{:#04x}{} {:?} key={} value={} opaque={:#x} cas={}",
            request.opcode.0,
            if request.opcode.quiet() { " quiet" } else { "" },
            request.operation,
            escaped(request.key),
            request.value_length,
            request.opaque,
            request.cas
        ),
        Err(error) => {
            let mut reply = Vec::new();
            error.reply(&mut reply);
            let fatal = if error.fatal() { " fatal" } else { "" };
            let framed = if error.framed() { "" } else { " unframed" };
            let reply = if reply.is_empty() { " silent" } else { "" };
            format!(
                "error {:?}{fatal}{framed}{reply} swallow={}",
                error.status(),
                error.swallow()
            )
        }
    }
}

/// A reply to a text request with its value.
pub(crate) fn reply(result: &Result<(client::text::Reply<'_>, &[u8]), client::Error>) -> String {
    use client::text::Reply;
    match result {
        Ok((Reply::Meta(meta), value)) => {
            let flags: String = meta
                .flags
                .clone()
                .map(|flag| format!(" {}", escaped(flag.token)))
                .collect();
            format!("{:?}{flags} = {}", meta.status, escaped(value))
        }
        Ok((Reply::Value(head), value)) => {
            let cas = head.cas.map(|cas| format!(" cas={cas}")).unwrap_or_default();
            format!(
                "Value {} flags={}{cas} = {}",
                escaped(head.key),
                head.flags,
                escaped(value)
            )
        }
        Ok((Reply::Stat { name, value }, _)) => format!("Stat {} = {}", escaped(name), escaped(value)),
        Ok((Reply::Version(text), _)) => format!("Version {}", escaped(text)),
        Ok((Reply::Debug(text), _)) => format!("Debug {}", escaped(text)),
        Ok((Reply::Error(text), _)) => format!("Error {}", escaped(text)),
        Ok((Reply::Other(text), _)) => format!("Other {}", escaped(text)),
        Ok((reply, _)) => format!("{reply:?}"),
        Err(error) => format!("error {error}"),
    }
}

/// A binary response with its value.
pub(crate) fn response(result: &Result<(client::binary::Response<'_>, &[u8]), client::Error>) -> String {
    match result {
        Ok((response, value)) => format!("{response:?} = {}", escaped(value)),
        Err(error) => format!("error {error}"),
    }
}
