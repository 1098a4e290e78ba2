//! A clock for many: `cargo run --release --example push -- 127.0.0.1:8000 10` sends every client
//! that connects the line `tick N` ten times per second.
//!
//! The clock runs on a thread that owns no connection. It posts each tick to every loop once; there the tick's topic
//! notifies the streams of its subscribers, and each writes the lines that it has not sent yet. A subscriber that reads
//! too slowly gets them late, all at once, and is dropped when it is too far behind.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use io::{Config, Exchange, ListenOptions, Loop, Loops, Notifier, Output, Remote, Signals, Stream};

/// Subscribers at once.
const SUBSCRIBERS_MAX: usize = 20_000;
/// A subscriber that is further behind, in lines, is dropped.
const BEHIND_MAX: u64 = 1000;

/// The ticks, as one loop and its subscribers see them.
#[derive(Default)]
struct Topic {
    last: Cell<u64>,
    /// The line of the last tick, which almost every subscriber needs.
    line: RefCell<Vec<u8>>,
    subscribers: RefCell<Vec<Notifier>>,
}

impl Topic {
    fn publish(&self, tick: u64) {
        self.last.set(tick);
        *self.line.borrow_mut() = format!("tick {tick}\n").into_bytes();
        // The stream of a subscriber that has gone is not there to be notified.
        self.subscribers.borrow_mut().retain(Notifier::notify);
    }

    /// Appends the lines after those that a subscriber has, and notes that it has them.
    fn catch_up(&self, has: &mut u64, output: &mut Output) {
        let last = self.last.get();
        if *has + 1 == last {
            output.write(&self.line.borrow());
        } else {
            (*has + 1..=last).for_each(|tick| output.write(format!("tick {tick}\n").as_bytes()));
        }
        *has = last;
    }
}

thread_local! {
    static TOPIC: Rc<Topic> = Rc::default();
}

async fn subscribe(mut stream: Stream) {
    let topic = TOPIC.with(Rc::clone);
    topic.subscribers.borrow_mut().push(stream.notifier());
    let mut has = topic.last.get();
    while topic.last.get() - has <= BEHIND_MAX {
        let exchange = stream.exchange(|input, output| {
            topic.catch_up(&mut has, output);
            input.len()
        });
        if !matches!(exchange.await, Ok(Exchange::Open)) {
            break;
        }
    }
}

/// Ticks until the loops have ended.
fn run_clock(loops: &[Remote], interval: Duration) {
    let start = Instant::now();
    for tick in 1.. {
        let due = start + interval.mul_f64(tick as f64);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // A loop whose mailbox is full sees the next tick, and with it this one.
        for one in loops {
            one.post(move || TOPIC.with(|topic| topic.publish(tick)));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, rate] = arguments.as_slice() else {
        return Err("usage: push LISTEN RATE".into());
    };
    let rate: f64 = rate.parse()?;
    if !(0.001..=100_000.0).contains(&rate) {
        return Err("the rate must lie between 0.001 and 100000 lines per second".into());
    }
    let open_files = io::open_files_max();
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config::default())?;
    let options = ListenOptions {
        connections_max: SUBSCRIBERS_MAX.min(open_files.saturating_sub(64)),
        ..ListenOptions::default()
    };
    let bound = loops.listen(&listen.parse()?, options, subscribe)?;
    println!("listening {}", bound.address());
    let remotes: Vec<Remote> = (0..loops.len()).map(|index| loops.remote(index)).collect();
    thread::Builder::new()
        .name("clock".to_owned())
        .spawn(move || run_clock(&remotes, Duration::from_secs_f64(1.0 / rate)))?;

    Loop::new(Config::default())?.run(async {
        Signals::new(&[libc::SIGINT, libc::SIGTERM])?.next().await;
        Ok::<_, io::Error>(())
    })?;
    Ok(())
}
