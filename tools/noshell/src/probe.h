/*
 * Asking /bin/sh what it does.
 */
#ifndef NOSHELL_PROBE_H
#define NOSHELL_PROBE_H

#include "shell.h"

/* Runs /bin/sh once. 1 and what it is, or 0 when it could not be asked now. The caller's children, signals and
 * descriptors are as if nothing had happened. */
int noshell_probe(enum noshell_shell *shell);

/* The same, to ask whether it treats a last command that a signal ended as that shell does. 1 and *does, or 0. */
int noshell_probe_death(enum noshell_shell shell, int *does);

#endif
