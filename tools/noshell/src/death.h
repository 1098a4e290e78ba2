/*
 * What dash makes of a command's end: a status of its own, and a word on standard error when a signal was the cause.
 */
#ifndef NOSHELL_DEATH_H
#define NOSHELL_DEATH_H

#include "parse.h"

/* The wait status of a dash whose command ended with `status`. */
int noshell_death_status(int status);

/* Where descriptor 2 of a command leads, and so what its shell says: one of the caller's descriptors, a file, or neither. */
struct noshell_stderr {
    int fd;           /* of the caller; or one of those below */
    const char *path; /* with NOSHELL_STDERR_FILE */
};
#define NOSHELL_STDERR_NOWHERE (-1)
#define NOSHELL_STDERR_FILE (-2)
#define NOSHELL_STDERR_IN_PIPE (-3)

/* Follows the redirections. `pipe_end` is the descriptor of the command that popen joins with its pipe, or -1. */
struct noshell_stderr noshell_stderr_find(const struct noshell_redirection *redirections, size_t count, int pipe_end);

/* Whether a word at the end of such a file is where the shell would have put it: it writes on from where the command's
 * standard error has come to, which is not the end when others write to the file as well or it was not emptied. */
int noshell_stderr_is_at_end(const struct noshell_redirection *redirections, size_t count);

/* Prints what dash prints, if the command was ended by a signal that it tells of. */
void noshell_death_report(int status, struct noshell_stderr place);

#endif
