//! The cost of an ordered reply beyond the append of its bytes: in the order of requests, and in reverse.

use io::{Config, Loop, Output, Replies, Stream, Exchange};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Replies per turn, and turns per kind; the kinds alternate.
const BATCH: usize = 256;
const TURNS: usize = 2000;
const REPLY: &[u8] = &[b'r'; 32];

/// One way to answer a batch of requests.
type Way = fn(&Replies, &mut Output);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [bare, ordered, reverse] = Loop::new(Config::default())?.run(measure())?;
    let over = |way: f64| way - bare;
    println!(
        "in order: {:.1} ns, in reverse: {:.1} ns, over {bare:.1} ns",
        over(ordered),
        over(reverse)
    );
    Ok(())
}

/// Nanoseconds per reply: the medians of three ways.
async fn measure() -> Result<[f64; 3], io::Error> {
    let (mut server, mut client) = Stream::pair();
    let replies = server.replies(BATCH);
    let ways: [Way; 3] = [bare, in_order, in_reverse];
    let mut times = ways.map(|_| Vec::with_capacity(TURNS));
    for _ in 0..TURNS {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(timed(&mut server, &mut client, &replies, *way).await?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times[TURNS / 2].as_nanos() as f64 / BATCH as f64
    }))
}

/// The time of one batch in a turn of the server's stream. Its output is then discarded.
async fn timed(
    server: &mut Stream,
    client: &mut Stream,
    replies: &Replies,
    way: Way,
) -> Result<Duration, io::Error> {
    client.send(&b"x"[..]).await?;
    let mut time = Duration::ZERO;
    let answer = |input: &[u8], output: &mut Output| {
        let start = Instant::now();
        way(replies, output);
        time = start.elapsed();
        input.len()
    };
    assert!(
        matches!(server.exchange(answer).await?, Exchange::Open),
        "nobody closes this pair"
    );
    server.flush().await?;
    let mut left = BATCH * REPLY.len();
    while left > 0 {
        let take = |input: &[u8], _: &mut Output| {
            left -= input.len();
            input.len()
        };
        assert!(
            matches!(client.exchange(take).await?, Exchange::Open),
            "nobody closes this pair"
        );
    }
    Ok(time)
}

fn bare(_: &Replies, output: &mut Output) {
    for _ in 0..BATCH {
        output.write(black_box(REPLY));
    }
}

fn in_order(replies: &Replies, _: &mut Output) {
    for _ in 0..BATCH {
        let mut reply = replies.open().expect("as many as the batch are allowed");
        reply.write(black_box(REPLY));
    }
}

fn in_reverse(replies: &Replies, _: &mut Output) {
    let mut open: Vec<_> = std::iter::from_fn(|| replies.open()).take(BATCH).collect();
    assert_eq!(open.len(), BATCH, "as many as the batch are allowed");
    while let Some(mut reply) = open.pop() {
        reply.write(black_box(REPLY));
    }
}
