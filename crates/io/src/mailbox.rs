//! Messages from other threads to a loop: closures to run and tasks to wake.
//!
//! A locked list, which the loop takes as a whole once per turn, and an `eventfd` that is written only while the loop sleeps
//! in its poll: a busy loop is never interrupted, and a burst of mail costs one wake-up.

use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError, RwLock};

use crate::inbox::Inbox;
use crate::task::TaskId;
use crate::{Error, sys};

pub(crate) enum Mail {
    Wake(TaskId),
    Run(Box<dyn FnOnce() + Send>),
}

/// The mail of one loop.
pub(crate) struct Mailbox {
    inbox: Inbox<Mail>,
    event: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new(max: usize) -> Result<Mailbox, Error> {
        Ok(Mailbox {
            inbox: Inbox::new(max),
            event: sys::event_fd().map_err(Error::system("eventfd"))?,
        })
    }

    pub(crate) fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Sends a mail. It comes back if the loop has ended or, if `bounded`, has too much mail.
    fn put(&self, mail: Mail, bounded: bool) -> Result<(), Mail> {
        if self.inbox.put(mail, bounded)? {
            sys::event_notify(&self.event);
        }
        Ok(())
    }

    /// Takes all mail into `mails`, which must be empty.
    pub(crate) fn take(&self, mails: &mut Vec<Mail>) {
        self.inbox.take(mails);
    }

    /// Announces that the loop is about to sleep; `false` if there is mail, so that it must not.
    pub(crate) fn park(&self) -> bool {
        self.inbox.park()
    }

    pub(crate) fn unpark(&self) {
        self.inbox.unpark();
    }

    /// Refuses mail from now on and returns what is left.
    pub(crate) fn close(&self) -> Vec<Mail> {
        self.inbox.close()
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

    /// Runs `f` on the loop, at the start of its next turn. Returns `false`, and drops `f`, if the loop has ended or
    /// [`Config::mailbox_max`](crate::Config::mailbox_max) mails wait for it.
    pub fn post(&self, f: impl FnOnce() + Send + 'static) -> bool {
        self.mailbox.put(Mail::Run(Box::new(f)), true).is_ok()
    }

    /// Like [`post`](Remote::post) without the bound, for connections, which have a limit of their own.
    pub(crate) fn post_unbounded(&self, f: impl FnOnce() + Send + 'static) -> bool {
        self.mailbox.put(Mail::Run(Box::new(f)), false).is_ok()
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

/// The mailboxes of all loops in the process, by loop id: wakers find their loop here from other threads.
static REGISTRY: RwLock<Vec<Option<Arc<Mailbox>>>> = RwLock::new(Vec::new());

/// Gives a loop an id. Ids are reused: a waker that outlives its loop may wake a task of another loop, which is harmless.
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

/// Has a task of another thread's loop woken.
#[cold]
pub(crate) fn send_wake(id: TaskId) {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let mailbox = registry.get(usize::from(id.loop_id())).and_then(Option::clone);
    drop(registry);
    if let Some(mailbox) = mailbox {
        // Only a loop that has ended refuses it, and that has no tasks.
        let _ = mailbox.put(Mail::Wake(id), false);
    }
}
