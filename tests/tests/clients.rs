//! Unmodified third-party clients of memcached against the real daemon.

use hikyaku_tests::{Authority, Daemon, Folder, Tool, client_program, python};

/// The numbers of `memccapable`'s protocol tests: 27 of text, 27 of binary.
const TEXT_CAPABILITIES: usize = 27;
const BINARY_CAPABILITIES: usize = 27;

/// A daemon with a Unix socket in its own folder.
fn on_unix_socket() -> Daemon {
    let folder = Folder::new();
    let address = format!("unix:{}", folder.path("s").display());
    let daemon = Daemon::start(&[
        "--memcached",
        &address,
        "--store",
        "default=memory:?capacity=64MiB",
    ]);
    // The daemon keeps the folder, and so the socket.
    std::mem::forget(folder);
    daemon
}

fn port(daemon: &Daemon) -> &str {
    daemon.address().rsplit(':').next().expect("a port")
}

fn capabilities(dialect: &str) -> Vec<String> {
    let daemon = Daemon::memcached();
    let output = Tool::new("memccapable")
        .args(["-h", "127.0.0.1", "-p", port(&daemon), dialect])
        .succeed();
    daemon.assert_serves();
    output
        .lines()
        .filter(|line| line.ends_with("[pass]"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn memccapable_finds_the_text_protocol_capable() {
    let passed = capabilities("-a");
    assert_eq!(passed.len(), TEXT_CAPABILITIES, "{passed:#?}");
}

#[test]
fn memccapable_finds_the_binary_protocol_capable() {
    let passed = capabilities("-b");
    assert_eq!(passed.len(), BINARY_CAPABILITIES, "{passed:#?}");
}

#[test]
fn memcslap_loads_it_with_gets_and_sets() {
    let daemon = Daemon::memcached();
    let servers = format!("--servers={}", daemon.address());
    for (dialect, test) in [
        ("", "set"),
        ("", "get"),
        ("", "mget"),
        ("--binary", "get"),
        ("--binary", "mget"),
    ] {
        let size = ["--concurrency=8", "--execute-number=500", "--initial-load=1000"];
        let tool = Tool::new("memcslap")
            .arg(&servers)
            .arg(format!("--test={test}"))
            .args(size);
        let tool = if dialect.is_empty() {
            tool
        } else {
            tool.arg(dialect)
        };
        let output = tool.succeed();
        assert!(output.contains("Time total"), "{dialect} {test}: {output}");
    }
    let statistics = daemon.connect().statistics("");
    assert!(
        statistics["cmd_set"].parse::<u64>().expect("a number") >= 4_000,
        "{statistics:#?}"
    );
    assert!(
        statistics["get_hits"].parse::<u64>().expect("a number") > 0,
        "{statistics:#?}"
    );
}

#[test]
fn libmemcached_tools_agree_on_what_is_stored() {
    let daemon = Daemon::memcached();
    let servers = format!("--servers={}", daemon.address());
    let folder = Folder::new();
    let file = folder.write("poem.txt", "The old pond;\na frog jumps in.\n");
    for dialect in [None, Some("--binary")] {
        let tool = |name: &str| {
            Tool::new(name)
                .arg(&servers)
                .args(dialect)
                .folder(folder.path("."))
        };
        tool("memccp").arg(&file).succeed();
        assert_eq!(
            tool("memccat").arg("poem.txt").succeed(),
            "The old pond;\na frog jumps in.\n\n"
        );
        tool("memcexist").arg("poem.txt").succeed();
        tool("memctouch").args(["--expire=100", "poem.txt"]).succeed();
        tool("memcrm").arg("poem.txt").succeed();
        assert!(
            !tool("memcexist").arg("poem.txt").run().status.success(),
            "it was removed"
        );
        tool("memccp").arg(&file).succeed();
        tool("memcflush").succeed();
        assert!(
            !tool("memcexist").arg("poem.txt").run().status.success(),
            "all was flushed"
        );
    }
    Tool::new("memcping").arg(&servers).succeed();
    let output = Tool::new("memcstat").arg(&servers).succeed();
    assert!(output.contains("curr_items"), "{output}");
}

#[test]
fn pymemcache_over_tcp() {
    let daemon = Daemon::memcached();
    python("checks_pymemcache.py").arg(daemon.address()).succeed();
}

#[test]
fn pymemcache_over_a_unix_socket() {
    let daemon = on_unix_socket();
    let path = daemon.address().strip_prefix("unix:").expect("a Unix socket");
    python("checks_pymemcache.py").arg(path).succeed();
}

#[test]
fn pymemcache_over_tls() {
    let folder = Folder::new();
    let authority = Authority::new("tests");
    let trusted = authority.write(&folder, "authority.crt");
    authority.issue(&folder, "server");
    let daemon = Daemon::listening_in(
        folder,
        r#"tls = { certificate = "server.crt", key = "server.key" }"#,
    );
    python("checks_pymemcache.py")
        .arg(daemon.address())
        .arg(trusted)
        .succeed();
}

#[test]
fn python_binary_memcached() {
    let daemon = Daemon::memcached();
    python("checks_bmemcached.py").arg(daemon.address()).succeed();
}

#[test]
fn python_binary_memcached_with_a_password() {
    let folder = Folder::new();
    folder.write("users.txt", "other:word\ncourier:flying feet\n");
    let daemon = Daemon::listening_in(folder, r#"users = "users.txt""#);
    python("checks_bmemcached.py")
        .args([daemon.address(), "courier", "flying feet"])
        .succeed();
}

#[test]
fn gomemcache_over_tcp() {
    let daemon = Daemon::memcached();
    Tool::new(client_program("go/gomemcache"))
        .arg(daemon.address())
        .succeed();
}

#[test]
fn gomemcache_over_a_unix_socket() {
    let daemon = on_unix_socket();
    let path = daemon.address().strip_prefix("unix:").expect("a Unix socket");
    Tool::new(client_program("go/gomemcache")).arg(path).succeed();
}

#[test]
fn netcat_as_in_the_readme() {
    let daemon = Daemon::memcached();
    let session = "set greeting 0 0 5\r\nhello\r\nget greeting\r\nquit\r\n";
    let output = Tool::new("nc")
        .args(["127.0.0.1", port(&daemon)])
        .input(session)
        .succeed();
    assert_eq!(output, "STORED\r\nVALUE greeting 0 5\r\nhello\r\nEND\r\n");
}
