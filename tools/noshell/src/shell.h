/*
 * Which shell /bin/sh is, told by what it does.
 */
#ifndef NOSHELL_SHELL_H
#define NOSHELL_SHELL_H

#include "lock.h"

#define NOSHELL_PATH_OF_SHELL "/bin/sh"

enum noshell_shell {
    NOSHELL_SHELL_UNKNOWN, /* none of these, or not to be asked */
    NOSHELL_SHELL_DASH,    /* dash, which runs a command as its child and reports how that died */
    NOSHELL_SHELL_BASH     /* bash, which becomes the command, or waits for it when there are redirections */
};

/* Asks /bin/sh, or remembers what it answered. Thread-safe. */
enum noshell_shell noshell_shell_find(void);

/* Whether that shell also makes of a command's death by a signal what it is known for: asked at the first. If not, it counts
 * as unknown from then on, and was one that becomes its last command. Thread-safe; leaves errno alone. */
int noshell_shell_is_sure(enum noshell_shell shell);

/* For fork. */
extern struct noshell_lock noshell_shell_lock;

#endif
