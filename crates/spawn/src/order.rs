//! A process that was ordered of a starter: what goes to its thread, and what comes back.
//!
//! **Invariant:** whoever takes a child out of an order answers for it; one that nobody will take goes to the reaper.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::lent::Lent;
use crate::process::Process;
use crate::{Error, reaper};

/// A child that may not have left our memory yet, or why there is none.
pub(crate) type Made = Result<(Process, Box<Lent>), Error>;

/// What the thread needs to make a child.
#[derive(Debug)]
pub(crate) struct Materials {
    pub(crate) lent: Box<Lent>,
    pub(crate) cgroup: Option<OwnedFd>,
    /// Closed when the child has left our memory, if that is known here by then.
    pub(crate) tie: OwnedFd,
}

#[derive(Debug)]
enum Stage {
    Waiting(Materials),
    /// The thread is at it.
    Making,
    Made(Made),
    /// Nobody wants it any more, or somebody has it.
    Over,
}

/// An order, which the thread and a [`Starting`](crate::Starting) share.
#[derive(Debug)]
pub(crate) struct Order {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl Order {
    pub(crate) fn new(materials: Materials) -> Order {
        Order {
            stage: Mutex::new(Stage::Waiting(materials)),
            changed: Condvar::new(),
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the child, unless the order was cancelled.
    pub(crate) fn carry_out(&self, batch: bool) {
        let waiting = std::mem::replace(&mut *self.stage(), Stage::Making);
        let Stage::Waiting(mut materials) = waiting else {
            *self.stage() = Stage::Over;
            return;
        };
        materials.lent.plan.block.batch = batch;
        let cgroup = materials.cgroup.as_ref().map(AsRawFd::as_raw_fd);
        let process = materials.lent.make(cgroup);
        materials.lent.streams.close_theirs();
        let made = process.map(|process| (process, materials.lent));
        let mut stage = self.stage();
        if matches!(*stage, Stage::Making) {
            *stage = Stage::Made(made);
            self.changed.notify_one();
        } else {
            drop(stage);
            end(made);
        }
        // Last: whoever finds the pipe closed finds the answer too.
        drop(materials.tie);
    }

    /// The child, when the thread has made it; only once.
    pub(crate) fn take(&self) -> Option<Made> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Made(made) => Some(made),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Waits for it. Only for who has not taken it yet.
    pub(crate) fn wait(&self) -> Made {
        let mut stage = self.stage();
        loop {
            match std::mem::replace(&mut *stage, Stage::Over) {
                Stage::Made(made) => return made,
                other => *stage = other,
            }
            stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The number of the process, while it is here.
    pub(crate) fn pid(&self) -> Option<u32> {
        match &*self.stage() {
            Stage::Made(Ok((process, _))) => Some(process.pid()),
            _ => None,
        }
    }

    /// Nobody wants the child: it is not made, or ended.
    pub(crate) fn cancel(&self) {
        let stage = std::mem::replace(&mut *self.stage(), Stage::Over);
        if let Stage::Made(made) = stage {
            end(made);
        }
    }
}

fn end(made: Made) {
    if let Ok((process, lent)) = made {
        reaper::end(process, Some(lent));
    }
}
