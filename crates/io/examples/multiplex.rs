//! Many streams on one connection, with priorities and windows: `cargo run --release --example multiplex -- 127.0.0.1:8000`.
//!
//! ```text
//!   frame    | stream: 2 bytes | kind: 1 | priority: 1 | length: 4 | payload |        integers are big-endian
//!   DATA     a message, which the server sends back on the same stream
//!   FETCH    no payload; `length` bytes are asked for, which the server makes up
//!   WINDOW   no payload; the client takes `length` bytes more on the stream than it said before
//! ```
//!
//! A stream begins with a window of 64 KiB. The server writes one frame at a time, the most urgent streams first (priority
//! 0) and those of one priority in turn, and only after the kernel has taken all earlier frames. The order is thus decided
//! late, and an urgent answer overtakes a long one.
//!
//! Messages whose echo leaves in the same exchange are copied once, from the loop's input to its output.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use io::{Again, Config, Exchange, ListenOptions, Loop, Loops, Output, Signals, Stream, Took};

const STREAMS: usize = 1000;
const PRIORITIES: usize = 8;
const HEADER: usize = 8;
/// Bytes of a message, and of a frame that the server makes up.
const FRAME_MAX: usize = 16 << 10;
/// Bytes that the client takes on each stream before it says more.
const WINDOW: u64 = 64 << 10;
/// Bytes of messages that may wait for their windows on one connection; a client that has more in flight is cut off.
const WAITING_MAX: usize = 1 << 20;
/// Bytes that the kernel keeps unsent.
const UNSENT_MAX: u32 = 32 << 10;

const DATA: u8 = 0;
const FETCH: u8 = 1;
const WINDOW_UPDATE: u8 = 2;

/// A message that a stream has yet to send.
enum Message {
    /// Lies in the input of this exchange.
    Input(Range<usize>),
    /// Was kept for longer.
    Kept(Vec<u8>),
    /// This number of bytes, generated as they leave.
    Made(u64),
}

#[derive(Default)]
struct Flow {
    window: u64,
    priority: u8,
    /// True while the stream is in the ready list.
    ready: bool,
    messages: VecDeque<Message>,
}

/// The streams of one connection.
struct Multiplex {
    flows: Vec<Flow>,
    /// Flows that have something to send and a window for it, by priority.
    ready: [VecDeque<u16>; PRIORITIES],
    /// Priorities that have such flows, a bit each.
    occupied: u8,
    /// Flows with messages that lie in the input.
    borrowing: Vec<u16>,
    waiting: usize,
}

/// The client broke the protocol.
struct Violation;

impl Multiplex {
    fn new() -> Multiplex {
        let flow = || Flow {
            window: WINDOW,
            ..Flow::default()
        };
        Multiplex {
            flows: std::iter::repeat_with(flow).take(STREAMS).collect(),
            ready: Default::default(),
            occupied: 0,
            borrowing: Vec::new(),
            waiting: 0,
        }
    }

    /// One exchange: reads all frames, then writes as many as the output takes.
    fn run(&mut self, input: &[u8], output: &mut Output) -> Result<Took, Violation> {
        let (consumed, need) = self.read(input)?;
        self.write(input, output);
        self.keep(input)?;
        let again = match self.occupied {
            0 => Again::Input,
            _ => Again::Room,
        };
        Ok(Took {
            consumed,
            need,
            again,
        })
    }

    /// Takes all whole frames; returns their length, and that of the next one.
    fn read(&mut self, input: &[u8]) -> Result<(usize, usize), Violation> {
        let mut at = 0;
        while let Some(header) = input[at..].first_chunk::<HEADER>() {
            let [s0, s1, kind, priority, lengths @ ..] = *header;
            let stream = u16::from_be_bytes([s0, s1]);
            let length = u32::from_be_bytes(lengths) as usize;
            let flow = self.flows.get_mut(usize::from(stream)).ok_or(Violation)?;
            let mut end = at + HEADER;
            match kind {
                DATA if length <= FRAME_MAX => {
                    end += length;
                    if end > input.len() {
                        return Ok((at, HEADER + length));
                    }
                    if flow.messages.is_empty() {
                        self.borrowing.push(stream);
                    }
                    flow.messages.push_back(Message::Input(at + HEADER..end));
                    flow.priority = priority % PRIORITIES as u8;
                }
                FETCH => {
                    flow.messages.push_back(Message::Made(length as u64));
                    flow.priority = priority % PRIORITIES as u8;
                }
                WINDOW_UPDATE => flow.window += length as u64,
                _ => return Err(Violation),
            }
            self.make_ready(stream);
            at = end;
        }
        Ok((at, HEADER))
    }

    /// Puts a flow among the ready ones, if it has something to send and a window for it.
    fn make_ready(&mut self, stream: u16) {
        let flow = &mut self.flows[usize::from(stream)];
        let fits = match flow.messages.front() {
            None => false,
            Some(Message::Input(range)) => range.len() as u64 <= flow.window,
            Some(Message::Kept(bytes)) => bytes.len() as u64 <= flow.window,
            Some(Message::Made(_)) => flow.window > 0,
        };
        if fits && !flow.ready {
            flow.ready = true;
            self.ready[usize::from(flow.priority)].push_back(stream);
            self.occupied |= 1 << flow.priority;
        }
    }

    /// Writes frames, the most urgent first, until the output is full or nothing is ready.
    fn write(&mut self, input: &[u8], output: &mut Output) {
        while self.occupied != 0 && !output.full() {
            let priority = self.occupied.trailing_zeros() as usize;
            let Some(stream) = self.ready[priority].pop_front() else {
                self.occupied &= !(1 << priority);
                continue;
            };
            if self.ready[priority].is_empty() {
                self.occupied &= !(1 << priority);
            }
            self.flows[usize::from(stream)].ready = false;
            self.write_frame(stream, input, output.buffer());
            self.make_ready(stream);
        }
    }

    fn write_frame(&mut self, stream: u16, input: &[u8], out: &mut Vec<u8>) {
        let flow = &mut self.flows[usize::from(stream)];
        let sent = match flow.messages.pop_front() {
            None => return,
            Some(Message::Input(range)) => frame(stream, &input[range], out),
            Some(Message::Kept(bytes)) => {
                self.waiting -= bytes.len();
                frame(stream, &bytes, out)
            }
            Some(Message::Made(left)) => {
                let now = left.min(flow.window).min(FRAME_MAX as u64);
                if now < left {
                    flow.messages.push_front(Message::Made(left - now));
                }
                frame(stream, &[b'm'; FRAME_MAX][..now as usize], out)
            }
        };
        flow.window -= sent;
    }

    /// Copies the messages that still lie in the input, which is about to go.
    fn keep(&mut self, input: &[u8]) -> Result<(), Violation> {
        for stream in self.borrowing.drain(..) {
            for message in &mut self.flows[usize::from(stream)].messages {
                if let Message::Input(range) = message {
                    self.waiting += range.len();
                    *message = Message::Kept(input[range.clone()].to_vec());
                }
            }
        }
        if self.waiting > WAITING_MAX {
            return Err(Violation);
        }
        Ok(())
    }
}

/// Appends a frame of data; returns its payload's length.
fn frame(stream: u16, payload: &[u8], out: &mut Vec<u8>) -> u64 {
    let [s0, s1] = stream.to_be_bytes();
    let [l0, l1, l2, l3] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&[s0, s1, DATA, 0, l0, l1, l2, l3]);
    out.extend_from_slice(payload);
    payload.len() as u64
}

async fn serve(mut stream: Stream) {
    // Elsewhere than over TCP the kernel keeps little anyway.
    let _ = stream.set_notsent_lowat(UNSENT_MAX);
    let mut multiplex = Multiplex::new();
    let mut violated = false;
    while let Ok(Exchange::Open) = stream
        .exchange(|input, output| {
            let took = multiplex.run(input, output);
            violated = took.is_err();
            took.unwrap_or_default()
        })
        .await
    {
        if violated {
            break;
        }
    }
    let _ = stream.close().await;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listen = std::env::args().nth(1).ok_or("usage: multiplex LISTEN")?;
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })?;
    let bound = loops.listen(&listen.parse()?, ListenOptions::default(), serve)?;
    println!("listening {}", bound.address());

    Loop::new(Config::default())?.run(async {
        Signals::new(&[libc::SIGINT, libc::SIGTERM])?.next().await;
        Ok::<_, io::Error>(())
    })?;
    loops.stop(Duration::from_secs(5));
    Ok(())
}
