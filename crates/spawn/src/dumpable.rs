//! Preserves this process's dumpable flag, which permits core dumps and tracing, while children change credentials.
//!
//! The kernel clears the flag in the memory descriptor of a process that changes its credentials, and a child shares ours. Starting
//! a child as another user would otherwise disable core dumps and tracing of this process permanently.
//!
//! **Invariant:** the restored value is the one before the first of several concurrent children.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::calls;

#[derive(Debug)]
struct State {
    children: usize,
    before: i32,
}

static STATE: Mutex<State> = Mutex::new(State {
    children: 0,
    before: 0,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held while a child that changes its credentials may share our memory.
#[derive(Debug)]
pub(crate) struct Guard(());

impl Guard {
    pub(crate) fn new() -> Guard {
        let mut state = state();
        if state.children == 0 {
            state.before = calls::dumpable();
        }
        state.children += 1;
        Guard(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut state = state();
        state.children -= 1;
        // The value 2 cannot be set, and is as restrictive as 0.
        if matches!(state.before, 0 | 1) {
            calls::set_dumpable(state.before);
        }
    }
}
