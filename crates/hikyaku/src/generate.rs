//! Completions and manual pages, made from the one declaration of the command line.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::bench;
use crate::cli::Cli;
use crate::{fail, written};

/// The whole command line, with that of `hikyaku-bench` where it is installed.
fn command() -> clap::Command {
    bench::describe(Cli::command())
}

/// Prints the completions of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "hikyaku", &mut script);
    written(io::stdout().write_all(&script))
}

/// Prints the page of `hikyaku`, or writes one per subcommand (`hikyaku-kv-get.1`) into the folder.
pub(crate) fn man(directory: Option<&Path>) -> ExitCode {
    match directory {
        None => written(Man::new(command()).render(&mut io::stdout())),
        Some(directory) => match clap_mangen::generate_to(command(), directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(format_args!(
                "cannot write manual pages into {}: {error}",
                directory.display()
            )),
        },
    }
}
