/*
 * The same spawn as launch.c's, told to posix_spawn as file actions and attributes.
 */
#define _GNU_SOURCE
#include "fallback.h"
#include "file.h"
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static int add_open(posix_spawn_file_actions_t *actions, const struct noshell_redirection *redirection) {
    static const int flags[] = {
        [NOSHELL_READ] = O_RDONLY,
        [NOSHELL_WRITE] = O_WRONLY | O_CREAT | O_TRUNC,
        [NOSHELL_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
        [NOSHELL_READWRITE] = O_RDWR | O_CREAT,
    };
    if (!noshell_opens_plainly(redirection->path))
        return ENOTSUP;
    return posix_spawn_file_actions_addopen(actions, redirection->fd, redirection->path, flags[redirection->operator], 0666);
}

/* n>&m. A descriptor that closes on execve must not be found, which no file action can tell: those go to the shell. */
static int add_duplicate(posix_spawn_file_actions_t *actions, const struct noshell_spawn *spawn,
                         const struct noshell_redirection *redirection) {
    int source = redirection->source;
    if (source > 2)
        return ENOTSUP;
    if (spawn->streams[source] < 0) {
        int flags = fcntl(source, F_GETFD);
        if (flags < 0 || flags & FD_CLOEXEC)
            return ENOTSUP;
    }
    return source == redirection->fd ? 0 : posix_spawn_file_actions_adddup2(actions, source, redirection->fd);
}

static int add_redirection(posix_spawn_file_actions_t *actions, const struct noshell_spawn *spawn,
                           const struct noshell_redirection *redirection) {
    switch (redirection->operator) {
    case NOSHELL_DUPLICATE:
        return add_duplicate(actions, spawn, redirection);
    case NOSHELL_CLOSE:
        return posix_spawn_file_actions_addclose(actions, redirection->fd);
    default:
        return add_open(actions, redirection);
    }
}

static int add_closing_of_others(posix_spawn_file_actions_t *actions) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
#else
    (void)actions;
    return ENOSYS;
#endif
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct noshell_spawn *spawn) {
    int error = 0;
    /* One standard stream in another's place would need a descriptor that is not known here. */
    for (int i = 0; i < 3; i++)
        if (spawn->streams[i] >= 0 && spawn->streams[i] < 3 && spawn->streams[i] != i)
            return ENOTSUP;
    for (int i = 0; !error && i < 3; i++)
        if (spawn->streams[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, spawn->streams[i], i);
    for (size_t i = 0; !error && i < spawn->closed_count; i++)
        error = posix_spawn_file_actions_addclose(actions, spawn->closed[i]);
    for (size_t i = 0; !error && i < spawn->redirection_count; i++)
        error = add_redirection(actions, spawn, &spawn->redirections[i]);
    if (!error && spawn->directory)
        error = posix_spawn_file_actions_addchdir_np(actions, spawn->directory);
    if (!error && spawn->close_others)
        error = add_closing_of_others(actions);
    return error;
}

static void fill(sigset_t *set, noshell_signals signals) {
    sigemptyset(set);
    for (int signal = 1; signals; signal++, signals >>= 1)
        if (signals & 1)
            sigaddset(set, signal);
}

static void set_attributes(posix_spawnattr_t *attributes, const struct noshell_spawn *spawn) {
    sigset_t set;
    fill(&set, spawn->keep_mask ? spawn->old_mask & ~spawn->unmasked : spawn->mask);
    posix_spawnattr_setsigmask(attributes, &set);
    fill(&set, spawn->defaults);
    posix_spawnattr_setsigdefault(attributes, &set);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* A kernel without pidfds cannot keep the promise of one. */
static int open_pidfd(struct noshell_spawn *spawn) {
    long pidfd = noshell_call2(SYS_pidfd_open, spawn->pid, 0);
    if (pidfd < 0) {
        noshell_call2(SYS_kill, spawn->pid, SIGKILL);
        while (noshell_call4(SYS_wait4, spawn->pid, NULL, 0, NULL) == -EINTR)
            continue;
        return (int)-pidfd;
    }
    spawn->pidfd = (int)pidfd;
    return 0;
}

/* What posix_spawn finds out in a child makes a SIGCHLD, which the caller of a command that does not exist must not get. */
static int cannot_be_run(const char *path) {
    struct stat status;
    long error = noshell_stat(path, &status);
    if (error == 0)
        error = S_ISREG(status.st_mode) ? noshell_call3(SYS_faccessat, AT_FDCWD, path, X_OK) : -EACCES;
    return (int)-error;
}

int noshell_spawn_by_library(struct noshell_spawn *spawn) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = cannot_be_run(spawn->path);
    spawn->error = 0;
    if (error || (error = posix_spawn_file_actions_init(&actions)))
        return error;
    noshell_mask(SIG_BLOCK, spawn->held, &spawn->old_mask);
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = add_actions(&actions, spawn);
        set_attributes(&attributes, spawn);
        if (!error)
            error = posix_spawn(&spawn->pid, spawn->path, &actions, &attributes, spawn->argv, spawn->envp);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    spawn->pidfd = -1;
    if (!error && spawn->want_pidfd)
        error = open_pidfd(spawn);
    if (error)
        noshell_mask(SIG_SETMASK, spawn->old_mask, NULL);
    return error;
}
