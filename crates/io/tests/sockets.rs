//! Streams over real sockets.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use io::{Address, Bound, Config, ListenOptions, Loops, Stream, Turn};

async fn echo(mut stream: Stream) {
    while let Ok(Turn::Open) = stream
        .turn(|input, output| {
            output.write(input);
            input.len()
        })
        .await
    {}
}

fn local() -> Address {
    "127.0.0.1:0".parse().unwrap()
}

fn dial(bound: &Bound) -> TcpStream {
    let Address::Tcp(address) = bound.address() else {
        panic!("not TCP")
    };
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client
}

#[test]
fn echoes_over_tcp() {
    let loops = Loops::start(Config {
        workers: 2,
        ..Config::default()
    })
    .unwrap();
    let bound = loops.listen(&local(), ListenOptions::default(), echo).unwrap();
    for _ in 0..4 {
        let mut client = dial(&bound);
        for text in ["hello", "world", "x"] {
            client.write_all(text.as_bytes()).unwrap();
            let mut answer = vec![0; text.len()];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(answer, text.as_bytes());
        }
    }
    loops.stop(Duration::from_secs(5));
}
