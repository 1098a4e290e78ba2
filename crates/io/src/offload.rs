//! Lanes: small pools of threads for work that blocks, one for each kind of work.
//!
//! Slow work of one kind, such as `fsync`, must not delay another kind, such as resolving names. So each kind has threads and
//! a queue of its own.
//!
//! **Invariant:** at most `queue_max` calls wait for a thread of a lane. [`Offload::run`] then waits for room, which is the
//! backpressure on its callers, and [`Offload::try_run`] fails.
//!
//! **Invariant:** work that was queued is run, even if its caller or the last handle on its lane has gone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::Error;
use crate::oneshot::{Receiver, oneshot};

/// Threads of the lane behind [`offload`].
const DEFAULT_THREADS: usize = 4;
/// Calls that wait for a thread of that lane.
const DEFAULT_QUEUE_MAX: usize = 1024;
/// How long a thread without work lives.
const THREAD_IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// A lane. Clones are handles on the same one.
///
/// Threads start when there is work for them and end after ten idle seconds, even if no handle is left; the queue is done by
/// then. [`shutdown`](Offload::shutdown) waits for that.
#[derive(Clone)]
pub struct Offload {
    lane: Arc<Lane>,
}

struct Lane {
    name: &'static str,
    threads_max: usize,
    queue_max: usize,
    state: Mutex<State>,
    /// There is work, or the lane was closed.
    work: Condvar,
    /// The last thread of a closed lane has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    /// Tasks that wait for room in the queue.
    waiting: Vec<Waker>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl State {
    /// Removes as many waiting tasks as the queue has room for. Some may have given up, so an empty queue wakes all.
    fn take_waiting(&mut self, queue_max: usize) -> Vec<Waker> {
        let room = queue_max.saturating_sub(self.queue.len()).min(self.waiting.len());
        let count = if self.queue.is_empty() {
            self.waiting.len()
        } else {
            room
        };
        self.waiting.drain(..count).collect()
    }
}

/// Runs `f` on a lane that the whole process shares, of 4 threads, and returns its result; the loop goes on meanwhile. Work
/// that may take long, or of which there may be much, deserves a lane of its own.
///
/// Dropping the future does not stop `f`.
///
/// # Panics
/// With `f`'s own panic.
pub async fn offload<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    static SHARED: OnceLock<Offload> = OnceLock::new();
    let shared = SHARED.get_or_init(|| Offload::new("offload", DEFAULT_THREADS, DEFAULT_QUEUE_MAX));
    match shared.run(f).await {
        Ok(output) => output,
        Err(error) => unreachable!("the shared lane is never closed: {error}"),
    }
}

impl Offload {
    /// A lane of at most `threads` threads, called `name`, for whose threads at most `queue_max` calls wait. Both numbers
    /// are at least 1.
    #[must_use]
    pub fn new(name: &'static str, threads: usize, queue_max: usize) -> Offload {
        Offload {
            lane: Arc::new(Lane {
                name,
                threads_max: threads.max(1),
                queue_max: queue_max.max(1),
                state: Mutex::default(),
                work: Condvar::new(),
                ended: Condvar::new(),
            }),
        }
    }

    /// Runs `f` on a thread of the lane and returns its result. While the queue is full it waits for room. Once `f` is
    /// queued, dropping the future does not stop it.
    ///
    /// # Errors
    /// [`Error::OffloadClosed`] after [`shutdown`](Offload::shutdown).
    ///
    /// # Panics
    /// With `f`'s own panic.
    pub async fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (mut work, result) = package(f);
        poll_fn(
            |context| match self.lane.enqueue(work.take(), Some(context.waker())) {
                Ok(()) => Poll::Ready(Ok(())),
                Err((Error::OffloadFull { .. }, back)) => {
                    work = back;
                    Poll::Pending
                }
                Err((error, _)) => Poll::Ready(Err(error)),
            },
        )
        .await?;
        Ok(finish(result).await)
    }

    /// Like [`run`](Offload::run), but fails if the queue is full. `f` is queued when this returns.
    ///
    /// # Errors
    /// [`Error::OffloadFull`], and [`Error::OffloadClosed`] after [`shutdown`](Offload::shutdown).
    pub fn try_run<T, F>(&self, f: F) -> Result<impl Future<Output = T> + use<T, F>, Error>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (work, result) = package(f);
        self.lane.enqueue(work, None).map_err(|(error, _)| error)?;
        Ok(finish(result))
    }

    /// How many calls wait for a thread.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.lane.state().queue.len()
    }

    /// Accepts no more work, by whichever handle, and waits until the queue is done and the threads have ended. It blocks:
    /// it must not be called on a loop, nor by work of this lane.
    pub fn shutdown(self) {
        let mut state = self.lane.close();
        while state.threads > 0 {
            state = self
                .lane
                .ended
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl std::fmt::Debug for Offload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offload")
            .field("name", &self.lane.name)
            .field("threads", &self.lane.threads_max)
            .field("queue_max", &self.lane.queue_max)
            .finish_non_exhaustive()
    }
}

type Outcome<T> = thread::Result<T>;

/// Work that sends its outcome, panics included.
fn package<T: Send + 'static>(
    f: impl FnOnce() -> T + Send + 'static,
) -> (Option<Work>, Receiver<Outcome<T>>) {
    let (sender, receiver) = oneshot();
    let work: Work = Box::new(move || sender.send(catch_unwind(AssertUnwindSafe(f))));
    (Some(work), receiver)
}

async fn finish<T>(result: Receiver<Outcome<T>>) -> T {
    match result.await {
        Some(Ok(output)) => output,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("queued work is run, and sends its outcome"),
    }
}

impl Lane {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every statement leaves the state valid, so a panic elsewhere does not harm it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues work, or returns it with the reason; if the queue is full, `waker` is woken when there is room.
    fn enqueue(
        self: &Arc<Self>,
        work: Option<Work>,
        waker: Option<&Waker>,
    ) -> Result<(), (Error, Option<Work>)> {
        let mut state = self.state();
        if state.closed {
            return Err((Error::OffloadClosed { lane: self.name }, work));
        }
        if state.queue.len() >= self.queue_max {
            state.waiting.extend(waker.cloned());
            let (lane, queue_max) = (self.name, self.queue_max);
            return Err((Error::OffloadFull { lane, queue_max }, work));
        }
        state.queue.extend(work);
        if state.idle >= state.queue.len() {
            self.work.notify_one();
        } else if state.threads < self.threads_max {
            state.threads += 1;
            let first = state.threads == 1;
            drop(state);
            self.start_thread(first);
        }
        Ok(())
    }

    fn start_thread(self: &Arc<Self>, first: bool) {
        let lane = Arc::clone(self);
        let result = thread::Builder::new()
            .name(self.name.into())
            .spawn(move || lane.run());
        if let Err(error) = result {
            self.state().threads -= 1;
            // One thread does all the work in time; without any it would never be done.
            assert!(
                !first,
                "cannot start a thread for the lane {}: {error}",
                self.name
            );
            tracing::warn!(lane = self.name, %error, "cannot start another thread for blocking work");
        }
    }

    /// The life of a thread.
    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some(work) = state.queue.pop_front() {
                let waiting = state.take_waiting(self.queue_max);
                drop(state);
                waiting.into_iter().for_each(Waker::wake);
                work();
                state = self.state();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let (after, wait) = self
                .work
                .wait_timeout(state, THREAD_IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            state = after;
            state.idle -= 1;
            if wait.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        if state.threads == 0 {
            self.ended.notify_all();
        }
    }

    /// Refuses work from now on and lets idle threads end.
    fn close(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        self.work.notify_all();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        self.state()
    }
}
