/*
 * Starting a program by its arguments: the common part of the functions of noshell.h.
 */
#ifndef NOSHELL_PROGRAM_H
#define NOSHELL_PROGRAM_H

#include "launch.h"

/* Searches for `file` as execvp does, fills in path, argv and envp (NULL: the caller's), and spawns. Like execvp, it runs a file in an
 * unknown format with /bin/sh. 0 or an errno. */
int noshell_program_start(struct noshell_spawn *spawn, const char *file, const char *const *argv, const char *const *envp);

/* Initializes a spawn that inherits everything. */
void noshell_program_init(struct noshell_spawn *spawn);

#endif
