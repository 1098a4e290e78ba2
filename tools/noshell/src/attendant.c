/*
 * The attendant: see attendant.h.
 *
 * Invariant: attend() and what it calls touch no errno, no lock, no allocator; they share thread-local storage with the
 * thread that started them, which runs on.
 */
#define _GNU_SOURCE
#include "attendant.h"
#include "death.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { STARTING, STARTED, FAILED };

struct noshell_attendant {
    _Atomic uint32_t state; /* a futex */
    int error;
    int pipe_end;
    noshell_signals mask; /* the caller's, which a shell would have had */
    struct noshell_spawn *spawn; /* until the command has started */
    _Alignas(16) char stack[NOSHELL_CHILD_STACK];
};

static void tell(struct noshell_attendant *attendant, uint32_t state) {
    atomic_store(&attendant->state, state);
    noshell_call3(SYS_futex, &attendant->state, FUTEX_WAKE_PRIVATE, 1);
}

/* Lets go of all that was copied from the caller, so that nothing of it stays open on our account. */
static void keep_pipe_alone(int pipe_end) {
    if (pipe_end != 1)
        noshell_call3(SYS_dup3, pipe_end, 1, 0);
    noshell_call3(SYS_dup3, 1, 2, 0);
    noshell_close_from_3();
}

static int attend(void *argument) {
    struct noshell_attendant *attendant = argument;
    int status = 0;
    pid_t pid;
    attendant->error = noshell_spawn(attendant->spawn);
    if (attendant->error) {
        tell(attendant, FAILED);
        return 0;
    }
    pid = attendant->spawn->pid;
    keep_pipe_alone(attendant->pipe_end);
    noshell_mask(SIG_SETMASK, attendant->mask, NULL);
    tell(attendant, STARTED);
    /* From here on the spawn's memory is the caller's again. */
    while (noshell_call4(SYS_wait4, pid, &status, 0, NULL) == -EINTR)
        continue;
    noshell_death_report(status, (struct noshell_stderr){2, NULL});
    return WEXITSTATUS(noshell_death_status(status));
}

/* Waits until the command has started or failed to. An attendant that was killed tells nothing any more. */
static uint32_t hear(struct noshell_attendant *attendant, pid_t pid) {
    const struct timespec patience = {.tv_sec = 1};
    uint32_t state;
    while ((state = atomic_load(&attendant->state)) == STARTING) {
        siginfo_t info = {.si_pid = 0};
        if (noshell_call4(SYS_futex, &attendant->state, FUTEX_WAIT_PRIVATE, STARTING, &patience) != -ETIMEDOUT)
            continue;
        if (noshell_syscall(SYS_waitid, P_PID, pid, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) < 0 || info.si_pid)
            return STARTED;
    }
    return state;
}

static struct noshell_attendant *make(void) {
    void *memory = mmap(NULL, sizeof(struct noshell_attendant), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void noshell_attendant_free(struct noshell_attendant *attendant) {
    munmap(attendant, sizeof *attendant);
}

static int start(struct noshell_attendant *attendant, pid_t *pid) {
    struct noshell_clone_arguments arguments = {
        .flags = NOSHELL_CLONE_VM | NOSHELL_CLONE_CLEAR_SIGHAND,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)attendant->stack,
        .stack_size = sizeof attendant->stack,
    };
    long result;
    noshell_mask(SIG_SETMASK, NOSHELL_ALL_SIGNALS, &attendant->mask);
    result = noshell_clone(&arguments, attend, attendant);
    if (result > 0 && hear(attendant, (pid_t)result) == FAILED)
        while (noshell_call4(SYS_wait4, result, NULL, 0, NULL) == -EINTR)
            continue;
    noshell_mask(SIG_SETMASK, attendant->mask, NULL);
    *pid = (pid_t)result;
    return result < 0 ? (int)-result : attendant->error;
}

int noshell_attendant_start(struct noshell_spawn *spawn, int pipe_end, struct noshell_attendant **result, pid_t *pid) {
    struct noshell_attendant *attendant = make();
    int error;
    if (!attendant)
        return ENOMEM;
    attendant->spawn = spawn;
    attendant->pipe_end = pipe_end;
    error = start(attendant, pid);
    if (error)
        noshell_attendant_free(attendant);
    else
        *result = attendant;
    return error;
}
