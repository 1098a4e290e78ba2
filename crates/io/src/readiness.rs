//! Readiness events, and the tasks that they wake.
//!
//! **Invariant:** no borrow of the sources is held while a waker that is not a task's of this loop runs.

use std::task::Waker;

use crate::core::{ALWAYS, Core, HALF_CLOSED, READABLE, WRITABLE};
use crate::{sys, waker};

/// Notes what became ready of the source that a token names, if it is still that one, and wakes the task that waits for
/// it. Returns whether it is still that one.
#[inline]
pub(crate) fn signal(core: &Core, token: u64, bits: u16) -> bool {
    let split = {
        let mut sources = core.sources.borrow_mut();
        let Some(noted) = sources.note(token, bits, core.timers.tick()) else {
            return false;
        };
        let split = noted.split;
        if let Some(waker) = noted.waker {
            if let Some(id) = waker::task_of(waker).filter(|id| id.loop_id() == core.id) {
                core.wake(id);
            } else {
                let waker = waker.clone();
                drop(sources);
                waker.wake();
            }
        }
        split
    };
    if split && bits & (WRITABLE | ALWAYS) != 0 {
        let writer = core.sources.borrow_mut().take_writer(token);
        writer.into_iter().for_each(Waker::wake);
    }
    true
}

/// Translates an event of the kernel.
#[inline]
pub(crate) fn dispatch(core: &Core, event: &sys::Event) {
    let (events, token) = (event.events, event.u64);
    let mut bits = 0;
    if events & (sys::IN | sys::GONE) != 0 {
        bits |= READABLE;
    }
    if events & (sys::OUT | sys::BROKEN) != 0 {
        bits |= WRITABLE;
    }
    if events & sys::GONE != 0 {
        bits |= HALF_CLOSED;
    }
    signal(core, token, bits);
}

/// The timer of a source fired: a deadline has passed, the source was idle for too long, or neither is so yet.
pub(crate) fn timer_fired(core: &Core, token: u64) {
    let faults = core.sources.borrow_mut().timer_fired(token, &core.timers);
    if faults != 0 {
        signal(core, token, faults);
    }
}

/// Wakes every task that waits for a source: they look at what changed for all, such as a drain that began.
pub(crate) fn wake_all(core: &Core) {
    let wakers = core.sources.borrow().waiting();
    wakers.into_iter().for_each(Waker::wake);
}
