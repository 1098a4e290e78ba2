//! The daemon's manners that need no other crate's harness: its user, its remedies, what a hang-up tells; and the small
//! client against it.
#![allow(missing_docs)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};

/// A daemon that said `ready`.
struct Daemon {
    child: Child,
    banner: Vec<String>,
}

impl Daemon {
    fn start(arguments: &[&str]) -> Daemon {
        let mut child = serve(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let banner: Vec<String> = lines
            .map(|line| line.expect("a line"))
            .take_while(|line| line != "ready")
            .collect();
        Daemon { child, banner }
    }

    fn address(&self) -> &str {
        self.banner[0]
            .strip_prefix("listening memcached ")
            .expect("a listener")
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("it lives");
    }

    /// Ends it as an operator does, and tells its status and its log.
    fn end(mut self) -> (Option<i32>, String) {
        self.signal(Signal::SIGTERM);
        let mut log = String::new();
        let errors = self.child.stderr.take().expect("it is piped");
        std::io::Read::read_to_string(&mut BufReader::new(errors), &mut log).expect("a log");
        (self.child.wait().expect("it ends").code(), log)
    }

    /// The next line of the log that has this text in it.
    fn await_log(&mut self, text: &str) -> String {
        self.log_until(text).pop().expect("it ends with that line")
    }

    /// The next lines of the log, up to one that has this text in it.
    fn log_until(&mut self, text: &str) -> Vec<String> {
        let errors = self.child.stderr.as_mut().expect("it is piped");
        let mut lines = vec![String::new()];
        // Byte by byte, so that nothing of what comes later is swallowed.
        let mut line = Vec::new();
        while !lines.last().is_some_and(|last| last.contains(text)) {
            let mut byte = [0];
            std::io::Read::read_exact(errors, &mut byte).expect("the daemon still logs");
            match byte {
                [b'\n'] => lines.push(String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned()),
                [byte] => line.push(byte),
            }
        }
        lines
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended already where a test waited for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hikyaku"));
    command
        .arg("serve")
        .args(arguments)
        .env_remove("HIKYAKU_LOG")
        .stdin(Stdio::null());
    command
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Sockets of an earlier run would be in the way.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn kv(address: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hikyaku"))
        .arg("kv")
        .args(arguments)
        .args(["--server", address])
        .output()
        .expect("it runs")
}

#[track_caller]
fn assert_kv(address: &str, arguments: &[&str], code: i32, printed: &str) {
    let output = kv(address, arguments);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        printed,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code));
}

const SMALL: [&str; 4] = ["--store", "default=memory:?capacity=64MiB", "--workers", "1"];

fn with_small(arguments: &[&'static str]) -> Vec<&'static str> {
    [&SMALL, arguments].concat()
}

#[test]
fn the_client_tells_what_is_there() {
    let daemon = Daemon::start(&with_small(&["--memcached", "127.0.0.1:0"]));
    let address = daemon.address();
    assert_kv(address, &["get", "k"], 1, "");
    assert_kv(address, &["set", "k", "v", "--flags", "7"], 0, "");
    assert_kv(address, &["set", "k", "w", "--mode", "add"], 1, "");
    assert_kv(address, &["set", "k", "w", "--mode", "append"], 0, "");
    assert_kv(address, &["get", "k", "missing"], 1, "vw\n");
    assert_kv(address, &["get", "k", "--raw"], 0, "vw");
    assert_kv(address, &["set", "a key", "v", "--ttl", "1h"], 0, "");
    assert_kv(address, &["scan", "a"], 0, "a key\n");
    let json = String::from_utf8(kv(address, &["get", "a key", "k", "--json"]).stdout).expect("JSON");
    let items: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (&items[0]["key"], &items[0]["value"]),
        (&"a key".into(), &"v".into())
    );
    assert!(items[0]["exptime"].as_u64() > Some(1_700_000_000), "{json}");
    assert_eq!((&items[1]["flags"], &items[1]["exptime"]), (&7.into(), &0.into()));
    let scanned = String::from_utf8(kv(address, &["scan", "--json", "k"]).stdout).expect("JSON");
    let scanned: serde_json::Value = serde_json::from_str(&scanned).expect("one line");
    assert_eq!(
        (&scanned["key"], &scanned["exptime"], &scanned["cas"]),
        (&"k".into(), &0.into(), &items[1]["cas"])
    );
    assert_kv(address, &["delete", "k"], 0, "");
    assert_kv(address, &["delete", "k"], 1, "");
}

#[test]
fn the_client_stores_what_it_reads() {
    let daemon = Daemon::start(&with_small(&["--memcached", "127.0.0.1:0"]));
    let value: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hikyaku"))
        .args(["kv", "set", "large", "--server", daemon.address()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it runs");
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(&value)
        .expect("it reads");
    assert!(child.wait().expect("it ends").success());
    assert!(kv(daemon.address(), &["get", "large", "--raw"]).stdout == value);
}

#[test]
fn an_address_in_use_is_told_with_its_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let output = serve(&[&SMALL[..], &["--memcached", &address]].concat())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let expected = format!(
        "hikyaku: cannot listen on {address}: address in use; end what listens there or choose another"
    );
    assert!(told.contains(&expected), "{told}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "nothing is ready");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_user_is_dropped_to() {
    let arguments = with_small(&["--memcached", "127.0.0.1:0", "--user", "nobody"]);
    if !Uid::effective().is_root() {
        let output = serve(&arguments).output().expect("it runs");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("cannot become \"nobody\" without being root")
        );
        assert_eq!(output.status.code(), Some(1));
        return;
    }
    let nobody = User::from_name("nobody")
        .expect("passwd can be read")
        .expect("everyone has nobody");
    let daemon = Daemon::start(&arguments);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.child.id())).expect("it lives");
    let mut threads = 0;
    for task in tasks {
        let status =
            std::fs::read_to_string(task.expect("a thread").path().join("status")).expect("it lives");
        let ids = |name| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .expect("a field")
                .split_whitespace()
        };
        assert!(ids("Uid:").all(|id| id == nobody.uid.to_string()), "{status}");
        assert!(ids("Gid:").all(|id| id == nobody.gid.to_string()), "{status}");
        assert!(ids("Groups:").all(|id| id == nobody.gid.to_string()), "{status}");
        threads += 1;
    }
    assert!(threads >= 2, "a loop and the main thread");
    assert_kv(daemon.address(), &["set", "k", "v"], 0, "");
    // What a store creates belongs to the user, and it closes when every client has its replies.
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    let steps = [
        "became the user",
        "opened the store",
        "listening",
        "drained",
        "closed the store",
    ];
    let places: Vec<_> = steps.iter().map(|step| log.find(step)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} in {log}"
    );
}

#[test]
fn a_hang_up_reads_users_again_and_tells_what_waits() {
    let folder = folder("reload");
    let (config, users) = (folder.join("hikyaku.toml"), folder.join("users.txt"));
    let text = "workers = 1\n[store.default]\nuri = \"memory:?capacity=64MiB\"\n[[listen]]\nprotocol = \"memcached\"\n\
                address = \"127.0.0.1:0\"\nusers = \"users.txt\"\n";
    std::fs::write(&config, text).expect("a file");
    std::fs::write(&users, "ann:first\n").expect("a file");
    let mut daemon = Daemon::start(&["--config", &config.display().to_string()]);
    let set = |daemon: &Daemon, password: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hikyaku"));
        command.args([
            "kv",
            "set",
            "k",
            "v",
            "--user",
            "ann",
            "--server",
            daemon.address(),
        ]);
        command
            .env("HIKYAKU_PASSWORD", password)
            .status()
            .expect("it runs")
            .code()
    };
    assert_eq!(set(&daemon, "first"), Some(0));
    assert_eq!(set(&daemon, "second"), Some(3));

    std::fs::write(&users, "ann:second\n").expect("a file");
    std::fs::write(&config, text.replace("workers = 1", "workers = 2")).expect("a file");
    daemon.signal(Signal::SIGHUP);
    assert!(daemon.await_log("next start").contains("workers"));
    daemon.await_log("read again");
    assert_eq!(set(&daemon, "first"), Some(3));
    assert_eq!(set(&daemon, "second"), Some(0));

    std::fs::write(&config, text.replace("workers = 1", "wrokers = 1")).expect("a file");
    daemon.signal(Signal::SIGHUP);
    assert!(daemon.await_log("wrokers").contains(":1: unknown key"));
    daemon.await_log("everything stays as it was");
    assert_eq!(set(&daemon, "second"), Some(0));
    let (code, log) = daemon.end();
    assert_eq!(code, Some(0), "{log}");
}

/// Listeners that were written alike share a service. Once a file took the users from one of them, and with it those of
/// the other.
#[test]
fn a_hang_up_gives_every_listener_its_own_users() {
    let folder = folder("reload-apart");
    let config = folder.join("hikyaku.toml");
    std::fs::write(folder.join("users.txt"), "ann:first\n").expect("a file");
    let listen = "[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:0\"\n";
    let with_users = format!("{listen}users = \"users.txt\"\n");
    std::fs::write(&config, format!("{with_users}{with_users}")).expect("a file");
    let file = config.display().to_string();
    let mut daemon = Daemon::start(&with_small_config(&file));
    let addresses: Vec<String> = daemon
        .banner
        .iter()
        .filter_map(|line| line.strip_prefix("listening memcached "))
        .map(str::to_owned)
        .collect();
    let [first, second] = addresses.as_slice() else {
        panic!("{addresses:?}")
    };
    assert_kv(first, &["get", "k"], 3, "");
    assert_kv(second, &["get", "k"], 3, "");

    std::fs::write(&config, format!("{with_users}{listen}")).expect("a file");
    daemon.signal(Signal::SIGHUP);
    daemon.await_log("read again");
    assert_kv(first, &["get", "k"], 3, "");
    assert_kv(second, &["set", "k", "v"], 0, "");

    std::fs::write(&config, format!("{listen}{with_users}")).expect("a file");
    daemon.signal(Signal::SIGHUP);
    daemon.await_log("read again");
    assert_kv(first, &["get", "k"], 0, "v\n");
    assert_kv(second, &["get", "k"], 3, "");
}

/// Once every listener of such an address but the first was called changed, although its text had not.
#[test]
fn a_hang_up_pairs_listeners_of_the_same_address_in_their_order() {
    let folder = folder("reload-alike");
    let config = folder.join("hikyaku.toml");
    let listen =
        |more: &str| format!("[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:0\"\n{more}");
    let text = |third: &str| listen("") + &listen("flush = false\n") + &listen(third);
    std::fs::write(&config, text("watch = false\n")).expect("a file");
    let file = config.display().to_string();
    let mut daemon = Daemon::start(&with_small_config(&file));
    for (third, changed) in [("watch = false\n", 0), ("dump = false\n", 1)] {
        std::fs::write(&config, text(third)).expect("a file");
        daemon.signal(Signal::SIGHUP);
        let log = daemon.log_until("read again");
        let told = log.iter().filter(|line| line.contains("next start"));
        assert_eq!(told.count(), changed, "{log:#?}");
    }
}

/// Once who was logged in stayed, even after its line was deleted.
#[test]
fn a_hang_up_closes_the_connections_of_removed_users() {
    let folder = folder("reload-removed");
    let config = folder.join("hikyaku.toml");
    let users = folder.join("users.txt");
    std::fs::write(&users, "ann:first\nbob:second\n").expect("a file");
    let listen = "[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:0\"\nusers = \"users.txt\"\n";
    std::fs::write(&config, listen).expect("a file");
    let file = config.display().to_string();
    let mut daemon = Daemon::start(&with_small_config(&file));
    let log_in = |password: &str| {
        let mut client = TcpStream::connect(daemon.address()).expect("it listens");
        write!(client, "set a 0 0 {}\r\n{password}\r\n", password.len()).expect("it reads");
        let mut line = [0; 8];
        client.read_exact(&mut line).expect("it answers");
        assert_eq!(line, *b"STORED\r\n");
        client
    };
    let (mut ann, mut bob) = (log_in("ann first"), log_in("bob second"));

    std::fs::write(&users, "bob:second\n").expect("a file");
    daemon.signal(Signal::SIGHUP);
    daemon.await_log("read again");
    let mut rest = Vec::new();
    ann.read_to_end(&mut rest).expect("the daemon closes it");
    assert!(rest.is_empty());
    bob.write_all(b"mn\r\n").expect("it reads");
    let mut line = [0; 4];
    bob.read_exact(&mut line).expect("it answers");
    assert_eq!(line, *b"MN\r\n");
}

#[test]
fn a_hang_up_changes_the_capacity() {
    let folder = folder("reload-capacity");
    let config = folder.join("hikyaku.toml");
    let text = |capacity: &str| {
        let listen = "[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:0\"\n";
        format!("workers = 1\n[store.default]\nuri = \"memory:?capacity={capacity}\"\n{listen}")
    };
    std::fs::write(&config, text("64MiB")).expect("a file");
    let mut daemon = Daemon::start(&["--config", &config.display().to_string()]);
    assert_kv(daemon.address(), &["set", "k", "v"], 0, "");
    for (capacity, bytes) in [("32MiB", 32 << 20), ("96MiB", 96 << 20)] {
        std::fs::write(&config, text(capacity)).expect("a file");
        daemon.signal(Signal::SIGHUP);
        daemon.await_log("the capacity was changed");
        daemon.await_log("read again");
        let statistics = kv(daemon.address(), &["stats", "--json"]);
        let statistics: serde_json::Value = serde_json::from_slice(&statistics.stdout).expect("JSON");
        assert_eq!(statistics["limit_maxbytes"], bytes);
    }
    assert_kv(daemon.address(), &["get", "k"], 0, "v\n");
    std::fs::write(&config, text("70KiB")).expect("a file");
    daemon.signal(Signal::SIGHUP);
    let refused = daemon.await_log("the capacity stays as it was");
    assert!(refused.contains("out of bounds"), "{refused}");
    let (code, log) = daemon.end();
    assert!(code == Some(0) && !log.contains("next start"), "{log}");
}

fn with_small_config(file: &str) -> Vec<&str> {
    [&SMALL, ["--config", file].as_slice()].concat()
}

#[test]
fn a_folder_at_the_path_of_a_socket_is_told() {
    let folder = format!("unix:{}", std::env::temp_dir().display());
    let output = serve(&[&SMALL[..], &["--memcached", &folder]].concat())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("something that is no socket stands there"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_value_that_is_too_large_is_not_stored() {
    let store = "default=memory:?capacity=64MiB&item_size_max=1KiB";
    let daemon = Daemon::start(&["--store", store, "--workers", "1", "--memcached", "127.0.0.1:0"]);
    let output = kv(daemon.address(), &["set", "k", &"v".repeat(2000)]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("did not store it"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_capacity_flag_wins_over_the_stores() {
    let daemon = Daemon::start(&[
        "--memcached",
        "localhost:0",
        "--store",
        "default=memory:?capacity=64MiB&item_size_max=2MiB",
        "--capacity",
        "32MiB",
        "--workers",
        "1",
    ]);
    let settings = kv(daemon.address(), &["stats", "settings"]);
    let settings = String::from_utf8_lossy(&settings.stdout);
    assert!(settings.contains("maxbytes 33554432\n"), "{settings}");
    assert!(settings.contains("item_size_max 2097152\n"), "{settings}");
}

#[test]
fn a_capacity_that_does_not_fit_is_told_with_its_flag() {
    for (capacity, expected) in [
        ("99TiB", "at most 32TiB"),
        ("1KiB", "at least 65536"),
        ("lots", "like 1GiB"),
    ] {
        let output = serve(&["--memcached", "127.0.0.1:0", "--capacity", capacity])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.starts_with("--capacity: ") && told.contains(expected),
            "{told}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn the_client_counts_touches_and_flushes() {
    let daemon = Daemon::start(&with_small(&["--memcached", "localhost:0"]));
    let address = daemon.address().replace("127.0.0.1", "localhost");
    let address = address.as_str();
    assert_kv(address, &["incr", "n"], 1, "");
    assert_kv(address, &["incr", "n", "--initial", "5", "--ttl", "1h"], 0, "5\n");
    assert_kv(address, &["incr", "n", "7"], 0, "12\n");
    assert_kv(
        address,
        &["decr", "n", "100", "--json"],
        0,
        "{\"key\":\"n\",\"value\":0}\n",
    );
    assert_kv(address, &["set", "text", "abc"], 0, "");
    assert_kv(address, &["decr", "text"], 1, "");
    assert_kv(address, &["touch", "n", "text", "--ttl", "1h"], 0, "");
    assert_kv(address, &["touch", "absent"], 1, "");
    let item = kv(address, &["get", "n", "--json"]);
    let item: serde_json::Value = serde_json::from_slice(&item.stdout).expect("JSON");
    assert!(item["exptime"].as_u64() > Some(0), "{item}");
    assert_kv(address, &["touch", "n"], 0, "");
    let item = kv(address, &["get", "n", "--json"]);
    let item: serde_json::Value = serde_json::from_slice(&item.stdout).expect("JSON");
    assert_eq!(item["exptime"], 0, "for good");

    let statistics = kv(address, &["stats", "--json"]);
    let statistics: serde_json::Value = serde_json::from_slice(&statistics.stdout).expect("JSON");
    assert_eq!(statistics["curr_items"], 2);
    assert_kv(address, &["stats", "nonsense"], 3, "");
    assert_kv(address, &["flush", "--delay", "1h"], 0, "");
    assert_kv(address, &["get", "text"], 0, "abc\n");
    assert_kv(address, &["flush"], 0, "");
    assert_kv(address, &["get", "text"], 1, "");
}
