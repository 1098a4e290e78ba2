//! The stubs for x86-64: number in `rax`, arguments in `rdi rsi rdx r10 r8 r9`, `rcx` and `r11` are lost.
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
    // SAFETY: the kernel keeps all registers but the three that are named as outputs, and the caller vouches for the
    // memory that the call reads and writes.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
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
    // has all registers of the parent but the stack's and `rax`; it clears the frame pointer, where stacks end, calls
    // `entry` on its own stack, and never leaves this block.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") number as isize => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r12") argument,
            in("r13") entry,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    answer
}
