/*
 * system(): one command, waited for.
 */
#ifndef NOSHELL_SYSTEM_H
#define NOSHELL_SYSTEM_H

/* Runs the command, directly or by /bin/sh. 0 and *status, what system() returns; or -1 when nothing was done and the C
 * library's own system() must be called. A cancellation point; a cancelled call kills its child and reaps it. */
int noshell_system_run(const char *text, int *status);

#endif
