//! Event sources: sockets, descriptors and ends of in-memory pairs, each with its readiness and its waiting task.
//!
//! Events are edge-triggered, so the table remembers readiness: an event sets a bit, and a short read or a refused write
//! clears it. All sources of a loop stand densely in one table; the token
//! that the kernel keeps for us is the place in it and its generation.
//!
//! **Invariant:** no borrow of the table is held while a waker that is not a task's of this loop runs.

use std::collections::HashMap;
use std::mem;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use crate::core::{Core, Timer};
use crate::task::TaskId;
use crate::{Error, sys, wheel};

/// Readiness, and interest in it.
pub(crate) const READABLE: u16 = 1;
pub(crate) const WRITABLE: u16 = 2;
/// The peer ended its side: after a short read, another read returns the end or the error.
pub(crate) const HALF_CLOSED: u16 = 4;
/// No byte moved for the idle timeout.
pub(crate) const EXPIRED: u16 = 8;
/// An output lies in the outbox.
pub(crate) const POSTED: u16 = 16;
/// An output that lay in the outbox did not leave, or not whole.
pub(crate) const RETURNED: u16 = 32;
/// The deadline has passed.
pub(crate) const LATE: u16 = 64;
/// The connection held the most when the loop's connections held too much, and has to end.
pub(crate) const EVICTED: u16 = 128;
/// A notifier has asked for an exchange.
pub(crate) const NOTIFIED: u16 = 256;
/// The halves of the stream are used by themselves: the writing one has a waker of its own.
const SPLIT: u16 = 512;

/// The TLS handshake has lost its permit to another one.
pub(crate) const DISPLACED: u16 = 1024;

/// Bits that every method of a stream checks first.
pub(crate) const FAULTS: u16 = EXPIRED | LATE | EVICTED | DISPLACED;
/// Bits that wake every waiting task.
const ALWAYS: u16 = FAULTS | RETURNED;

#[derive(Default)]
struct Entry {
    waker: Option<Waker>,
    /// Bytes that the connection keeps outside the loop's buffers.
    held: usize,
    generation: u32,
    /// When a byte last moved, in ticks modulo 2³².
    active: u32,
    /// Idle timeout in ticks; 0 is none.
    idle: u32,
    /// The deadline in ticks; 0 is none.
    deadline: u32,
    /// Bytes that the peer had not acknowledged when the idle timer last fired.
    unacknowledged: u32,
    /// Fires when the source may have been idle for too long, or at the deadline, or before.
    timer: wheel::Key,
    bits: u16,
    /// Bits that the task waits for; 0 when no task waits.
    interest: u16,
}

/// The sources of one loop.
#[derive(Default)]
pub(crate) struct Sources {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The wakers of writing halves, by index.
    writers: HashMap<u32, Waker>,
}

impl Sources {
    fn insert(&mut self, bits: u16, tick: u32) -> u32 {
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

    #[inline]
    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(token as u32 as usize)?;
        (entry.generation == (token >> 32) as u32).then_some(entry)
    }

    /// The output that lay in the outbox is not there any more.
    #[inline]
    pub(crate) fn left(&mut self, token: u64, whole: bool, tick: u32) {
        if let Some(entry) = self.entry(token) {
            if whole {
                entry.bits &= !POSTED;
                entry.active = tick;
            } else {
                entry.bits &= !(POSTED | WRITABLE);
            }
        }
    }

    /// Bytes that the connection of a source holds, and whether it has to end for holding the most.
    pub(crate) fn held(&mut self, token: u64) -> (usize, bool) {
        let entry = self.entry(token);
        entry.map_or((0, false), |entry| (entry.held, entry.bits & EVICTED != 0))
    }

    pub(crate) fn set_held(&mut self, token: u64, held: usize) {
        if let Some(entry) = self.entry(token) {
            entry.held = held;
        }
    }

    /// The connection that holds the most of those that need not end already, and the bytes it holds.
    pub(crate) fn largest_holder(&self) -> Option<(u64, usize)> {
        let candidates = self.entries.iter().enumerate();
        let (index, entry) = candidates
            .filter(|(_, entry)| entry.held > 0 && entry.bits & EVICTED == 0)
            .max_by_key(|(_, entry)| entry.held)?;
        Some((self.token(index as u32), entry.held))
    }

    fn is_waited_for(&self, token: u64) -> bool {
        let index = token as u32;
        self.entries[index as usize].interest != 0 || self.writers.contains_key(&index)
    }
}

/// Notes what became ready of the source that a token names, if it is still that one, and wakes the task that waits for
/// it. Returns whether it is still that one.
#[inline]
pub(crate) fn signal(core: &Core, token: u64, bits: u16) -> bool {
    let split = {
        let mut sources = core.sources.borrow_mut();
        let Some(entry) = sources.entry(token) else {
            return false;
        };
        entry.bits |= bits;
        if bits & (READABLE | WRITABLE) != 0 {
            entry.active = core.tick();
        }
        let split = entry.bits & SPLIT != 0;
        if entry.interest & bits != 0 {
            entry.interest = 0;
            if let Some(waker) = &entry.waker {
                if let Some(id) = TaskId::of(waker).filter(|id| id.loop_id() == core.id) {
                    core.wake(id);
                } else {
                    let waker = waker.clone();
                    drop(sources);
                    waker.wake();
                }
            }
        }
        split
    };
    if split && bits & (WRITABLE | ALWAYS) != 0 {
        wake_writer(core, token);
    }
    true
}

/// Wakes the task of a writing half, if it waits.
fn wake_writer(core: &Core, token: u64) {
    let mut sources = core.sources.borrow_mut();
    if !sources.writers.is_empty() {
        let writer = sources.writers.remove(&(token as u32));
        drop(sources);
        writer.into_iter().for_each(Waker::wake);
    }
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
    let mut sources = core.sources.borrow_mut();
    let Some(entry) = sources.entry(token) else { return };
    entry.timer = wheel::Key::NONE;
    let tick = core.tick();
    let mut faults = 0;
    if entry.deadline != 0 && ticks_until(entry.deadline, tick) == 0 {
        entry.deadline = 0;
        faults |= LATE;
    }
    if entry.idle > 0 && tick.wrapping_sub(entry.active) >= entry.idle {
        // While no task waits, one is at work for the peer, which is not to blame for the silence.
        if sources.is_waited_for(token) {
            faults |= EXPIRED;
        } else if let Some(entry) = sources.entry(token) {
            entry.active = tick;
        }
    }
    if let Some(entry) = sources.entry(token) {
        entry.arm(core, token, faults & EXPIRED == 0);
    }
    drop(sources);
    if faults != 0 {
        signal(core, token, faults);
    }
}

/// Ticks from `tick` to `deadline`, both modulo 2³²; 0 when it has passed.
fn ticks_until(deadline: u32, tick: u32) -> u32 {
    let left = deadline.wrapping_sub(tick);
    if left > u32::MAX / 2 { 0 } else { left }
}

impl Entry {
    /// Ticks from now until there is something to look at: the deadline or, if `idle`, the end of the idle timeout.
    fn ticks_left(&self, tick: u32, idle: bool) -> Option<u32> {
        let quiet = tick.wrapping_sub(self.active);
        let to_idle = (idle && self.idle > 0).then(|| self.idle.saturating_sub(quiet));
        let to_deadline = (self.deadline != 0).then(|| ticks_until(self.deadline, tick));
        match (to_idle, to_deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Has the timer fire in time. One that fires too early stays, and is put back when it does: deadlines that are set
    /// and lifted with every request cost no timer each.
    fn arm(&mut self, core: &Core, token: u64, idle: bool) {
        let Some(left) = self.ticks_left(core.tick(), idle) else {
            return;
        };
        if core.timer_fires_within(self.timer, u64::from(left)) {
            return;
        }
        core.cancel_timer(self.timer);
        self.timer = core.insert_timer(u64::from(left), Timer::Source(token));
    }
}

/// A place in the table, given back on drop.
pub(crate) struct Source {
    pub(crate) core: Rc<Core>,
    index: u32,
}

impl Source {
    /// A source that is not the kernel's: who makes it ready calls [`signal`] with its token.
    pub(crate) fn new(core: &Rc<Core>, bits: u16) -> Source {
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

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Entry) -> R) -> R {
        f(&mut self.core.sources.borrow_mut().entries[self.index as usize])
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
            let done = entry.held == held || core.try_hold(entry.held, held);
            if done {
                entry.held = held;
            }
            done
        });
        if done {
            Ok(())
        } else {
            core.hold(self.token(), held)
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
        let entry = &mut sources.entries[self.index as usize];
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
        let tick = self.core.tick();
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
        let tick = self.core.tick();
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
        sources.writers.insert(self.index, context.waker().clone());
    }

    /// Lets the halves of the stream wait by themselves, or together again.
    pub(crate) fn set_split(&self, split: bool) {
        let mut sources = self.core.sources.borrow_mut();
        let entry = &mut sources.entries[self.index as usize];
        if split {
            entry.bits |= SPLIT;
        } else {
            entry.bits &= !SPLIT;
            sources.writers.remove(&self.index);
        }
    }

    /// Sets the idle timeout; zero is none.
    pub(crate) fn set_idle(&self, timeout: Duration) {
        let ticks = u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX / 2);
        let token = self.token();
        let tick = self.core.tick();
        self.with(|entry| {
            entry.idle = ticks;
            entry.active = tick;
            entry.bits &= !EXPIRED;
            entry.arm(&self.core, token, true);
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
                entry.arm(&self.core, token, entry.bits & EXPIRED == 0);
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
        let (timer, waker) = {
            let mut sources = self.core.sources.borrow_mut();
            sources.writers.remove(&self.index);
            let entry = &mut sources.entries[self.index as usize];
            entry.generation = entry.generation.wrapping_add(1);
            (entry.interest, entry.held) = (0, 0);
            let taken = (mem::take(&mut entry.timer), entry.waker.take());
            sources.free.push(self.index);
            taken
        };
        drop(waker);
        self.core.cancel_timer(timer);
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
            .chain(sources.writers.values().cloned())
            .collect()
    };
    wakers.into_iter().for_each(Waker::wake);
}
