//! Sends back whatever comes: `cargo run --release --example echo -- 127.0.0.1:7777 2`, address and number of loops.

use std::time::Duration;

use io::{Config, Exchange, ListenOptions, Loop, Loops, Signals};

fn main() -> Result<(), io::Error> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:7777".to_owned())
        .parse()?;
    let workers = arguments
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(1);

    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config {
        workers,
        ..Config::default()
    })?;
    let bound = loops.listen(&address, ListenOptions::default(), async |mut stream| {
        let echo = |input: &[u8], output: &mut io::Output| {
            output.write(input);
            input.len()
        };
        while let Ok(Exchange::Open) = stream.exchange(echo).await {}
    })?;
    println!("listening {}", bound.address());

    let mut main = Loop::new(Config::default())?;
    main.run(async {
        let signal = Signals::new(&[libc::SIGINT, libc::SIGTERM])?.next().await;
        println!("signal {signal}: stopping");
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(5));
    Ok(())
}
