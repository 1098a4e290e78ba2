//! The loop itself: the order of a turn.

use std::future::Future;
use std::os::fd::AsFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::core::{Core, Timer};
use crate::counters::Counters;
use crate::flush::empty_outbox;
use crate::mailbox::{Mail, Remote};
use crate::task::TaskId;
use crate::waker::waker_of;
use crate::{Config, Error, readiness, sys};

/// Tasks that are polled in one turn before the kernel is asked again.
const TASKS_PER_TURN: usize = 256;
/// Tasks whose small outputs leave together. More save nothing, and the first would wait for longer.
const GROUP: usize = 16;
/// Events that are taken from the kernel at once.
const EVENTS_PER_TURN: usize = 256;
/// The token of the mailbox's event, which no source has: there are fewer than 2³² − 1 of them.
const MAILBOX_TOKEN: u64 = u64::MAX;

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
        let main_waker = waker_of(TaskId::main(core.id));
        core.wake(TaskId::main(core.id));

        let mut events = vec![sys::Event { events: 0, u64: 0 }; EVENTS_PER_TURN];
        let (mut mails, mut due) = (Vec::new(), Vec::new());
        loop {
            take_mail(core, &mut mails);
            if core.scheduler.take_main_ready() {
                core.scheduler.grant();
                if let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&main_waker)) {
                    core.run_turn_end();
                    return output;
                }
            }
            run_tasks(core, TASKS_PER_TURN);
            core.run_turn_end();
            expire_timers(core, &mut due);
            poll(core, &mut events).expect("epoll_wait fails only when its arguments are wrong");
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

/// Runs the mail.
fn take_mail(core: &Core, mails: &mut Vec<Mail>) {
    core.mailbox.take(mails);
    for mail in mails.drain(..) {
        match mail {
            Mail::Wake(id) => core.wake(id),
            Mail::Run(f) => {
                core.guard("a mail", f);
            }
        }
    }
}

/// Polls tasks that are ready now, `max` at most; those that they make ready have to wait for the next turn.
fn run_tasks(core: &Core, max: usize) {
    let scheduler = &core.scheduler;
    let mut ready = scheduler.ready().min(max);
    while ready > 0 {
        let group = ready.min(GROUP);
        ready -= group;
        for followers in (0..group).rev() {
            scheduler.set_followers(followers);
            run_task(core);
            // After a task that took long, the outputs of the others have waited long enough.
            if core.outbox.borrow().is_full() || scheduler.took_long() {
                empty_outbox(core);
            }
        }
        empty_outbox(core);
    }
}

fn run_task(core: &Core) {
    let scheduler = &core.scheduler;
    if let Some((id, mut future)) = scheduler.next() {
        let waker = waker_of(id);
        let polled = core.guard("a task", || {
            future.as_mut().poll(&mut Context::from_waker(&waker))
        });
        if matches!(polled, Some(poll) if poll.is_pending()) {
            let aborted = scheduler.give_back(id, future);
            if aborted.is_some() {
                core.guard("the end of a task", move || drop(aborted));
            }
        } else {
            scheduler.retire(id);
            core.guard("the end of a task", move || drop(future));
        }
    }
}

/// Fires what is due.
fn expire_timers(core: &Core, due: &mut Vec<Timer>) {
    core.timers.expire(due);
    if due.is_empty() {
        return;
    }
    for timer in due.drain(..) {
        match timer {
            Timer::Wake(waker) => waker.wake(),
            Timer::Source(token) => readiness::timer_fired(core, token),
        }
    }
}

/// Waits for events, if nothing is left to do, and notes them.
fn poll(core: &Core, events: &mut [sys::Event]) -> Result<(), Error> {
    let timeout = time_to_wait(core);
    let result = sys::epoll_wait(&core.epoll, events, timeout);
    if timeout != Some(Duration::ZERO) {
        core.mailbox.unpark();
    }
    core.timers.read_clock();
    let count = result.map_err(Error::system("epoll_wait"))?;
    for event in &events[..count] {
        // The mailbox's own event has done its work by ending the wait. It is edge-triggered: nothing is read from it.
        if event.u64 != MAILBOX_TOKEN {
            readiness::dispatch(core, event);
        }
    }
    Ok(())
}

/// How long the poll may wait: `None` is until something happens.
fn time_to_wait(core: &Core) -> Option<Duration> {
    let busy = core.scheduler.is_ready() || core.has_turn_end();
    if busy || !core.mailbox.park() {
        return Some(Duration::ZERO);
    }
    core.timers.time_to_next()
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
    Core::with(|core| core.scheduler.spend_bytes(bytes));
}

/// Which of its [`Loops`](crate::Loops) this thread's loop is, from 0.
///
/// # Panics
/// When no loop runs on this thread.
#[must_use]
pub fn loop_index() -> usize {
    Core::with(|core| core.index)
}
