//! The README's sample configuration works as it stands, with the files that its commands create.

use std::path::Path;
use std::process::Command;

use hikyaku_tests::{Connection, Daemon, Folder, executable};

/// The README's text.
fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    std::fs::read_to_string(path).expect("the README is there")
}

/// The contents of the fenced block that starts with this text.
fn block<'a>(text: &'a str, start: &str) -> &'a str {
    let at = text.find(start).expect("the README has the block");
    let body = &text[at..];
    let body = &body[body.find('\n').expect("a fence is a line") + 1..];
    &body[..body.find("```").expect("the block ends")]
}

#[test]
fn the_sample_configuration_is_accepted_and_serves() {
    let text = readme();
    let folder = Folder::new();
    let socket = folder.path("hikyaku.sock");
    // A test run must not meet another daemon at the README's addresses.
    let configuration = block(&text, "```toml\n# hikyaku.toml")
        .replace("/tmp/hikyaku.sock", socket.to_str().expect("text"))
        .replace("127.0.0.1:11212", "127.0.0.1:0");
    assert!(configuration.contains("127.0.0.1:0") && configuration.contains("users.txt"));

    let commands = block(&text, "```sh\nopenssl");
    let (create, rest) = commands
        .split_once("target/release/hikyaku check hikyaku.toml")
        .expect("the commands check the file");
    assert!(rest.contains("target/release/hikyaku serve --config hikyaku.toml"));
    let created = Command::new("sh")
        .args(["-e", "-c", create])
        .current_dir(folder.path("."))
        .output()
        .expect("a shell runs");
    assert!(created.status.success(), "{created:?}");

    let path = folder.write("hikyaku.toml", &configuration);
    let checked = Command::new(executable())
        .arg("check")
        .arg(&path)
        .output()
        .expect("the daemon's program runs");
    assert!(checked.status.success(), "{checked:?}");

    let daemon = Daemon::start_in(folder, &["--config".as_ref(), path.as_os_str()]);
    assert_eq!(daemon.banner().len(), 2);
    Connection::open(&format!("unix:{}", socket.display())).exchange("set k 0 0 1\r\nv\r\n", "STORED\r\n");
}
