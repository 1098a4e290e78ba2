/*
 * Which shell /bin/sh is: asked once, and again when /bin/sh has become another file (an upgrade, a chroot).
 *
 * The question costs what one command run by a shell costs. It is asked when the first command comes that could be run
 * without one, and has paid from the second. What the shell makes of a command's death is asked when there is one.
 */
#define _GNU_SOURCE
#include "shell.h"
#include "file.h"
#include "probe.h"

#include <errno.h>

/* What tells one file from another. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* After so many questions without an answer none is asked any more. */
#define QUESTIONS_MAX 3

struct noshell_lock noshell_shell_lock = NOSHELL_LOCK_INITIALIZER;
static int answered;
static int unanswered;
static struct identity asked;
static enum noshell_shell found;
static int is_sure; /* of what it makes of a death by a signal */

static int identify(struct identity *identity) {
    struct stat status;
    if (noshell_stat(NOSHELL_PATH_OF_SHELL, &status) < 0)
        return -1;
    *identity = (struct identity){status.st_dev, status.st_ino, status.st_size, status.st_ctim};
    return 0;
}

static int is_same(const struct identity *a, const struct identity *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static enum noshell_shell question(const struct identity *present) {
    if (answered && is_same(&asked, present))
        return found;
    answered = 0;
    if (unanswered >= QUESTIONS_MAX)
        return NOSHELL_SHELL_UNKNOWN;
    found = NOSHELL_SHELL_UNKNOWN;
    is_sure = 0;
    if (noshell_probe(&found)) {
        answered = 1;
        asked = *present;
    } else {
        unanswered++;
    }
    return found;
}

enum noshell_shell noshell_shell_find(void) {
    struct identity present;
    enum noshell_shell shell;
    /* A handler that has interrupted the very question does without an answer. */
    if (identify(&present) < 0 || !noshell_lock_take(&noshell_shell_lock))
        return NOSHELL_SHELL_UNKNOWN;
    shell = question(&present);
    noshell_lock_give(&noshell_shell_lock);
    return shell;
}

static int question_death(enum noshell_shell shell) {
    int does;
    if (is_sure)
        return found == shell;
    /* It has become another file meanwhile, or cannot be asked. Then what was known has to do. */
    if (found != shell || !noshell_probe_death(shell, &does))
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
    sure = question_death(shell);
    noshell_lock_give(&noshell_shell_lock);
    errno = saved;
    return sure;
}
