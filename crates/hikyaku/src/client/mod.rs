//! `hikyaku kv`: a small client, for people and for scripts. It speaks meta commands, so it works with memcached too.
//!
//! **Invariant**: the exit status tells a key that is not there (1) from a server that cannot be asked (3).

mod commands;
mod connection;
mod count;
mod error;
mod item;
mod server;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use error::Error;

/// The key is not there, or the value was not stored.
const ABSENT: u8 = 1;
/// The server could not be asked, or refused.
const SERVER: u8 = 3;

/// Read and write the keys of a memcached-protocol server
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 done; 1 not there, or not stored; 2 the command line is wrong; 3 the server cannot be asked."
)]
pub(crate) struct Kv {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    server: Server,
    /// Print a line of JSON an item; bytes that are not UTF-8 are base64 under "key64" and "value64"
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the values of keys, a line each
    Get {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
        /// Print the bytes alone, without a line end after each value
        #[arg(long, conflicts_with = "json")]
        raw: bool,
    },
    /// Store a value
    Set {
        /// The key
        key: OsString,
        /// The value; without it standard input is read
        value: Option<OsString>,
        /// How long it stays, such as 30s or 7d
        #[arg(long, value_name = "DURATION", value_parser = crate::config::duration::parse)]
        ttl: Option<Duration>,
        /// A number that is kept with the value
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        flags: u32,
        /// Store only if the key exists (replace, append, prepend), does not (add), or always
        #[arg(long, value_enum, default_value_t = Mode::Set)]
        mode: Mode,
        /// Store only if the item still has this cas
        #[arg(long, value_name = "CAS")]
        cas: Option<u64>,
    },
    /// Delete keys
    Delete {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
    },
    /// Add to a number and print the sum
    Incr(Count),
    /// Subtract from a number, down to 0, and print the difference
    Decr(Count),
    /// Change how long keys stay
    Touch {
        /// The keys
        #[arg(required = true)]
        keys: Vec<OsString>,
        /// How long they stay from now, such as 30s or 7d; without it for good
        #[arg(long, value_name = "DURATION", value_parser = crate::config::duration::parse)]
        ttl: Option<Duration>,
    },
    /// Delete all keys
    Flush {
        /// Wait this long first
        #[arg(long, value_name = "DURATION", value_parser = crate::config::duration::parse)]
        delay: Option<Duration>,
    },
    /// Print statistics, a line each
    Stats {
        /// A group, such as settings, items, slabs or conns
        group: Option<String>,
    },
    /// Print all keys, a line each
    Scan {
        /// Only those that begin with this
        prefix: Option<OsString>,
    },
}

#[derive(Args, Debug)]
struct Count {
    /// The key
    key: OsString,
    /// How much
    #[arg(default_value_t = 1)]
    delta: u64,
    /// Store this number if the key is not there
    #[arg(long, value_name = "NUMBER")]
    initial: Option<u64>,
    /// How long that number stays, such as 30s or 7d
    #[arg(long, value_name = "DURATION", value_parser = crate::config::duration::parse, requires = "initial")]
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

/// Where the server is, and who asks.
#[derive(Args, Debug)]
struct Server {
    /// The server: HOST:PORT or unix:/PATH
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:11211",
        global = true
    )]
    server: String,
    /// Log in as this user; the password is in the environment, as HIKYAKU_PASSWORD
    #[arg(long, value_name = "NAME", global = true)]
    user: Option<String>,
    /// Connect by TLS and believe certificates of these authorities (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    tls_ca: Option<PathBuf>,
    /// Show this certificate (PEM)
    #[arg(long, value_name = "FILE", global = true, requires_all = ["tls_ca", "tls_key"])]
    tls_certificate: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", global = true, requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
}

/// The outcome of a command that the server executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Absent,
}

/// Asks the server, prints what it says.
pub(crate) fn run(asked: &Kv) -> ExitCode {
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
