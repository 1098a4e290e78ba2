//! The command line, declared once: help, man pages and completions all come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bench::Bench;
use crate::client::Kv;
use crate::config::Flags;
use crate::logs::Log as Logs;

/// One fast server for one machine: it answers every memcached client.
#[derive(Debug, Parser)]
#[command(name = "hikyaku", version, arg_required_else_help = true, after_help = EXIT)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT: &str = "Exit status: 0 success; 1 failure; 2 wrong command line or configuration.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
    /// Print every error of a configuration file with its line
    Check {
        /// The configuration file
        file: PathBuf,
    },
    Kv(Kv),
    Log(Logs),
    Bench(Bench),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write hikyaku.1 and a page per subcommand into this folder instead
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

/// Run the daemon
///
/// Without flags it listens for memcached clients on 127.0.0.1:11211 and uses up to a quarter of the memory. When it
/// is ready, it has printed a line per listener, such as "listening memcached 127.0.0.1:11211", and "ready". Logs go
/// to standard error.
///
/// SIGTERM and SIGINT drain connections and exit; a second one exits at once. SIGHUP reloads users, certificates and
/// capacities.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Configuration file; flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) log: Log,
    /// Let clients move the clock with debugtime, for test suites
    #[arg(long, hide = true)]
    pub(crate) debugtime: bool,
}

/// The level and the format of the log.
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// Log level: error, warn, info, debug or trace; per module: info,io=debug
    #[arg(
        long = "log",
        value_name = "LEVEL",
        env = "HIKYAKU_LOG",
        default_value = "info"
    )]
    pub(crate) level: String,
    /// Log format; auto: human on a terminal, JSON elsewhere
    #[arg(long = "log-format", value_enum, default_value_t = LogFormat::Auto)]
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Auto,
    Human,
    Json,
}
