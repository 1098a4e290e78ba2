//! The block of memory through which parent and child speak: orders in, a report out.
//!
//! ```text
//!   parent ── Block { operations, candidates, argv, envp } ──> child    (shared memory: the child has no copy)
//!          <── report: the step that failed, and its errno ──
//! ```
//!
//! **Invariant:** all pointers in a block are good for as long as the child is in our memory: until `execve` succeeded or
//! the child ended. Whoever started the child sees to it.

use std::ffi::{c_char, c_void};
use std::io::PipeReader;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::copied;
use crate::step::Step;

/// One thing that the child does before it becomes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A system call that must succeed, or may fail with the one error that is tolerated.
    Call {
        number: usize,
        arguments: [usize; 5],
        step: Step,
        /// What an error is about: a descriptor, a resource.
        detail: i32,
        tolerated: i32,
    },
    /// Copies a descriptor out of the way, to a number from `minimum` on, until [`Operation::Restore`].
    Save { from: i32, minimum: i32 },
    /// Puts the descriptor that was saved last in its place.
    Restore { to: i32 },
    /// Ends the sharing of descriptors with the parent: from here on the child has its own, of which none is from `first`
    /// on. What it does not get has not to be copied, nor closed.
    Part { first: u32 },
    /// Sees to it that descriptors from `first` to `last` close by `execve`.
    Close { first: u32, last: u32 },
    /// Makes capabilities inheritable; `narrow` makes them the only ones, which they must be after a change of user.
    Capabilities { set: u64, narrow: bool },
    /// Fails when the parent is no longer `parent`: it died before the child asked to be told.
    CheckParent { parent: i32 },
}

/// What the child reads and where it reports.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block {
    /// The number of the step that failed and one more; zero when none did.
    failed: AtomicU32,
    errno: AtomicI32,
    detail: AtomicI32,
    /// Not zero until the child has left our memory, when the kernel clears it and wakes who waits.
    pub(crate) present: AtomicU32,
    /// Made by a kernel without `clone3`: handlers must be reset, and the control group entered, by hand.
    pub(crate) legacy: bool,
    /// The control group's directory for a legacy child, else -1.
    pub(crate) cgroup: i32,
    /// Shares its descriptors until [`Operation::Part`].
    pub(crate) parts: bool,
    /// No signal may reach the child before it has said what signals do, for it may have been told to survive them.
    pub(crate) quiet: bool,
    /// Where the child writes what failed if it has but a copy of this, else -1.
    pub(crate) pipe: i32,
    /// Our end of that.
    pub(crate) answer: Option<PipeReader>,
    /// Made by a thread that is `SCHED_BATCH` where its own parent was not.
    pub(crate) batch: bool,
    pub(crate) operations: *const Operation,
    pub(crate) operation_count: usize,
    /// Paths to try, in order, up to a null.
    pub(crate) candidates: *const *const c_char,
    pub(crate) argv: *const *const c_char,
    /// The arguments for a shell that runs a file without `#!`: a path, a place for the candidate, the other arguments
    /// and a null. Null when there is no such shell.
    pub(crate) shell_argv: *mut *const c_char,
    pub(crate) envp: *const *const c_char,
    /// Read last, just before `execve`.
    pub(crate) signal_mask: u64,
}

impl Block {
    pub(crate) fn empty() -> Block {
        Block {
            failed: AtomicU32::new(0),
            errno: AtomicI32::new(0),
            detail: AtomicI32::new(0),
            present: AtomicU32::new(0),
            legacy: false,
            cgroup: -1,
            parts: false,
            quiet: false,
            pipe: -1,
            answer: None,
            batch: false,
            operations: std::ptr::null(),
            operation_count: 0,
            candidates: std::ptr::null(),
            argv: std::ptr::null(),
            shell_argv: std::ptr::null_mut(),
            envp: std::ptr::null(),
            signal_mask: 0,
        }
    }

    /// Writes down which step failed. Only the child calls this, once, before it ends.
    #[inline(always)]
    pub(crate) fn report(&self, step: Step, detail: i32, errno: i32) {
        self.errno.store(errno, Ordering::Relaxed);
        self.detail.store(detail, Ordering::Relaxed);
        self.failed.store(step as u32 + 1, Ordering::Release);
    }

    /// What the child reported: step, detail, errno.
    pub(crate) fn failure(&self) -> Option<(Step, i32, i32)> {
        let number = self.failed.load(Ordering::Acquire).checked_sub(1)?;
        let step = Step::from_number(number)?;
        Some((
            step,
            self.detail.load(Ordering::Relaxed),
            self.errno.load(Ordering::Relaxed),
        ))
    }

    /// Whether the child may still be in our memory, or has a copy of it and has not told us how it went.
    pub(crate) fn is_present(&self) -> bool {
        match &self.answer {
            None => self.present.load(Ordering::Acquire) != 0,
            Some(answer) => !self.hear(answer, false),
        }
    }

    /// Waits for what a child tells that has but a copy of this.
    pub(crate) fn await_answer(&self) {
        while let Some(answer) = &self.answer
            && !self.hear(answer, true)
        {}
    }

    fn hear(&self, answer: &PipeReader, block: bool) -> bool {
        let answered = copied::has_answered(answer, block);
        if answered && let Some((failed, detail, errno)) = copied::hear(answer) {
            self.errno.store(errno, Ordering::Relaxed);
            self.detail.store(detail, Ordering::Relaxed);
            self.failed.store(failed, Ordering::Release);
        }
        answered
    }
}

/// A pointer as the kernel takes it in an [`Operation::Call`].
pub(crate) fn address<T>(pointer: *const T) -> usize {
    pointer.cast::<c_void>() as usize
}
