//! Whether this process may dump core and be traced, kept through changes of credentials in children.
//!
//! The kernel notes a change of credentials in the memory of who changed them, which is ours too while a child shares it:
//! without this, starting one child as another user would forbid both to us for good.
//!
//! **Invariant:** what is restored is what was before the first of the children that change at the same time.

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

/// A child that changes its credentials may be in our memory.
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
        // The value 2 cannot be set again, and forbids both as 0 does.
        if matches!(state.before, 0 | 1) {
            calls::set_dumpable(state.before);
        }
    }
}
