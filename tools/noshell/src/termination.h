/*
 * dash's treatment of a command's end: its own exit status, and a report on standard error of a death by a signal.
 */
#ifndef NOSHELL_TERMINATION_H
#define NOSHELL_TERMINATION_H

#include "parse.h"

/* The wait status of a dash whose command ended with `status`. */
int noshell_termination_status(int status);

/* The destination of a command's standard error, and so of its shell's reports: one of the caller's descriptors, a file, or neither. */
struct noshell_stderr {
    int fd;           /* of the caller; or one of those below */
    const char *path; /* with NOSHELL_STDERR_FILE */
};
#define NOSHELL_STDERR_NOWHERE (-1)
#define NOSHELL_STDERR_FILE (-2)
#define NOSHELL_STDERR_IN_PIPE (-3)

/* Follows the redirections. `pipe_end` is the descriptor of the command that popen joins with its pipe, or -1. */
struct noshell_stderr noshell_stderr_find(const struct noshell_redirection *redirections, size_t count, int pipe_end);

/* Whether the shell would have written its report at the end of that file. It writes at the offset of the command's standard error,
 * which is elsewhere if the file has other writers or was not truncated. */
int noshell_stderr_is_at_end(const struct noshell_redirection *redirections, size_t count);

/* Prints dash's report, if the command died by a signal that dash reports. */
void noshell_termination_report(int status, struct noshell_stderr place);

#endif
