/* popen_noshell, popen_noshell_compat, pclose_noshell: see noshell.h. */
#define _GNU_SOURCE
#include "noshell.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static const struct noshell_redirection discard = {.operator = NOSHELL_WRITE, .fd = 2, .source = -1, .path = "/dev/null"};
static const struct noshell_redirection join = {.operator = NOSHELL_DUPLICATE, .fd = 2, .source = 1, .path = NULL};

/* 0 for "r", 1 for "w", -1 for anything else; "e" may follow, and changes nothing. */
static int is_writing(const char *type) {
    if (!type || (type[0] != 'r' && type[0] != 'w') || (type[1] && (type[1] != 'e' || type[2])))
        return -1;
    return type[0] == 'w';
}

static int start(const char *file, const char *const *argv, int writing, const int ends[2], int stderr_mode, pid_t *pid) {
    struct noshell_spawn spawn;
    int error;
    noshell_program_init(&spawn);
    spawn.streams[writing ? STDIN_FILENO : STDOUT_FILENO] = ends[!writing];
    spawn.redirections = stderr_mode == 1 ? &discard : &join;
    spawn.redirection_count = stderr_mode != 0;
    error = noshell_program_start(&spawn, file, argv, NULL);
    *pid = spawn.pid;
    return error;
}

/* With the pipe made. The stream is made before the program is started, so that nothing can fail afterwards. */
static FILE *open_on(const char *file, const char *const *argv, int writing, const int ends[2], int stderr_mode,
                     pid_t *pid) {
    FILE *stream = fdopen(ends[writing], writing ? "w" : "r");
    int error = stream ? 0 : errno;
    if (!stream)
        close(ends[writing]);
    else if ((error = start(file, argv, writing, ends, stderr_mode, pid)) != 0)
        fclose(stream);
    close(ends[!writing]);
    if (!error)
        return stream;
    errno = error;
    return NULL;
}

static FILE *open_pipe(const char *file, const char *const *argv, int writing, int stderr_mode, pid_t *pid) {
    int ends[2];
    return pipe2(ends, O_CLOEXEC) < 0 ? NULL : open_on(file, argv, writing, ends, stderr_mode, pid);
}

PUBLIC FILE *popen_noshell(const char *file, const char *const *argv, const char *type,
                           struct popen_noshell_pass_to_pclose *arg, int stderr_mode) {
    int writing = is_writing(type);
    int cancel_state, ignored;
    if (!file || !argv || !argv[0] || !arg || writing < 0 || stderr_mode < 0 || stderr_mode > 2) {
        errno = EINVAL;
        return NULL;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    arg->fp = open_pipe(file, argv, writing, stderr_mode, &arg->pid);
    pthread_setcancelstate(cancel_state, &ignored);
    return arg->fp;
}

PUBLIC FILE *popen_noshell_compat(const char *command, const char *type, struct popen_noshell_pass_to_pclose *arg) {
    if (!command || !type || !arg) {
        errno = EINVAL;
        return NULL;
    }
    arg->pid = 0; /* pclose knows it */
    arg->fp = popen(command, type);
    return arg->fp;
}

PUBLIC int pclose_noshell(struct popen_noshell_pass_to_pclose *arg) {
    int status;
    pid_t waited;
    if (!arg || !arg->fp) {
        errno = EINVAL;
        return -1;
    }
    if (arg->pid == 0)
        return pclose(arg->fp);
    fclose(arg->fp);
    do
        waited = waitpid(arg->pid, &status, 0);
    while (waited < 0 && errno == EINTR);
    return waited == arg->pid ? status : -1;
}
