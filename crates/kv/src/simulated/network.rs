//! The way to the other machine and back: requests arrive in their order, each after the machine's latency.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::machine::{Fault, Machine};
use crate::commits::Commits;
use crate::mailbox::Mailbox;
use crate::owned::OwnedEntry;
use crate::warm::{Delivery, Fetched, Wants, Write};

/// A request on its way.
pub(super) enum Request {
    Fetch(Wants, Vec<u64>, Arc<Mailbox>),
    Write(Box<[u8]>, Option<Arc<OwnedEntry>>),
    Flush,
    /// Commits every write up to this point.
    Commit(u64),
}

/// A connection to a machine. Dropping it delivers everything that was sent.
#[derive(Debug)]
pub(super) struct Network {
    machine: Arc<Machine>,
    sender: Option<Sender<(Instant, Request)>>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    pub(super) fn new(machine: &Arc<Machine>, commits: &Arc<Commits>) -> std::io::Result<Network> {
        let (sender, receiver) = channel();
        let (theirs, commits) = (machine.clone(), commits.clone());
        let thread = thread::Builder::new()
            .name("simulated".into())
            .spawn(move || deliver(&receiver, &theirs, &commits))?;
        Ok(Network {
            machine: machine.clone(),
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    /// Sends a request.
    pub(super) fn send(&self, request: Request) {
        self.machine.sent();
        if let Some(sender) = &self.sender {
            // The thread ends only when this sender is dropped.
            let _ = sender.send((Instant::now() + self.machine.latency, request));
        }
    }

    /// Sends no more, and waits until everything has arrived.
    pub(super) fn close(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.close();
    }
}

/// The life of the thread.
fn deliver(requests: &Receiver<(Instant, Request)>, machine: &Machine, commits: &Commits) {
    while let Ok((arrives, request)) = requests.recv() {
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        match request {
            Request::Fetch(wants, points, mailbox) => mailbox.put(fetch(machine, wants, &points)),
            Request::Write(key, new) => machine.write(&key, new),
            Request::Flush => machine.flush(),
            Request::Commit(point) => commit(machine, commits, point),
        }
        machine.answered();
    }
}

fn commit(machine: &Machine, commits: &Commits, point: u64) {
    machine.committed();
    match machine.fault() {
        Some(Fault::Commit(error)) => commits.fail(error),
        _ => commits.reach(point),
    }
}

fn fetch(machine: &Machine, wants: Wants, points: &[u64]) -> Delivery {
    let mut entries: Vec<(Box<[u8]>, Fetched)> = Vec::new();
    for (write, &point) in wants.writes.iter().zip(points) {
        entries.push((write.key.clone(), machine.write_if(write, point)));
    }
    let written = |key: &[u8], writes: &[Write]| writes.iter().any(|write| *write.key == *key);
    for key in wants.items.keys() {
        if !written(key, &wants.writes) {
            entries.push((key.clone(), machine.read(key)));
        }
    }
    let page = wants.page.as_ref();
    Delivery {
        entries,
        page: page.map(|(from, steps, _)| machine.page(from, *steps)),
        wants,
    }
}
