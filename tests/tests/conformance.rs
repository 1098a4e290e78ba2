//! memcached's own test suite against our daemon.
//!
//! `tests/install` downloads the suite of Debian's memcached. `MEMCACHED_SUITE` names another, such as a checkout of the
//! version whose behaviour we follow.

use std::path::PathBuf;

use hikyaku_tests::{Tool, client_program, executable};

fn run(mode: &str, store: &str) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance/run");
    let suite =
        std::env::var_os("MEMCACHED_SUITE").map_or_else(|| client_program("memcached-suite"), PathBuf::from);
    let tool = Tool::new(script)
        .args(["--mode", mode])
        .arg(suite)
        .variable("CONFORMANCE_STORE", store)
        .variable("HIKYAKU", executable());
    println!("{}", tool.succeed());
}

#[test]
fn memcacheds_tests_pass_over_tcp() {
    run("plain", "memory");
}

#[test]
fn memcacheds_tests_pass_over_tls() {
    run("tls", "memory");
}

#[test]
fn memcacheds_tests_pass_over_a_unix_socket() {
    run("unix", "memory");
}

#[test]
fn memcacheds_tests_pass_with_a_hash_store() {
    run("plain", "hash");
}

#[test]
fn memcacheds_tests_pass_with_a_tree_store() {
    run("plain", "tree");
}
