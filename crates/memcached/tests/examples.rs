//! The examples run, and print what they should.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An example's program, which cargo builds beside this test's.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.ancestors().nth(2).unwrap().join("examples");
    Command::new(folder.join(name))
}

#[test]
fn the_server_serves() {
    let mut server = example("server")
        .args(["--once"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening ").unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client
        .write_all(b"set k 0 0 1\r\nv\r\nget k\r\nquit\r\n")
        .unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    assert_eq!(replies, "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
    assert!(server.wait().unwrap().success());
}

/// The limit is that of the whole process, with the allocator's rounding. Profiles differ little in what they allocate.
#[test]
fn an_idle_connection_takes_less_than_512_bytes() {
    let output = example("idle_connection").arg("2000").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let allocated = text
        .lines()
        .find_map(|line| line.strip_prefix("allocated: "))
        .unwrap();
    let bytes: f64 = allocated.split(' ').next().unwrap().parse().unwrap();
    assert!((100.0..=512.0).contains(&bytes), "{text}");
}
