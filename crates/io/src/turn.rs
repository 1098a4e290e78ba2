//! The loop itself: the order of a turn.

use std::future::Future;
use std::os::fd::AsFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::core::{Core, Counters, MAILBOX_TOKEN};
use crate::mailbox::Remote;
use crate::task::TaskId;
use crate::{Config, Error, sys};

/// Tasks that are polled in one turn before the kernel is asked again.
const TASKS_PER_TURN: usize = 256;
/// Events that are taken from the kernel at once.
const EVENTS_PER_TURN: usize = 256;

/// One loop on the present thread, for programs with one loop and for tests. Servers use [`Loops`](crate::Loops).
pub struct Loop {
    core: Rc<Core>,
}

impl Loop {
    /// Makes a loop.
    ///
    /// # Errors
    /// When the kernel has no more descriptors to give.
    pub fn new(config: Config) -> Result<Loop, Error> {
        Loop::with_counters(config, 0, Arc::default())
    }

    pub(crate) fn with_counters(
        config: Config,
        index: usize,
        counters: Arc<Counters>,
    ) -> Result<Loop, Error> {
        let core = Core::new(config, index, counters)?;
        sys::epoll_add(&core.epoll, core.mailbox.event().as_fd(), MAILBOX_TOKEN)
            .map_err(Error::system("epoll_ctl"))?;
        Ok(Loop { core })
    }

    /// A handle on it for other threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote::new(Arc::clone(&self.core.mailbox))
    }

    /// Drives `future`, and all that is [spawned](crate::spawn) meanwhile, until it ends. Tasks that have not
    /// ended go on in the next `run`, or is dropped with the loop.
    ///
    /// # Panics
    /// When this thread runs a loop already, or the kernel refuses to poll, and with `future`'s own panic.
    pub fn run<F: Future>(&mut self, future: F) -> F::Output {
        let entered = Entered::new(&self.core);
        let core = &*entered.0;
        let mut main = pin!(future);
        let main_waker = TaskId::main(core.id).waker();
        core.wake(TaskId::main(core.id));

        let mut events = vec![sys::Event { events: 0, u64: 0 }; EVENTS_PER_TURN];
        let (mut mails, mut due) = (Vec::new(), Vec::new());
        loop {
            core.take_mail(&mut mails);
            if core.take_main_ready() {
                core.grant();
                if let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&main_waker)) {
                    core.run_turn_end();
                    return output;
                }
            }
            core.run_tasks(TASKS_PER_TURN);
            core.run_turn_end();
            core.expire_timers(&mut due);
            core.poll(&mut events)
                .expect("epoll_wait fails only when its arguments are wrong");
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _entered = Entered::new(&self.core);
        self.core.end_tasks();
        self.core.forget_turn_end();
        // Unread mail may own connections.
        drop(self.core.mailbox.close());
        // Dropping that may have spawned again.
        self.core.end_tasks();
    }
}

impl std::fmt::Debug for Loop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loop")
            .field("index", &self.core.index)
            .finish_non_exhaustive()
    }
}

/// The loop is this thread's as long as this lives.
struct Entered(Rc<Core>);

impl Entered {
    fn new(core: &Rc<Core>) -> Entered {
        assert!(
            Core::try_current(|_| ()).is_none(),
            "this thread runs a loop already"
        );
        Core::set_current(Some(Rc::clone(core)));
        Entered(Rc::clone(core))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        Core::set_current(None);
    }
}

/// Calls `f` when the tasks that are ready in this turn have run, before the loop waits: the place for what should happen
/// once for many, such as one `fsync` for all that was appended.
///
/// # Panics
/// When no loop runs on this thread.
pub fn at_turn_end(f: impl FnOnce() + 'static) {
    Core::with(|core| core.at_turn_end(Box::new(f)));
}

/// Counts bytes that the running task moved in memory, such as a large value that it copied, against what a task may move
/// before it gives way to the others. The loop counts what streams read and write itself.
///
/// # Panics
/// When no loop runs on this thread.
pub fn charge(bytes: usize) {
    Core::with(|core| core.spend_bytes(bytes));
}

/// Which of its [`Loops`](crate::Loops) this thread's loop is, from 0.
///
/// # Panics
/// When no loop runs on this thread.
#[must_use]
pub fn loop_index() -> usize {
    Core::with(|core| core.index)
}
