//! memcached's own tests against our daemon: what they find is what its clients would.
//!
//! `tests/install` brings the suite that belongs to this Debian's memcached; `MEMCACHED_SUITE` names another, such as a
//! checkout of the version whose behaviour is ours.

use std::path::PathBuf;

use hikyaku_tests::{Tool, client_program, executable};

fn run(mode: &str) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance/run");
    let suite =
        std::env::var_os("MEMCACHED_SUITE").map_or_else(|| client_program("memcached-suite"), PathBuf::from);
    let tool = Tool::new(script)
        .args(["--mode", mode])
        .arg(suite)
        .variable("HIKYAKU", executable());
    println!("{}", tool.succeed());
}

#[test]
fn memcacheds_tests_pass_over_tcp() {
    run("plain");
}

#[test]
fn memcacheds_tests_pass_over_tls() {
    run("tls");
}

#[test]
fn memcacheds_tests_pass_over_a_unix_socket() {
    run("unix");
}
