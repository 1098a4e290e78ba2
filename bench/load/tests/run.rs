//! Whole runs against servers of a few lines: what is counted, how the pace is kept, how a run ends when a server misbehaves.
#![allow(clippy::unwrap_used)]

use clap::Parser;
use load::{Error, Report, echo, kv};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Parser)]
enum Cli {
    Echo(echo::Options),
    Kv(kv::Options),
}

fn run(line: &str) -> Result<Report, Error> {
    match Cli::try_parse_from(std::iter::once("load").chain(line.split_whitespace())).unwrap() {
        Cli::Echo(options) => echo::run(options),
        Cli::Kv(options) => kv::run(options),
    }
}

/// A server that answers every line with what `answer` makes of it, and closes when that is nothing.
fn server(answer: impl Fn(&str) -> Option<Vec<u8>> + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || serve(stream, answer));
        }
    });
    address
}

/// Ends, whatever the reason, with the connection.
fn serve(stream: TcpStream, answer: impl Fn(&str) -> Option<Vec<u8>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut output = stream.try_clone().ok()?;
    for line in BufReader::new(stream).lines() {
        output.write_all(&answer(&line.ok()?)?).ok()?;
    }
    None
}

fn replies() -> String {
    server(|_| Some(vec![b'r'; 400]))
}

#[test]
fn two_servers_alternate_and_are_compared() {
    let (one, other) = (replies(), replies());
    let report = run(&format!(
        "echo a={one} --vs b={other} -c 4 -d 8 --threads 2 -t 100ms --warmup 10ms --phase 10ms"
    ))
    .unwrap();
    assert_eq!(report.servers.len(), 2);
    for server in &report.servers {
        assert!(
            server.requests > 0 && server.requests % 8 == 0,
            "whole writes: {}",
            server.requests
        );
        assert_eq!(
            (server.errors, server.processes.as_slice()),
            (0, [std::process::id()].as_slice())
        );
        assert!(server.latency.p50 > 0.0 && server.latency.p50 <= server.latency.max);
    }
    let ratios = &report.ratios[0];
    assert_eq!((ratios.peer.as_str(), ratios.throughput.samples), ("b", 10));
    assert!(ratios.cpu.is_some());
}

/// Answers the first of `count` requests when all of them have arrived, and the others at once.
fn stuck(count: usize) -> String {
    let arrived = Arc::new((Mutex::new(0), Condvar::new()));
    server(move |_| {
        let (number, changed) = &*arrived;
        let mut number = number.lock().unwrap();
        *number += 1;
        changed.notify_one();
        if *number == 1 {
            drop(changed.wait_while(number, |number| *number < count).unwrap());
        }
        Some(vec![b'r'; 400])
    })
}

#[test]
fn an_open_loop_keeps_its_pace_whatever_the_server_does() {
    // Due are 80 requests, 2.5 ms apart. The first reply arrives after the last of them.
    let address = stuck(80);
    let report = run(&format!("echo {address} -c 2 --rate 400 -t 200ms --warmup 0s")).unwrap();
    let server = &report.servers[0];
    assert_eq!(server.requests, 80);
    assert!(
        server.latency.max >= 0.99 * 79.0 * 2_500.0,
        "{}",
        server.latency.max
    );
}

#[test]
fn a_connection_that_is_lost_ends_the_run() {
    let closing = server(|_| None);
    assert!(matches!(
        run(&format!("echo {closing} -t 100ms")),
        Err(Error::Lost { .. })
    ));
}

#[test]
fn a_server_of_another_protocol_is_an_error() {
    let other = server(|_| Some(b"HTTP/1.1 400 Bad Request\r\n".to_vec()));
    assert!(matches!(
        run(&format!("kv {other} -c 1 --no-fill -t 100ms")),
        Err(Error::Reply { .. })
    ));
}

#[test]
fn a_server_that_cannot_be_filled_is_not_measured() {
    let full = server(|line| {
        line.starts_with("set")
            .then(|| b"SERVER_ERROR out of memory\r\n".to_vec())
            .or(Some(Vec::new()))
    });
    match run(&format!("kv {full} -c 1 -t 100ms --keys 10")) {
        Err(Error::Fill { refused, reply, .. }) => {
            assert_eq!((refused, reply.as_str()), (10, "SERVER_ERROR out of memory"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_server_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert!(matches!(
        run(&format!("kv {address}")),
        Err(Error::Connect { .. })
    ));
}

#[test]
fn gets_that_miss_are_counted() {
    let empty = server(|line| line.starts_with("get").then(|| b"END\r\n".to_vec()));
    let report = run(&format!("kv {empty} -c 2 --no-fill -t 50ms --warmup 0s")).unwrap();
    let server = &report.servers[0];
    assert_eq!(
        (server.hits, server.misses, server.hit_ratio),
        (0, server.keys, Some(0.0))
    );
    assert_eq!(server.keys, server.requests);
}

#[test]
fn latencies_are_drawn() {
    let empty = || server(|line| line.starts_with("get").then(|| b"END\r\n".to_vec()));
    let (ours, peer) = (empty(), empty());
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("latency.svg");
    run(&format!(
        "kv ours={ours} --vs peer={peer} -c 2 --no-fill -t 50ms --warmup 0s --svg {}",
        file.display()
    ))
    .unwrap();
    let svg = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        svg.matches("stroke-width").count(),
        2,
        "a curve per server: {svg}"
    );
    assert!(svg.contains(">ours: ") && svg.contains(">99.9<"), "{svg}");
    let nowhere = run(&format!(
        "kv {ours} -c 1 --no-fill -t 1ms --warmup 0s --svg /nonexistent/a.svg"
    ));
    assert!(matches!(nowhere, Err(Error::File { .. })), "{nowhere:?}");
}

#[test]
fn a_peer_may_speak_redis_protocol_and_requests_may_end_the_run() {
    let ours = server(|line| line.starts_with("get").then(|| b"END\r\n".to_vec()));
    // Each request has five lines, of which the third is its verb.
    let redis = server(|line| {
        Some(if line == "GET" {
            b"$-1\r\n".to_vec()
        } else {
            Vec::new()
        })
    });
    let report = run(&format!(
        "kv {ours} --vs {redis} --vs-protocol resp -c 2 -d 4 --no-fill --requests 200 --phase 1ms --warmup 0s --background"
    ))
    .unwrap();
    for server in &report.servers {
        assert_eq!((server.errors, server.hits), (0, 0));
        assert!(
            server.requests >= 200 && server.misses == server.requests,
            "{server:?}"
        );
        assert!(server.cpu_us_per_request.is_some());
    }
}
