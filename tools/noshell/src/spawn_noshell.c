/* spawn_noshell and wait_noshell: see noshell.h. */
#define _GNU_SOURCE
#include "noshell.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static const struct noshell_redirection join = {.operator = NOSHELL_DUPLICATE, .fd = 2, .source = 1, .path = NULL};

/* The descriptors that are made for one program: its ends, which the caller closes again, and the caller's own. */
struct made {
    int theirs[3];
    int ours[3];
};

static void close_all(const int fds[3]) {
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int make_pipe(struct made *made, int stream) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    /* Standard input is read by the program, the others are written. */
    made->theirs[stream] = ends[stream != 0];
    made->ours[stream] = ends[stream == 0];
    return 0;
}

static int make_null(struct made *made, int stream) {
    made->theirs[stream] = open("/dev/null", (stream == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    return made->theirs[stream] < 0 ? errno : 0;
}

static int make_stream(const struct spawn_noshell_options *options, int stream, struct made *made,
                       struct noshell_spawn *spawn) {
    int error = 0;
    switch (options->streams[stream]) {
    case SPAWN_NOSHELL_INHERIT:
        return 0;
    case SPAWN_NOSHELL_PIPE:
        error = make_pipe(made, stream);
        break;
    case SPAWN_NOSHELL_NULL:
        error = make_null(made, stream);
        break;
    case SPAWN_NOSHELL_FD:
        spawn->streams[stream] = options->fds[stream];
        return options->fds[stream] < 0 ? EBADF : 0;
    case SPAWN_NOSHELL_JOIN:
        spawn->redirections = &join;
        spawn->redirection_count = 1;
        return stream == STDERR_FILENO ? 0 : EINVAL;
    default:
        return EINVAL;
    }
    spawn->streams[stream] = made->theirs[stream];
    return error;
}

static int start(const char *const *argv, const struct spawn_noshell_options *options, struct made *made,
                 struct noshell_spawn *spawn) {
    int error = 0;
    for (int i = 0; !error && i < 3; i++)
        error = make_stream(options, i, made, spawn);
    if (error)
        return error;
    spawn->want_pidfd = 1;
    spawn->directory = options->directory;
    spawn->close_others = !options->keep_fds;
    return noshell_program_start(spawn, options->file ? options->file : argv[0], argv, options->envp);
}

PUBLIC int spawn_noshell(const char *const *argv, struct spawn_noshell_options *options) {
    struct spawn_noshell_options defaults;
    struct made made = {{-1, -1, -1}, {-1, -1, -1}};
    struct noshell_spawn spawn;
    int error;
    if (!argv || !argv[0]) {
        errno = EINVAL;
        return -1;
    }
    if (!options)
        options = memset(&defaults, 0, sizeof defaults);
    noshell_program_init(&spawn);
    error = start(argv, options, &made, &spawn);
    close_all(made.theirs);
    if (error) {
        close_all(made.ours);
        errno = error;
        return -1;
    }
    for (int i = 0; i < 3; i++)
        if (made.ours[i] >= 0)
            options->fds[i] = made.ours[i];
    options->pid = spawn.pid;
    return spawn.pidfd;
}

PUBLIC int wait_noshell(int pidfd) {
    siginfo_t info;
    int result;
    do
        result = waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED);
    while (result < 0 && errno == EINTR);
    if (result < 0)
        return -1;
    close(pidfd);
    switch (info.si_code) {
    case CLD_EXITED:
        return (info.si_status & 0xff) << 8;
    case CLD_DUMPED:
        return info.si_status | 0x80;
    default:
        return info.si_status;
    }
}
