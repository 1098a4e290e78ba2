//! Output that no input asks for: a notifier has a stream's closure called.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::core::{Core, NOTIFIED};
use crate::mailbox::Remote;
use crate::readiness;

/// Has a stream's exchange call its closure although there may be no input; made by
/// [`Stream::notifier`](crate::Stream::notifier).
///
/// Notifications are not counted: however many come before the closure runs, it runs once. A notification that comes
/// while the stream is not in an exchange, or still sends earlier output, is kept for when it can run.
#[derive(Clone)]
pub struct Notifier {
    core: Rc<Core>,
    token: u64,
}

impl Notifier {
    pub(crate) fn new(core: &Rc<Core>, token: u64) -> Notifier {
        Notifier {
            core: Rc::clone(core),
            token,
        }
    }

    /// Asks for an exchange. Returns whether the stream still exists.
    pub fn notify(&self) -> bool {
        readiness::signal(&self.core, self.token, NOTIFIED)
    }

    /// The same for other threads.
    #[must_use]
    pub fn remote(&self) -> RemoteNotifier {
        RemoteNotifier {
            shared: Arc::new(Shared {
                remote: Remote::new(Arc::clone(&self.core.mailbox)),
                token: self.token,
                pending: AtomicBool::new(false),
            }),
        }
    }
}

/// A [`Notifier`] for other threads.
#[derive(Clone)]
pub struct RemoteNotifier {
    shared: Arc<Shared>,
}

struct Shared {
    remote: Remote,
    token: u64,
    /// True if a notification is on its way, so that the loop's mailbox contains at most one.
    pending: AtomicBool,
}

impl RemoteNotifier {
    /// Asks for an exchange. Returns `false` if the loop has ended.
    pub fn notify(&self) -> bool {
        if self.shared.pending.swap(true, Ordering::AcqRel) {
            return true;
        }
        let shared = Arc::clone(&self.shared);
        self.shared.remote.post_unbounded(move || {
            // Before the signal: what is written after this is either seen by the closure or notified again.
            shared.pending.swap(false, Ordering::AcqRel);
            Core::with(|core| readiness::signal(core, shared.token, NOTIFIED));
        })
    }
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RemoteNotifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteNotifier").finish_non_exhaustive()
    }
}
