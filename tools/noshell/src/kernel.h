/*
 * System calls without the C library, for the child that shares its parent's memory: nothing here touches errno, takes a
 * lock, allocates, or is a cancellation point. Results are the kernel's: negative errno on failure.
 */
#ifndef NOSHELL_KERNEL_H
#define NOSHELL_KERNEL_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long noshell_syscall(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long noshell_syscall(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#else
#error "libnoshell knows the system calls of x86-64 and aarch64"
#endif

#define noshell_call0(number) noshell_syscall((number), 0, 0, 0, 0, 0, 0)
#define noshell_call1(number, a) noshell_syscall((number), (long)(a), 0, 0, 0, 0, 0)
#define noshell_call2(number, a, b) noshell_syscall((number), (long)(a), (long)(b), 0, 0, 0, 0)
#define noshell_call3(number, a, b, c) noshell_syscall((number), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define noshell_call4(number, a, b, c, d) noshell_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* A set of signals as the kernel has it: signal n is bit n-1. The C library's own signals, 32 and 33, are in it too. */
typedef uint64_t noshell_signals;
#define NOSHELL_SIGNAL(n) ((noshell_signals)1 << ((n)-1))
#define NOSHELL_ALL_SIGNALS (~(noshell_signals)0)

/* `how` is SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK; `old` may be NULL. */
static inline void noshell_mask(int how, noshell_signals set, noshell_signals *old) {
    noshell_call4(SYS_rt_sigprocmask, how, &set, old, sizeof set);
}

/* struct clone_args of linux/sched.h, which the headers of older systems lack. */
struct noshell_clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/* The flags that are used here; their values are the kernel's for ever. */
#define NOSHELL_CLONE_VM 0x00000100u
#define NOSHELL_CLONE_PIDFD 0x00001000u
#define NOSHELL_CLONE_VFORK 0x00004000u
#define NOSHELL_CLONE_CHILD_CLEARTID 0x00200000u
#define NOSHELL_CLONE_CLEAR_SIGHAND 0x100000000u

/* wait4: children of any exit signal. */
#define NOSHELL_WAIT_ALL 0x40000000

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* clone3, then `run(argument)` on the new stack in the child, which exits with what it returns. Only the parent returns:
 * with the child's id, or negative errno. */
long noshell_clone(struct noshell_clone_arguments *arguments, int (*run)(void *), void *argument);

#endif
