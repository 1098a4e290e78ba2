//! What tasks wait on: sockets, descriptors, and ends of in-memory pairs, each with its readiness and its waiter.
//!
//! The kernel tells edges, so readiness is remembered here: a bit is set by an event and cleared by whoever finds, by a
//! short read or a refused write, that there is no more. All sources of a loop stand densely in one table; the token
//! that the kernel keeps for us is the place in it and its generation.
//!
//! **Invariant:** no borrow of the table is held while a waker of somebody else's runs.

use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use crate::core::{Core, Timer};
use crate::task::TaskId;
use crate::{Error, sys, wheel};

/// Readiness, and interest in it.
pub(crate) const READABLE: u8 = 1;
pub(crate) const WRITABLE: u8 = 2;
/// The peer ended its side: a short read does not mean that there is no more to learn.
pub(crate) const HALF_CLOSED: u8 = 4;
/// Nothing came or went for the idle time-out.
pub(crate) const EXPIRED: u8 = 8;
/// An output lies in the outbox.
pub(crate) const POSTED: u8 = 16;
/// An output that lay in the outbox did not leave, or not whole.
pub(crate) const RETURNED: u8 = 32;

#[derive(Default)]
struct Entry {
    waker: Option<Waker>,
    generation: u32,
    bits: u8,
    /// What the waker waits for; nothing when nobody waits.
    interest: u8,
    /// When something last happened, in ticks that go round in 49 days.
    active: u32,
    /// Idle time-out in ticks; 0 is none.
    idle: u32,
    timer: Option<wheel::Key>,
}

/// The sources of one loop.
#[derive(Default)]
pub(crate) struct Sources {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Sources {
    fn insert(&mut self, bits: u8, tick: u32) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[index as usize];
        *entry = Entry {
            generation: entry.generation,
            bits,
            active: tick,
            ..Entry::default()
        };
        index
    }

    fn token(&self, index: u32) -> u64 {
        u64::from(self.entries[index as usize].generation) << 32 | u64::from(index)
    }

    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(token as u32 as usize)?;
        (entry.generation == (token >> 32) as u32).then_some(entry)
    }

    /// The output that lay in the outbox is not there any more.
    #[inline]
    pub(crate) fn left(&mut self, token: u64, whole: bool) {
        if let Some(entry) = self.entry(token) {
            entry.bits &= if whole { !POSTED } else { !(POSTED | WRITABLE) };
        }
    }

    /// Notes what became ready and answers whom to wake.
    #[inline]
    fn note(&mut self, token: u64, bits: u8, tick: u32) -> Option<&Waker> {
        let entry = self.entry(token)?;
        entry.bits |= bits;
        entry.active = tick;
        if entry.interest & bits == 0 {
            return None;
        }
        entry.interest = 0;
        entry.waker.as_ref()
    }
}

/// Notes readiness of the source that a token names, if it is still that one, and wakes who waits for it.
#[inline]
pub(crate) fn signal(core: &Core, token: u64, bits: u8) {
    let mut sources = core.sources.borrow_mut();
    let Some(waker) = sources.note(token, bits, core.tick()) else {
        return;
    };
    if let Some(id) = TaskId::of(waker).filter(|id| id.loop_id() == core.id) {
        core.wake(id);
    } else {
        let waker = waker.clone();
        drop(sources);
        waker.wake();
    }
}

/// What an event of the kernel's means to a source.
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

/// The idle timer of a source fired: it was idle so long, or it is looked at again when it could have been.
pub(crate) fn idle_timer_fired(core: &Core, token: u64) {
    let mut sources = core.sources.borrow_mut();
    let Some(entry) = sources.entry(token) else { return };
    let quiet = core.tick().wrapping_sub(entry.active);
    // Who is not waiting for the peer is at work for it: the peer is not to blame for the silence.
    if quiet >= entry.idle && entry.interest != 0 {
        entry.timer = None;
        drop(sources);
        signal(core, token, EXPIRED | READABLE | WRITABLE);
        return;
    }
    let rest = if quiet < entry.idle {
        entry.idle - quiet
    } else {
        entry.idle
    };
    entry.timer = Some(core.insert_timer(u64::from(rest), Timer::Idle(token)));
}

/// A place in the table, given back on drop.
pub(crate) struct Source {
    pub(crate) core: Rc<Core>,
    index: u32,
}

impl Source {
    /// A source that is not the kernel's: who makes it ready calls [`signal`] with its token.
    pub(crate) fn new(core: &Rc<Core>, bits: u8) -> Source {
        let index = core.sources.borrow_mut().insert(bits, core.tick());
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

    fn with<R>(&self, f: impl FnOnce(&mut Entry) -> R) -> R {
        f(&mut self.core.sources.borrow_mut().entries[self.index as usize])
    }

    #[inline]
    pub(crate) fn bits(&self) -> u8 {
        self.with(|entry| entry.bits)
    }

    #[inline]
    pub(crate) fn clear(&self, bits: u8) {
        self.with(|entry| entry.bits &= !bits);
    }

    /// Notes that an output goes to the outbox, unless another of its has not left; answers the token.
    #[inline]
    pub(crate) fn post(&self) -> Option<u64> {
        let mut sources = self.core.sources.borrow_mut();
        let entry = &mut sources.entries[self.index as usize];
        if entry.bits & (POSTED | RETURNED) != 0 {
            return None;
        }
        entry.bits |= POSTED;
        Some(sources.token(self.index))
    }

    /// A short read happened: there is no more, unless the peer has ended its side, which a further read must tell.
    #[inline]
    pub(crate) fn drained(&self) {
        self.with(|entry| {
            if entry.bits & HALF_CLOSED == 0 {
                entry.bits &= !READABLE;
            }
        });
    }

    /// Has the task woken by any of `interest`.
    #[inline]
    pub(crate) fn wait(&self, context: &Context<'_>, interest: u8) {
        self.with(|entry| {
            entry.interest = interest | EXPIRED | RETURNED;
            match &mut entry.waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => entry.waker = Some(context.waker().clone()),
            }
        });
    }

    /// Sets the idle time-out; zero is none.
    pub(crate) fn set_idle(&self, timeout: Duration) {
        let ticks = u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX / 2);
        let token = self.token();
        let old = self.with(|entry| {
            entry.idle = ticks;
            entry.active = self.core.tick();
            entry.timer.take()
        });
        if let Some(key) = old {
            self.core.cancel_timer(key);
        }
        if ticks > 0 {
            let key = self.core.insert_timer(u64::from(ticks), Timer::Idle(token));
            self.with(|entry| entry.timer = Some(key));
        }
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_millis(self.with(|entry| entry.idle).into())
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
        let (timer, waker) = {
            let mut sources = self.core.sources.borrow_mut();
            let entry = &mut sources.entries[self.index as usize];
            entry.generation = entry.generation.wrapping_add(1);
            entry.interest = 0;
            let taken = (entry.timer.take(), entry.waker.take());
            sources.free.push(self.index);
            taken
        };
        drop(waker);
        if let Some(key) = timer {
            self.core.cancel_timer(key);
        }
    }
}

/// Wakes every task that waits for a source: they look at what changed for all, such as a drain that began.
pub(crate) fn wake_all(core: &Core) {
    let wakers: Vec<Waker> = {
        let sources = core.sources.borrow();
        sources
            .entries
            .iter()
            .filter(|entry| entry.interest != 0)
            .filter_map(|entry| entry.waker.clone())
            .collect()
    };
    wakers.into_iter().for_each(Waker::wake);
}
