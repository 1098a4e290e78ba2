//! The connection that ends when connections would hold too much.
//!
//! **Invariant:** when connections would hold more than [`Config::held_max`] together, the one that holds the most ends,
//! which is the one that asks only if none holds more. Connections that have to end, and have not yet, hold at most a
//! quarter of the bound beyond it.
//!
//! [`Config::held_max`]: crate::Config::held_max

use crate::Error;
use crate::core::{Core, EVICTED};
use crate::counters::Counters;
use crate::readiness::signal;

/// Connections end until this part of the bound is free again, so that the search for them is rare.
const FREED: usize = 64;

/// Changes the bytes held by the connection of a source to `after`, unless that were too much.
#[cold]
pub(crate) fn hold(core: &Core, token: u64, after: usize) -> Result<(), Error> {
    let (before, evicted) = core.sources.borrow_mut().held(token);
    if after > before {
        evict_largest(core, token, before, after, evicted)?;
    }
    core.memory.change(before, after, evicted);
    core.sources.borrow_mut().set_held(token, after);
    Ok(())
}

/// Ends the connections that hold the most, or refuses the one that asks.
fn evict_largest(core: &Core, token: u64, before: usize, after: usize, evicted: bool) -> Result<(), Error> {
    let max = core.config.held_max;
    let memory = &core.memory;
    let asked = after - before;
    let refused = Error::HeldLimit {
        held: before,
        asked,
        max,
    };
    if evicted || memory.held() + asked > max + max / 4 {
        Counters::add(&core.counters.held_refused);
        return Err(refused);
    }
    let mut bound = max;
    while memory.held_to_stay() + asked > bound {
        bound = max - max / FREED;
        let largest = core.sources.borrow().largest_holder();
        match largest {
            Some((other, held)) if other != token && held >= after => {
                memory.evict(held);
                Counters::add(&core.counters.held_refused);
                signal(core, other, EVICTED);
            }
            // Below the bound itself, nothing forces a smaller connection out.
            _ if memory.held_to_stay() + asked <= max => break,
            _ => {
                Counters::add(&core.counters.held_refused);
                return Err(refused);
            }
        }
    }
    Ok(())
}
