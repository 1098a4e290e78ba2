//! Foreign programs, run to their end.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::process::ended_within;

/// The time limit of a program.
const RUN_MAX: Duration = Duration::from_secs(300);

/// A program with its arguments, before it runs.
#[derive(Debug)]
pub struct Tool {
    command: Command,
    input: Vec<u8>,
}

/// The result of a program.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Tool {
    /// A program by its name or path.
    pub fn new(program: impl AsRef<OsStr>) -> Tool {
        let mut command = Command::new(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Tool {
            command,
            input: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Tool {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Tool {
        self.command.args(arguments);
        self
    }

    /// Sets its standard input, which is empty otherwise.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Tool {
        self.input = input.into();
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Tool {
        self.command.env(name, value);
        self
    }

    /// Sets its working directory.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Tool {
        self.command.current_dir(folder);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// If it is not installed or does not end.
    pub fn run(mut self) -> Ran {
        let name = format!("{:?}", self.command);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}; run tests/install"));
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = std::mem::take(&mut self.input);
        // A tool that does not read its input breaks the pipe, which is no error.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = read_all(child.stdout.take().expect("it is piped"));
        let errors = read_all(child.stderr.take().expect("it is piped"));
        let ended = ended_within(child.id(), RUN_MAX);
        if !ended {
            let _ = child.kill();
        }
        let status = child.wait().expect("it is our child");
        feeder.join().expect("it does not panic");
        let ran = Ran {
            status,
            output: text(output),
            errors: text(errors),
        };
        assert!(ended, "{name} does not end: {ran:#?}");
        ran
    }

    /// Runs it, fails unless it succeeds, and returns its standard output.
    ///
    /// # Panics
    /// If it fails.
    pub fn succeed(self) -> String {
        let name = format!("{:?}", self.command);
        let ran = self.run();
        assert!(
            ran.status.success(),
            "{name}: {}\n{}\n{}",
            ran.status,
            ran.output,
            ran.errors
        );
        ran.output
    }
}

type Reader = std::thread::JoinHandle<Vec<u8>>;

fn read_all(mut from: impl Read + Send + 'static) -> Reader {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

fn text(reader: Reader) -> String {
    String::from_utf8_lossy(&reader.join().expect("it does not panic")).into_owned()
}

/// A program that `tests/install` put below `target/clients`.
///
/// # Panics
/// If it is missing.
pub fn client_program(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace's root");
    let path = root.join("target/clients").join(name);
    assert!(path.exists(), "{} is missing; run tests/install", path.display());
    path
}

/// A script of `tests/clients`, run by the Python that has its libraries.
pub fn python(script: &str) -> Tool {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    Tool::new(client_program("python/bin/python")).arg(scripts.join(script))
}
