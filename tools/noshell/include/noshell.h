/*
 * noshell.h - start programs without a shell, at the cost of vfork and execve.
 *
 *     cc program.c $(pkg-config --cflags --libs noshell)
 *
 * The shared library also replaces system, popen, pclose and fclose in programs that are linked with it or run with
 * LD_PRELOAD: see libnoshell(7). The static library has the functions below alone, but for noshell_statistics.
 *
 * All functions are thread-safe. The program is looked for as execvp does; it gets the caller's signal mask, ignored
 * signals stay ignored, caught ones become the default.
 *
 * Compatibility: soname libnoshell.so, which will only grow. Structures are extended at their end, under a version of the
 * library that a program can see in pkg-config; a change that would break a program will have another soname.
 */
#ifndef NOSHELL_H
#define NOSHELL_H

#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The association of a stream with its program, which the caller keeps between the two calls. */
struct popen_noshell_pass_to_pclose {
    FILE *fp;
    pid_t pid;
};

/*
 * Runs `file` with the arguments `argv` (ending with NULL, argv[0] included) and a pipe to its standard output (type "r")
 * or from its standard input (type "w"). The pipe is closed on execve in the caller; "re" and "we" are accepted.
 * stderr_mode: 0 keeps standard error, 1 discards it, 2 joins it with standard output.
 * NULL on failure: ENOENT if the program is missing, EINVAL for an invalid type or mode, and the errors of pipe2, clone3 and execve.
 */
FILE *popen_noshell(const char *file, const char *const *argv, const char *type,
                    struct popen_noshell_pass_to_pclose *arg, int stderr_mode);

/* popen(3) for a command of the shell's language, to be closed by pclose_noshell. */
FILE *popen_noshell_compat(const char *command, const char *type, struct popen_noshell_pass_to_pclose *arg);

/* Closes the stream and waits for the program: its wait status, or -1 and errno. */
int pclose_noshell(struct popen_noshell_pass_to_pclose *arg);

/*
 * Runs the program argv[0] and waits for it, as system(3) does with a shell: SIGINT and SIGQUIT are ignored and SIGCHLD is
 * blocked meanwhile. Returns the wait status. A missing program is status 127 and one that must not be executed 126, as
 * WEXITSTATUS tells; -1 and errno when no process could be made.
 */
int system_noshell(const char *const *argv);

/* The source of a standard stream of a program started by spawn_noshell. */
enum spawn_noshell_stream {
    SPAWN_NOSHELL_INHERIT = 0, /* the caller's */
    SPAWN_NOSHELL_PIPE,        /* a new pipe, whose other end is put into `fds`, closing on execve */
    SPAWN_NOSHELL_NULL,        /* /dev/null */
    SPAWN_NOSHELL_FD,          /* the descriptor that the caller has put into `fds` */
    SPAWN_NOSHELL_JOIN         /* of standard error alone: where standard output goes */
};

/* Zeros are the defaults. */
struct spawn_noshell_options {
    const char *file;                     /* NULL: argv[0] */
    const char *const *envp;              /* NULL: the caller's environment */
    const char *directory;                /* NULL: the caller's working directory */
    enum spawn_noshell_stream streams[3]; /* standard input, output and error */
    int keep_fds;                         /* not 0: descriptors from 3 on stay open unless they close on execve */
    int fds[3];                           /* in: for SPAWN_NOSHELL_FD; out: for SPAWN_NOSHELL_PIPE, otherwise unchanged */
    pid_t pid;                            /* out */
};

/*
 * Starts a program and returns a pidfd of it, closing on execve: readable (poll) when the program has ended, for
 * waitid(P_PIDFD, ...) and pidfd_send_signal. `options` may be NULL. -1 and errno when it was not started.
 */
int spawn_noshell(const char *const *argv, struct spawn_noshell_options *options);

/* Waits for a program and closes its pidfd. Returns the wait status, or -1 and errno. */
int wait_noshell(int pidfd);

/* How many calls of system and popen of this process were run directly, and how many by /bin/sh. Shared library only. */
struct noshell_statistics {
    unsigned long direct;
    unsigned long shell;
};

void noshell_statistics(struct noshell_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
