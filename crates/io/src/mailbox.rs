//! What comes to a loop from other threads: closures to run and tasks to wake.
//!
//! A locked list, taken whole by the loop once a turn, and an `eventfd` that is written only when the loop is parked in
//! its poll: a busy loop is never interrupted, and a burst of mail costs one wake-up.
//!
//! **Invariant:** the loop announces that it parks before it looks for mail a last time, and a poster lays down its mail
//! before it looks whether the loop is parked (both sequentially consistent): one of them sees the other.

use std::mem;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::core::Core;
use crate::task::TaskId;
use crate::{Error, sys};

pub(crate) enum Mail {
    Wake(TaskId),
    Run(Box<dyn FnOnce() + Send>),
}

/// The mail of one loop.
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    /// Whether there may be mail: spares a quiet loop the lock.
    pending: AtomicBool,
    parked: AtomicBool,
    event: OwnedFd,
    max: usize,
}

#[derive(Default)]
struct Queue {
    mails: Vec<Mail>,
    closed: bool,
}

impl Mailbox {
    pub(crate) fn new(max: usize) -> Result<Mailbox, Error> {
        let event = sys::event_fd().map_err(Error::system("eventfd"))?;
        let (queue, pending, parked) = Default::default();
        Ok(Mailbox {
            queue,
            pending,
            parked,
            event,
            max,
        })
    }

    pub(crate) fn event(&self) -> &OwnedFd {
        &self.event
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A list of mail is whole after every statement that changes it, so a panic elsewhere does not harm it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays mail down; what comes back was refused, because the loop has ended or, `bounded`, has too much of it.
    fn put(&self, mail: Mail, bounded: bool) -> Result<(), Mail> {
        let mut queue = self.queue();
        if queue.closed || (bounded && queue.mails.len() >= self.max) {
            return Err(mail);
        }
        queue.mails.push(mail);
        drop(queue);
        self.pending.store(true, Ordering::SeqCst);
        if self.parked.swap(false, Ordering::SeqCst) {
            sys::event_notify(&self.event);
        }
        Ok(())
    }

    /// Takes all mail into `mails`, which must be empty.
    pub(crate) fn take(&self, mails: &mut Vec<Mail>) {
        if self.pending.swap(false, Ordering::SeqCst) {
            mem::swap(&mut self.queue().mails, mails);
        }
    }

    /// Announces that the loop is about to wait; `false` when there is mail and it must not.
    pub(crate) fn park(&self) -> bool {
        self.parked.store(true, Ordering::SeqCst);
        !self.pending.load(Ordering::SeqCst)
    }

    pub(crate) fn unpark(&self) {
        self.parked.store(false, Ordering::Relaxed);
    }

    /// Refuses mail from now on and hands over what was left.
    pub(crate) fn close(&self) -> Vec<Mail> {
        let mut queue = self.queue();
        queue.closed = true;
        mem::take(&mut queue.mails)
    }
}

/// A handle on a loop for other threads.
#[derive(Clone)]
pub struct Remote {
    mailbox: Arc<Mailbox>,
}

impl Remote {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Remote {
        Remote { mailbox }
    }

    /// Runs `f` on the loop, at the start of its next turn. `false`, and `f` is dropped, when the loop has ended or
    /// holds [`Config::mailbox_max`](crate::Config::mailbox_max) mails already.
    pub fn post(&self, f: impl FnOnce() + Send + 'static) -> bool {
        self.mailbox.put(Mail::Run(Box::new(f)), true).is_ok()
    }

    /// The same without the bound, for what is bounded otherwise: connections, which have a limit of their own.
    pub(crate) fn post_unbounded(&self, f: impl FnOnce() + Send + 'static) -> bool {
        self.mailbox.put(Mail::Run(Box::new(f)), false).is_ok()
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

/// The mailboxes of all loops of the process, by loop id: how a waker finds its loop from another thread.
static REGISTRY: RwLock<Vec<Option<Arc<Mailbox>>>> = RwLock::new(Vec::new());

/// Gives a loop an id. Ids are used again: a waker that outlived its loop may wake a task of another, which does no harm.
pub(crate) fn register(mailbox: &Arc<Mailbox>) -> u16 {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let free = registry.iter().position(Option::is_none).unwrap_or_else(|| {
        assert!(
            registry.len() < usize::from(u16::MAX),
            "more than 65,535 loops in one process"
        );
        registry.push(None);
        registry.len() - 1
    });
    registry[free] = Some(Arc::clone(mailbox));
    free as u16
}

pub(crate) fn deregister(loop_id: u16) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    registry[usize::from(loop_id)] = None;
}

/// Wakes a task, from whatever thread this is.
pub(crate) fn wake(id: TaskId) {
    let here = Core::try_current(|core| {
        core.id == id.loop_id() && {
            core.wake(id);
            true
        }
    });
    if here != Some(true) {
        wake_elsewhere(id);
    }
}

#[cold]
fn wake_elsewhere(id: TaskId) {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let mailbox = registry.get(usize::from(id.loop_id())).and_then(Option::clone);
    drop(registry);
    if let Some(mailbox) = mailbox {
        // Refused only by a loop that has ended, where there is nobody to wake.
        let _ = mailbox.put(Mail::Wake(id), false);
    }
}
