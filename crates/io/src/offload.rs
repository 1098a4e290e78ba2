//! A few threads for work that blocks: cold files, `fsync`, names to be resolved.
//!
//! **Invariant:** at most [`QUEUE_MAX`] pieces of work wait; who brings one more waits for room, which is the
//! back-pressure on the loops.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::oneshot::oneshot;

/// Threads for blocking work, in the whole process.
const THREADS_MAX: usize = 4;
/// Pieces of work that wait for a thread.
const QUEUE_MAX: usize = 1024;
/// A thread that had nothing to do for so long ends.
const THREAD_IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Work>,
    /// Tasks that wait for room in the queue.
    waiting: Vec<Waker>,
    threads: usize,
    idle: usize,
}

static STATE: Mutex<State> = Mutex::new(State {
    queue: VecDeque::new(),
    waiting: Vec::new(),
    threads: 0,
    idle: 0,
});
static WORK: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `f` on another thread and waits for what it answers; the loop goes on meanwhile. Dropping the future does not
/// stop `f`.
///
/// # Panics
/// With `f`'s own panic.
pub async fn offload<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = oneshot();
    let mut work: Option<Work> = Some(Box::new(move || {
        sender.send(catch_unwind(AssertUnwindSafe(f)));
    }));
    poll_fn(|context| match enqueue(&mut work, context.waker()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    match receiver.await {
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("work is run, and sends its outcome, before its thread ends"),
    }
}

/// Queues the work, or has `waker` woken when there is room.
fn enqueue(work: &mut Option<Work>, waker: &Waker) -> bool {
    let mut state = state();
    if state.queue.len() >= QUEUE_MAX {
        state.waiting.push(waker.clone());
        return false;
    }
    state.queue.extend(work.take());
    if state.idle >= state.queue.len() {
        WORK.notify_one();
    } else if state.threads < THREADS_MAX {
        state.threads += 1;
        let first = state.threads == 1;
        drop(state);
        start_thread(first);
    }
    true
}

fn start_thread(first: bool) {
    let result = thread::Builder::new().name("offload".into()).spawn(run);
    if let Err(error) = result {
        self::state().threads -= 1;
        // With one thread at least the work is done some time; with none it would never be.
        assert!(!first, "no thread for blocking work: {error}");
        tracing::warn!(%error, "cannot start another thread for blocking work");
    }
}

fn run() {
    let mut state = state();
    loop {
        if let Some(work) = state.queue.pop_front() {
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
            work();
            state = self::state();
            continue;
        }
        state.idle += 1;
        let (after, wait) = WORK
            .wait_timeout(state, THREAD_IDLE)
            .unwrap_or_else(PoisonError::into_inner);
        state = after;
        state.idle -= 1;
        if wait.timed_out() && state.queue.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}
