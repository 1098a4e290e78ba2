/*
 * Which shell /bin/sh is, told by what it does.
 */
#ifndef NOSHELL_SHELL_H
#define NOSHELL_SHELL_H

#define NOSHELL_PATH_OF_SHELL "/bin/sh"

enum noshell_shell {
    NOSHELL_SHELL_UNKNOWN, /* not asked yet, or none of these */
    NOSHELL_SHELL_DASH,    /* dash, which runs a command as its child and reports how that died */
    NOSHELL_SHELL_BASH     /* bash, which becomes the command */
};

/* What was found out before about the present /bin/sh: 1 and *shell, or 0 when nothing is known. */
int noshell_shell_known(enum noshell_shell *shell);

/* Asks /bin/sh, or remembers. */
enum noshell_shell noshell_shell_find(void);

#endif
