/*
 * noshell_spawn: the parent's side and the child's.
 *
 * Invariant: between clone3 and execve the child makes system calls and nothing else; it shares the parent's memory.
 */
#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fallback.h"
#include "file.h"

/* The result of spawn_by_clone if the kernel lacks clone3 or CLONE_CLEAR_SIGHAND, or a filter forbids it. */
#define NO_CLONE3 (-1)

/* struct sigaction as the kernel has it. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
#if defined(__x86_64__)
    void (*restorer)(void);
#endif
    noshell_signals mask;
};

static void set_handlers(noshell_signals set, void (*handler)(int)) {
    struct kernel_action action = {.handler = handler};
    for (int signal = 1; set; signal++, set >>= 1)
        if (set & 1)
            noshell_call4(SYS_rt_sigaction, signal, &action, NULL, sizeof action.mask);
}

static long duplicate(int from, int to) {
    /* dup3 refuses equal descriptors; then only the flag that closes it on execve must go. */
    return from == to ? noshell_call3(SYS_fcntl, to, F_SETFD, 0) : noshell_call3(SYS_dup3, from, to, 0);
}

/* n>&m: a shell does not have the descriptors that close on execve, so its redirections cannot use them. */
static long duplicate_open(const struct noshell_redirection *redirection) {
    long flags;
    if (redirection->source == redirection->fd)
        return 0;
    flags = noshell_call2(SYS_fcntl, redirection->source, F_GETFD);
    if (flags < 0)
        return flags;
    return flags & FD_CLOEXEC ? -EBADF : noshell_call3(SYS_dup3, redirection->source, redirection->fd, 0);
}

static long open_target(const struct noshell_redirection *redirection) {
    static const int flags[] = {
        [NOSHELL_READ] = O_RDONLY,
        [NOSHELL_WRITE] = O_WRONLY | O_CREAT | O_TRUNC,
        [NOSHELL_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
        [NOSHELL_READWRITE] = O_RDWR | O_CREAT,
    };
    long fd;
    if (!noshell_opens_plainly(redirection->path))
        return -ENOTSUP;
    fd = noshell_call4(SYS_openat, AT_FDCWD, redirection->path, flags[redirection->operator], 0666);
    if (fd < 0 || fd == redirection->fd)
        return fd;
    long result = noshell_call3(SYS_dup3, fd, redirection->fd, 0);
    noshell_call1(SYS_close, fd);
    return result;
}

static long redirect(const struct noshell_redirection *redirection) {
    switch (redirection->operator) {
    case NOSHELL_DUPLICATE:
        return duplicate_open(redirection);
    case NOSHELL_CLOSE:
        noshell_call1(SYS_close, redirection->fd);
        return 0;
    default:
        return open_target(redirection);
    }
}

/* If the source of one standard stream has the number of another, moves it away first. */
static long move_away(int streams[3]) {
    for (int i = 0; i < 3; i++) {
        if (streams[i] < 0 || streams[i] > 2 || streams[i] == i)
            continue;
        long moved = noshell_call3(SYS_fcntl, streams[i], F_DUPFD_CLOEXEC, 3);
        if (moved < 0)
            return moved;
        streams[i] = (int)moved;
    }
    return 0;
}

/* Duplicates the ends of pipes to the standard streams. The originals close on execve. */
static long place_streams(const struct noshell_spawn *spawn) {
    int streams[3] = {spawn->streams[0], spawn->streams[1], spawn->streams[2]};
    long result = move_away(streams);
    for (int i = 0; i < 3 && result >= 0; i++)
        if (streams[i] >= 0)
            result = duplicate(streams[i], i);
    return result;
}

long noshell_close_from_3(void) {
    struct rlimit limit;
    long result = noshell_call3(SYS_close_range, 3, UINT_MAX, 0);
    if (result != -ENOSYS)
        return result;
    result = noshell_call4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    for (rlim_t fd = 3; result >= 0 && fd < limit.rlim_cur; fd++)
        noshell_call1(SYS_close, fd);
    return result;
}

static long prepare(const struct noshell_spawn *spawn) {
    long result = 0;
    set_handlers(spawn->defaults, SIG_DFL);
    set_handlers(spawn->ignored, SIG_IGN);
    result = place_streams(spawn);
    if (result < 0)
        return result;
    for (size_t i = 0; i < spawn->closed_count; i++)
        noshell_call1(SYS_close, spawn->closed[i]);
    for (size_t i = 0; i < spawn->redirection_count; i++) {
        result = redirect(&spawn->redirections[i]);
        if (result < 0)
            return result;
    }
    if (spawn->directory)
        result = noshell_call1(SYS_chdir, spawn->directory);
    if (result >= 0 && spawn->close_others)
        result = noshell_close_from_3();
    return result;
}

/* The signals that are blocked while the child is made: those that stay blocked, and those that the child would lose while it still
 * ignores them. */
static noshell_signals blocked_at_first(const struct noshell_spawn *spawn) {
    return spawn->held | spawn->defaults;
}

static void set_mask(struct noshell_spawn *spawn) {
    if (!spawn->keep_mask)
        noshell_mask(SIG_SETMASK, spawn->mask, &spawn->child_mask);
    else if (blocked_at_first(spawn))
        noshell_mask(SIG_SETMASK, spawn->old_mask & ~spawn->unmasked, &spawn->child_mask);
    else if (spawn->unmasked || spawn->alternative)
        noshell_mask(SIG_UNBLOCK, spawn->unmasked, &spawn->child_mask);
}

/* Becomes the shell instead. Only the signal mask has to be restored for it. */
static void execute_alternative(const struct noshell_spawn *spawn) {
    const struct noshell_alternative *alternative = spawn->alternative;
    noshell_mask(SIG_SETMASK, spawn->child_mask, NULL);
    *alternative->used = 1;
    noshell_call3(SYS_execve, alternative->path, alternative->argv, alternative->envp);
}

static int run_child(void *argument) {
    struct noshell_spawn *spawn = argument;
    long result = prepare(spawn);
    if (result >= 0) {
        set_mask(spawn);
        result = noshell_call3(SYS_execve, spawn->path, spawn->argv, spawn->envp);
        if (spawn->alternative)
            execute_alternative(spawn);
    }
    spawn->error = (int)-result;
    return 127;
}

/* Reaps a child that did not execute its program. */
static void reap(const struct noshell_spawn *spawn) {
    while (noshell_call4(SYS_wait4, spawn->pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    if (spawn->pidfd >= 0)
        noshell_call1(SYS_close, spawn->pidfd);
}

/* Makes the child: its id, or negative errno. */
static long make_child(struct noshell_spawn *spawn) {
    struct noshell_clone_arguments arguments = {
        .flags = NOSHELL_CLONE_VM | NOSHELL_CLONE_CLEAR_SIGHAND | (spawn->unwatched ? 0 : NOSHELL_CLONE_VFORK),
        .exit_signal = (uint64_t)spawn->exit_signal,
        .stack = (uint64_t)(uintptr_t)spawn->stack,
        .stack_size = NOSHELL_CHILD_STACK,
    };
    if (spawn->want_pidfd) {
        arguments.flags |= NOSHELL_CLONE_PIDFD;
        arguments.pidfd = (uint64_t)(uintptr_t)&spawn->pidfd;
    }
    if (spawn->pending) {
        *spawn->pending = 1;
        arguments.flags |= NOSHELL_CLONE_CHILD_CLEARTID;
        arguments.child_tid = (uint64_t)(uintptr_t)spawn->pending;
    }
    return noshell_clone(&arguments, run_child, spawn);
}

static int spawn_by_clone(struct noshell_spawn *spawn) {
    noshell_signals blocked = blocked_at_first(spawn);
    long pid;
    int error;
    spawn->pidfd = -1;
    spawn->error = 0;
    if (blocked)
        noshell_mask(SIG_BLOCK, blocked, &spawn->old_mask);
    pid = make_child(spawn);
    error = pid < 0 ? (int)-pid : spawn->unwatched ? 0 : spawn->error;
    spawn->pid = (pid_t)pid;
    if (pid < 0 && spawn->pending)
        *spawn->pending = 0;
    if (pid > 0 && error)
        reap(spawn);
    if (error ? blocked != 0 : blocked != spawn->held)
        noshell_mask(SIG_SETMASK, spawn->old_mask | (error ? 0 : spawn->held), NULL);
    return pid == -ENOSYS || pid == -EINVAL || pid == -EPERM ? NO_CLONE3 : error;
}

int noshell_spawn(struct noshell_spawn *spawn) {
    /* Set once clone3 has turned out to be missing. */
    static atomic_bool missing;
    if (!atomic_load_explicit(&missing, memory_order_relaxed)) {
        int error = spawn_by_clone(spawn);
        if (error != NO_CLONE3)
            return error;
        atomic_store_explicit(&missing, 1, memory_order_relaxed);
    }
    return noshell_spawn_by_library(spawn);
}
