/*
 * Finding out how /bin/sh behaves by running it.
 */
#ifndef NOSHELL_PROBE_H
#define NOSHELL_PROBE_H

#include "shell.h"

/* Runs /bin/sh once. 1 and the kind of shell, or 0 if it could not be run. Has no visible effect on the caller's children, signals
 * and descriptors. */
int noshell_probe(enum noshell_shell *shell);

/* Finds out whether /bin/sh treats a command that dies by a signal as that kind of shell does. 1 and *does, or 0. */
int noshell_probe_termination(enum noshell_shell shell, int *does);

#endif
