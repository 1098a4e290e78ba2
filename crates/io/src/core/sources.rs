//! The table of a loop's event sources: sockets, descriptors and ends of in-memory pairs, each with its readiness and its
//! waiting task.
//!
//! Events are edge-triggered, so the table remembers readiness: an event sets a bit, and a short read or a refused write
//! clears it. All sources of a loop stand densely in one table; the token
//! that the kernel keeps for us is the place in it and its generation.

use std::collections::HashMap;
use std::mem;
use std::task::Waker;

use super::timers::{Timer, Timers};
use crate::wheel;

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
pub(crate) const SPLIT: u16 = 512;

/// The TLS handshake has lost its permit to another one.
pub(crate) const DISPLACED: u16 = 1024;

/// Bits that every method of a stream checks first.
pub(crate) const FAULTS: u16 = EXPIRED | LATE | EVICTED | DISPLACED;
/// Bits that wake every waiting task.
pub(crate) const ALWAYS: u16 = FAULTS | RETURNED;

#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) waker: Option<Waker>,
    /// Bytes that the connection keeps outside the loop's buffers.
    pub(crate) held: usize,
    generation: u32,
    /// When a byte last moved, in ticks modulo 2³².
    pub(crate) active: u32,
    /// Idle timeout in ticks; 0 is none.
    pub(crate) idle: u32,
    /// The deadline in ticks; 0 is none.
    pub(crate) deadline: u32,
    /// Bytes that the peer had not acknowledged when the idle timer last fired.
    pub(crate) unacknowledged: u32,
    /// Fires when the source may have been idle for too long, or at the deadline, or before.
    timer: wheel::Key,
    pub(crate) bits: u16,
    /// Bits that the task waits for; 0 when no task waits.
    pub(crate) interest: u16,
}

/// The tasks that an event concerns.
pub(crate) struct Noted<'a> {
    /// The waker of the task that waited for it.
    pub(crate) waker: Option<&'a Waker>,
    /// True if a writing half waits by itself.
    pub(crate) split: bool,
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
    pub(crate) fn insert(&mut self, bits: u16, tick: u32) -> u32 {
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

    /// Frees a place; returns what it had, to be dropped when the table is not borrowed any more.
    pub(crate) fn remove(&mut self, index: u32) -> (wheel::Key, Option<Waker>) {
        self.writers.remove(&index);
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        (entry.interest, entry.held) = (0, 0);
        let taken = (mem::take(&mut entry.timer), entry.waker.take());
        self.free.push(index);
        taken
    }

    pub(crate) fn token(&self, index: u32) -> u64 {
        u64::from(self.entries[index as usize].generation) << 32 | u64::from(index)
    }

    /// The entry at a place that is in use.
    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index as usize]
    }

    #[inline]
    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(token as u32 as usize)?;
        (entry.generation == (token >> 32) as u32).then_some(entry)
    }

    /// Notes what became ready of the source that a token names; `None` if it is not that one any more.
    #[inline]
    pub(crate) fn note(&mut self, token: u64, bits: u16, tick: u32) -> Option<Noted<'_>> {
        let entry = self.entry(token)?;
        entry.bits |= bits;
        if bits & (READABLE | WRITABLE) != 0 {
            entry.active = tick;
        }
        let split = entry.bits & SPLIT != 0;
        let mut waker = None;
        if entry.interest & bits != 0 {
            entry.interest = 0;
            waker = entry.waker.as_ref();
        }
        Some(Noted { waker, split })
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

    // ── held bytes ───────────────────────────────────────────────────────────────────────────────────────────────

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

    // ── waiting tasks ────────────────────────────────────────────────────────────────────────────────────────────

    fn is_waited_for(&self, token: u64) -> bool {
        let index = token as u32;
        self.entries[index as usize].interest != 0 || self.writers.contains_key(&index)
    }

    /// The wakers of all tasks that wait for a source.
    pub(crate) fn waiting(&self) -> Vec<Waker> {
        self.entries
            .iter()
            .filter(|entry| entry.interest != 0)
            .filter_map(|entry| entry.waker.clone())
            .chain(self.writers.values().cloned())
            .collect()
    }

    /// Has the task of a writing half woken when output can leave.
    pub(crate) fn insert_writer(&mut self, index: u32, waker: Waker) {
        self.writers.insert(index, waker);
    }

    /// The waker of a writing half, if it waits.
    pub(crate) fn take_writer(&mut self, token: u64) -> Option<Waker> {
        match self.writers.is_empty() {
            true => None,
            false => self.writers.remove(&(token as u32)),
        }
    }

    /// Lets the halves of a stream wait by themselves, or together again.
    pub(crate) fn set_split(&mut self, index: u32, split: bool) {
        let entry = &mut self.entries[index as usize];
        if split {
            entry.bits |= SPLIT;
        } else {
            entry.bits &= !SPLIT;
            self.writers.remove(&index);
        }
    }

    // ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// The timer of a source fired: answers whether its deadline has passed, or it was idle for too long, or neither is so
    /// yet.
    pub(crate) fn timer_fired(&mut self, token: u64, timers: &Timers) -> u16 {
        let Some(entry) = self.entry(token) else { return 0 };
        entry.timer = wheel::Key::NONE;
        let tick = timers.tick();
        let mut faults = 0;
        if entry.deadline != 0 && ticks_until(entry.deadline, tick) == 0 {
            entry.deadline = 0;
            faults |= LATE;
        }
        if entry.idle > 0 && tick.wrapping_sub(entry.active) >= entry.idle {
            // While no task waits, one is at work for the peer, which is not to blame for the silence.
            if self.is_waited_for(token) {
                faults |= EXPIRED;
            } else if let Some(entry) = self.entry(token) {
                entry.active = tick;
            }
        }
        if let Some(entry) = self.entry(token) {
            entry.arm(timers, token, faults & EXPIRED == 0);
        }
        faults
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
    pub(crate) fn arm(&mut self, timers: &Timers, token: u64, idle: bool) {
        let Some(left) = self.ticks_left(timers.tick(), idle) else {
            return;
        };
        if timers.fires_within(self.timer, u64::from(left)) {
            return;
        }
        timers.cancel(self.timer);
        self.timer = timers.insert(u64::from(left), Timer::Source(token));
    }
}
