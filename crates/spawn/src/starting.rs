//! A child that was asked for and of which it is not known yet whether it runs the program.

use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::lent::Lent;
use crate::order::{Made, Order};
use crate::process::Process;
use crate::{Child, Error, reaper};

/// A child of which is not known yet whether it runs the program.
///
/// It is a descriptor ([`AsFd`]), which becomes readable when that is known; then [`poll`](Starting::poll) answers. A
/// process that other code forks at the same time may delay the descriptor, though not the answer.
///
/// Dropping it kills the child, as dropping a [`Child`] does.
#[derive(Debug)]
pub struct Starting {
    stage: Stage,
    known: PipeReader,
}

#[derive(Debug)]
enum Stage {
    /// A starter has it.
    Ordered(Arc<Order>),
    Made(Process, Box<Lent>),
    /// It is a child, or has failed.
    Answered,
}

impl Starting {
    pub(crate) fn made(process: Process, lent: Box<Lent>, known: PipeReader) -> Starting {
        Starting {
            stage: Stage::Made(process, lent),
            known,
        }
    }

    pub(crate) fn ordered(order: Arc<Order>, known: PipeReader) -> Starting {
        Starting {
            stage: Stage::Ordered(order),
            known,
        }
    }

    /// The number of the process, if there is one already and it was not answered yet.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        match &self.stage {
            Stage::Ordered(order) => order.pid(),
            Stage::Made(process, _) => Some(process.pid()),
            Stage::Answered => None,
        }
    }

    /// The child, or what failed; `None` when that is not known yet, and after it was answered. A child that failed may
    /// still be about to end, and have its descriptors open, when this answers; [`wait`](Starting::wait) waits for that.
    pub fn poll(&mut self) -> Option<Result<Child, Error>> {
        if let Stage::Ordered(order) = &self.stage {
            let made = order.take()?;
            if let Some(error) = self.accept(made) {
                return Some(Err(error));
            }
        }
        self.answer(|process| reaper::adopt(process, None))
    }

    /// Waits until it is known.
    ///
    /// # Errors
    /// As [`Command::spawn`](crate::Command::spawn).
    ///
    /// # Panics
    /// When [`poll`](Starting::poll) has answered already.
    pub fn wait(mut self) -> Result<Child, Error> {
        if let Stage::Ordered(order) = &self.stage {
            let made = order.wait();
            if let Some(error) = self.accept(made) {
                return Err(error);
            }
        }
        loop {
            if let Some(known) = self.answer(reap) {
                return known;
            }
            let Stage::Made(_, lent) = &self.stage else {
                panic!("`poll` has answered already");
            };
            lent.await_leaving();
        }
    }

    /// Takes over what a starter has made, or answers why it has not.
    fn accept(&mut self, made: Made) -> Option<Error> {
        match made {
            Ok((process, lent)) => {
                self.stage = Stage::Made(process, lent);
                None
            }
            Err(error) => {
                self.stage = Stage::Answered;
                Some(error)
            }
        }
    }

    fn answer(&mut self, end: impl FnOnce(Process)) -> Option<Result<Child, Error>> {
        if matches!(&self.stage, Stage::Made(_, lent) if lent.is_used()) {
            return None;
        }
        let Stage::Made(process, mut lent) = std::mem::replace(&mut self.stage, Stage::Answered) else {
            return None;
        };
        match lent.plan.failure() {
            None => Some(Ok(Child::new(process, std::mem::take(&mut lent.streams)))),
            Some(error) => {
                drop(lent);
                end(process);
                Some(Err(error))
            }
        }
    }
}

impl AsFd for Starting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.known.as_fd()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Answered) {
            Stage::Ordered(order) => order.cancel(),
            Stage::Made(process, lent) => reaper::end(process, Some(lent)),
            Stage::Answered => {}
        }
    }
}

/// Reaps a child that has reported a failure, and so has nothing left to do but end.
pub(crate) fn reap(mut process: Process) {
    // An error means that somebody else reaped it.
    let _ = process.wait(true);
}
