/*
 * noshell_spawn for kernels before 5.5, and where clone3 is forbidden: posix_spawn with the same results, for about half
 * as much again.
 */
#ifndef NOSHELL_FALLBACK_H
#define NOSHELL_FALLBACK_H

struct noshell_spawn;

int noshell_spawn_by_library(struct noshell_spawn *spawn);

#endif
