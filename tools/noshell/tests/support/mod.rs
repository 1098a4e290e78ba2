//! Shared code of the tests: the library and the C programs, built once; the shells; scratch folders.
//!
//! Everything is built below the target's folder for temporary files, by the Makefile that `make build` uses, so that what
//! is tested is what is installed.

// Each test binary uses its own part of this module.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod battery;
pub mod corpus;
pub mod generator;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const NAMES: &[&str] = &[
    "args", "a", "b", "ab", "vars", "state", "copy", "code", "die", "hold", "both",
];

/// The folder of this package.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("noshell")
}

/// Lets one process at a time build.
fn alone<T>(build: impl FnOnce(&Path) -> T) -> T {
    let folder = built();
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    build(&folder)
}

fn must(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    output
}

/// Bytes as a person reads them.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How the library is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// As it is installed.
    Release,
    /// With the address and undefined-behaviour sanitizers.
    Sanitized,
}

const SANITIZED: &str =
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined";

/// The folder with libnoshell.so and libnoshell.a.
pub fn library_folder(flavour: Flavour) -> &'static Path {
    static FOLDERS: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FOLDERS[flavour as usize].get_or_init(|| {
        alone(|folder| {
            let out = folder.join(format!("{flavour:?}").to_lowercase());
            let mut make = Command::new("make");
            make.current_dir(package())
                .arg("--silent")
                .arg(format!("OUT={}", out.display()));
            if flavour == Flavour::Sanitized {
                make.arg(format!("CFLAGS={SANITIZED}"));
            }
            // A make above this one would otherwise hand its own flags down.
            must(
                make.env_remove("MAKEFLAGS")
                    .env_remove("MAKELEVEL")
                    .env_remove("LD_PRELOAD"),
            );
            out
        })
    })
}

/// The library that is preloaded.
pub fn library() -> PathBuf {
    library_folder(Flavour::Release).join("libnoshell.so")
}

/// A C program of these tests, compiled with more options.
pub fn program(name: &str, options: &[&str]) -> PathBuf {
    program_as(name, name, options)
}

/// The same under another name, for programs that are compiled in more than one way.
pub fn program_as(name: &str, source: &str, options: &[&str]) -> PathBuf {
    alone(|folder| {
        let source = package().join("tests/c").join(format!("{source}.c"));
        let program = folder.join(name);
        let stamp = folder.join(format!("{name}.options"));
        let wanted = options.join(" ");
        let newer = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let same = fs::read_to_string(&stamp).is_ok_and(|found| found == wanted);
        let inputs = options.iter().map(Path::new).filter(|path| path.is_file());
        let header = package().join("tests/c/scenario.h");
        let newest = inputs
            .chain([source.as_path(), &header])
            .map(newer)
            .max()
            .flatten();
        if same && newer(&program) > newest {
            return program;
        }
        must(
            Command::new("cc")
                .args([
                    "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o",
                ])
                .args([&program, &source])
                .args(options),
        );
        fs::write(stamp, wanted).unwrap();
        program
    })
}

/// The folder of the children, one static program under many names.
pub fn children() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let probe = program("probe", &["-static"]);
        alone(|folder| {
            let bin = folder.join("bin");
            fs::create_dir_all(&bin).unwrap();
            for name in NAMES {
                let _ = fs::remove_file(bin.join(name));
                symlink(&probe, bin.join(name)).unwrap();
            }
            bin
        })
    })
}

/// A new, empty folder; the test removes it.
///
/// It lies in memory where that is possible: tens of thousands of small files come and go.
pub fn scratch(name: &str) -> PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let memory = PathBuf::from(format!("/dev/shm/hikyaku-noshell-{}", std::process::id()));
        if runs_programs(&memory) {
            memory
        } else {
            built().join("scratch")
        }
    });
    let folder = root.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Removes such a folder, and what it lay in when it was the last.
pub fn remove_scratch(folder: &Path) {
    fs::remove_dir_all(folder).unwrap();
    // Another test may still have a folder there.
    let _ = fs::remove_dir(folder.parent().unwrap());
}

/// Returns whether programs can be written to and run from a folder.
fn runs_programs(folder: &Path) -> bool {
    let script = folder.join("try");
    let tried = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&script, "#!/bin/sh\n"))
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
        .and_then(|()| Command::new(&script).output());
    let _ = fs::remove_file(script);
    tried.is_ok_and(|output| output.status.success())
}

/// The shells that may stand at /bin/sh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Dash,
    Bash,
    /// One that libnoshell does not know.
    Busybox,
}

impl Shell {
    pub fn name(self) -> &'static str {
        match self {
            Shell::Dash => "dash",
            Shell::Bash => "bash",
            Shell::Busybox => "busybox",
        }
    }

    /// A command that runs a program where this shell is /bin/sh.
    ///
    /// # Panics
    /// As [`Shell::command_with`].
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        Self::command_with(Path::new(&format!("/bin/{}", self.name())), program)
    }

    /// A command that runs a program where the given file is /bin/sh: in a mount namespace of its own, unless the file is
    /// /bin/sh anyway.
    ///
    /// # Panics
    /// If the file is missing, or if neither root nor a user namespace lets this test replace /bin/sh.
    pub fn command_with(shell: &Path, program: impl AsRef<OsStr>) -> Command {
        let wanted = fs::canonicalize(shell)
            .unwrap_or_else(|error| panic!("{}: {error}; tests/install brings it", shell.display()));
        if fs::canonicalize("/bin/sh").is_ok_and(|found| found == wanted) {
            return Command::new(program.as_ref());
        }
        let mut command = Command::new("unshare");
        command
            .args(namespaces())
            .args(["/bin/bash", "-c", "mount --bind \"$0\" /bin/sh && exec \"$@\""])
            .arg(wanted)
            .arg(program.as_ref());
        command
    }
}

/// The options of unshare that give this user a mount namespace.
fn namespaces() -> &'static [&'static str] {
    static FOUND: OnceLock<&'static [&'static str]> = OnceLock::new();
    FOUND.get_or_init(|| {
        let works = |options: &[&str]| {
            let tried = Command::new("unshare").args(options).arg("true").output();
            tried.is_ok_and(|output| output.status.success())
        };
        let choices: [&'static [&'static str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
        choices
            .into_iter()
            .find(|options| works(options))
            .expect("to put another shell at /bin/sh for a test takes root, or user namespaces")
    })
}

/// Preloads the library into what a command starts, also through `Shell::command`.
pub fn preload(command: &mut Command, libraries: &[&Path]) {
    let joined: Vec<_> = libraries.iter().map(|path| path.display().to_string()).collect();
    command.env("LD_PRELOAD", joined.join(":"));
}

/// The environment that all compared runs have.
pub fn environment(command: &mut Command, home: &Path) {
    let path = format!("{}:/usr/bin:/bin", children().display());
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("MARK", "a b");
}

/// Runs a command to its end, and kills it when it takes longer than anything here can.
pub fn run(command: &mut Command, input: &[u8], limit: Duration) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    // A child that ends without reading everything is judged by what it says.
    let _ = stdin.write_all(input);
    drop(stdin);
    let (send, done) = std::sync::mpsc::channel::<()>();
    let pid = child.id();
    let began = Instant::now();
    let watch = std::thread::spawn(move || {
        let late = done.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(send);
    watch.join().unwrap();
    assert!(
        began.elapsed() < limit,
        "{command:?} did not end within {limit:?}: {}",
        text(&output.stderr)
    );
    output
}

/// Preloads the sanitized library, and before it the sanitizers' own runtime, which must come first.
pub fn sanitize(command: &mut Command) {
    let runtime = |name: &str| {
        let output = must(Command::new("cc").arg(format!("-print-file-name={name}")));
        PathBuf::from(text(&output.stdout).trim())
    };
    let (address, undefined) = (runtime("libasan.so"), runtime("libubsan.so"));
    preload(
        command,
        &[
            &address,
            &undefined,
            &library_folder(Flavour::Sanitized).join("libnoshell.so"),
        ],
    );
    // Leaks are looked for by counting, in a test of their own: the runtime's own search would stop every shell for it.
    command.env(
        "ASAN_OPTIONS",
        "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1",
    );
}
