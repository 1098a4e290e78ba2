//! The command line, declared once: help, man pages and completions all come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bench::Bench;
use crate::client::Kv;
use crate::config::Flags;

/// One fast server for one machine: it answers every memcached client.
#[derive(Debug, Parser)]
#[command(name = "hikyaku", version, arg_required_else_help = true, after_help = EXIT)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT: &str = "Exit status: 0 done; 1 it failed; 2 the command line or the configuration is wrong.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
    /// Check a configuration file: every error with its line, and exit status 2 if there is one
    Check {
        /// The file to check
        file: PathBuf,
    },
    Kv(Kv),
    Bench(Bench),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page a command
    Man {
        /// Write hikyaku.1 and its neighbours into this folder instead
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

/// Run the daemon
///
/// Without flags it listens for memcached clients on 127.0.0.1:11211 and keeps their values in up to a quarter of
/// the memory. When it is ready, standard output has had one line a listener, such as
/// "listening memcached 127.0.0.1:11211", and last "ready". Logs go to standard error.
///
/// SIGTERM and SIGINT answer what was asked and end it, a second one ends it at once; SIGHUP reads the
/// configuration, the users files and the certificates again.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Read this configuration; the other flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) log: Log,
    /// Let clients move the clock by debugtime; for test suites, never for a server that others reach
    #[arg(long, hide = true)]
    pub(crate) debugtime: bool,
}

/// The level and the format of the log.
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// Log from this level on: error, warn, info, debug or trace, or by module such as info,io=debug
    #[arg(
        long = "log",
        value_name = "LEVEL",
        env = "HIKYAKU_LOG",
        default_value = "info"
    )]
    pub(crate) level: String,
    /// How log lines look; auto: for humans on a terminal, JSON elsewhere
    #[arg(long = "log-format", value_enum, default_value_t = LogFormat::Auto)]
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Auto,
    Human,
    Json,
}
