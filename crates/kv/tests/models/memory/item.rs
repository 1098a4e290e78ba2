//! An item that loom watches.

use std::marker::PhantomData;
use std::ptr::NonNull;

use loom::cell::UnsafeCell;

/// An item as it lies in memory.
#[repr(align(8))]
pub(super) struct Counter {
    key: [u8; 1],
    sum: UnsafeCell<u64>,
}

impl Counter {
    pub(super) fn of(key: u8) -> Counter {
        Counter {
            key: [key],
            sum: UnsafeCell::new(0),
        }
    }
}

/// A counter in place.
pub(super) struct Item<'a> {
    at: NonNull<Counter>,
    life: PhantomData<&'a Counter>,
}

impl<'a> Item<'a> {
    /// # Safety
    /// A counter lies at `at` and lives as long as `'a`.
    pub(super) unsafe fn new(at: NonNull<u8>) -> Self {
        Item {
            at: at.cast(),
            life: PhantomData,
        }
    }

    fn counter(&self) -> &'a Counter {
        // SAFETY: by the contract of `new`.
        unsafe { self.at.as_ref() }
    }

    pub(super) fn key(&self) -> &'a [u8] {
        &self.counter().key
    }

    /// Adds one, and returns the sum.
    pub(super) fn count(&self) -> u64 {
        self.counter().sum.with_mut(|sum| {
            // SAFETY: loom checks that no other thread has the cell.
            unsafe {
                *sum += 1;
                *sum
            }
        })
    }
}
