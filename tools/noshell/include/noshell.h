/*
 * noshell.h - start programs without a shell, as fast as the kernel allows.
 *
 * Link with `pkg-config --cflags --libs noshell`. The shared library also replaces system, popen, pclose and fclose of the
 * program that is linked with it or run with LD_PRELOAD; see libnoshell(7). The static library has only what is declared
 * here. Everything is thread-safe.
 */
#ifndef NOSHELL_H
#define NOSHELL_H

#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many calls of this process's system and popen were run directly, and how many by /bin/sh. */
struct noshell_statistics {
    unsigned long direct;
    unsigned long shell;
};

void noshell_statistics(struct noshell_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
