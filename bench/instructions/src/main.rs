//! `hikyaku-instructions PATH COUNT`: runs one hot path of a library COUNT times and nothing else.
//!
//! `bench/instructions/run` runs this under callgrind with two counts. The difference is what the path costs.

use std::hint::black_box;
use std::process::ExitCode;

use io::{Config, Error, Loop, Stream};

/// Replies that are open at a time, as a pipelining client brings them about.
const REPLIES: usize = 64;
const BODY: &[u8; 16] = b"VALUE 16 bytes\r\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, count] = arguments.as_slice() else {
        return usage();
    };
    let Ok(count) = count.parse() else {
        return usage();
    };
    match path.as_str() {
        "append" => append(count),
        "ordered" => {
            if let Err(error) = ordered(count) {
                eprintln!("ordered: {error}");
                return ExitCode::FAILURE;
            }
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: hikyaku-instructions append|ordered COUNT");
    ExitCode::from(2)
}

/// Formats lines of an access log.
fn append(count: usize) {
    let mut out = Vec::with_capacity(256);
    let (address, path) = ([192_u8, 0, 2, 7], "/index.html");
    let (status, bytes, seconds) = (200_u16, 48_301_u64, 0.012_34);
    for id in 0..count as u32 {
        out.clear();
        let ([a, b, c, d], path) = black_box((address, path));
        let (status, bytes, seconds) = black_box((status, bytes, seconds));
        format::append!(
            out,
            "{a}.{b}.{c}.{d} \"GET {path}\" {status} {bytes} {seconds:.3} {id:08x}\n"
        );
        black_box(&mut out);
    }
}

/// Finishes replies in the reverse of their order, [`REPLIES`] to a request.
fn ordered(count: usize) -> Result<(), Error> {
    Loop::new(Config::default())?.run(async {
        let (mut client, mut server) = Stream::pair();
        let replies = server.replies(REPLIES);
        let mut open = Vec::with_capacity(REPLIES);
        for _ in 0..count.div_ceil(REPLIES) {
            client.send(&b"?"[..]).await?;
            let _ = server
                .exchange(|input, _| {
                    open.extend((0..REPLIES).filter_map(|_| replies.open()));
                    while let Some(mut reply) = open.pop() {
                        reply.write(black_box(BODY));
                    }
                    input.len()
                })
                .await?;
            client.discard((REPLIES * BODY.len()) as u64).await?;
        }
        Ok(())
    })
}
