/*
 * Starting a program by clone3 with shared memory; the child makes system calls only. posix_spawn is used where clone3 is missing or
 * forbidden. The calling thread stops until the child has called execve, unless the spawn is unwatched, which saves two context
 * switches.
 *
 * Thread-safe. The kernel takes the caller's handlers away as it makes the child, so none runs there.
 */
#ifndef NOSHELL_LAUNCH_H
#define NOSHELL_LAUNCH_H

#include "kernel.h"
#include "parse.h"

#include <sys/types.h>

/* The bytes of stack that the child takes, at most. */
#define NOSHELL_CHILD_STACK 8192

/* The program that a child executes if its own cannot be executed: a shell, which reports the reason. */
struct noshell_alternative {
    const char *path;
    char *const *argv;
    char *const *envp;
    volatile int *used; /* set to 1 by the child */
};

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
    int exit_signal; /* of a child that does not get as far as its program: SIGCHLD, or 0, and then __WALL finds it */
    int unwatched;   /* return before it is known whether the program runs; see `error` */
    /* For an unwatched spawn whose memory must outlive the call: the kernel sets *pending to 0 when the child no longer uses the
     * caller's memory. NULL otherwise. */
    int *pending;
    const struct noshell_alternative *alternative; /* or NULL; allowed only without redirections */
    void *stack; /* NOSHELL_CHILD_STACK bytes, 16-aligned */
    /* results */
    pid_t pid;
    int pidfd;
    noshell_signals old_mask; /* the calling thread's, as it was before; set if signals are held or set to default */
    noshell_signals child_mask; /* the child's, as it was before it changed it */
    volatile int error; /* errno of the child's failure; when unwatched, known once the child has ended */
};

/* 0, or the errno of the step that failed; then nothing is left behind. A redirection that must go to the shell fails with
 * ENOTSUP. An unwatched spawn uses all that it points to, and itself, until the child has ended. */
int noshell_spawn(struct noshell_spawn *spawn);

/* Closes everything from descriptor 3 on, one by one before Linux 5.9. For children. */
long noshell_close_from_3(void);

#endif
