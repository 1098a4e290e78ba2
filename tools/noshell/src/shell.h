/*
 * Identifying the shell that /bin/sh is.
 */
#ifndef NOSHELL_SHELL_H
#define NOSHELL_SHELL_H

#include "lock.h"

#define NOSHELL_PATH_OF_SHELL "/bin/sh"

enum noshell_shell {
    NOSHELL_SHELL_UNKNOWN, /* none of the shells below, or it could not be asked */
    NOSHELL_SHELL_LATER,   /* not identified yet: give it this command and ask at the next */
    NOSHELL_SHELL_DASH,    /* dash: runs a command as its child and reports a death by a signal */
    NOSHELL_SHELL_BASH     /* bash: becomes the command, or waits for it when there are redirections */
};

/* Identifies /bin/sh, or returns the cached answer while the file is the same. Thread-safe. */
enum noshell_shell noshell_shell_find(void);

/* Whether the shell also treats a command's death by a signal as that kind of shell does. For a shell without a listed build ID, the
 * first call runs it to find out. If the answer is no, the shell counts as unknown from then on. Thread-safe; preserves errno. */
int noshell_shell_is_sure(enum noshell_shell shell);

/* For fork. */
extern struct noshell_lock noshell_shell_lock;

#endif
