//! Answers lines with our `io`: one future per connection, buffers that belong to the loop.

use io::{Address, Config, ListenOptions, Loops, Stream, Exchange};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reply: Arc<[u8]> = reply().into();
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })?;
    let address: Address = "127.0.0.1:0".parse()?;
    let bound = loops.listen(&address, ListenOptions::default(), move |stream| {
        answer(stream, reply.clone())
    })?;
    println!("listening {}", bound.address());
    loop {
        std::thread::park();
    }
}

async fn answer(mut stream: Stream, reply: Arc<[u8]>) {
    let lines = |input: &[u8], output: &mut io::Output| {
        let mut used = 0;
        while !output.full()
            && let Some(end) = memchr::memchr(b'\n', &input[used..])
        {
            output.write(&reply);
            used += end + 1;
        }
        used
    };
    while let Ok(Exchange::Open) = stream.exchange(lines).await {}
}

/// The bytes of every reply: as many as `--reply` says.
fn reply() -> Vec<u8> {
    let size = std::env::args()
        .skip_while(|argument| argument != "--reply")
        .nth(1);
    vec![b'r'; size.and_then(|size| size.parse().ok()).unwrap_or(400)]
}
