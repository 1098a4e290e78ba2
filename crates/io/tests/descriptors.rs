//! A process that has no descriptors left. Alone in its process, whose limit it changes.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use io::{Address, Config, Exchange, ListenOptions, Loops, Stream};

/// Sets the soft limit of open files and answers what it was.
fn limit_files(count: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes to `limit`.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let before = std::mem::replace(&mut limit.rlim_cur, count);
    // SAFETY: the kernel reads `limit`.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!((got, set), (0, 0));
    before
}

/// Processor time of this process, in clock ticks of 10 ms.
fn ticks() -> u64 {
    let line = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = line[line.rfind(')').unwrap()..].split(' ').collect();
    fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
}

#[test]
fn connections_wait_without_burning_the_processor() {
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    let handler = async |mut stream: Stream| {
        while let Ok(Exchange::Open) = stream
            .exchange(|input, output| {
                output.write(input);
                input.len()
            })
            .await
        {}
    };
    let bound = loops
        .listen(&"127.0.0.1:0".parse().unwrap(), ListenOptions::default(), handler)
        .unwrap();
    let Address::Tcp(address) = *bound.address() else {
        panic!("not TCP")
    };
    let mut before = TcpStream::connect(address).unwrap();
    before.write_all(b"?").unwrap();
    before.read_exact(&mut [0]).unwrap();

    let burnt = ticks();
    // The client's is the last descriptor.
    let spare = std::fs::File::open("/dev/null").unwrap();
    let old = limit_files(std::os::fd::AsRawFd::as_raw_fd(&spare) as u64 + 1);
    drop(spare);
    let mut waiting = TcpStream::connect(address).unwrap();
    waiting.write_all(b"?").unwrap();
    waiting
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    assert!(waiting.read(&mut [0]).is_err(), "it cannot have been accepted");
    before.write_all(b"!").unwrap();
    before.read_exact(&mut [0]).unwrap();
    limit_files(old);
    assert!(
        ticks() - burnt < 25,
        "{} ticks of 10 ms burnt in half a second",
        ticks() - burnt
    );

    waiting.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    waiting.read_exact(&mut [0]).unwrap();
}
