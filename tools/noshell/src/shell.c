/*
 * Identifying /bin/sh: see shell.h. The answer is cached with the identity of the file, which one stat per command compares,
 * so that an upgrade or a chroot is noticed.
 *
 * A shell in the list of build IDs is known at once. Any other is probed, which costs as much as running a command through it.
 * A process that runs a single command would pay twice, so the first command goes to the shell without a probe, and the second
 * pays for it. How the shell reports a command's death by a signal is asked when a command dies that way.
 */
#define _GNU_SOURCE
#include "shell.h"
#include "build_id.h"
#include "file.h"
#include "probe.h"

#include <errno.h>

/* Distinguishes one file from another. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* Probes that may fail before the process gives up probing. */
#define PROBE_FAILURES_MAX 3

struct noshell_lock noshell_shell_lock = NOSHELL_LOCK_INITIALIZER;
static int is_known;       /* whether `found` holds for the file `known_file` */
static int is_sure;        /* whether `found` is also right about deaths by signals */
static int commands_given; /* to a shell that was not identified yet */
static int probe_failures;
static struct identity known_file;
static enum noshell_shell found;

static struct identity identify(const struct stat *status) {
    return (struct identity){status->st_dev, status->st_ino, status->st_size, status->st_ctim};
}

static int is_same(const struct identity *a, const struct identity *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static enum noshell_shell remember(const struct identity *file, enum noshell_shell shell, int sure) {
    is_known = 1;
    is_sure = sure;
    known_file = *file;
    found = shell;
    return shell;
}

static enum noshell_shell probe(const struct identity *file) {
    enum noshell_shell shell;
    if (commands_given == 0) {
        commands_given = 1;
        return NOSHELL_SHELL_LATER;
    }
    if (probe_failures >= PROBE_FAILURES_MAX)
        return NOSHELL_SHELL_UNKNOWN;
    if (noshell_probe(&shell))
        return remember(file, shell, 0);
    probe_failures++;
    return NOSHELL_SHELL_UNKNOWN;
}

static enum noshell_shell find(const struct stat *status) {
    struct identity file = identify(status);
    enum noshell_shell shell;
    if (is_known && is_same(&known_file, &file))
        return found;
    is_known = 0;
    shell = noshell_build_id_find(NOSHELL_PATH_OF_SHELL, status);
    return shell ? remember(&file, shell, 1) : probe(&file);
}

enum noshell_shell noshell_shell_find(void) {
    struct stat status;
    enum noshell_shell shell;
    /* A signal handler that interrupted this very function gets no answer. */
    if (noshell_stat(NOSHELL_PATH_OF_SHELL, &status) < 0 || !noshell_lock_take(&noshell_shell_lock))
        return NOSHELL_SHELL_UNKNOWN;
    shell = find(&status);
    noshell_lock_give(&noshell_shell_lock);
    return shell;
}

static int probe_termination(enum noshell_shell shell) {
    int does;
    if (is_sure)
        return found == shell;
    /* /bin/sh may have been replaced meanwhile, or the probe may fail. Then the earlier answer stands. */
    if (!is_known || found != shell || !noshell_probe_termination(shell, &does))
        return 1;
    is_sure = 1;
    if (!does)
        found = NOSHELL_SHELL_UNKNOWN;
    return does;
}

int noshell_shell_is_sure(enum noshell_shell shell) {
    int saved = errno;
    int sure;
    if (!noshell_lock_take(&noshell_shell_lock))
        return 1;
    sure = probe_termination(shell);
    noshell_lock_give(&noshell_shell_lock);
    errno = saved;
    return sure;
}
