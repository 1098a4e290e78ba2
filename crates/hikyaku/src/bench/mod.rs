//! `hikyaku bench`: runs `hikyaku-bench`, as cargo runs its subcommands, so that the daemon links no load generator.

mod description;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;

use crate::fail;

pub(crate) use description::describe;

const PROGRAM: &str = "hikyaku-bench";

/// Measure servers and process creation: see `hikyaku bench --help`
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Bench {
    /// The table and its options
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Bench {
    /// What `hikyaku help bench …` asks for, which is `hikyaku bench … --help`.
    pub(crate) fn from_help(mut arguments: impl Iterator<Item = OsString>) -> Option<Bench> {
        let asked = arguments.next()? == "help" && arguments.next()? == "bench";
        asked.then(|| Bench {
            arguments: arguments.chain([OsString::from("--help")]).collect(),
        })
    }
}

/// Becomes `hikyaku-bench`: its output, signals and exit status are then this process's own. Returns on failure only.
pub(crate) fn run(bench: &Bench) -> ExitCode {
    let Some(program) = program() else {
        return fail(format_args!(
            "{PROGRAM} is neither beside this program nor in PATH; `make build` builds it and `make install` installs it"
        ));
    };
    let error = Command::new(&program).args(&bench.arguments).exec();
    fail(format_args!("cannot run {}: {error}", program.display()))
}

/// The file to run: beside this executable, which is of the same version, or else in `PATH`.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    first_of(
        beside.into_iter().chain(std::env::split_paths(&path)),
        PROGRAM.as_ref(),
    )
}

/// The first of these folders' files of that name that may be executed.
fn first_of(mut folders: impl Iterator<Item = PathBuf>, name: &OsStr) -> Option<PathBuf> {
    folders.find_map(|folder| {
        let file = folder.join(name);
        is_executable(&file).then_some(file)
    })
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
