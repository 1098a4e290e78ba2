//! All connections of one thread to one server.

use crate::Error;
use crate::client::{Client, Stage, Workload};
use crate::connection::{Connection, Failure};
use crate::plan::{Pace, Plan};
use crate::sys::{self, Poll};
use crate::tally::Tally;
use crate::target::Target;
use crate::transport::Transport;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A run ends with an error after this long without a reply.
const STALL_MAX: Duration = Duration::from_secs(20);
/// The size of one read. Larger values arrive in pieces of this.
const INPUT_SIZE: usize = 256 * 1024;
/// In an open loop the thread sleeps only if the next write is due later than this, since `epoll_wait` counts milliseconds.
const SLEEP_MIN: Duration = Duration::from_millis(2);

/// Buffers that the groups of one thread share, since only one group runs at a time.
pub(crate) struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers {
            input: vec![0; INPUT_SIZE],
            output: Vec::new(),
        }
    }
}

/// The connections of one thread to one server.
pub(crate) struct Connections<S> {
    server: Target,
    connections: Vec<Connection<S>>,
    poll: Poll,
    spin: bool,
}

/// One phase as a thread runs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phase {
    pub(crate) server: usize,
    pub(crate) stage: Stage,
    pub(crate) length: Duration,
    pub(crate) pace: Pace,
}

/// A running phase.
struct Progress<'a> {
    tally: Tally,
    buffers: &'a mut Buffers,
    start: Instant,
    end: Instant,
    /// The number of connections with outstanding requests.
    busy: usize,
    /// The number of connections whose clients had no more requests.
    exhausted: usize,
    heard: Instant,
}

impl Progress<'_> {
    fn new(buffers: &mut Buffers, start: Instant, end: Instant) -> Progress<'_> {
        Progress {
            tally: Tally::new(),
            buffers,
            start,
            end,
            busy: 0,
            exhausted: 0,
            heard: start,
        }
    }
}

impl<S: Client> Connections<S> {
    pub(crate) fn connect<W>(
        plan: &Plan,
        workload: &W,
        number: usize,
        thread: usize,
    ) -> Result<Connections<S>, Error>
    where
        W: Workload<Client = S>,
    {
        let server = &plan.servers[number];
        let indices = plan.indices(thread);
        let poll = Poll::new(indices.len().max(1))?;
        let mut connections = Vec::with_capacity(indices.len());
        for (token, index) in indices.enumerate() {
            let transport =
                Transport::connect(&server.address, plan.tls.as_ref()).map_err(|source| Error::Connect {
                    address: server.address.to_string(),
                    source,
                })?;
            poll.add(transport.fd(), token)?;
            connections.push(Connection::new(
                transport,
                workload.client(number, index, plan.connections),
            ));
        }
        Ok(Connections {
            server: server.clone(),
            connections,
            poll,
            spin: plan.spin,
        })
    }

    /// Runs one phase: sends requests until its time is over, then waits for the last reply. The second value is true if
    /// no client had more requests.
    pub(crate) fn phase(&mut self, phase: Phase, buffers: &mut Buffers) -> Result<(Tally, bool), Error> {
        for connection in &mut self.connections {
            connection.enter(phase.stage);
        }
        let own_cpu = sys::thread_cpu();
        let start = Instant::now();
        let mut progress = Progress::new(buffers, start, start + phase.length);
        match phase.pace {
            Pace::Closed => self.closed(&mut progress)?,
            Pace::Open { writes_per_second } => self.open(&mut progress, writes_per_second)?,
        }
        progress.tally.elapsed = progress.start.elapsed();
        progress.tally.own_cpu = sys::thread_cpu() - own_cpu;
        Ok((progress.tally, progress.exhausted == self.connections.len()))
    }

    fn closed(&mut self, progress: &mut Progress<'_>) -> Result<(), Error> {
        for token in 0..self.connections.len() {
            self.start(token, Instant::now(), progress)?;
        }
        let timeout_ms = if self.spin {
            0
        } else {
            STALL_MAX.as_millis() as i32
        };
        while progress.busy > 0 {
            let events = self.wait(timeout_ms, progress)?;
            for event in 0..events {
                let token = self.poll.token(event);
                if !self.ready(token, progress)? {
                    continue;
                }
                let now = Instant::now();
                if now < progress.end {
                    self.start(token, now, progress)?;
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, progress: &mut Progress<'_>, writes_per_second: f64) -> Result<(), Error> {
        let interval = Duration::from_secs_f64(1.0 / writes_per_second);
        let mut idle: VecDeque<usize> = (0..self.connections.len()).collect();
        let mut due = progress.start;
        loop {
            let now = Instant::now();
            while due < progress.end && due <= now {
                let Some(token) = idle.pop_front() else { break };
                self.start(token, due, progress)?;
                due += interval;
            }
            if progress.busy == 0 && due >= progress.end {
                return Ok(());
            }
            let gap = due.saturating_duration_since(now);
            let timeout_ms = if gap < SLEEP_MIN || self.spin {
                0
            } else {
                gap.as_millis() as i32 - 1
            };
            let events = self.wait(timeout_ms, progress)?;
            for event in 0..events {
                let token = self.poll.token(event);
                if self.ready(token, progress)? {
                    idle.push_back(token);
                }
            }
        }
    }

    /// Starts the next write of a connection.
    fn start(&mut self, token: usize, due: Instant, progress: &mut Progress<'_>) -> Result<(), Error> {
        let connection = &mut self.connections[token];
        match connection.start(due, &mut progress.buffers.output) {
            Ok(true) => progress.busy += 1,
            Ok(false) => progress.exhausted += 1,
            Err(failure) => return Err(self.failed(token, failure)),
        }
        if connection.wants_write() {
            self.poll.interest(connection.fd(), token, true)
        } else {
            Ok(())
        }
    }

    /// Serves a ready connection. Returns true if its write is answered.
    fn ready(&mut self, token: usize, progress: &mut Progress<'_>) -> Result<bool, Error> {
        let connection = &mut self.connections[token];
        if connection.wants_write() {
            let flushed = connection.flush();
            if let Err(failure) = flushed {
                return Err(self.failed(token, failure));
            }
            if !connection.wants_write() {
                self.poll.interest(connection.fd(), token, false)?;
            }
        }
        match connection.receive(&mut progress.buffers.input, &mut progress.tally) {
            Ok(answered) => {
                progress.busy -= usize::from(answered);
                Ok(answered)
            }
            Err(failure) => Err(self.failed(token, failure)),
        }
    }

    /// Waits for events, with a timeout.
    fn wait(&mut self, timeout_ms: i32, progress: &mut Progress<'_>) -> Result<usize, Error> {
        let events = self.poll.wait(timeout_ms)?;
        if events > 0 || progress.busy == 0 {
            progress.heard = Instant::now();
        } else if progress.heard.elapsed() >= STALL_MAX {
            let outstanding = self.connections.iter().map(Connection::outstanding).sum();
            let address = self.server.address.to_string();
            return Err(Error::Stalled {
                address,
                waited: STALL_MAX,
                outstanding,
            });
        }
        Ok(events)
    }

    fn failed(&self, token: usize, failure: Failure) -> Error {
        let address = self.server.address.to_string();
        match failure {
            Failure::Lost(reason) => Error::Lost {
                address,
                outstanding: self.connections[token].outstanding(),
                reason,
            },
            Failure::Nonsense(found) => Error::Reply { address, found },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Taken;
    use std::net::{TcpListener, TcpStream};
    use std::{io, thread};

    /// A client with a number of writes left, each of one byte that the server returns.
    struct Bytes(usize);

    /// Client number n has n writes.
    struct Unequal;

    impl Workload for Unequal {
        type Client = Bytes;

        fn client(&self, _: usize, index: usize, _: usize) -> Bytes {
            Bytes(index)
        }
    }

    impl Client for Bytes {
        fn enter(&mut self, _: Stage) {}

        fn request(&mut self, out: &mut Vec<u8>) -> usize {
            let Some(left) = self.0.checked_sub(1) else {
                return 0;
            };
            self.0 = left;
            out.push(b'x');
            1
        }

        fn reply(&mut self, input: &[u8], _: &mut Tally) -> Result<Taken, String> {
            let (bytes, requests) = (input.len(), input.len());
            Ok(Taken { bytes, requests })
        }
    }

    /// The address of a server that returns what it receives.
    fn echo() -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let answer = |stream: TcpStream| io::copy(&mut &stream, &mut &stream);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || answer(stream));
            }
        });
        address.to_string().parse().expect("a target")
    }

    fn plan(connections: usize) -> Plan {
        Plan {
            servers: vec![echo()],
            connections,
            threads: 1,
            pace: Pace::Closed,
            fill: true,
            warmup: Duration::ZERO,
            duration: Duration::ZERO,
            requests: None,
            background: false,
            phase: Duration::ZERO,
            spin: false,
            pin: Vec::new(),
            tls: None,
            progress: false,
        }
    }

    /// A fill of many phases once ended with the first connection that had stored its share: the others' keys were missing.
    #[test]
    fn clients_are_exhausted_when_the_last_one_is() {
        let plan = plan(3);
        let mut group = Connections::connect(&plan, &Unequal, 0, 0).expect("connected");
        // A phase without length has one write of each client.
        let phase = Phase {
            server: 0,
            stage: Stage::Fill,
            length: Duration::ZERO,
            pace: Pace::Closed,
        };
        let found: Vec<(u64, bool)> = (0..3)
            .map(|_| group.phase(phase, &mut Buffers::new()).expect("answered"))
            .map(|(tally, exhausted)| (tally.requests, exhausted))
            .collect();
        assert_eq!(found, [(2, false), (1, false), (0, true)]);
    }

    #[test]
    fn latency_counts_from_the_time_a_write_was_due() {
        let plan = plan(2);
        let mut group = Connections::connect(&plan, &Unequal, 0, 0).expect("connected");
        let late = Duration::from_secs(1);
        let due = Instant::now() - late;
        let mut buffers = Buffers::new();
        let mut progress = Progress::new(&mut buffers, due, due);
        group.start(1, due, &mut progress).expect("sent");
        while progress.busy > 0 {
            group
                .wait(STALL_MAX.as_millis() as i32, &mut progress)
                .expect("a reply");
            group.ready(1, &mut progress).expect("a reply");
        }
        let found_us = progress.tally.latency().max;
        assert!(found_us >= 0.99 * late.as_secs_f64() * 1e6, "{found_us}");
    }
}
