//! The block of memory that parent and child share: the parent's instructions and the child's report.
//!
//! ```text
//!   parent ── Block { operations, candidates, argv, envp } ──> child    (shared memory: the child has no copy)
//!          <── report: the stage that failed, and its errno ──
//! ```
//!
//! **Invariant:** all pointers in a block are good for as long as the child is in our memory: until `execve` succeeded or
//! the child ended. The code that starts the child guarantees it.

use std::ffi::{c_char, c_void};
use std::io::PipeReader;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::copied;
use crate::stage::Stage;

/// One thing that the child does before it becomes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A system call that must succeed, or may fail with the one error that is tolerated.
    Call {
        number: usize,
        arguments: [usize; 5],
        stage: Stage,
        /// The subject of an error: a descriptor, a resource.
        detail: i32,
        tolerated: i32,
    },
    /// Copies a descriptor out of the way, to a number from `minimum` on, until [`Operation::Restore`].
    Save { from: i32, minimum: i32 },
    /// Puts the descriptor that was saved last in its place.
    Restore { to: i32 },
    /// Gives the child a descriptor table of its own, without the descriptors from `first` on. The kernel then neither copies nor
    /// closes those.
    Unshare { first: u32 },
    /// Sets `FD_CLOEXEC` on descriptors `first` to `last`.
    Close { first: u32, last: u32 },
    /// Makes capabilities inheritable. With `narrow`, which is required after a change of user, all others are dropped.
    Capabilities { set: u64, narrow: bool },
    /// Fails if the parent is no longer `parent`: it died before the child set its parent-death signal.
    CheckParent { parent: i32 },
}

/// The child's input and its report.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block {
    /// The number of the failed stage plus one; zero if none failed.
    failed: AtomicU32,
    errno: AtomicI32,
    detail: AtomicI32,
    /// Nonzero while the child shares our memory. The kernel then clears it and wakes the waiters.
    pub(crate) present: AtomicU32,
    /// Made by `clone`: the child itself must reset handlers and enter the control group.
    pub(crate) legacy: bool,
    /// The control group's directory for a legacy child, else -1.
    pub(crate) cgroup: i32,
    /// Shares its descriptors until [`Operation::Unshare`].
    pub(crate) parts: bool,
    /// Signals stay blocked until the child has set their dispositions, because it may have to survive them.
    pub(crate) quiet: bool,
    /// A pipe for the report of a child that has a copy of this block, else -1.
    pub(crate) pipe: i32,
    /// Our end of that pipe.
    pub(crate) answer: Option<PipeReader>,
    /// Made by a thread that has set itself to `SCHED_BATCH`, which the child must undo.
    pub(crate) batch: bool,
    pub(crate) operations: *const Operation,
    pub(crate) operation_count: usize,
    /// Paths to try, in order, up to a null.
    pub(crate) candidates: *const *const c_char,
    pub(crate) argv: *const *const c_char,
    /// The arguments for a shell that runs a file without `#!`: its path, a slot for the candidate, the other arguments and a
    /// null. Null if such files are not run.
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

    /// Records the failed stage. Only the child calls this, once, before it exits.
    #[inline(always)]
    pub(crate) fn report(&self, stage: Stage, detail: i32, errno: i32) {
        self.errno.store(errno, Ordering::Relaxed);
        self.detail.store(detail, Ordering::Relaxed);
        self.failed.store(stage as u32 + 1, Ordering::Release);
    }

    /// The child's report: stage, detail, errno.
    pub(crate) fn failure(&self) -> Option<(Stage, i32, i32)> {
        let number = self.failed.load(Ordering::Acquire).checked_sub(1)?;
        let stage = Stage::from_number(number)?;
        Some((
            stage,
            self.detail.load(Ordering::Relaxed),
            self.errno.load(Ordering::Relaxed),
        ))
    }

    /// Returns whether the child may still use our memory, or has a copy of it and has not reported yet.
    pub(crate) fn is_present(&self) -> bool {
        match &self.answer {
            None => self.present.load(Ordering::Acquire) != 0,
            Some(answer) => !self.hear(answer, false),
        }
    }

    /// Waits for the report of a child that has a copy of this block.
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

/// A pointer as a system call's argument in an [`Operation::Call`].
pub(crate) fn address<T>(pointer: *const T) -> usize {
    pointer.cast::<c_void>() as usize
}
