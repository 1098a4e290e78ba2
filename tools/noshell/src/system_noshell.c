/* system_noshell: see noshell.h. */
#define _GNU_SOURCE
#include "interrupts.h"
#include "noshell.h"
#include "program.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

/* The statuses of shells for a program that is missing or not executable. */
#define STATUS_NOT_FOUND (127 << 8)
#define STATUS_NOT_EXECUTABLE (126 << 8)

/* The thread was cancelled while it waited. */
static void abandon(void *argument) {
    struct noshell_spawn *spawn = argument;
    noshell_call2(SYS_kill, spawn->pid, SIGKILL);
    while (noshell_call4(SYS_wait4, spawn->pid, NULL, 0, NULL) == -EINTR)
        continue;
    noshell_interrupts_restore();
    noshell_mask(SIG_SETMASK, spawn->old_mask, NULL);
}

static int await(struct noshell_spawn *spawn, int cancel_state) {
    int status = -1, ignored;
    pid_t waited;
    pthread_cleanup_push(abandon, spawn);
    pthread_setcancelstate(cancel_state, &ignored);
    do
        waited = waitpid(spawn->pid, &status, 0);
    while (waited < 0 && errno == EINTR);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    pthread_cleanup_pop(0);
    noshell_mask(SIG_SETMASK, spawn->old_mask, NULL);
    return waited == spawn->pid ? status : -1;
}

static int failure(int error) {
    switch (error) {
    case ENOENT: case ENOTDIR: case ELOOP: case ENAMETOOLONG:
        return STATUS_NOT_FOUND;
    case EACCES: case EPERM: case ENOEXEC: case ETXTBSY: case EISDIR:
        return STATUS_NOT_EXECUTABLE;
    default:
        errno = error;
        return -1;
    }
}

__attribute__((visibility("default"))) int system_noshell(const char *const *argv) {
    struct noshell_spawn spawn;
    int cancel_state, ignored, error, status;
    if (!argv || !argv[0]) {
        errno = EINVAL;
        return -1;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    noshell_program_init(&spawn);
    spawn.held = NOSHELL_SIGNAL(SIGCHLD);
    spawn.defaults = noshell_interrupts_ignore();
    error = noshell_program_start(&spawn, argv[0], argv, NULL);
    status = error ? failure(error) : await(&spawn, cancel_state);
    noshell_interrupts_restore();
    pthread_setcancelstate(cancel_state, &ignored);
    return status;
}
