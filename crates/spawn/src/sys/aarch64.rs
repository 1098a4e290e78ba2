//! The stubs for aarch64: number in `x8`, arguments in `x0` to `x5`, the answer in `x0`; nothing else is lost.
#![allow(unsafe_code)]

use std::arch::asm;

use super::Entry;

/// Calls the kernel.
///
/// # Safety
/// As the call itself: pointers among the arguments must be good for what the call does with them.
#[inline(always)]
pub(crate) unsafe fn syscall(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the kernel keeps all registers but `x0`, and the caller vouches for the memory that the call reads and
    // writes.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") a as isize => answer,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    answer
}

/// Makes a process by `clone` or `clone3`, as `number` says, whose stack is another than ours and which begins with
/// `entry(argument)`. Answers, in the parent only, what the call answered.
///
/// # Safety
/// The arguments must name a stack, aligned to 16 bytes, that nothing else uses while the child does; `entry` must be
/// fit to run in a process that shares this one's memory.
pub(crate) unsafe fn clone_onto(
    number: usize,
    arguments: [usize; 5],
    entry: Entry,
    argument: usize,
) -> isize {
    let [a, b, c, d, e] = arguments;
    let answer: isize;
    // SAFETY: the parent goes past the child's part, so to the compiler this is a system call like any other. The child
    // has all registers of the parent but the stack's and `x0`; it clears the frame pointer, where stacks end, calls
    // `entry` on its own stack, and never leaves this block.
    unsafe {
        asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk #1",
            "2:",
            in("x8") number,
            inlateout("x0") a as isize => answer,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x20") argument,
            in("x21") entry,
        );
    }
    answer
}
