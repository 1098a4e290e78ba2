//! A measured parent as its coordinator sees it: a process that answers each command with one line of JSON.

use super::size::Size;
use crate::Error;
use crate::scratch::Scratch;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The kinds of parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// This program.
    Plain,
    /// This program with `libnoshell.so` preloaded.
    Preloaded,
    /// The same, but the program itself never calls the library: only what it forks does.
    PreloadedUnused,
    /// This program with zygotes, one per round.
    Zygotes,
    Python,
    Go,
    Node,
}

/// The measurements of one row in one round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) spawns: u32,
    /// CPU time of the parent and its children.
    pub(super) cpu_ns: u64,
    /// CPU time of the parent alone.
    pub(super) own_ns: u64,
    /// How long each spawn blocked the calling thread.
    pub(super) blocked_ns: Vec<u64>,
}

/// A line from a parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    Found(Sample),
    Failed(String),
}

/// A command to a parent: the row, the number of spawns, and the time limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) row: &'a str,
    pub(super) count: u32,
    pub(super) budget_ms: u64,
}

/// The inputs for starting hosts.
pub(super) struct Materials<'a> {
    pub(super) scratch: &'a Scratch,
    pub(super) child: &'a Path,
    pub(super) prefix: &'a [&'a str],
    pub(super) noshell: Result<PathBuf, String>,
    /// The number of rounds.
    pub(super) rounds: u32,
}

/// A running parent, which ends when its standard input closes.
pub(super) struct Host {
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Host {
    /// Starts a parent that has touched this much memory. The error is the reason why it cannot.
    pub(super) fn start(kind: Kind, materials: &Materials<'_>, touched: Size) -> Result<Self, String> {
        let mut command = match kind {
            Kind::Plain => own(materials, touched).map_err(|error| error.to_string())?,
            Kind::Preloaded | Kind::PreloadedUnused => {
                let library = materials.noshell.clone()?;
                let mut command = own(materials, touched).map_err(|error| error.to_string())?;
                command.env("LD_PRELOAD", library);
                command
            }
            Kind::Zygotes => {
                let mut command = own(materials, touched).map_err(|error| error.to_string())?;
                command.arg(format!("--zygotes={}", materials.rounds));
                command
            }
            Kind::Python => script(
                "python3",
                "host.py",
                include_bytes!("hosts/host.py"),
                materials,
                touched,
            )?,
            Kind::Node => script(
                "node",
                "host.js",
                include_bytes!("hosts/host.js"),
                materials,
                touched,
            )?,
            Kind::Go => go(materials, touched)?,
        };
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", command.get_program().display()))?;
        let (Some(commands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("it has no standard streams".into());
        };
        Ok(Self {
            process,
            commands: Some(commands),
            answers: BufReader::new(answers),
        })
    }

    /// Waits until the parent has touched its memory, so that the check of available memory for the next one is right.
    pub(super) fn ready(&mut self) -> Result<(), String> {
        let ask = Ask {
            row: "ready",
            count: 0,
            budget_ms: 1,
        };
        // Every parent answers an unknown row with an error; only the arrival of the answer matters.
        self.exchange(ask)
            .map(drop)
            .map_err(|error| format!("the measured process does not start: {error}"))
    }

    /// Measures a row once.
    pub(super) fn ask(&mut self, ask: Ask<'_>) -> Result<Sample, String> {
        match self.exchange(ask) {
            Ok(Answer::Found(sample)) => Ok(sample),
            Ok(Answer::Failed(reason)) => Err(reason),
            Err(error) => Err(format!("the measured process answers no more: {error}")),
        }
    }

    fn exchange(&mut self, ask: Ask<'_>) -> io::Result<Answer> {
        let commands = self.commands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(commands, "{} {} {}", ask.row, ask.count, ask.budget_ms)?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.commands = None;
        // It ends at the end of its input. A failure to wait has no remedy.
        let _ = self.process.wait();
    }
}

fn own(materials: &Materials<'_>, touched: Size) -> Result<Command, Error> {
    let mut command = Command::new(std::env::current_exe().map_err(Error::Start)?);
    command
        .args(materials.prefix)
        .arg("--helper")
        .arg(materials.child)
        .arg(format!("--touched={}", touched.0));
    if let Ok(library) = &materials.noshell {
        command.arg("--noshell").arg(library);
    }
    Ok(command)
}

fn script(
    program: &str,
    name: &str,
    content: &[u8],
    materials: &Materials<'_>,
    touched: Size,
) -> Result<Command, String> {
    let program = found(program)?;
    let path = materials
        .scratch
        .file(name, content)
        .map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(path).arg(materials.child).arg(touched.0.to_string());
    Ok(command)
}

/// Compiles the Go parent, once for all sizes.
fn go(materials: &Materials<'_>, touched: Size) -> Result<Command, String> {
    let program = materials.scratch.path().join("host-go");
    if !program.exists() {
        let source = materials
            .scratch
            .file("host.go", include_bytes!("hosts/host.go"))
            .map_err(|error| error.to_string())?;
        let output = Command::new(found("go")?)
            .args(["build", "-o"])
            .args([&program, &source])
            .env("GO111MODULE", "off")
            .env("CGO_ENABLED", "0")
            .current_dir(materials.scratch.path())
            .output()
            .map_err(|error| format!("go does not start: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "go build failed: {}",
                said.lines().last().unwrap_or("it does not say why")
            ));
        }
    }
    let mut command = Command::new(program);
    command.arg(materials.child).arg(touched.0.to_string());
    Ok(command)
}

/// A program in `PATH`.
fn found(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("{name} is not installed"))
}
