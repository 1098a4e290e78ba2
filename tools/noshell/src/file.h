/*
 * The type of a file, by raw system calls so that the child may use them.
 *
 * Invariant: no function here opens anything, so none can block or have an effect.
 */
#ifndef NOSHELL_FILE_H
#define NOSHELL_FILE_H

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define NOSHELL_PROC_MAGIC 0x9fa0

/* 0 or negative errno. The kernel's structure is the C library's on both machines. */
static inline long noshell_stat(const char *path, struct stat *status) {
    return noshell_call4(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

static inline int noshell_is_in_proc(const char *path) {
    struct statfs status;
    return noshell_call2(SYS_statfs, path, &status) < 0 || status.f_type == NOSHELL_PROC_MAGIC;
}

/*
 * Whether opening the path returns at once and has the same effect in any process. FIFOs, terminals and other devices may block
 * or act when opened, and files of /proc depend on the process that opens them.
 */
static inline int noshell_opens_plainly(const char *path) {
    struct stat status;
    if (noshell_stat(path, &status) < 0)
        return 1;
    if (S_ISREG(status.st_mode))
        /* /proc has no block device, so a file on one needs no further check. */
        return major(status.st_dev) != 0 || !noshell_is_in_proc(path);
    /* null, zero, full, random and urandom */
    if (S_ISCHR(status.st_mode))
        return major(status.st_rdev) == 1 && minor(status.st_rdev) != 1 && minor(status.st_rdev) != 2 &&
               minor(status.st_rdev) != 4 && minor(status.st_rdev) < 10;
    return S_ISDIR(status.st_mode);
}

#endif
