/*
 * Starting a program: clone3 that shares memory and stops the calling thread until the child has called execve, with the
 * child's work in system calls alone; posix_spawn where the kernel has no clone3 or forbids it.
 *
 * Thread-safe. Blocks every signal of the calling thread meanwhile, so no handler of the caller runs in the child.
 */
#ifndef NOSHELL_LAUNCH_H
#define NOSHELL_LAUNCH_H

#include "kernel.h"
#include "parse.h"

#include <sys/types.h>

/* The bytes of stack that the child takes, at most. */
#define NOSHELL_CHILD_STACK 8192

struct noshell_spawn {
    const char *path; /* what execve is given */
    char *const *argv;
    char *const *envp;
    noshell_signals mask;     /* the child's, unless it is to have the caller's */
    int keep_mask;            /* whether the child has the calling thread's mask, */
    noshell_signals unmasked; /* without these */
    noshell_signals held;     /* what stays blocked in the calling thread when the spawn has succeeded */
    noshell_signals defaults; /* signals to set to their default, though the caller ignores them */
    noshell_signals ignored;  /* signals to ignore in the child */
    /* The ends of pipes, moved to standard streams first: fd of the caller or -1, for 0, 1 and 2. */
    int streams[3];
    const int *closed; /* descriptors that the child must not have */
    size_t closed_count;
    const struct noshell_redirection *redirections;
    size_t redirection_count;
    int want_pidfd;
    const char *directory; /* or NULL */
    int close_others;      /* whether descriptors from 3 on are closed */
    void *stack; /* NOSHELL_CHILD_STACK bytes, 16-aligned */
    /* results */
    pid_t pid;
    int pidfd;
    noshell_signals old_mask; /* the calling thread's, as it was before */
};

/* 0, or the errno of the step that failed; then nothing is left behind. A redirection that must go to the shell fails with
 * ENOTSUP. */
int noshell_spawn(struct noshell_spawn *spawn);

/* Closes everything from descriptor 3 on, one by one before Linux 5.9. For children. */
long noshell_close_from_3(void);

#endif
