//! Models of what threads share: every interleaving of a few steps, under the memory model of C11.
//!
//! The modules themselves are included here, with loom's primitives in the place of the standard library's. Below them are a
//! budget that always suffices, and regions of four buckets, two per page, instead of mapped memory. loom fails a model in which
//! two threads access an item at once.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, unsafe_code)]

mod budget;
mod heap;
mod memory;
mod region;

mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    pub(crate) use loom::thread::yield_now;

    /// A mutex without poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn try_lock(&self) -> Option<loom::sync::MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

/// Locks that spin have too many interleavings to try them all: those with two preemptions find most faults.
fn model_with_few_preemptions(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}
