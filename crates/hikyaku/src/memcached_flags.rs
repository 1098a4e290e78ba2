//! Answers to memcached's flags, which people who come from it try first.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// memcached's flags, and what does the same here.
const FLAGS: [(&str, &str); 30] = [
    ("-m", "--capacity here, with a unit: --capacity 64MiB"),
    ("-c", "connections_max of a [[listen]] in the configuration here"),
    ("-t", "--workers here"),
    (
        "-I",
        "item_size_max of a store here: --store 'default=memory:?item_size_max=2MiB'",
    ),
    (
        "-S",
        "users of a [[listen]] in the configuration here: a file of name:password lines",
    ),
    (
        "-Y",
        "users of a [[listen]] in the configuration here, with the same file",
    ),
    ("-l", "--memcached here, with a port: --memcached 127.0.0.1:11211"),
    (
        "-p",
        "--memcached here, with an address: --memcached 127.0.0.1:11211",
    ),
    ("-U", "not needed here: there is no UDP"),
    ("-s", "--memcached here: --memcached unix:/PATH"),
    ("-a", "mode of a [[listen]] in the configuration here"),
    ("-u", "--user here"),
    (
        "-M",
        "evict of a store here: --store 'default=memory:?evict=false'",
    ),
    ("-Z", "tls of a [[listen]] in the configuration here"),
    ("-B", "dialect of a [[listen]] in the configuration here"),
    ("-F", "flush = false of a [[listen]] in the configuration here"),
    ("-A", "shutdown = true of a [[listen]] in the configuration here"),
    ("-W", "watch = false of a [[listen]] in the configuration here"),
    ("-X", "dump = false of a [[listen]] in the configuration here"),
    (
        "-d",
        "not needed here: systemd or a shell's & runs it in the background",
    ),
    ("-v", "--log debug here"),
    ("-vv", "--log trace here"),
    ("-f", "not needed here: items of all sizes share memory"),
    ("-R", "not needed here: connections take turns"),
    ("-L", "not needed here: large stores use huge pages"),
    ("-n", "not needed here: an item takes what it needs"),
    ("-C", "not needed here: a cas costs no memory"),
    ("-b", "not needed here: the backlog has 4096 connections"),
    ("-P", "not needed here: systemd or the shell knows the process"),
    (
        "-o",
        "a key of a [[listen]] in the configuration here, such as idle_timeout",
    ),
];

/// A line for each of memcached's flags among the arguments of `serve`, if one of them is what the command line was refused
/// for.
pub(crate) fn explain(refused: &clap::Error, arguments: &[String]) -> Option<String> {
    let is_serve = arguments.first().is_some_and(|first| first == "serve");
    let refused_for = match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if refused.kind() == ErrorKind::UnknownArgument => flag,
        _ => return None,
    };
    if !is_serve || meaning(refused_for).is_none() {
        return None;
    }
    let lines = arguments.iter().filter_map(|argument| {
        let flag = argument.get(..2).filter(|_| !argument.starts_with("--"));
        let (flag, meaning) = match meaning(argument) {
            Some(meaning) => (argument.as_str(), meaning),
            None => (flag?, meaning(flag?)?),
        };
        Some(format!("memcached's {flag} is {meaning}\n"))
    });
    Some(lines.collect())
}

fn meaning(flag: &str) -> Option<&'static str> {
    FLAGS
        .iter()
        .find(|(name, _)| *name == flag)
        .map(|(_, meaning)| *meaning)
}
