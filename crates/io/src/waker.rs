//! The wakers of tasks.
//!
//! **Invariant:** a waker contains no pointer but the word that identifies its task, so cloning is copying, and it may
//! outlive its task and its loop, on any thread. The worst that a stale one can do, once generations wrap around, is to
//! poll a task once too often, which futures must tolerate anyway.
#![allow(unsafe_code)]

use std::ptr;
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::core::Core;
use crate::mailbox;
use crate::task::TaskId;

/// A waker of a task.
pub(crate) fn waker_of(id: TaskId) -> Waker {
    // SAFETY: the functions of `VTABLE` treat the data as a number and follow no pointer, so they are sound for every
    // value, on every thread, at any time.
    unsafe { Waker::from_raw(raw_waker(id)) }
}

/// The task that a waker wakes; `None` if the waker is not one of ours.
pub(crate) fn task_of(waker: &Waker) -> Option<TaskId> {
    ptr::eq(waker.vtable(), &raw const VTABLE).then(|| TaskId::from_word(waker.data().addr()))
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| raw_waker(TaskId::from_word(data.addr())),
    |data| wake(TaskId::from_word(data.addr())),
    |data| wake(TaskId::from_word(data.addr())),
    |_| (),
);

fn raw_waker(id: TaskId) -> RawWaker {
    RawWaker::new(ptr::without_provenance(id.word()), &VTABLE)
}

/// Wakes a task, from any thread.
fn wake(id: TaskId) {
    let here = Core::try_current(|core| {
        core.id == id.loop_id() && {
            core.wake(id);
            true
        }
    });
    if here != Some(true) {
        mailbox::send_wake(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waker_knows_its_task() {
        let id = TaskId::from_word(0xffff_ffff_ffff_fffe);
        assert_eq!(task_of(&waker_of(id).clone()), Some(id));
        assert_eq!(task_of(Waker::noop()), None);
    }
}
