//! The threads that read pages, so that no event loop waits for the device.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::warm::{Delivery, Fetched, Page, Wants};
use crate::{Cursor, Need, StoreError};

/// Threads that read at once.
pub(super) const THREADS: usize = 4;

/// Jobs that wait for a thread.
#[derive(Default)]
pub(super) struct Readers {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

/// A key with its hash.
type Hashed = (Box<[u8]>, u64);

/// A part of a fetch.
struct Job {
    keys: Vec<Hashed>,
    page: Option<(Cursor, usize, Need)>,
    fetch: Arc<FetchState>,
}

/// The store's reads, as the threads call them.
pub(super) trait Source {
    /// Reads one item.
    fn read(&self, key: &[u8], hash: u64) -> Fetched;

    /// Reads a part of a scan.
    fn page(&self, from: &Cursor, steps: usize) -> Result<Page, StoreError>;
}

/// A fetch whose parts are being read.
struct FetchState {
    parts: AtomicUsize,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    entries: Vec<(Box<[u8]>, Fetched)>,
    page: Option<Result<Page, StoreError>>,
    is_complete: bool,
    waker: Option<Waker>,
}

/// The future of a fetch.
pub(super) struct Reading {
    wants: Option<Wants>,
    state: Arc<FetchState>,
}

impl Readers {
    /// Reads everything that is wanted, with all threads at once.
    pub(super) fn begin(&self, mut wants: Wants, hash: impl Fn(&[u8]) -> u64) -> Reading {
        let keys = wants.items.keys().map(|key| (key.clone(), hash(key)));
        let keys: Vec<Hashed> = keys.collect();
        let share = keys.len().div_ceil(THREADS).max(1);
        let mut parts: Vec<Vec<Hashed>> = keys.chunks(share).map(<[_]>::to_vec).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let state = Arc::new(FetchState {
            parts: AtomicUsize::new(parts.len()),
            done: Mutex::default(),
        });
        let mut page = wants.page.clone();
        wants.writes.clear();
        let mut queue = self.queue.lock();
        if queue.closed {
            state.refuse(parts.concat(), page.is_some());
        } else {
            for keys in parts {
                let (page, fetch) = (page.take(), state.clone());
                queue.jobs.push_back(Job { keys, page, fetch });
                self.arrived.notify_one();
            }
        }
        drop(queue);
        Reading {
            wants: Some(wants),
            state,
        }
    }

    /// A thread's work, until the readers are closed.
    pub(super) fn run(&self, source: &impl Source) {
        while let Some(job) = self.next() {
            let entries = job.keys.into_iter().map(|(key, hash)| {
                let fetched = source.read(&key, hash);
                (key, fetched)
            });
            let entries = entries.collect();
            let page = job.page.map(|(from, steps, _)| source.page(&from, steps));
            job.fetch.deliver(entries, page);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            self.arrived.wait(&mut queue);
        }
    }

    /// Ends the threads after the queued jobs. Later fetches fail.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_all();
    }
}

impl FetchState {
    fn deliver(&self, entries: Vec<(Box<[u8]>, Fetched)>, page: Option<Result<Page, StoreError>>) {
        let mut done = self.done.lock();
        done.entries.extend(entries);
        if page.is_some() {
            done.page = page;
        }
        if self.parts.fetch_sub(1, Ordering::AcqRel) == 1 {
            done.is_complete = true;
            let waker = done.waker.take();
            drop(done);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn refuse(&self, keys: Vec<Hashed>, page: bool) {
        let error = StoreError::Unavailable;
        let entries = keys.into_iter().map(|(key, _)| (key, Fetched::Failed(error)));
        self.parts.store(1, Ordering::Release);
        self.deliver(entries.collect(), page.then_some(Err(error)));
    }
}

impl Future for Reading {
    type Output = Delivery;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Delivery> {
        let state = self.state.clone();
        let mut done = state.done.lock();
        if !done.is_complete {
            done.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Delivery {
            wants: self.wants.take().unwrap_or_default(),
            entries: std::mem::take(&mut done.entries),
            page: done.page.take(),
        })
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Readers({} waiting)", self.queue.lock().jobs.len())
    }
}
