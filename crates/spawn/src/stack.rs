//! Stacks for children that share our memory, kept for the next child.
//!
//! **Invariant:** a stack is in the pool or belongs to one child; it returns when that child has left our memory.
#![allow(unsafe_code)]

use std::io;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes of a stack. A child uses some 2 KiB of it, ten times that without optimization.
const SIZE: usize = 64 << 10;
/// Bytes below it that cannot be touched; at least a page of any kernel's.
const GUARD: usize = 64 << 10;
/// Stacks that are kept for later; more than this many children at once allocate and free their own.
const KEPT_MAX: usize = 8;

static POOL: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// A stack with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The lowest address, of the guard. Kept as a number: nobody but a child ever looks there.
    base: usize,
}

impl Stack {
    /// A stack out of the pool, or a new one.
    pub(crate) fn take() -> io::Result<Stack> {
        let kept = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(Stack::map, Ok)
    }

    /// Keeps it for the next child.
    pub(crate) fn give_back(self) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < KEPT_MAX {
            pool.push(self);
        }
    }

    fn map() -> io::Result<Stack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: asks for new memory anywhere, so none of ours is touched.
        let base = unsafe { libc::mmap(ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Stack { base: base as usize };
        // SAFETY: the range is the upper part of what was just mapped, and nobody else knows it.
        let opened = unsafe {
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            libc::mprotect(stack.bottom() as *mut libc::c_void, SIZE, writable)
        };
        // Dropped on failure, which unmaps it.
        if opened == 0 {
            Ok(stack)
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The lowest address that may be used.
    pub(crate) fn bottom(&self) -> usize {
        self.base + GUARD
    }

    /// Bytes that may be used.
    pub(crate) fn size(&self) -> usize {
        SIZE
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this size, and no child uses it any more, as the invariant says.
        unsafe { libc::munmap(self.base as *mut libc::c_void, GUARD + SIZE) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_stack_given_back_is_the_next_one_or_freed() {
        let stacks: Vec<_> = (0..KEPT_MAX + 4).map(|_| Stack::take().unwrap()).collect();
        assert!(stacks.iter().all(|stack| stack.bottom() % 16 == 0));
        stacks.into_iter().for_each(Stack::give_back);
        assert!(POOL.lock().unwrap().len() <= KEPT_MAX);
    }
}
