//! The daemon as a child process: built, started, ready once its banner is complete, and killed on drop.

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
    /// A daemon with one memcached listener on a free port, 64 MiB and two loops.
    pub fn memcached() -> Daemon {
        Daemon::with_workers("2")
    }

    /// The same with one loop: a reply on one connection then means that the daemon has read what another sent before.
    pub fn single_loop() -> Daemon {
        Daemon::with_workers("1")
    }

    fn with_workers(count: &str) -> Daemon {
        Daemon::start(&[
            "--memcached",
            "127.0.0.1:0",
            "--store",
            "default=memory:?capacity=64MiB",
            "--workers",
            count,
        ])
    }

    /// `hikyaku serve` with these arguments, once it has printed `ready`.
    ///
    /// # Panics
    /// If it ends or falls silent before it is ready.
    pub fn start<A: AsRef<OsStr>>(arguments: &[A]) -> Daemon {
        Daemon::start_in(Folder::new(), arguments)
    }

    /// `hikyaku serve --config` with this text as its file, once it has printed `ready`.
    pub fn configured(text: &str) -> Daemon {
        Daemon::configured_in(Folder::new(), text)
    }

    /// The same, with the files of this folder, which is the working directory.
    pub fn configured_in(folder: Folder, text: &str) -> Daemon {
        let path = folder.write("hikyaku.toml", text);
        Daemon::start_in(folder, &["--config".as_ref(), path.as_os_str()])
    }

    /// A daemon with one memcached listener on a free port, 64 MiB and two loops, and these keys of its `[[listen]]` table.
    pub fn listening(keys: &str) -> Daemon {
        Daemon::listening_in(Folder::new(), keys)
    }

    /// The same, with the files of this folder, which the keys name.
    pub fn listening_in(folder: Folder, keys: &str) -> Daemon {
        Daemon::configured_in(
            folder,
            &format!(
                r#"
                workers = 2
                [store.default]
                uri = "memory:?capacity=64MiB"
                [[listen]]
                protocol = "memcached"
                address = "127.0.0.1:0"
                {keys}
                "#
            ),
        )
    }

    /// The same as [`Daemon::start`], with the files of this folder.
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

    /// The banner: one pair of protocol and address per listener.
    pub fn banner(&self) -> &[(String, String)] {
        &self.banner
    }

    /// Its working directory.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// A connection to the first listener.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Fails unless a new connection gets a reply.
    pub fn assert_serves(&self) {
        let mut connection = self.connect();
        connection.send("version\r\n");
        let version = connection.line();
        assert!(version.starts_with("VERSION "), "{version:?}");
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its memory in bytes.
    pub fn memory(&self) -> usize {
        memory(self.pid(), "VmRSS")
    }

    /// The peak of its memory in bytes.
    pub fn memory_peak(&self) -> usize {
        memory(self.pid(), "VmHWM")
    }

    /// Its standard error so far.
    ///
    /// # Panics
    /// If the collector has panicked.
    pub fn errors(&self) -> String {
        self.errors.lock().expect("the collector does not panic").clone()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        send_signal(self.pid(), signal);
    }

    /// Returns true if it ends within this time.
    pub fn ends_within(&self, patience: Duration) -> bool {
        ended_within(self.pid(), patience)
    }

    /// Waits for its end and returns its status and its standard error.
    ///
    /// # Panics
    /// If it does not end.
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

/// Collects all output, readable while it arrives.
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

/// Sends the lines as they arrive.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // The reader of the banner may be gone. Reading goes on, because the daemon would block otherwise.
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
