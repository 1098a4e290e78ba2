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

/* For fork. */
extern struct noshell_lock noshell_shell_lock;

#endif
