//! The daemon as a child process: built, started, awaited by its banner, and gone with the value.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process::{ended_within, memory};
use crate::{Connection, Folder, PATIENCE, Signal, send_signal};

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    banner: Vec<(String, String)>,
    errors: Arc<Mutex<String>>,
    collector: Option<JoinHandle<()>>,
    folder: Folder,
    status: Option<ExitStatus>,
}

impl Daemon {
    /// A daemon with one memcached listener on a port of its own choice, 64 MiB and two loops.
    pub fn memcached() -> Daemon {
        Daemon::start(&[
            "--memcached",
            "127.0.0.1:0",
            "--store",
            "default=memory:?capacity=64MiB",
            "--workers",
            "2",
        ])
    }

    /// The same with one loop, so that what one connection was answered tells that bytes which another one sent before
    /// were read.
    pub fn single_loop() -> Daemon {
        Daemon::start(&[
            "--memcached",
            "127.0.0.1:0",
            "--store",
            "default=memory:?capacity=64MiB",
            "--workers",
            "1",
        ])
    }

    /// `hikyaku serve` with these arguments, once it said `ready`.
    ///
    /// # Panics
    /// If it ends, or says nothing, before it is ready.
    pub fn start<A: AsRef<OsStr>>(arguments: &[A]) -> Daemon {
        Daemon::start_in(Folder::new(), arguments)
    }

    /// `hikyaku serve --config` with this text as its file, once it said `ready`.
    pub fn configured(text: &str) -> Daemon {
        Daemon::configured_in(Folder::new(), text)
    }

    /// The same, with a folder that has files which the configuration names; it is the working directory.
    pub fn configured_in(folder: Folder, text: &str) -> Daemon {
        let path = folder.write("hikyaku.toml", text);
        Daemon::start_in(folder, &["--config".as_ref(), path.as_os_str()])
    }

    /// The same as [`Daemon::start`], in a folder that holds what the arguments name.
    pub fn start_in<A: AsRef<OsStr>>(folder: Folder, arguments: &[A]) -> Daemon {
        Daemon::start_with(folder, arguments, &[])
    }

    /// The same as [`Daemon::start_in`], with these variables added to the environment.
    pub fn start_with<A: AsRef<OsStr>>(
        folder: Folder,
        arguments: &[A],
        environment: &[(&str, &OsStr)],
    ) -> Daemon {
        let mut child = Command::new(executable())
            .arg("serve")
            .args(arguments)
            .env_remove("NOTIFY_SOCKET")
            .envs(environment.iter().copied())
            .current_dir(folder.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let errors = Arc::new(Mutex::new(String::new()));
        let collector = collect(child.stderr.take().expect("it is piped"), Arc::clone(&errors));
        let lines = lines(child.stdout.take().expect("it is piped"));
        let mut daemon = Daemon {
            child,
            banner: Vec::new(),
            errors,
            collector: Some(collector),
            folder,
            status: None,
        };
        daemon.await_ready(&lines);
        daemon
    }

    fn await_ready(&mut self, lines: &Receiver<String>) {
        loop {
            let Ok(line) = lines.recv_timeout(PATIENCE) else {
                panic!("the daemon was never ready; it said: {}", self.errors());
            };
            if line == "ready" {
                return;
            }
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("listening"), Some(protocol), Some(address)) => {
                    self.banner.push((protocol.to_owned(), address.to_owned()));
                }
                _ => panic!("not a line of the banner: {line:?}"),
            }
        }
    }

    /// The address of the first listener.
    pub fn address(&self) -> &str {
        &self.banner[0].1
    }

    /// What the banner said: protocol and address, a pair a listener.
    pub fn banner(&self) -> &[(String, String)] {
        &self.banner
    }

    /// The folder that it works in.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// A connection to the first listener.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Fails unless a new connection gets an answer.
    pub fn assert_serves(&self) {
        let mut connection = self.connect();
        connection.send("version\r\n");
        let version = connection.line();
        assert!(version.starts_with("VERSION "), "{version:?}");
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Memory that it holds now, in bytes.
    pub fn memory(&self) -> usize {
        memory(self.pid(), "VmRSS")
    }

    /// The most memory that it ever held, in bytes.
    pub fn memory_peak(&self) -> usize {
        memory(self.pid(), "VmHWM")
    }

    /// What it wrote to standard error so far.
    ///
    /// # Panics
    /// Never, unless the collector did.
    pub fn errors(&self) -> String {
        self.errors.lock().expect("the collector does not panic").clone()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        send_signal(self.pid(), signal);
    }

    /// Whether it ended, waiting so long for it.
    pub fn ends_within(&self, patience: Duration) -> bool {
        ended_within(self.pid(), patience)
    }

    /// Waits for its end, then tells its status and everything that it wrote to standard error.
    ///
    /// # Panics
    /// If it lives on.
    pub fn ended(mut self) -> (ExitStatus, String) {
        assert!(
            self.ends_within(PATIENCE),
            "it does not end; it said: {}",
            self.errors()
        );
        let status = self.reap();
        (status, self.errors())
    }

    fn reap(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        let status = self.child.wait().expect("it is our child");
        if let Some(collector) = self.collector.take() {
            let _ = collector.join();
        }
        *self.status.insert(status)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            self.reap();
        }
        let errors = self.errors();
        if std::thread::panicking() {
            eprintln!("--- the daemon said:\n{errors}---");
        } else {
            assert!(!errors.contains("panicked at"), "the daemon panicked: {errors}");
        }
    }
}

/// Gathers everything that comes, to be looked at while it comes.
fn collect(mut from: impl Read + Send + 'static, into: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if let Ok(mut text) = into.lock() {
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        }
    })
}

/// The lines that come, as they come.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // Whoever read the banner may be gone; the rest is read all the same, lest the daemon block.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// The daemon's executable: the one that `HIKYAKU` names, or else the one that cargo builds, once per test program, with
/// `hikyaku-bench` beside it.
///
/// # Panics
/// If it can't be built.
pub fn executable() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| std::env::var_os("HIKYAKU").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "hikyaku",
            "--package",
            "hikyaku-bench",
            "--message-format",
            "json-render-diagnostics",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the daemon does not build");
    let messages = String::from_utf8(output.stdout).expect("cargo writes JSON");
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut built = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    built
        .find(|path| path.file_name().is_some_and(|name| name == "hikyaku"))
        .expect("cargo names what it built")
}
