/*
 * clone3 with a stack of the child's own. A C function cannot return on another stack than it was called on, so these few
 * instructions stand between: the child calls `run`, and exits with its result.
 */
#include "kernel.h"

#if defined(__x86_64__)

long noshell_clone(struct noshell_clone_arguments *arguments, int (*run)(void *), void *argument) {
    long result;
    register int (*r8)(void *) __asm__("r8") = run;
    register void *r9 __asm__("r9") = argument;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t" /* the outermost frame, for whoever walks the stack */
                     "mov %%r9, %%rdi\n\t"
                     "call *%%r8\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(r8), "r"(r9),
                       [exit] "i"(SYS_exit_group)
                     : "rcx", "r11", "rdx", "r10", "memory", "cc");
    return result;
}

#elif defined(__aarch64__)

long noshell_clone(struct noshell_clone_arguments *arguments, int (*run)(void *), void *argument) {
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)arguments;
    register long x1 __asm__("x1") = sizeof *arguments;
    register int (*x9)(void *) __asm__("x9") = run;
    register void *x10 __asm__("x10") = argument;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x10\n\t"
                     "blr x9\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc 0\n\t"
                     "brk 0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x9), "r"(x10), [exit] "i"(SYS_exit_group)
                     : "memory", "cc", "x30");
    return x0;
}

#endif
