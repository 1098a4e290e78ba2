//! `hikyaku kv`: a small client for people and scripts. It uses meta commands, which memcached understands too.
//!
//! **Invariant**: the exit status distinguishes a key that does not exist (1) from a server that does not answer (3).

mod commands;
mod connection;
mod count;
mod error;
mod item;
mod request;
mod server;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use error::Error;
pub(crate) use item::Item;

use crate::offline::{self, Export, Import, Range};

/// The key does not exist, or the value was not stored.
const ABSENT: u8 = 1;
/// The server did not answer, or refused.
const SERVER: u8 = 3;

/// Read and write the keys of a memcached server
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 success; 1 no such key, or not stored; 2 wrong command line; 3 no answer from the server, or an error."
)]
pub(crate) struct Kv {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    server: Server,
    /// Print JSON, a line per item; bytes that are not UTF-8 are base64 in "key64" and "value64"
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print values, a line each
    Get {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
        /// Print no line end after values
        #[arg(long, conflicts_with = "json")]
        raw: bool,
    },
    /// Store a value
    Set {
        /// The key
        key: OsString,
        /// The value; default: standard input
        value: Option<OsString>,
        /// Time to live, such as 30s or 7d; default: no expiry
        #[arg(long, value_name = "DURATION", value_parser = kv::parse_duration)]
        ttl: Option<Duration>,
        /// Flags stored with the value
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        flags: u32,
        /// When to store: always; only a new key (add); only an existing one (replace, append, prepend)
        #[arg(long, value_enum, default_value_t = Mode::Set)]
        mode: Mode,
        /// Store only if the item has this cas
        #[arg(long, value_name = "CAS")]
        cas: Option<u64>,
    },
    /// Delete keys
    Delete {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
    },
    /// Increment a number and print it
    Incr(Count),
    /// Decrement a number, to 0 at least, and print it
    Decr(Count),
    /// Change the time to live of keys
    Touch {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
        /// Time to live from now, such as 30s or 7d; default: no expiry
        #[arg(long, value_name = "DURATION", value_parser = kv::parse_duration)]
        ttl: Option<Duration>,
    },
    /// Delete all keys
    Flush {
        /// Flush after this time
        #[arg(long, value_name = "DURATION", value_parser = kv::parse_duration)]
        delay: Option<Duration>,
    },
    /// Print statistics, a line each
    Stats {
        /// Group: settings, items, slabs, sizes or conns; default: general statistics
        group: Option<String>,
    },
    /// Print keys, a line each, in order if the store is a tree
    Scan(Scan),
    Import(Import),
    Export(Export),
}

#[derive(Args, Debug)]
struct Scan {
    #[command(flatten)]
    range: Range,
    /// Read the folder of a store that no daemon has open: hash:PATH or tree:PATH
    #[arg(long, value_name = "URI")]
    store: Option<String>,
    /// Folder of durable data, to which PATH is relative; default: hikyaku-data
    #[arg(long, value_name = "DIR", requires = "store")]
    data: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Count {
    /// The key
    key: OsString,
    /// The amount
    #[arg(default_value_t = 1)]
    delta: u64,
    /// Number to store if the key does not exist
    #[arg(long, value_name = "NUMBER")]
    initial: Option<u64>,
    /// Time to live of that number, such as 30s or 7d
    #[arg(long, value_name = "DURATION", value_parser = kv::parse_duration, requires = "initial")]
    ttl: Option<Duration>,
}

/// The conditions of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

/// The server and the login.
#[derive(Args, Debug)]
struct Server {
    /// Server: HOST:PORT or unix:/PATH
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:11211",
        global = true
    )]
    server: String,
    /// User; HIKYAKU_PASSWORD in the environment is the password
    #[arg(long, value_name = "NAME", global = true)]
    user: Option<String>,
    /// Connect with TLS and trust these authorities, or this self-signed certificate (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    tls_ca: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE", global = true, requires_all = ["tls_ca", "tls_key"])]
    tls_certificate: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", global = true, requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
}

/// The outcome of a command that the server executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Absent,
}

/// Runs the command and prints the result.
pub(crate) fn run(asked: &Kv) -> ExitCode {
    match &asked.command {
        Command::Import(import) => return offline::import(import, asked.json),
        Command::Export(export) => return offline::export(export),
        Command::Scan(scan) => {
            if let Some(store) = &scan.store {
                return offline::scan(store, scan.data.as_deref(), &scan.range, asked.json);
            }
        }
        _ => {}
    }
    let config = io::Config {
        workers: 1,
        ..io::Config::default()
    };
    let outcome = io::Loop::new(config)
        .map_err(Error::Io)
        .and_then(|mut own| own.run(commands::run(asked)));
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Absent) => ExitCode::from(ABSENT),
        Err(Error::Output(error)) => crate::written(Err(error)),
        Err(error) => {
            let code = match error {
                Error::NotStored(_) => ABSENT,
                _ if error.is_usage() => crate::USAGE,
                _ => SERVER,
            };
            crate::fail(error);
            ExitCode::from(code)
        }
    }
}
