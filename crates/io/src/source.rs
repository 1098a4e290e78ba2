//! One event source as its owner sees it: the readiness of a socket, a descriptor or an end of an in-memory pair.

use std::mem;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use crate::core::{
    ALWAYS, Core, EXPIRED, Entry, HALF_CLOSED, LATE, POSTED, READABLE, RETURNED, SPLIT, WRITABLE,
};
use crate::{Error, eviction, sys};

/// A place in the table, given back on drop.
pub(crate) struct Source {
    pub(crate) core: Rc<Core>,
    index: u32,
}

impl Source {
    /// A source that is not the kernel's: who makes it ready calls [`signal`](crate::readiness::signal) with its token.
    pub(crate) fn new(core: &Rc<Core>, bits: u16) -> Source {
        let index = core.sources.borrow_mut().insert(bits, core.timers.tick());
        Source {
            core: Rc::clone(core),
            index,
        }
    }

    /// A source for a descriptor. Readable it becomes by an event, which comes at once if it is already.
    pub(crate) fn register(core: &Rc<Core>, fd: impl AsFd) -> Result<Source, Error> {
        let source = Source::new(core, WRITABLE);
        sys::epoll_add(&core.epoll, fd.as_fd(), source.token()).map_err(Error::system("epoll_ctl"))?;
        Ok(source)
    }

    pub(crate) fn token(&self) -> u64 {
        self.core.sources.borrow().token(self.index)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Entry) -> R) -> R {
        f(self.core.sources.borrow_mut().at(self.index))
    }

    #[inline]
    pub(crate) fn bits(&self) -> u16 {
        self.with(|entry| entry.bits)
    }

    #[inline]
    pub(crate) fn set(&self, bits: u16) {
        self.with(|entry| entry.bits |= bits);
    }

    #[inline]
    pub(crate) fn clear(&self, bits: u16) {
        self.with(|entry| entry.bits &= !bits);
    }

    /// Tells the loop what the connection holds from now on.
    #[inline]
    pub(crate) fn hold(&self, held: usize) -> Result<(), Error> {
        let core = &self.core;
        let done = self.with(|entry| {
            let done = entry.held == held || core.memory.try_hold(entry.held, held);
            if done {
                entry.held = held;
            }
            done
        });
        if done {
            Ok(())
        } else {
            eviction::hold(core, self.token(), held)
        }
    }

    /// Bytes that the connection holds.
    pub(crate) fn held(&self) -> usize {
        self.with(|entry| entry.held)
    }

    /// Notes that an output goes to the outbox, unless another of its has not left; returns the token.
    #[inline]
    pub(crate) fn post(&self) -> Option<u64> {
        let mut sources = self.core.sources.borrow_mut();
        let entry = sources.at(self.index);
        if entry.bits & (POSTED | RETURNED) != 0 {
            return None;
        }
        entry.bits |= POSTED;
        Some(sources.token(self.index))
    }

    /// Notes a short read: the source is not readable any more, unless the peer has ended its side.
    #[inline]
    pub(crate) fn drained(&self) {
        self.with(|entry| {
            if entry.bits & HALF_CLOSED == 0 {
                entry.bits &= !READABLE;
            }
        });
    }

    /// Bytes moved, of a write that the kernel took `whole` or not.
    #[inline]
    pub(crate) fn wrote(&self, whole: bool) {
        let tick = self.core.timers.tick();
        self.with(|entry| {
            entry.active = tick;
            if !whole {
                entry.bits &= !WRITABLE;
            }
        });
    }

    /// Bytes moved that no event told of.
    #[inline]
    pub(crate) fn touch(&self) {
        let tick = self.core.timers.tick();
        self.with(|entry| entry.active = tick);
    }

    /// Has the task woken by any of `interest`.
    #[inline]
    pub(crate) fn wait(&self, context: &Context<'_>, interest: u16) {
        self.with(|entry| {
            entry.interest = interest | ALWAYS;
            match &mut entry.waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => entry.waker = Some(context.waker().clone()),
            }
        });
    }

    /// Has the task woken when output can leave: the task of the writing half, if the stream is split.
    pub(crate) fn wait_for_output(&self, context: &Context<'_>) {
        if self.bits() & SPLIT == 0 {
            return self.wait(context, WRITABLE);
        }
        let mut sources = self.core.sources.borrow_mut();
        sources.insert_writer(self.index, context.waker().clone());
    }

    /// Lets the halves of the stream wait by themselves, or together again.
    pub(crate) fn set_split(&self, split: bool) {
        self.core.sources.borrow_mut().set_split(self.index, split);
    }

    /// Sets the idle timeout; zero is none.
    pub(crate) fn set_idle(&self, timeout: Duration) {
        let ticks = u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX / 2);
        let token = self.token();
        let tick = self.core.timers.tick();
        self.with(|entry| {
            entry.idle = ticks;
            entry.active = tick;
            entry.bits &= !EXPIRED;
            entry.arm(&self.core.timers, token, true);
        });
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_millis(self.with(|entry| entry.idle).into())
    }

    /// Sets the deadline, a tick, or lifts it.
    pub(crate) fn set_deadline(&self, deadline: Option<u32>) {
        let token = self.token();
        self.with(|entry| {
            entry.bits &= !LATE;
            // A deadline on the one tick that stands for none is moved by a millisecond.
            entry.deadline = deadline.map_or(0, |tick| tick.max(1));
            if deadline.is_some() {
                entry.arm(&self.core.timers, token, entry.bits & EXPIRED == 0);
            }
        });
    }

    /// Notes how many bytes the peer has not acknowledged; returns whether that changed since the last time.
    pub(crate) fn note_unacknowledged(&self, bytes: u32) -> bool {
        self.with(|entry| mem::replace(&mut entry.unacknowledged, bytes) != bytes)
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let (timer, waker) = self.core.sources.borrow_mut().remove(self.index);
        drop(waker);
        self.core.timers.cancel(timer);
    }
}
