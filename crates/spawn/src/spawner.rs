//! A thread that makes processes for an event loop, so that the loop only queues a job.
//!
//! ```text
//!   loop ── start(command): opens and copies what the child needs ──> Job ── queue ──> thread: clone
//!        <── PendingChild: a descriptor, readable when the outcome is known ──────────────┘
//! ```
//!
//! `clone3` takes 20 µs, and sometimes 150, because the kernel runs deferred work on its way, such as freeing hundreds of ended
//! processes. A thread that is woken usually runs before the one that woke it, if they share a processor. The kernel does not
//! let a `SCHED_BATCH` thread preempt others on wakeup, so this thread is one; its children are not.
//!
//! **Invariant:** each queued job is run, or cancelled by its owner.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::job::{Job, JobInput};
use crate::pending::PendingChild;
use crate::plan::Pace;
use crate::stage::Stage;
use crate::{Command, Error, calls};

/// The thread needs little: it makes system calls.
const STACK_SIZE: usize = 128 << 10;

/// A thread that makes processes. Queuing a job takes the caller 7 µs, and at most 20 in 99 of 100 calls, where
/// [`Command::start`] takes 20, and sometimes 150.
///
/// A process needs one, or one per loop; it may be shared. **Children inherit per-thread attributes from this thread**: it has the
/// user, capabilinotifiers, namespaces, filters, niceness and CPU affinity that the caller of [`new`](Spawner::new) had, and later
/// changes to the caller do not affect it. So create it when these are what children should have, and before installing a filter
/// that kills on `sched_setscheduler`; a filter that only refuses that call costs latency. The parent-death signal is sent when the
/// spawner is dropped or the process ends.
///
/// Children see per-process attributes, such as the working directory, the file mode mask and inherited descriptors, as they are
/// when the thread makes them, shortly after [`start`](Spawner::start) returns. The environment and the descriptors of the
/// [`Command`] are those at the call.
///
/// Dropping a spawner does not wait: the thread finishes the queued jobs and exits. A process that was forked from this one does
/// not have the thread and needs a spawner of its own.
///
/// ```
/// # fn main() -> Result<(), spawn::Error> {
/// let spawner = spawn::Spawner::new()?;
/// let pending = spawner.start(&spawn::Command::new("true"))?;
/// // A loop waits until `pending` is readable, and then calls its `poll`.
/// assert!(pending.wait()?.wait()?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Spawner {
    jobs: Sender<Arc<Job>>,
    /// The process that has the thread.
    pid: u32,
}

impl Spawner {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Spawner`] if the system has no memory or process ID for a thread.
    pub fn new() -> Result<Spawner, Error> {
        let (jobs, received) = mpsc::channel();
        let builder = thread::Builder::new()
            .name("spawn-spawner".into())
            .stack_size(STACK_SIZE);
        let signals = calls::Blocked::all();
        let thread = builder.spawn(move || run(&received));
        drop(signals);
        thread.map_err(|source| Error::Spawner { source })?;
        Ok(Spawner {
            jobs,
            pid: std::process::id(),
        })
    }

    /// Queues a job for the thread and returns without waiting.
    ///
    /// # Errors
    /// [`Error::Start`] if opening files, making pipes or copying descriptors fails; with `ESRCH` at [`Stage::Spawner`] in a process
    /// that was forked from the spawner's. The [`PendingChild`] returns all other errors.
    pub fn start(&self, command: &Command) -> Result<PendingChild, Error> {
        if std::process::id() != self.pid {
            return Err(command.failed(Stage::Spawner, String::new(), gone()));
        }
        let (launch, known, notifier) = command.prepare(Pace::Later)?;
        let cgroup = command.options.cgroup.as_ref();
        let cgroup = cgroup
            .map(|directory| directory.try_clone())
            .transpose()
            .map_err(|source| command.failed(Stage::Cgroup, String::new(), source))?;
        let job = Arc::new(Job::new(JobInput {
            launch,
            cgroup,
            notifier,
        }));
        match self.jobs.send(Arc::clone(&job)) {
            Ok(()) => Ok(PendingChild::queued(job, known)),
            Err(_) => Err(command.failed(Stage::Spawner, String::new(), gone())),
        }
    }
}

fn gone() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::ESRCH)
}

fn run(jobs: &Receiver<Arc<Job>>) {
    let batch = calls::become_batch();
    for job in jobs {
        job.run(batch);
    }
}
