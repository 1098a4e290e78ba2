/*
 * The supervisor: see supervisor.h.
 *
 * Invariant: supervise() and what it calls touch no errno, no lock, no allocator; they share thread-local storage with the
 * thread that started them, which runs on.
 */
#define _GNU_SOURCE
#include "supervisor.h"
#include "termination.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { STARTING, STARTED, FAILED };

struct noshell_supervisor {
    _Atomic uint32_t state; /* a futex */
    int error;
    int pipe_end;
    noshell_signals mask; /* the caller's, which a shell would have had */
    struct noshell_spawn *spawn; /* until the command has started */
    _Alignas(16) char stack[NOSHELL_CHILD_STACK];
};

static void tell(struct noshell_supervisor *supervisor, uint32_t state) {
    atomic_store(&supervisor->state, state);
    noshell_call3(SYS_futex, &supervisor->state, FUTEX_WAKE_PRIVATE, 1);
}

/* Lets go of all that was copied from the caller, so that nothing of it stays open on our account. */
static void keep_pipe_alone(int pipe_end) {
    if (pipe_end != 1)
        noshell_call3(SYS_dup3, pipe_end, 1, 0);
    noshell_call3(SYS_dup3, 1, 2, 0);
    noshell_close_from_3();
}

static int supervise(void *argument) {
    struct noshell_supervisor *supervisor = argument;
    int status = 0;
    pid_t pid;
    supervisor->error = noshell_spawn(supervisor->spawn);
    if (supervisor->error) {
        tell(supervisor, FAILED);
        return 0;
    }
    pid = supervisor->spawn->pid;
    keep_pipe_alone(supervisor->pipe_end);
    noshell_mask(SIG_SETMASK, supervisor->mask, NULL);
    tell(supervisor, STARTED);
    /* From here on the spawn's memory is the caller's again. */
    while (noshell_call4(SYS_wait4, pid, &status, 0, NULL) == -EINTR)
        continue;
    noshell_termination_report(status, (struct noshell_stderr){2, NULL});
    return WEXITSTATUS(noshell_termination_status(status));
}

/* Waits until the command has started or failed to. A supervisor that was killed tells nothing any more. */
static uint32_t hear(struct noshell_supervisor *supervisor, pid_t pid) {
    const struct timespec patience = {.tv_sec = 1};
    uint32_t state;
    while ((state = atomic_load(&supervisor->state)) == STARTING) {
        siginfo_t info = {.si_pid = 0};
        if (noshell_call4(SYS_futex, &supervisor->state, FUTEX_WAIT_PRIVATE, STARTING, &patience) != -ETIMEDOUT)
            continue;
        if (noshell_syscall(SYS_waitid, P_PID, pid, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) < 0 || info.si_pid)
            return STARTED;
    }
    return state;
}

static struct noshell_supervisor *make(void) {
    void *memory = mmap(NULL, sizeof(struct noshell_supervisor), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void noshell_supervisor_free(struct noshell_supervisor *supervisor) {
    munmap(supervisor, sizeof *supervisor);
}

static int start(struct noshell_supervisor *supervisor, pid_t *pid) {
    struct noshell_clone_arguments arguments = {
        .flags = NOSHELL_CLONE_VM | NOSHELL_CLONE_CLEAR_SIGHAND,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)supervisor->stack,
        .stack_size = sizeof supervisor->stack,
    };
    long result;
    noshell_mask(SIG_SETMASK, NOSHELL_ALL_SIGNALS, &supervisor->mask);
    result = noshell_clone(&arguments, supervise, supervisor);
    if (result > 0 && hear(supervisor, (pid_t)result) == FAILED)
        while (noshell_call4(SYS_wait4, result, NULL, 0, NULL) == -EINTR)
            continue;
    noshell_mask(SIG_SETMASK, supervisor->mask, NULL);
    *pid = (pid_t)result;
    return result < 0 ? (int)-result : supervisor->error;
}

int noshell_supervisor_start(struct noshell_spawn *spawn, int pipe_end, struct noshell_supervisor **result, pid_t *pid) {
    struct noshell_supervisor *supervisor = make();
    int error;
    if (!supervisor)
        return ENOMEM;
    supervisor->spawn = spawn;
    supervisor->pipe_end = pipe_end;
    error = start(supervisor, pid);
    if (error)
        noshell_supervisor_free(supervisor);
    else
        *result = supervisor;
    return error;
}
