//! A pool of stacks for children that share our memory.
//!
//! **Invariant:** a stack is in the pool or belongs to one child, and returns to the pool when that child has left our memory.
#![allow(unsafe_code)]

use std::io;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The size of a stack in bytes. A child uses about 2 KiB of it, or 20 KiB without optimization.
const SIZE: usize = 64 << 10;
/// The size of the guard below it; at least one page of any size.
const GUARD: usize = 64 << 10;
/// The size of the pool. Stacks beyond it are unmapped after use.
const KEPT_MAX: usize = 8;

static POOL: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// A stack with a guard below it.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The lowest address of the guard. A number, because only a child uses the memory.
    base: usize,
}

impl Stack {
    /// Takes a stack from the pool, or maps a new one.
    pub(crate) fn take() -> io::Result<Stack> {
        let kept = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(Stack::map, Ok)
    }

    /// Returns the stack to the pool.
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
        // SAFETY: the range is the upper part of the new mapping, which nothing else uses.
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

    /// The lowest usable address.
    pub(crate) fn bottom(&self) -> usize {
        self.base + GUARD
    }

    /// The usable size in bytes.
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
