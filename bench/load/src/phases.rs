//! The order of phases: fill every server, warm each up, then measure them in turn, A B A B.
//!
//! The threads that generate the load execute one order at a time. Between two orders every connection is idle, and the
//! servers' CPU clocks are read.

use crate::Error;
use crate::client::{Client, Stage, Workload};
use crate::connections::{Buffers, Connections, Phase};
use crate::cpu::Meter;
use crate::plan::{Pace, Plan};
use crate::progress::Progress;
use crate::sys;
use crate::tally::Tally;
use crate::target::Target;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// The length of a phase of filling, after which progress is shown.
const FILL_PHASE: Duration = Duration::from_secs(1);

/// The measurements of one server.
pub(crate) struct Measured {
    pub(crate) server: Target,
    pub(crate) processes: Vec<u32>,
    pub(crate) total: Tally,
    pub(crate) phases: Vec<Sample>,
}

/// The numbers of one phase, from which ratios are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    pub(crate) cpu: Option<Duration>,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// A thread's answer to an order; true if its clients had no more requests.
type Answer = Result<(Tally, bool), Error>;

/// Runs a whole plan.
pub(crate) fn run<W: Workload>(plan: &Plan, workload: &W) -> Result<Vec<Measured>, Error> {
    let own_tables = plan.files() > sys::raise_file_limit();
    sys::raise_weight();
    thread::scope(|scope| {
        let mut threads = Threads::default();
        for number in 0..plan.threads {
            let (orders, orders_end) = channel();
            let (answers_end, answers) = channel();
            scope.spawn(move || {
                let groups = connect(plan, workload, number, own_tables);
                work(groups, &orders_end, &answers_end);
            });
            threads.each.push(Thread { orders, answers });
        }
        threads.ready()?;
        Runner {
            plan,
            threads,
            progress: Progress::new(plan),
        }
        .run()
    })
}

/// The threads that generate the load.
#[derive(Default)]
struct Threads {
    each: Vec<Thread>,
}

struct Thread {
    orders: Sender<Phase>,
    answers: Receiver<Answer>,
}

impl Threads {
    /// Waits until every thread has its connections.
    fn ready(&self) -> Result<(), Error> {
        self.gather().map(drop)
    }

    fn phase(&self, phase: Phase) -> Result<(Tally, bool), Error> {
        for thread in &self.each {
            // A thread that has ended has sent its error as an answer.
            let _ = thread.orders.send(phase);
        }
        self.gather()
    }

    fn gather(&self) -> Result<(Tally, bool), Error> {
        let mut all = Tally::new();
        let mut exhausted = true;
        for thread in &self.each {
            let (tally, done) = thread.answers.recv().unwrap_or_else(|_| Err(thread_ended()))?;
            all.join(&tally);
            exhausted &= done;
        }
        Ok((all, exhausted))
    }
}

/// A thread ends without an answer only if it panicked.
fn thread_ended() -> Error {
    Error::System {
        call: "thread",
        source: std::io::Error::other("a thread of the generator panicked"),
    }
}

/// Connects one thread to every server.
fn connect<W: Workload>(
    plan: &Plan,
    workload: &W,
    number: usize,
    own_table: bool,
) -> Result<Vec<Connections<W::Client>>, Error> {
    if let Some(cpu) = plan.pin.get(number % plan.pin.len().max(1)) {
        sys::pin(*cpu)?;
    }
    if own_table {
        sys::own_file_table()?;
    }
    (0..plan.servers.len())
        .map(|server| Connections::connect(plan, workload, server, number))
        .collect()
}

/// One thread: runs phases as they are ordered, until the orders end.
fn work<S: Client>(
    groups: Result<Vec<Connections<S>>, Error>,
    orders: &Receiver<Phase>,
    answers: &Sender<Answer>,
) {
    let mut groups = match groups {
        Ok(groups) => groups,
        Err(error) => return drop(answers.send(Err(error))),
    };
    let mut buffers = Buffers::new();
    let _ = answers.send(Ok((Tally::new(), false)));
    while let Ok(phase) = orders.recv() {
        let answer = groups[phase.server].phase(phase, &mut buffers);
        if answers.send(answer).is_err() {
            return;
        }
    }
}

/// Orders the phases.
struct Runner<'a> {
    plan: &'a Plan,
    threads: Threads,
    progress: Progress,
}

impl Runner<'_> {
    fn run(mut self) -> Result<Vec<Measured>, Error> {
        let servers = 0..self.plan.servers.len();
        if self.plan.fill {
            servers.clone().try_for_each(|server| self.fill(server))?;
        }
        let cycles = |time: Duration| (time.as_secs_f64() / self.plan.phase.as_secs_f64()).ceil() as usize;
        let meters: Vec<Meter> = self
            .plan
            .servers
            .iter()
            .map(|server| Meter::find(&server.address))
            .collect();
        for _ in 0..cycles(self.plan.warmup) {
            servers
                .clone()
                .try_for_each(|server| self.load(server).map(drop))?;
        }
        let mut measured: Vec<Measured> = self.plan.servers.iter().zip(&meters).map(Measured::new).collect();
        let mut clocks: Vec<Option<Duration>> = meters.iter().map(Meter::read).collect();
        let mut left = cycles(self.plan.duration).max(1);
        while self.goes_on(&mut left, &measured) {
            for server in servers.clone() {
                if !self.plan.background {
                    clocks[server] = meters[server].read();
                }
                let tally = self.load(server)?;
                let after = meters[server].read();
                let before = std::mem::replace(&mut clocks[server], after);
                let cpu = before
                    .zip(after)
                    .map(|(before, after)| after.saturating_sub(before));
                self.progress.measured(server, &tally, cpu);
                measured[server].add(&tally, cpu);
            }
        }
        Ok(measured)
    }

    /// Returns true if a further cycle is due: by the number of requests if the plan has one, by time otherwise.
    fn goes_on(&self, cycles_left: &mut usize, measured: &[Measured]) -> bool {
        if let Some(requests) = self.plan.requests {
            return measured.iter().any(|server| server.total.requests < requests);
        }
        let due = *cycles_left > 0;
        *cycles_left = cycles_left.saturating_sub(1);
        due
    }

    fn fill(&mut self, server: usize) -> Result<(), Error> {
        loop {
            let phase = Phase {
                server,
                stage: Stage::Fill,
                length: FILL_PHASE,
                pace: Pace::Closed,
            };
            let (tally, exhausted) = self.threads.phase(phase)?;
            self.progress.filled(server, &tally);
            if let Some(reply) = tally.first_error {
                let address = self.plan.servers[server].address.to_string();
                return Err(Error::Fill {
                    address,
                    refused: tally.errors,
                    reply,
                });
            }
            if exhausted {
                return Ok(());
            }
        }
    }

    fn load(&mut self, server: usize) -> Result<Tally, Error> {
        let phase = Phase {
            server,
            stage: Stage::Run,
            length: self.plan.phase,
            pace: self.pace_of_a_thread(),
        };
        self.threads.phase(phase).map(|(tally, _)| tally)
    }

    fn pace_of_a_thread(&self) -> Pace {
        match self.plan.pace {
            Pace::Closed => Pace::Closed,
            Pace::Open { writes_per_second } => Pace::Open {
                writes_per_second: writes_per_second / self.plan.threads as f64,
            },
        }
    }
}

impl Measured {
    fn new((server, meter): (&Target, &Meter)) -> Measured {
        let processes = meter.processes().to_vec();
        Measured {
            server: server.clone(),
            processes,
            total: Tally::new(),
            phases: Vec::new(),
        }
    }

    fn add(&mut self, tally: &Tally, cpu: Option<Duration>) {
        self.total.append(tally);
        self.phases.push(Sample {
            requests: tally.requests,
            seconds: tally.elapsed.as_secs_f64(),
            cpu,
            p50_us: tally.percentile_us(50.0),
            p99_us: tally.percentile_us(99.0),
        });
    }
}

impl Sample {
    pub(crate) fn throughput(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    pub(crate) fn cpu_us_per_request(&self) -> Option<f64> {
        self.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.requests as f64)
    }
}
