//! Measures the cost of an ordered reply beyond appending its bytes: `cargo run --release --example reply_cost`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use io::{Config, Error, Loop, Output, Reply, Stream};

/// Replies in a turn, as a pipelining client brings them about.
const REPLIES: usize = 64;
const TURNS: usize = 2_000;
const ROUNDS: usize = 15;
const BODY: &[u8; 16] = b"VALUE 16 bytes\r\n";

fn main() -> Result<(), Error> {
    let figures = Loop::new(Config::default())?.run(async {
        let (mut client, mut server) = Stream::pair();
        let replies = server.replies(REPLIES);
        // The fastest round of each kind, the kinds alternating, so that a busy machine harms all alike.
        let mut best = [Duration::MAX; 3];
        for _ in 0..ROUNDS {
            let plain = measure(&mut client, &mut server, |output| {
                for _ in 0..REPLIES {
                    black_box(&mut *output).write(black_box(BODY));
                }
            });
            best[0] = best[0].min(plain.await?);
            let in_order = measure(&mut client, &mut server, |_| {
                for _ in 0..REPLIES {
                    if let Some(mut reply) = replies.open() {
                        reply.write(black_box(BODY));
                    }
                }
            });
            best[1] = best[1].min(in_order.await?);
            let mut open: Vec<Reply> = Vec::with_capacity(REPLIES);
            let reversed = measure(&mut client, &mut server, |_| {
                open.extend((0..REPLIES).filter_map(|_| replies.open()));
                while let Some(mut reply) = open.pop() {
                    reply.write(black_box(BODY));
                }
            });
            best[2] = best[2].min(reversed.await?);
        }
        Ok::<_, Error>(best.map(|time| time.as_secs_f64() * 1e9 / (REPLIES * TURNS) as f64))
    })?;
    let [plain, in_order, reversed] = figures;
    println!("a bare append         {plain:6.2} ns");
    println!("an in-order reply     {:6.2} ns more", in_order - plain);
    println!("finished in reverse   {:6.2} ns more", reversed - plain);
    Ok(())
}

/// Measures the time of `answer` over many turns of the server.
async fn measure(
    client: &mut Stream,
    server: &mut Stream,
    mut answer: impl FnMut(&mut Output),
) -> Result<Duration, Error> {
    let mut time = Duration::ZERO;
    for _ in 0..TURNS {
        client.send(&b"?"[..]).await?;
        let turn = server.exchange(|input, output| {
            let start = Instant::now();
            answer(output);
            time += start.elapsed();
            input.len()
        });
        let _ = turn.await?;
        client.discard((REPLIES * BODY.len()) as u64).await?;
    }
    Ok(time)
}
