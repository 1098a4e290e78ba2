/*
 * Asking /bin/sh what it does.
 */
#ifndef NOSHELL_PROBE_H
#define NOSHELL_PROBE_H

#include "shell.h"

/* Runs /bin/sh once. 1 and what it is, or 0 when it could not be asked now. The caller's children, signals and
 * descriptors are as if nothing had happened. */
int noshell_probe(enum noshell_shell *shell);

#endif
