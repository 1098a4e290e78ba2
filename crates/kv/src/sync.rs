//! The primitives of the modules that `tests/models` checks. The models include those files with loom's instead.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::yield_now;

pub(crate) use parking_lot::Mutex;
